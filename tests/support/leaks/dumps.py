"""Everything that a database holds, as an intruder with a copy of it would read it."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from sqlalchemy import Connection, MetaData, inspect

from app.storage.database import Database


def tables(database: Database) -> dict[str, list[dict[str, Any]]]:
    """Every row of every table, those of migrations included, read off the database and not off our own schema."""
    with database.engine.connect() as tx:
        schema = MetaData()
        schema.reflect(tx)
        return {
            table.name: [dict(row) for row in tx.execute(table.select()).mappings()] for table in schema.sorted_tables
        }


def contents(database: Database) -> bytes:
    """Every value of every row as bytes, one after the other; what is compressed is inflated as well."""
    return b"\n".join(_values(tables(database)))


def _values(rows_by_table: dict[str, list[dict[str, Any]]]) -> Iterator[bytes]:
    for rows in rows_by_table.values():
        for row in rows:
            for value in row.values():
                if isinstance(value, bytes | memoryview):
                    body = bytes(value)
                    yield body
                    with suppress(zlib.error):
                        yield zlib.decompress(body)
                else:
                    yield str(value).encode()


def constraint_names(tx: Connection) -> dict[str, list[str | None]]:
    """The names of all constraints, table by table; None for one that nobody named."""
    inspector = inspect(tx)
    names_by_table: dict[str, list[str | None]] = {}
    for table in inspector.get_table_names():
        named = [
            inspector.get_pk_constraint(table),
            *inspector.get_foreign_keys(table),
            *inspector.get_unique_constraints(table),
            *inspector.get_check_constraints(table),
        ]
        names_by_table[table] = [constraint["name"] for constraint in named]
    return names_by_table
