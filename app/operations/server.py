"""Runs the server (`rugnik serve`) and migrations (`rugnik migrate`). CannotStart has a sentence to act on."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import structlog
import uvicorn
from pydantic import ValidationError

from app.access.keys import first_admin_key
from app.errors import CannotStart
from app.http.protocol import LimitedProtocol
from app.main import make_service
from app.operations.observability import configure_logging
from app.operations.start_checks import database_errors, prepare_data_folder, require_files, require_free, serving_alone
from app.settings.settings import Settings
from app.settings.unknown import sentence, unknown_variables
from app.storage.database import Database

log = structlog.get_logger(__name__)

# How long a worker may take to start or to answer its supervisor. After uvicorn's own 5 s a worker that is still
# importing is killed and started again, for ever on a busy machine.
START_SECONDS = 60
GRACE_SECONDS = 30  # for running requests after a stop signal; a supervisor should wait longer than this


def read_settings() -> Settings:
    """The settings from the environment. CannotStart names wrong settings without their values, which may be secret."""
    try:
        return Settings()
    except ValidationError as error:
        faults = error.errors(include_input=False, include_context=False)
    raise CannotStart(
        "A setting is wrong. " + "; ".join(_sentence(fault["loc"], fault["msg"]) for fault in faults) + "."
    )


def settings_in_use() -> Settings:
    """The settings of a service that is there already: a command about it must not begin another one beside it."""
    settings = read_settings()
    if settings.database_url is None and not settings.sqlite_path.exists():
        raise CannotStart(
            f"There is no service in {settings.data_dir}: set RUGNIK_DATA_DIR or RUGNIK_DATABASE_URL to those of the "
            "service, or start it once."
        )
    return settings


def serve(settings: Settings, *, host: str, port: int, workers: int, show_key: Callable[[str], None]) -> None:
    """Serve until a stop signal. The very first start passes a new admin key to `show_key`, once."""
    configure_logging(settings.log_level)
    for name, nearest in unknown_variables(os.environ).items():
        log.warning("unknown_variable", variable=name, nearest=nearest, meaning=sentence(name, nearest))
    require_free(host, port)
    require_files(settings.max_connections)
    service = make_service(settings)
    with serving_alone(service.database):
        key = None if settings.read_only else first_admin_key(service)
        service.database.dispose()
        if key is not None:
            show_key(key)
        uvicorn.run(
            "app.main:app_from_environment",
            factory=True,
            host=host,
            port=port,
            workers=workers,
            timeout_worker_healthcheck=START_SECONDS,
            timeout_graceful_shutdown=GRACE_SECONDS,
            **server_options(settings),
        )


def server_options(settings: Settings) -> dict[str, Any]:
    """Options of uvicorn for `serve` and for the demo.

    There is no access log: it would record when uploads end and how often they are tried, a timing side channel.
    """
    return {
        "access_log": False,
        "server_header": False,
        "forwarded_allow_ips": settings.trusted_proxies,
        "log_config": None,
        "http": LimitedProtocol,
        "ws": "none",
        "limit_concurrency": settings.max_connections,
    }


def migrate(settings: Settings) -> None:
    """Migrate the database to the schema of this version."""
    configure_logging(settings.log_level)
    prepare_data_folder(settings)
    database = Database(settings.url)
    with database_errors(database):
        database.migrate()
    database.dispose()


def _sentence(place: tuple[int | str, ...], message: str) -> str:
    """An error of pydantic as text. Errors about several settings have no place and name their variables themselves."""
    return ": ".join(
        [
            *(f"RUGNIK_{str(name).upper()}" for name in place[:1]),
            message.removeprefix("Value error, ").removesuffix("."),
        ]
    )
