"""The database: an engine, transaction() for writing and read_only() for reading, on SQLite or PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from alembic.util.exc import CommandError
from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.engine import URL, make_url

import migrations
from app.errors import CannotStart

# Connections of one worker to PostgreSQL: kept, and more while many requests are at work.
POOL_SIZE = 10
POOL_OVERFLOW = 20


class Database:
    """One engine and its two kinds of transaction.

    A use case opens exactly one `transaction()` and leaves it before its reply exists: FastAPI runs the code after a
    dependency's `yield` once the reply has gone, so a commit there could fail unseen.
    """

    def __init__(self, url: str | URL) -> None:
        self.url = make_url(url)
        self.engine = _sqlite_engine(self.url) if self.is_sqlite else _postgres_engine(self.url)

    @property
    def is_sqlite(self) -> bool:
        """Whether this is the embedded database."""
        return self.url.get_backend_name() == "sqlite"

    @property
    def folder(self) -> Path | None:
        """Where the embedded database lies."""
        return Path(self.url.database or "").resolve().parent if self.is_sqlite else None

    @contextmanager
    def transaction(self) -> Iterator[Connection]:
        """All of the block, durably, or none of it. On SQLite the writer's lock is taken at once."""
        with self.engine.connect().execution_options(rugnik_writes=True) as connection, connection.begin():
            yield connection

    @contextmanager
    def read_only(self) -> Iterator[Connection]:
        """One consistent view; nothing is kept."""
        with self.engine.connect() as connection, connection.begin() as transaction:
            yield connection
            transaction.rollback()

    def migrate(self) -> None:
        """Bring the schema to this version of rugnik."""
        with self.engine.connect().execution_options(rugnik_writes=True) as connection:
            config = alembic_config()
            config.attributes["connection"] = connection
            try:
                command.upgrade(config, "head")
            except CommandError:
                raise CannotStart(
                    "The database was made by another version of rugnik; run that one, or a newer one."
                ) from None

    def pending_migrations(self) -> bool:
        """Whether the schema is not the one this version of rugnik was written for."""
        with self.engine.connect() as connection:
            heads = set(MigrationContext.configure(connection).get_current_heads())
        return heads != set(ScriptDirectory.from_config(alembic_config()).get_heads())

    def dispose(self) -> None:
        """Close every connection."""
        self.engine.dispose()


def alembic_config() -> Config:
    """Alembic, configured in code: the scripts lie in the `migrations` package, in a checkout and in a wheel."""
    config = Config()
    config.set_main_option("script_location", str(Path(migrations.__file__).parent))
    config.set_main_option("path_separator", "os")
    return config


def _sqlite_engine(url: URL) -> Engine:
    # isolation_level None: the driver begins nothing by itself, `_begin` does.
    engine = create_engine(url, connect_args={"timeout": 30, "isolation_level": None, "check_same_thread": False})

    @event.listens_for(engine, "connect")
    def _connect(connection: Any, _record: Any) -> None:
        for pragma in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON", "trusted_schema=OFF"):
            connection.execute(f"PRAGMA {pragma}")

    @event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:
        writes = connection.get_execution_options().get("rugnik_writes", False)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

    return engine


def _postgres_engine(url: URL) -> Engine:
    return create_engine(
        url,
        pool_pre_ping=True,
        pool_size=POOL_SIZE,
        max_overflow=POOL_OVERFLOW,
        connect_args={
            "connect_timeout": 10,  # seconds; a host that swallows packets would otherwise hold a request for minutes
            "options": "-c lock_timeout=30s -c statement_timeout=60s -c synchronous_commit=on",
        },
    )
