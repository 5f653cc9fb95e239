"""Fixtures: each test gets a database of its own, built by the migrations, on SQLite or on a real PostgreSQL."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import pytest

from app.main import create_app
from app.settings.settings import Settings
from app.storage.database import Database
from tests.support.databases.postgresql import new_database, running_postgresql
from tests.support.processes.server import Server, running_server
from tests.support.service.api import Api, frozen_clock
from tests.support.service.live import Live, opened_live
from tests.support.service.workers import end_workers

_names = count()
_UMASK = os.umask(0o022)
os.umask(_UMASK)
_SWITCH_INTERVAL = sys.getswitchinterval()


@pytest.fixture(autouse=True)
def process_settings_restored() -> Iterator[None]:
    """An application in this process changes the umask and the switch interval; the next test has the old ones."""
    yield
    os.umask(_UMASK)
    sys.setswitchinterval(_SWITCH_INTERVAL)


@pytest.fixture(scope="session", autouse=True)
def shared_workers() -> Iterator[None]:
    """The worker processes that applications share end with the tests."""
    yield
    end_workers()


@pytest.fixture(scope="session")
def postgresql() -> Iterator[str]:
    """A PostgreSQL server of this test process, as a connection string to its first database."""
    with running_postgresql() as server:
        yield server


@pytest.fixture
def postgresql_url(postgresql: str) -> str:
    """An empty PostgreSQL database, as a SQLAlchemy URL."""
    return new_database(postgresql)


@pytest.fixture(scope="session")
def migrated_postgresql(postgresql: str) -> str:
    """The URL of a PostgreSQL database that is migrated and that nobody uses: others are copied from it."""
    url = new_database(postgresql)
    database = Database(url)
    database.migrate()
    database.dispose()
    return url


@pytest.fixture
def sqlite_settings(tmp_path: Path) -> Settings:
    """A rugnik of its own on SQLite."""
    return Settings(data_dir=tmp_path / "data", log_level="warning")


@pytest.fixture
def postgresql_settings(tmp_path: Path, postgresql: str, migrated_postgresql: str) -> Settings:
    """A rugnik of its own on PostgreSQL, migrated."""
    url = new_database(postgresql, like=migrated_postgresql)
    return Settings(data_dir=tmp_path / "data", database_url=url, log_level="warning")


@pytest.fixture(params=["sqlite", "postgresql"])
def settings(request: pytest.FixtureRequest) -> Settings:
    """A rugnik of its own on each kind of database."""
    chosen: Settings = request.getfixturevalue(f"{request.param}_settings")
    return chosen


@pytest.fixture
def api(settings: Settings) -> Iterator[Api]:
    """The application in this process, on each kind of database, with a key for each role."""
    with Api(create_app(settings, frozen_clock)) as opened:
        yield opened


@pytest.fixture
def sqlite_api(sqlite_settings: Settings) -> Iterator[Api]:
    """The application in this process on SQLite: for promises that have nothing to do with the database."""
    with Api(create_app(sqlite_settings, frozen_clock)) as opened:
        yield opened


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Callable[..., Server]]:
    """Start real servers, `rugnik serve` in processes of their own; they are stopped when the test ends."""
    running: list[Server] = []

    def start(settings: Settings, *, workers: int = 1, module: list[str] | None = None) -> Server:
        log = tmp_path / f"server-{len(running)}.log"
        server = running_server(settings, workers=workers, log=log, module=module)
        running.append(server)
        return server

    yield start
    for server in running:
        server.stop()


@pytest.fixture(scope="module")
def live_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    """One server for the tests of a file."""
    settings = Settings(data_dir=tmp_path_factory.mktemp("live") / "data", log_level="warning")
    with opened_live(settings, own_workers=False) as opened:
        yield opened


@pytest.fixture
def live(live_server: Live) -> Live:
    """The server, with nothing left of an earlier test that this one could notice; `city` is a name of its own."""
    live_server.gate.faults.clear()
    live_server.gate.seen.clear()
    live_server.gate.headers.clear()
    live_server.naps.clear()
    live_server.city = f"city-{next(_names)}"
    return live_server
