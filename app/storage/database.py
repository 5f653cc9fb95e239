"""Database: an SQLAlchemy engine for SQLite or PostgreSQL, with transaction() to write and read_only() to read."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from alembic.util.exc import CommandError
from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import OperationalError
from sqlalchemy.exc import TimeoutError as WaitedTooLong

import migrations
from app.errors import CannotStart
from app.storage.turns import Turns

# Connections of one worker to PostgreSQL: so many are kept open, and so many more under load.
POOL_SIZE = 10
POOL_OVERFLOW = 20
# SQLite connections are cheap (one or two files). There are more of them than request threads, so none has to wait.
_SQLITE_OVERFLOW = 40
# Seconds that a request waits for a connection, and then for a lock, before it is answered with 503. For comparison:
# sixty-four simultaneous orders take about two seconds on two busy cores.
WAIT_SECONDS = 5
_RETRY_SECONDS = 0.002  # between two attempts to get SQLite's write lock


class Database:
    """An engine and its two kinds of transaction.

    A use case opens exactly one `transaction()` and closes it before the response exists. The reason: FastAPI runs the
    code after the `yield` of a dependency when the response has been sent, so a commit there could fail unnoticed.
    """

    def __init__(self, url: str | URL) -> None:
        self.url = make_url(url)
        self.engine = _sqlite_engine(self.url) if self.is_sqlite else _postgres_engine(self.url)
        self._writers = Turns()

    @property
    def is_sqlite(self) -> bool:
        """Whether this is SQLite, the embedded database."""
        return self.url.get_backend_name() == "sqlite"

    @property
    def folder(self) -> Path | None:
        """The folder of the SQLite file; None on PostgreSQL."""
        return Path(self.url.database or "").resolve().parent if self.is_sqlite else None

    @contextmanager
    def transaction(self) -> Iterator[Connection]:
        """Commit the whole block durably, or nothing if it raises. On SQLite the write lock is taken at the start."""
        with (
            self._turn(),
            self.engine.connect().execution_options(rugnik_writes=True) as connection,
            connection.begin(),
        ):
            yield connection

    @contextmanager
    def _turn(self) -> Iterator[None]:
        """On SQLite, let the writers of this process in first come, first served; SQLite itself keeps no order."""
        if not self.is_sqlite:
            yield
            return
        with ExitStack() as stack:
            try:
                stack.enter_context(self._writers.taken(WAIT_SECONDS))
            except TimeoutError:
                raise WaitedTooLong("The writers before this one took too long.") from None
            yield

    @contextmanager
    def read_only(self) -> Iterator[Connection]:
        """A consistent snapshot for reading; rolled back at the end."""
        with self.engine.connect() as connection, connection.begin() as transaction:
            yield connection
            transaction.rollback()

    @contextmanager
    def snapshot(self) -> Iterator[Connection]:
        """The same for many statements: on PostgreSQL, too, all of them see one moment."""
        level = {} if self.is_sqlite else {"isolation_level": "REPEATABLE READ"}
        with self.engine.connect().execution_options(**level) as connection, connection.begin() as transaction:
            yield connection
            transaction.rollback()

    def migrate(self) -> None:
        """Migrate the schema to this version of rugnik; CannotStart if the database belongs to another version."""
        with self.engine.connect().execution_options(rugnik_writes=True) as connection:
            config = alembic_config()
            config.attributes["connection"] = connection
            try:
                command.upgrade(config, "head")
            except (AssertionError, CommandError):  # the former for a version that is an empty text
                raise CannotStart(
                    "The database was made by another version of rugnik; run that one, or a newer one."
                ) from None

    def pending_migrations(self) -> bool:
        """Whether the schema differs from the one of this version of rugnik."""
        with self.engine.connect() as connection:
            heads = set(MigrationContext.configure(connection).get_current_heads())
        return heads != set(ScriptDirectory.from_config(alembic_config()).get_heads())

    def dispose(self) -> None:
        """Close every connection."""
        self.engine.dispose()


@contextmanager
def closing_all(*databases: Database) -> Iterator[None]:
    """Close the connections of these databases at the end, also after an error: for commands."""
    try:
        yield
    finally:
        for database in databases:
            database.dispose()


def alembic_config() -> Config:
    """Configuration of Alembic; the scripts are in the package `migrations`, both in a checkout and in a wheel."""
    config = Config()
    config.set_main_option("script_location", str(Path(migrations.__file__).parent))
    config.set_main_option("path_separator", "os")
    return config


def _sqlite_engine(url: URL) -> Engine:
    # isolation_level None: the driver starts no transactions; `_begin` does.
    engine = create_engine(
        url,
        pool_size=POOL_SIZE,
        max_overflow=_SQLITE_OVERFLOW,
        pool_timeout=WAIT_SECONDS,
        connect_args={"timeout": WAIT_SECONDS, "isolation_level": None, "check_same_thread": False},
    )

    @event.listens_for(engine, "connect")
    def _connect(connection: Any, _record: Any) -> None:
        # Where two processes make a new database a WAL one at the same time, SQLite refuses one of them at once.
        _when_unlocked(lambda: connection.execute("PRAGMA journal_mode=WAL"), sqlite3.OperationalError)
        for pragma in ("synchronous=FULL", "foreign_keys=ON", "trusted_schema=OFF"):
            connection.execute(f"PRAGMA {pragma}")

    @event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:
        writes = connection.get_execution_options().get("rugnik_writes", False)
        if writes:
            _begin_writing(connection)
        else:
            connection.exec_driver_sql("BEGIN")

    return engine


def _begin_writing(connection: Connection) -> None:
    """Take the write lock of SQLite, polling every few milliseconds.

    The busy handler of SQLite polls about ten times a second, so that some worker processes would starve.
    """
    connection.exec_driver_sql("PRAGMA busy_timeout = 0")
    try:
        _when_unlocked(lambda: connection.exec_driver_sql("BEGIN IMMEDIATE"), OperationalError)
    finally:
        connection.exec_driver_sql(f"PRAGMA busy_timeout = {1000 * WAIT_SECONDS}")


def _when_unlocked(step: Callable[[], object], locked: type[Exception]) -> None:
    """Try a step again every few milliseconds while it raises `locked`, for WAIT_SECONDS."""
    deadline = time.monotonic() + WAIT_SECONDS
    while True:
        try:
            step()
        except locked:
            if time.monotonic() > deadline:
                raise
            time.sleep(_RETRY_SECONDS)
        else:
            return


def _postgres_engine(url: URL) -> Engine:
    return create_engine(
        url,
        pool_pre_ping=True,
        isolation_level="READ COMMITTED",  # whatever the default of the server is
        pool_size=POOL_SIZE,
        max_overflow=POOL_OVERFLOW,
        pool_timeout=WAIT_SECONDS,
        connect_args={
            "connect_timeout": 10,  # seconds; a host that drops packets would otherwise block a request for minutes
            "options": f"-c lock_timeout={WAIT_SECONDS}s -c statement_timeout=60s -c synchronous_commit=on",
        },
    )
