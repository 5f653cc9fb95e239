"""What `rugnik serve` and `rugnik migrate` do. Whatever prevents it is CannotStart, with one sentence to act on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import uvicorn
from pydantic import ValidationError

from app.access.keys import first_admin_key
from app.errors import CannotStart
from app.http.protocol import LimitedProtocol
from app.main import make_service
from app.operations.observability import configure_logging
from app.operations.start_checks import database_errors, prepare_data_folder, require_files, require_free, serving_alone
from app.settings.settings import Settings
from app.storage.database import Database

GRACE_SECONDS = 30  # for requests at work when the service is told to stop; a supervisor should wait longer than this


def read_settings() -> Settings:
    """The settings in the environment; a wrong one is named, and its value is not, since it may be a secret."""
    try:
        return Settings()
    except ValidationError as error:
        wrong = error.errors(include_input=False, include_context=False)
    raise CannotStart(
        "A setting is wrong. " + "; ".join(_sentence(found["loc"], found["msg"]) for found in wrong) + "."
    )


def serve(settings: Settings, *, host: str, port: int, workers: int, show_key: Callable[[str], None]) -> None:
    """Serve until a signal says to stop. The first start hands its admin key to `show_key`, once."""
    configure_logging(settings.log_level)
    require_free(host, port)
    require_files(settings.max_connections)
    service = make_service(settings)
    with serving_alone(service.database):
        key = first_admin_key(service)
        service.database.dispose()
        if key is not None:
            show_key(key)
        uvicorn.run(
            "app.main:app_from_environment",
            factory=True,
            host=host,
            port=port,
            workers=workers,
            timeout_graceful_shutdown=GRACE_SECONDS,
            **server_options(settings),
        )


def server_options(settings: Settings) -> dict[str, Any]:
    """How uvicorn serves rugnik, under `serve` and in the demo.

    No access log: when an upload ends, and how often one is tried, is nobody's business.
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
    """Bring the database to this version of rugnik."""
    configure_logging(settings.log_level)
    prepare_data_folder(settings)
    database = Database(settings.url)
    with database_errors(database):
        database.migrate()
    database.dispose()


def _sentence(place: tuple[int | str, ...], message: str) -> str:
    """One complaint of pydantic's; what concerns all settings has no place and names its variable itself."""
    return ": ".join([*(f"RUGNIK_{str(name).upper()}" for name in place[:1]), message.removeprefix("Value error, ")])
