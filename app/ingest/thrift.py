"""Minimal reader of Thrift's compact protocol: the part that the metadata of Parquet uses.

pyarrow can read this metadata too, but some of its accessors abort the process on a damaged footer: a C++ exception
passes through a function that is not declared to throw (seen with pyarrow 26 in `RowGroupMetaData.column`). So this
module reads what is needed of the footer before pyarrow reads the columns.

A hostile file must not have two meanings, one here and another in pyarrow. So ambiguous input is refused: a field that
occurs twice, a number wider than its type. Malformed input raises some exception (ValueError, IndexError, …); callers
wrap calls in `errors.attempt`.
"""

from __future__ import annotations

from typing import Any

_TRUE, _FALSE, _BYTE, _I16, I32, I64, _DOUBLE, BINARY, LIST, _SET, _MAP, STRUCT = range(1, 13)
_BITS = {_I16: 16, I32: 32, I64: 64}
_MAX_DEPTH = 16

# (field id, type) -> value. A field with another type than expected is therefore missing.
Struct = dict[tuple[int, int], Any]


def decode(data: bytes) -> tuple[Struct, int]:
    """The struct at the start of `data`, and its length in bytes."""
    reader = _Reader(data)
    return reader.struct(0), reader.position


class _Reader:
    """A cursor over `data`."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self.position = 0

    def struct(self, depth: int) -> Struct:
        """Fields up to the stop byte. The head of a field has the difference to the last field id, and the type.

        A number of one byte, the most frequent value by far, is decoded here: a file has a header for each page.
        """
        if depth > _MAX_DEPTH:
            raise ValueError
        values: Struct = {}
        seen = set()
        field = 0
        data = self._data
        while head := data[self.position]:
            self.position += 1
            step, kind = head >> 4, head & 15
            field = field + step if step else self._zigzag(16)
            if field in seen:
                raise ValueError
            seen.add(field)
            if kind in _BITS:
                number = data[self.position]
                if number < 0x80:
                    self.position += 1
                    values[field, kind] = (number >> 1) ^ -(number & 1)
                else:
                    values[field, kind] = self._zigzag(_BITS[kind])
            else:
                values[field, kind] = kind == _TRUE if kind in {_TRUE, _FALSE} else self._value(kind, depth)
        self.position += 1
        return values

    def _value(self, kind: int, depth: int) -> Any:
        if kind in _BITS:
            return self._zigzag(_BITS[kind])
        if kind == STRUCT:
            return self.struct(depth + 1)
        if kind in {LIST, _SET}:
            return self._list(depth + 1)
        if kind == BINARY:
            return self._bytes(self._varint(32))
        if kind == _DOUBLE:
            return self._bytes(8)
        if kind in {_TRUE, _FALSE, _BYTE}:  # inside a list, a boolean takes one byte
            return self._byte()
        raise ValueError  # maps do not occur in parquet.thrift

    def _list(self, depth: int) -> list[Any]:
        if depth > _MAX_DEPTH:
            raise ValueError
        size, kind = divmod(self._byte(), 16)
        size = self._varint(32) if size == 15 else size
        return [self._value(kind, depth) for _ in range(size)]

    def _zigzag(self, bits: int) -> int:
        number = self._varint(bits)
        return (number >> 1) ^ -(number & 1)

    def _varint(self, bits: int) -> int:
        data, position = self._data, self.position
        number = shift = 0
        while True:
            byte = data[position]
            position += 1
            number |= (byte & 0x7F) << shift
            if number >> bits:
                raise ValueError
            if byte < 0x80:
                self.position = position
                return number
            shift += 7

    def _bytes(self, count: int) -> bytes:
        start = self.position
        self.position += count
        if self.position > len(self._data):
            raise ValueError
        return self._data[start : self.position]

    def _byte(self) -> int:
        value = self._data[self.position]
        self.position += 1
        return value
