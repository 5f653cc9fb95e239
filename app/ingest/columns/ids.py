"""Ids of persons: exact bytes, null where a row has none. Rows with equal bytes are rows of the same person."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from app.ingest.columns.arrow import at, distinct_of, is_text, positions_of, storage_of, storage_type, texts_of

MAX_ID_BYTES = 256
_LARGEST_WHOLE = 2**53  # beyond it a double does not tell whole numbers apart


def from_texts(texts: Iterable[bytes]) -> pa.Array:
    """Ids of CSV fields: their bytes without spaces and tabs around them."""
    return cleaned(pa.array([text.strip(b" \t") for text in texts], pa.binary()))


def from_binary(column: pa.Array) -> pa.Array:
    """The same for an array of fields."""
    return cleaned(pc.ascii_trim(column.view(pa.string()), characters=" \t").view(pa.binary()))


def from_jsons(values: Iterable[object]) -> pa.Array:
    """Ids of JSON values: strings as UTF-8, whole numbers as decimal text."""
    return cleaned(pa.array(map(_from_json, values), pa.binary()))


def _from_json(value: object) -> bytes | None:
    if isinstance(value, str):
        return value.encode("utf-8", "surrogatepass")
    if isinstance(value, float) and value.is_integer() and abs(value) <= _LARGEST_WHOLE:
        return b"%d" % int(value)
    return b"%d" % value if isinstance(value, int) and not isinstance(value, bool) else None


def suits(kind: pa.DataType) -> bool:
    """Whether arrays of this type can hold ids: texts, bytes, numbers; null, where no row has one."""
    types = pa.types
    kind = storage_type(kind)
    if types.is_dictionary(kind):
        kind = storage_type(kind.value_type)
    is_number = types.is_integer(kind) or types.is_floating(kind) or (types.is_decimal(kind) and kind.scale == 0)
    return bool(types.is_null(kind) or is_text(kind) or is_number)


def from_arrow(column: pa.Array) -> pa.Array:
    """Ids of an array whose type suits: texts as their bytes, whole numbers as decimal text."""
    types = pa.types
    column = storage_of(column)
    if types.is_dictionary(column.type):
        return _from_dictionary(column)
    if types.is_null(column.type):
        return pa.nulls(len(column), pa.binary())
    if is_text(column.type):
        parts = [cleaned(part) for part in texts_of(column, MAX_ID_BYTES, instead=b"")]
        return pa.concat_arrays(parts) if parts else pa.array([], pa.binary())
    if types.is_floating(column.type):
        column = _whole(column)
    return cleaned(column.cast(pa.string()).view(pa.binary()))


def _from_dictionary(column: pa.DictionaryArray) -> pa.Array:
    """The id of each entry that a row refers to, copied for each row: at most MAX_ID_BYTES of them."""
    used, places = distinct_of(positions_of(column))
    ids = from_arrow(at(column.dictionary, used[used >= 0]))
    if len(used) and used[0] < 0:
        ids = pa.concat_arrays([pa.nulls(1, pa.binary()), ids])
    return ids.take(pa.array(places))


def _whole(column: pa.Array) -> pa.Array:
    """Floating numbers as integers; null for one that is not whole, or too large to be told from its neighbours."""
    values = pc.cast(column, pa.float64()).fill_null(np.nan).to_numpy()
    with np.errstate(invalid="ignore"):
        is_whole = (np.floor(values) == values) & (np.abs(values) <= _LARGEST_WHOLE)
    return pa.array(np.where(is_whole, values, 0).astype(np.int64), mask=~is_whole)


def cleaned(ids: pa.Array) -> pa.Array:
    """Ids as an array of binary; null for one that is empty or longer than MAX_ID_BYTES."""
    lengths = pc.binary_length(ids)
    is_id = pc.and_(pc.greater(lengths, 0), pc.less_equal(lengths, MAX_ID_BYTES))
    if not pc.all(is_id, skip_nulls=False).as_py():
        ids = pc.if_else(is_id, ids, pa.scalar(None, ids.type))
    return ids.cast(pa.binary())
