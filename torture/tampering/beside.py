"""Edits of the tables beside the ledger: each column of each, rows deleted and rows doubled."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Column, MetaData, String, Table, delete, insert, select
from sqlalchemy import column as untyped_column
from sqlalchemy import table as untyped_table

from app.settings.settings import Settings
from app.storage.tables import metadata
from tests.support.databases.used import behind_triggers

DELETED, DOUBLED, RETYPED = "a row deleted", "a row doubled", "a value of another type"
Values = dict[str, Any]
_OF_THE_LOG = {"checkpoints", "cosignatures", "log", "periods"}
TABLES = (
    *(table for table in metadata.sorted_tables if table.name != "ledger"),
    Table("alembic_version", MetaData(), Column("version_num", String(32), primary_key=True)),
)


@dataclass(frozen=True, slots=True)
class TableEdit:
    """The rows of a table afterwards."""

    table: Table
    what: str  # the column, DELETED, DOUBLED or RETYPED
    about: str
    rows: Sequence[Values]


def edits(table: Table, rows: Sequence[Values], *, any_type: bool) -> Iterator[TableEdit]:
    """Each column of a row gets other values; rows are deleted, and doubled under another key.

    `any_type`: the database keeps any type in any column, as SQLite does.
    """
    for column in table.columns:
        for about, changed in _flipped(column, rows, any_type=any_type):
            yield TableEdit(table, column.name, about, changed)
        if any_type and table.name in _OF_THE_LOG and not _is_row_number(column):
            for about, changed in _retyped(column, rows):
                yield TableEdit(table, RETYPED, about, changed)
    for number in range(len(rows)):
        yield TableEdit(table, DELETED, f"row {number + 1} deleted", [*rows[:number], *rows[number + 1 :]])
        more = [rows[number] | {column.name: _other(rows[number][column.name]) for column in _key(table)}]
        yield TableEdit(table, DOUBLED, f"row {number + 1} doubled", [*rows, *more])


def apply(edit: TableEdit, settings: Settings) -> None:
    """Make the table of these rows."""
    with behind_triggers(settings) as connection:
        connection.execute(delete(edit.table))
        if edit.rows:
            columns: list[Any] = [untyped_column(column.name) for column in edit.table.columns]
            connection.execute(insert(untyped_table(edit.table.name, *columns)), list(edit.rows))


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


def _retyped(column: Column[Any], rows: Sequence[Values]) -> Iterator[tuple[str, list[Values]]]:
    """Text, bytes, none of them and a fraction in place of a number; bytes in place of a text."""
    others = [b"x", b""] if isinstance(rows[-1][column.name], str) else ["x", b"x", b"", 2.5]
    for other in others:
        yield f"{column.name}: {other!r} in the last row", [*rows[:-1], rows[-1] | {column.name: other}]


def _is_row_number(column: Column[Any]) -> bool:
    """Whether SQLite takes nothing but whole numbers: the only key of a table, where that is one."""
    return column.primary_key and len(column.table.primary_key) == 1 and not isinstance(column.type, String)


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
