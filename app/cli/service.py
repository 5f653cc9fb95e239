"""`rugnik serve` and `rugnik migrate`: running the service. Its packages are imported when a command runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from app.cli.shared import Code, fail

if TYPE_CHECKING:
    from app.config import Settings


def serve(
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on.")] = 8000,
    workers: Annotated[int, typer.Option(min=1, help="Worker processes.")] = 1,
) -> None:
    """Serve the API. SQLite is migrated by itself; PostgreSQL needs `rugnik migrate` first.

    The first start prints an admin key, once. Settings are RUGNIK_… variables
    of the environment; `rugnik doctor` checks them.

    \b
    Example:
      rugnik serve --host 0.0.0.0 --port 8000 --workers 4
    """
    import uvicorn  # noqa: PLC0415 - a second to import

    from app.auth import first_admin_key  # noqa: PLC0415
    from app.errors import CannotStart  # noqa: PLC0415
    from app.main import make_service  # noqa: PLC0415
    from app.observability import configure_logging  # noqa: PLC0415

    settings = read_settings()
    configure_logging(settings.log_level)
    try:
        service = make_service(settings)
    except CannotStart as error:
        fail(str(error), Code.USAGE)
    key = first_admin_key(service)
    service.database.dispose()
    if key is not None:
        typer.echo(f"First start. The admin key, shown this once:\n\n    {key}\n", err=True)
    # No access log: when an upload ends, and how often one is tried, is nobody's business.
    uvicorn.run(
        "app.main:app_from_environment",
        factory=True,
        host=host,
        port=port,
        workers=workers,
        access_log=False,
        server_header=False,
        log_config=None,
        timeout_graceful_shutdown=30,
    )


def migrate() -> None:
    """Bring the database to this version of rugnik. Safe to run twice, and by two at once.

    \b
    Example:
      RUGNIK_DATABASE_URL=postgresql+psycopg://rugnik@db/rugnik rugnik migrate
    """
    from app.database import Database  # noqa: PLC0415

    settings = read_settings()
    if settings.database_url is None:
        settings.data_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
    database = Database(settings.url)
    database.migrate()
    database.dispose()
    typer.echo("The database is up to date.")


def read_settings() -> Settings:
    """The settings in the environment, or a sentence that names the one that is wrong."""
    from pydantic import ValidationError  # noqa: PLC0415

    from app.config import Settings  # noqa: PLC0415

    try:
        return Settings()
    except ValidationError as error:
        places = "; ".join(f"RUGNIK_{str(found['loc'][0]).upper()}: {found['msg']}" for found in error.errors())
        fail(f"A setting is wrong. {places}", Code.USAGE)
