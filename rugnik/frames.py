"""Tables in memory (pandas, polars, pyarrow) -> Arrow batches of the ordered columns, each value judged by itself.

A library chooses the type of a column by all its values: one "abc" makes a column of numbers a column of text. The
service judges each text by itself, so columns of text and of categories are sent as they are. Arrow has no type for a
column of mixed Python objects: such a column is sent as text, value by value.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date, datetime
from decimal import Decimal
from numbers import Integral, Real
from typing import Any

from rugnik.errors import UnfitSource

_BATCH_ROWS = 2**16


def text(value: object) -> str | None:
    """A value of a table as text that the service reads as the same value; None for what has no such text."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, date | datetime):
        return value.isoformat()
    if isinstance(value, Integral):
        return str(int(value))
    if isinstance(value, Decimal):
        return str(value)
    return repr(float(value)) if isinstance(value, Real) else None


def selected(table: Any, columns: Sequence[str]) -> Any:
    """The ordered columns alone: less to send, and nothing leaves that is not used. Without an order, all columns."""
    names = getattr(table, "column_names" if hasattr(table, "column_names") else "columns", None)
    if names is None or not columns:  # a reader: see `batches`
        return table
    present = [name for name in columns if name in list(names)]
    chosen = table.select(present) if hasattr(table, "select") else table[present]
    return chosen if hasattr(chosen, "column_names") else _without_objects(chosen)


def _without_objects(frame: Any) -> Any:
    """A pandas or polars frame whose columns of Python objects are text; Arrow has no type for such columns."""
    unique = [name for name in frame.columns if list(frame.columns).count(name) == 1]
    mixed = {name: frame[name] for name in unique if str(frame[name].dtype).lower() == "object"}
    texts = {name: type(column)([text(value) for value in column]) for name, column in mixed.items()}
    if not texts:
        return frame
    if hasattr(frame, "with_columns"):
        return frame.with_columns(**texts)
    return frame.assign(**{name: column.array for name, column in texts.items()})  # by place, not by the index


def batches(pa: Any, table: Any, columns: Sequence[str]) -> Any:
    """A reader of record batches of at most 65,536 rows."""
    try:
        reader = pa.RecordBatchReader.from_stream(table)
    except (pa.ArrowInvalid, pa.ArrowTypeError, ValueError, TypeError):
        reader = None  # raised below, outside: what pyarrow says quotes the value it stumbled over
    if reader is None:
        raise UnfitSource("Arrow cannot hold this table: give each column a name of its own, and values of one type.")
    kept = [x for x, name in enumerate(reader.schema.names) if not columns or name in columns]
    schema = pa.schema([_field(pa, reader.schema.field(x)) for x in kept])

    def parts() -> Iterator[Any]:
        for batch in reader:
            for start in range(0, batch.num_rows, _BATCH_ROWS):
                part = batch.slice(start, _BATCH_ROWS)
                values = [part.column(x) for x in kept]
                sent = [
                    column if column.type == field.type else column.dictionary.cast(field.type).take(column.indices)
                    for column, field in zip(values, schema, strict=True)
                ]
                yield pa.RecordBatch.from_arrays(sent, schema=schema)

    return pa.RecordBatchReader.from_batches(schema, parts())


def _field(pa: Any, field: Any) -> Any:
    """As it is sent: categories by their values, so that a batch is whole by itself."""
    if not pa.types.is_dictionary(field.type):
        return field
    kind, types = field.type.value_type, pa.types
    is_text = types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind)
    return field.with_type(pa.large_string() if is_text else kind)
