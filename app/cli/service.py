"""`rugnik serve` and `rugnik migrate`: running the service."""

from __future__ import annotations

from typing import Annotated, NoReturn

import typer
import uvicorn
from pydantic import ValidationError

from app.auth import first_admin_key
from app.config import Settings
from app.database import Database
from app.errors import CannotStart
from app.main import make_service
from app.observability import configure_logging
from app.startup import database_errors, prepare_data_folder, require_free, serving_alone

GRACE_SECONDS = 30  # for requests at work when the service is told to stop; a supervisor should wait longer than this


def serve(
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on.")] = 8000,
    workers: Annotated[int, typer.Option(min=1, help="Worker processes.")] = 1,
) -> None:
    """Serve the API. SQLite is migrated by itself; PostgreSQL needs `rugnik migrate` first."""
    settings = _settings()
    configure_logging(settings.log_level)
    try:
        require_free(host, port)
        service = make_service(settings)
        with serving_alone(service.database):
            key = first_admin_key(service)
            service.database.dispose()
            if key is not None:
                typer.echo(f"First start. The admin key, shown this once:\n\n    {key}\n", err=True)
            _run(settings, host=host, port=port, workers=workers)
    except CannotStart as error:
        _fail(str(error))


def migrate() -> None:
    """Bring the database to this version of rugnik. Safe to run twice, and by two at once."""
    settings = _settings()
    configure_logging(settings.log_level)
    try:
        prepare_data_folder(settings)
        database = Database(settings.url)
        with database_errors(database):
            database.migrate()
        database.dispose()
    except CannotStart as error:
        _fail(str(error))
    typer.echo("The database is up to date.")


def _run(settings: Settings, *, host: str, port: int, workers: int) -> None:
    # No access log: when an upload ends, and how often one is tried, is nobody's business.
    uvicorn.run(
        "app.main:app_from_environment",
        factory=True,
        host=host,
        port=port,
        workers=workers,
        access_log=False,
        server_header=False,
        forwarded_allow_ips=settings.trusted_proxies,
        log_config=None,
        timeout_graceful_shutdown=GRACE_SECONDS,
    )


def _settings() -> Settings:
    try:
        return Settings()
    except ValidationError as error:
        places = "; ".join(
            ": ".join([*(f"RUGNIK_{str(name).upper()}" for name in found["loc"][:1]), _plain(found["msg"])])
            for found in error.errors(include_input=False, include_context=False)
        )
        _fail(f"A setting is wrong. {places}.")


def _plain(message: str) -> str:
    return message.removeprefix("Value error, ")


def _fail(message: str) -> NoReturn:
    typer.echo(message, err=True)
    raise typer.Exit(code=2)
