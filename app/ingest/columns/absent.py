"""Absent values: of those that no kind could read, which are missing rather than unreadable. For a curator's check."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from app.ingest.columns.arrow import as_bytes, at, distinct_of, is_text, is_view, positions_of, storage_of, texts_of
from app.ingest.columns.categories import NULLS
from app.ingest.columns.converter import Column, Converter
from app.ingest.columns.ids import MAX_ID_BYTES
from core.domain.attribute import Attribute

_NULLS = frozenset(text.encode() for text in NULLS)
_LONG = b"\0long"  # stands for an id that is too long


class AbsentConverter(Converter):
    """Converts a value to 1 if it is missing (null, empty, NaN or a spelling of "no value"), else to 0."""

    def __init__(self, attribute: Attribute) -> None:
        super().__init__(attribute)
        self.dtype = np.dtype(np.int8)
        self.unreadable = 1

    def from_text(self, text: bytes) -> int:
        """1 for a spelling of "no value"."""
        return int(text.strip(b" \t") in _NULLS)

    def from_json(self, value: object) -> Any:
        """1 for null, NaN and a string that spells "no value"."""
        if isinstance(value, str):
            return super().from_json(value)
        return int(value is None or value != value)  # noqa: PLR0124 - NaN alone differs from itself

    def reads(self, kind: pa.DataType) -> bool:
        """Any type that another converter reads."""
        del kind
        return True

    def from_values(self, column: pa.Array) -> Column:
        """1 for null and NaN."""
        missing = pc.is_null(column, nan_is_null=pa.types.is_floating(column.type))
        return np.asarray(missing.to_numpy(zero_copy_only=False)).astype(self.dtype)

    def from_binary(self, column: pa.Array) -> Column:
        """As by `from_text`, all at once."""
        texts = pc.ascii_trim(as_bytes(column).cast(pa.large_binary()).view(pa.large_string()), characters=" \t")
        spelled = pc.is_in(texts.view(pa.large_binary()), value_set=pa.array(sorted(_NULLS), pa.large_binary()))
        return np.asarray(pc.or_kleene(spelled, pc.is_null(texts)).to_numpy(zero_copy_only=False)).astype(self.dtype)


def chosen(column: Any, rows: Column) -> Any:
    """The values of a column at these rows; of views, which pyarrow cannot select, all of them."""
    if not isinstance(column, pa.Array):
        return [column[row] for row in rows.tolist()]
    column = storage_of(column)
    if is_view(column.type):
        return pa.concat_arrays([part.cast(pa.binary()) for part in texts_of(column)]).take(pa.array(rows))
    return as_bytes(column).take(pa.array(rows))


def long_ids(column: Any) -> int:
    """How many ids of a column are too long; `column` is of texts, JSON values, or an Arrow array."""
    if isinstance(column, pa.Array):
        return int(np.count_nonzero(_is_long(storage_of(column))))
    lengths = (_length(value) for value in column)
    return sum(length > MAX_ID_BYTES for length in lengths)


def _length(value: object) -> int:
    if isinstance(value, str):
        return len(value.encode("utf-8", "surrogatepass"))
    return len(value.strip(b" \t")) if isinstance(value, bytes) else 0


def _is_long(column: pa.Array) -> Column:
    if pa.types.is_dictionary(column.type):
        used, places = distinct_of(positions_of(column))
        long = _is_long(at(column.dictionary, used[used >= 0]))
        return np.concatenate([np.zeros(len(used) - len(long), dtype=np.bool_), long])[places]
    if not is_text(column.type):
        return np.zeros(len(column), dtype=np.bool_)
    parts = [pc.equal(part.cast(pa.binary()), _LONG) for part in texts_of(column, MAX_ID_BYTES, instead=_LONG)]
    return np.concatenate(
        [np.zeros(0, dtype=np.bool_), *(part.fill_null(False).to_numpy(zero_copy_only=False) for part in parts)]
    )
