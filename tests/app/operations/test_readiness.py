"""/readyz tells what is wrong within seconds, and a database that is locked or used up refuses instead of hanging."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

import psycopg
import pytest
from httpx import Response
from sqlalchemy.pool import QueuePool

from app.main import create_app
from app.settings.settings import Settings
from app.storage.database import Database
from tests.support.service.api import Api, frozen_clock

SECONDS = 20  # a safety net: the waits are a few seconds long, and were 30 and more
THREADS = 40  # requests that AnyIO runs at once in threads


@contextmanager
def locked(database: Database) -> Iterator[None]:
    """Somebody else holds what an order needs: SQLite's writer's lock, or every table of PostgreSQL."""
    if database.is_sqlite:
        with closing(sqlite3.connect(database.url.database or "", isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            yield
        return
    url = database.url.render_as_string(hide_password=False).replace("+psycopg", "")
    with psycopg.connect(url) as server:
        server.execute("LOCK TABLE datasets, ledger, ledger_lock IN ACCESS EXCLUSIVE MODE")
        yield


def assert_unavailable(reply: Response) -> None:
    assert (reply.status_code, reply.json()["type"]) == (503, "urn:rugnik:problem:database-unavailable")
    assert int(reply.headers["retry-after"]) >= 1
    assert reply.json()["detail"].startswith("Try again.")


def test_a_locked_database_refuses_within_seconds(api: Api) -> None:
    """503 with Retry-After on each kind of database; nothing is charged, and afterwards all is well."""
    assert api.register().status_code == 201
    with locked(api.service.database):
        started = time.monotonic()
        reply = api.order()
        elapsed = time.monotonic() - started
    assert_unavailable(reply)
    assert elapsed < SECONDS
    assert api.budget()["spent"] == "0"
    assert api.order().status_code == 201


def test_readiness_is_told_while_every_thread_waits_for_a_lock(postgresql_settings: Settings) -> None:
    """More requests wait than there are threads and connections: /readyz does not queue behind them."""
    with Api(create_app(postgresql_settings, frozen_clock)) as api:
        assert api.call(None, "GET", "/readyz").status_code == 200
        with locked(api.service.database), ThreadPoolExecutor(THREADS + 8) as pool:
            waiting = [pool.submit(api.curator, "GET", "/v1/datasets") for _ in range(THREADS + 8)]
            started = time.monotonic()
            reply = api.call(None, "GET", "/readyz")
            elapsed = time.monotonic() - started
            assert {request.result().status_code for request in waiting} == {503}
        assert (reply.status_code, reply.json()["type"]) == (503, "urn:rugnik:problem:not-ready")
        assert elapsed < SECONDS
        assert api.call(None, "GET", "/readyz").status_code == 200


def test_readiness_notices_that_every_connection_is_in_use(api: Api) -> None:
    """503 from /readyz, and from whatever needs the database; both recover when connections come back."""
    engine = api.service.database.engine
    assert isinstance(engine.pool, QueuePool)
    with ExitStack() as stack, ThreadPoolExecutor(2) as pool:
        for _ in range(engine.pool.size() + engine.pool._max_overflow):
            stack.enter_context(engine.connect())
        started = time.monotonic()
        both = pool.submit(api.call, None, "GET", "/readyz"), pool.submit(api.curator, "GET", "/v1/datasets")
        ready, listed = (request.result() for request in both)
        elapsed = time.monotonic() - started
    assert (ready.status_code, ready.json()["type"]) == (503, "urn:rugnik:problem:not-ready")
    assert "connection" in ready.json()["detail"]
    assert_unavailable(listed)
    assert elapsed < SECONDS
    assert api.call(None, "GET", "/readyz").status_code == 200
    assert api.curator("GET", "/v1/datasets").status_code == 200


FOLDERS = {"RUGNIK_DATA_DIR": "data", "RUGNIK_WITNESS": "witness", "RUGNIK_SPOOL_DIR": "spool"}


@pytest.mark.parametrize("setting", FOLDERS)
def test_readiness_notices_a_folder_that_cannot_be_written(setting: str, tmp_path: Path) -> None:
    """A file stands where the folder was: 503 names the setting and not the path; the folder back, 200."""
    folder = tmp_path / FOLDERS[setting]
    (tmp_path / "spool").mkdir()
    settings = Settings(
        data_dir=tmp_path / "data",
        witness=tmp_path / "witness" / "head",
        spool_dir=tmp_path / "spool",
        log_level="error",
    )
    with Api(create_app(settings, frozen_clock)) as api:
        assert api.call(None, "GET", "/readyz").status_code == 200
        folder.rename(tmp_path / "aside")
        folder.write_text("")
        reply = api.call(None, "GET", "/readyz")
        folder.unlink()
        (tmp_path / "aside").rename(folder)
        assert (reply.status_code, reply.json()["type"]) == (503, "urn:rugnik:problem:not-ready")
        assert setting in reply.json()["detail"]
        assert str(tmp_path) not in reply.text
        assert api.call(None, "GET", "/readyz").status_code == 200
