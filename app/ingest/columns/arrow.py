"""Arrow arrays as converters need them: texts as binary, dictionaries by the entries in use, in bounded memory.

Rows of a dictionary or of a text view may share one long value. So an array is never expanded to a copy of the value
for each row: entries are converted once, and views only in parts that fit into memory.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

# A longer text is no value of any kind: UNREADABLE stands for it, which no kind can read and no category contains.
MAX_TEXT_BYTES = 4096
UNREADABLE = b"\0"
_VIEWS_AT_ONCE = 2048  # at most 8 MiB of texts
_TEXTS_AT_ONCE = 2**14  # fewer than a batch has: the table of distinct texts stays small

_types = pa.types
_BINARY = {pa.string(): pa.binary(), pa.large_string(): pa.large_binary(), pa.string_view(): pa.binary_view()}


def storage_type(kind: pa.DataType) -> pa.DataType:
    """The type that an extension type (such as a UUID) is stored as; any other type itself."""
    return kind.storage_type if isinstance(kind, pa.BaseExtensionType) else kind


def storage_of(column: pa.Array) -> pa.Array:
    """The array that holds the values of an extension array; any other array itself."""
    return column.storage if isinstance(column, pa.ExtensionArray) else column


def is_decimal(kind: pa.DataType) -> bool:
    """Whether values are decimals that pyarrow can convert.

    It looks up powers of ten in a table that ends at the largest precision of the type, and does not check the scale:
    a file that states a larger one would make it read beyond the table, which ends the process.
    """
    most = {32: 9, 64: 18, 128: 38, 256: 76}
    return bool(_types.is_decimal(kind)) and abs(kind.scale) <= most[kind.bit_width]


def is_text(kind: pa.DataType) -> bool:
    """Whether values are texts or bytes. Bytes are taken for text in UTF-8."""
    return bool(is_view(kind) or _types.is_fixed_size_binary(kind) or _is_offset_text(kind))


def is_view(kind: pa.DataType) -> bool:
    """Whether values are views into buffers, which rows may share."""
    return bool(_types.is_string_view(kind) or _types.is_binary_view(kind))


def _is_offset_text(kind: pa.DataType) -> bool:
    return bool(
        _types.is_string(kind) or _types.is_large_string(kind) or _types.is_binary(kind) or _types.is_large_binary(kind)
    )


def require_sound(column: pa.Array) -> None:
    """Raise if an array does not lie within its buffers.

    Arrow's full check also refuses a text that is not UTF-8, a date64 that is not a whole day and a decimal beyond its
    precision. Then the value of one row would refuse the whole file. So texts are checked as bytes, and those others
    for their lengths only.
    """
    column = storage_of(column)
    kind = column.type
    if _types.is_dictionary(kind):
        column.indices.validate(full=True)
        require_sound(column.dictionary)
    else:
        as_bytes(column).validate(full=not (_types.is_decimal(kind) or _types.is_temporal(kind)))


def as_bytes(column: pa.Array) -> pa.Array:
    """A column of strings as one of bytes, without a copy and whether they are UTF-8 or not; any other as it is."""
    kind = _BINARY.get(column.type)
    return column if kind is None else column.view(kind)


def positions_of(column: pa.DictionaryArray) -> NDArray[np.int64]:
    """Which entry of the dictionary each row refers to; -1 for a null and for an index that it does not have."""
    positions = pc.cast(column.indices, pa.int64(), safe=False).fill_null(-1).to_numpy()
    inside = (positions >= 0) & (positions < len(column.dictionary))
    return positions if inside.all() else np.where(inside, positions, -1)


def distinct_of(positions: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The distinct positions, and for each row the place of its position among them."""
    highest = int(positions.max(initial=-1))
    if highest >= 2 * len(positions):  # a large dictionary of which few entries are in use
        used, places = np.unique(positions, return_inverse=True)
        return used, places
    is_used = np.zeros(highest + 2, dtype=np.bool_)
    is_used[positions + 1] = True
    places = np.cumsum(is_used) - 1
    return np.flatnonzero(is_used) - 1, places[positions + 1]


def at(column: pa.Array, positions: NDArray[np.int64]) -> pa.Array:
    """The entries of a dictionary at these positions, all of them inside it and no two equal."""
    column = storage_of(column)
    if is_view(column.type):
        return _viewed(column, positions)
    return as_bytes(column).take(pa.array(positions))


def texts_of(column: pa.Array, most: int = MAX_TEXT_BYTES, instead: bytes = UNREADABLE) -> Iterator[pa.Array]:
    """The texts of a column as binary arrays of fewer rows; `instead` stands for those longer than `most` bytes."""
    if is_view(column.type):
        for start in range(0, len(column), _VIEWS_AT_ONCE):
            rows = np.arange(start, min(start + _VIEWS_AT_ONCE, len(column)))
            yield _viewed(column, rows, most, instead).cast(pa.binary())
        return
    for start in range(0, len(column), _TEXTS_AT_ONCE):
        part = column.slice(start, _TEXTS_AT_ONCE)
        texts = part.cast(pa.binary()) if _types.is_fixed_size_binary(part.type) else as_bytes(part)
        too_long = pc.greater(pc.binary_length(texts), most)
        if pc.any(too_long).as_py():
            texts = pc.if_else(too_long, pa.scalar(instead, texts.type), texts)
        yield texts


def _viewed(
    column: pa.Array, rows: NDArray[np.int64], most: int | None = None, instead: bytes = UNREADABLE
) -> pa.Array:
    """Rows of an array of views, as binary. pyarrow can neither select views nor measure them.

    A view has 16 bytes: the length of a text, and either the text itself, up to 12 bytes, or where it is.
    """
    if not len(rows):
        return pa.array([], pa.binary_view())
    _, views, *data = column.buffers()
    end = column.offset + len(column)
    chosen = np.frombuffer(views, dtype=np.int32, count=4 * end).reshape(-1, 4)[column.offset + rows]
    is_valid = column.is_valid().to_numpy(zero_copy_only=False)[rows]
    chosen[~is_valid] = 0
    if most is not None:
        short = len(instead).to_bytes(4, "little") + instead.ljust(12, b"\0")
        chosen[chosen[:, 0] > most] = np.frombuffer(short, dtype=np.int32)
    bits = pa.py_buffer(np.packbits(is_valid, bitorder="little"))
    return pa.Array.from_buffers(pa.binary_view(), len(rows), [bits, pa.py_buffer(chosen), *data])
