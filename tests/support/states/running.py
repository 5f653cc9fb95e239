"""Running: the application in this process on a database of its own, which can be stopped and opened again."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import psycopg
from httpx import Response
from sqlalchemy import make_url

from app.main import create_app
from app.releases import publishing
from app.settings.settings import Settings
from app.storage.database import Database
from tests.support.databases.postgresql import new_database, running_postgresql
from tests.support.service.api import Api, frozen_clock
from tests.support.states.nouns import Limits

ADMIN_KEY = "rugnik_admin_" + "m" * 43
Place = Callable[[], AbstractContextManager[Settings]]  # settings of a new service, whose database is gone at the end


class Running:
    """One service after the other on the same settings."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._api = self._opened()

    def restart(self) -> None:
        """What is in memory is lost."""
        self.close()
        self._api = self._opened()

    def close(self) -> None:
        """Stop it."""
        self._api.__exit__()

    def call(self, key: str, method: str, path: str, **options: Any) -> Response:
        """One request."""
        return self._api.call_with(key, method, path, **options)

    def _opened(self) -> Api:
        publishing._waiting.clear()  # a new process has drawn nothing that waits to be stored
        return Api(create_app(self._settings, frozen_clock), keys={}).__enter__()


@contextmanager
def on_sqlite(limits: Limits) -> Iterator[Place]:
    """Services on SQLite, each with a copy of one database that is migrated."""
    with tempfile.TemporaryDirectory() as made:
        first, numbers = Path(made, "first"), count()
        Running(_settings(first, limits)).close()

        @contextmanager
        def place() -> Iterator[Settings]:
            own = Path(made, str(next(numbers)))
            shutil.copytree(first, own)
            yield _settings(own, limits)
            shutil.rmtree(own)

        yield place


@contextmanager
def on_postgresql(limits: Limits) -> Iterator[Place]:
    """Services on a PostgreSQL server, each with a copy of one database that is migrated."""
    with tempfile.TemporaryDirectory() as made, running_postgresql() as server:
        first, numbers = new_database(server), count()
        database = Database(first)
        database.migrate()
        database.dispose()

        @contextmanager
        def place() -> Iterator[Settings]:
            url = new_database(server, like=first)
            yield _settings(Path(made, str(next(numbers))), limits, database_url=url)
            with psycopg.connect(server, autocommit=True) as connection:
                connection.execute(f"DROP DATABASE {make_url(url).database} WITH (FORCE)".encode())

        yield place


def _settings(folder: Path, limits: Limits, **others: Any) -> Settings:
    return Settings(
        data_dir=folder / "data",
        log_level="error",
        admin_key=ADMIN_KEY,
        max_budget=str(limits.budget),
        max_datasets=limits.datasets,
        max_open_orders=limits.open_orders,
        max_keys=limits.keys,
        **others,
    )
