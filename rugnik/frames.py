"""Tables in memory (pandas, polars, pyarrow) -> Arrow batches of the ordered columns, each value judged by itself.

A library chooses the type of a column by all its values: one "abc" makes a column of numbers a column of text, which
the service refuses by its type. So columns of text, of categories and of mixed objects are turned into numbers here,
by the rule that the service has for CSV: a value that is no number becomes NaN, and costs its row alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from decimal import Decimal
from numbers import Real
from typing import Any

from rugnik.errors import UnfitSource

# As in app.ingest.csv_reader; a test compares what the two make of the same texts.
_NUMBER = re.compile(r"[ \t]*+[+-]?+(?:[0-9]++(?:\.[0-9]*+)?+|\.[0-9]++)(?:[eE][+-]?+[0-9]++)?+[ \t]*+")
_NAN = float("nan")
_BATCH_ROWS = 2**16


def number(value: object) -> float:
    """The number that a value of a table is or spells; NaN for anything else, truth values included."""
    if isinstance(value, str):
        return float(value) if _NUMBER.fullmatch(value) else _NAN
    if isinstance(value, bool) or not isinstance(value, Real | Decimal):
        return _NAN
    try:
        return float(value)
    except (ArithmeticError, ValueError):  # beyond the largest double, or a Decimal that is not a number
        return _NAN


def selected(table: Any, columns: Sequence[str]) -> Any:
    """The ordered columns alone: less to send, and nothing leaves that is not used. Without an order, all columns."""
    names = getattr(table, "column_names" if hasattr(table, "column_names") else "columns", None)
    if names is None or not columns:  # a reader: see `batches`
        return table
    present = [name for name in columns if name in list(names)]
    chosen = table.select(present) if hasattr(table, "select") else table[present]
    return chosen if hasattr(chosen, "column_names") else _without_objects(chosen)


def _without_objects(frame: Any) -> Any:
    """A pandas or polars frame whose columns of Python objects are numbers; Arrow has no type for such columns."""
    unique = [name for name in frame.columns if list(frame.columns).count(name) == 1]
    mixed = {name: frame[name] for name in unique if str(frame[name].dtype).lower() == "object"}
    numbers = {name: type(column)([number(value) for value in column]) for name, column in mixed.items()}
    if not numbers:
        return frame
    if hasattr(frame, "with_columns"):
        return frame.with_columns(**numbers)
    return frame.assign(**{name: column.array for name, column in numbers.items()})  # by place, not by the index


def batches(pa: Any, table: Any, columns: Sequence[str]) -> Any:
    """A reader of record batches of at most 65,536 rows."""
    try:
        reader = pa.RecordBatchReader.from_stream(table)
    except (pa.ArrowInvalid, pa.ArrowTypeError, ValueError, TypeError):
        reader = None  # raised below, outside: what pyarrow says quotes the value it stumbled over
    if reader is None:
        raise UnfitSource("Arrow cannot hold this table: give each column a name of its own, and numbers of one type.")
    kept = [x for x, name in enumerate(reader.schema.names) if not columns or name in columns]
    judged = {x for x in kept if columns and _spelled(pa, reader.schema.field(x).type)}
    fields = [reader.schema.field(x) for x in kept]
    fields = [field.with_type(pa.float64()) if x in judged else field for x, field in zip(kept, fields, strict=True)]
    schema = pa.schema(fields)

    def parts() -> Iterator[Any]:
        for batch in reader:
            for start in range(0, batch.num_rows, _BATCH_ROWS):
                part = batch.slice(start, _BATCH_ROWS)
                values = [_numbers(pa, part.column(x)) if x in judged else part.column(x) for x in kept]
                yield pa.RecordBatch.from_arrays(values, schema=schema)

    return pa.RecordBatchReader.from_batches(schema, parts())


def _spelled(pa: Any, kind: Any) -> bool:
    """Whether values of this type may spell numbers: text, or categories of any type."""
    types = pa.types
    text = types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind)
    return bool(text or types.is_dictionary(kind))


def _numbers(pa: Any, column: Any) -> Any:
    """A column as numbers; pyarrow takes all texts at once where each of them is a number, and is faster."""
    if pa.types.is_dictionary(column.type):
        return _numbers(pa, column.dictionary).take(column.indices)
    try:
        return column.cast(pa.string()).cast(pa.float64())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        pass  # what pyarrow says quotes a value
    return pa.array([number(value) for value in column.to_pylist()], pa.float64())
