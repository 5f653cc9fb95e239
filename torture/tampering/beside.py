"""Edits of the tables beside the ledger: each column of each, rows deleted and rows doubled."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Column, MetaData, String, Table, delete, insert, select

from app.settings.settings import Settings
from app.storage.tables import metadata
from tests.support.databases.used import behind_triggers

DELETED, DOUBLED = "a row deleted", "a row doubled"
Values = dict[str, Any]
TABLES = (
    *(table for table in metadata.sorted_tables if table.name != "ledger"),
    Table("alembic_version", MetaData(), Column("version_num", String(32), primary_key=True)),
)


@dataclass(frozen=True, slots=True)
class TableEdit:
    """The rows of a table afterwards."""

    table: Table
    what: str  # the column, DELETED or DOUBLED
    about: str
    rows: Sequence[Values]


def edits(table: Table, rows: Sequence[Values], *, any_type: bool) -> Iterator[TableEdit]:
    """Each column of a row gets other values; rows are deleted, and doubled under another key."""
    for column in table.columns:
        for about, changed in _flipped(column, rows, any_type=any_type):
            yield TableEdit(table, column.name, about, changed)
    for number in range(len(rows)):
        yield TableEdit(table, DELETED, f"row {number + 1} deleted", [*rows[:number], *rows[number + 1 :]])
        more = [rows[number] | {column.name: _other(rows[number][column.name]) for column in _key(table)}]
        yield TableEdit(table, DOUBLED, f"row {number + 1} doubled", [*rows, *more])


def apply(edit: TableEdit, settings: Settings) -> None:
    """Make the table of these rows."""
    with behind_triggers(settings) as connection:
        connection.execute(delete(edit.table))
        if edit.rows:
            connection.execute(insert(edit.table), list(edit.rows))


def rows_of(table: Table, settings: Settings) -> list[Values]:
    """The rows as they are."""
    with behind_triggers(settings) as connection:
        return [dict(row) for row in connection.execute(select(table)).mappings()]


def _flipped(column: Column[Any], rows: Sequence[Values], *, any_type: bool) -> Iterator[tuple[str, list[Values]]]:
    name, first = column.name, rows[0]
    values = {"another value": _other(first[name]), "an empty one": _empty(first[name])}
    if column.nullable:
        values["none"] = None if first[name] is not None else "x" if isinstance(column.type, String) else 1
    if any_type and isinstance(first[name], str):
        values["bytes"] = first[name].encode()
    for about, value in values.items():
        if value != first[name]:
            yield f"{name}: {about}", [first | {name: value}, *rows[1:]]
    if len(rows) > 1 and not column.primary_key and rows[1][name] != first[name]:
        swapped = [first | {name: rows[1][name]}, rows[1] | {name: first[name]}, *rows[2:]]
        yield f"{name}: of two rows swapped", swapped


def _key(table: Table) -> list[Column[Any]]:
    """The columns by which rows are told apart."""
    return [column for column in table.columns if column.primary_key or column.name == "key"]


def _other(value: Any) -> Any:
    match value:
        case bool():
            return not value
        case int():
            return value + 1000
        case bytes():
            return value[:-1] + bytes([value[-1] ^ 1])
        case str():
            return value[:-1] + ("0" if not value.endswith("0") else "1")
        case _:
            return None


def _empty(value: Any) -> Any:
    return None if value is None else type(value)()
