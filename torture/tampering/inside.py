"""The product's own verification, asked of what one open transaction sees: no edit is ever committed.

An attacker who can write the database's files drops its triggers and constraints first. Here that is part of the
transaction as well, so a rollback restores everything, on SQLite and on PostgreSQL.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from sqlalchemy import Connection, text

from app.ledger.replay import Replay
from app.service import Service
from app.storage.database import Database
from app.storage.tables import ledger


class Inside(Database):
    """A database of which one connection is used, with what it did not commit."""

    def __init__(self, database: Database, connection: Connection) -> None:
        self.url, self.engine = database.url, database.engine
        self._connection = connection

    @contextmanager
    def read_only(self) -> Iterator[Connection]:
        """The connection itself."""
        yield self._connection


@contextmanager
def broken_open(service: Service) -> Iterator[Connection]:
    """A transaction without triggers, keys, checks and lengths on the ledger; at its end all of it is as before."""
    with service.database.engine.connect() as connection, connection.begin() as transaction:
        if service.database.is_sqlite:
            for (name,) in connection.execute(text("SELECT name FROM sqlite_master WHERE type = 'trigger'")).all():
                connection.execute(text(f"DROP TRIGGER {name}"))
            columns = ", ".join(f"{column.name} {column.type}" for column in ledger.columns)
            connection.execute(text("ALTER TABLE ledger RENAME TO ledger_before"))
            connection.execute(text(f"CREATE TABLE ledger ({columns})"))
            connection.execute(text("INSERT INTO ledger SELECT * FROM ledger_before"))
        else:
            for table in ("ledger", "checkpoints", "cosignatures", "periods"):
                connection.execute(text(f"ALTER TABLE {table} DISABLE TRIGGER USER"))
            columns = "SELECT conname FROM pg_constraint WHERE conrelid = 'ledger'::regclass AND contype <> 'n'"
            for (name,) in connection.execute(text(columns)).all():
                connection.execute(text(f"ALTER TABLE ledger DROP CONSTRAINT {name}"))
            for column in ledger.columns:
                kind = "bigint" if column.name in {"seq", "epsilon_nano"} else "text"
                connection.execute(text(f"ALTER TABLE ledger ALTER {column.name} DROP NOT NULL"))
                connection.execute(text(f"ALTER TABLE ledger ALTER {column.name} TYPE {kind}"))
        connection.execute(text("CREATE INDEX ledger_by_number ON ledger (seq)"))
        yield connection
        transaction.rollback()


def seen_from(service: Service, connection: Connection) -> Service:
    """A service that runs since before the edits, and sees the database from inside the transaction."""
    return replace(service, database=Inside(service.database, connection))


def started_on(service: Service, connection: Connection) -> Service:
    """The same as it would start now: it has verified nothing yet."""
    inside = Inside(service.database, connection)
    return replace(service, database=inside, replay=Replay(inside))
