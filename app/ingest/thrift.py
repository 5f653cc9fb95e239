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
    return _struct(data, 0, 0)


# Each function below reads what starts at `position` and returns it with the position after it.


def _struct(data: bytes, position: int, depth: int) -> tuple[Struct, int]:
    """Fields up to the stop byte. The head of a field has the difference to the last field id, and the type.

    Numbers are decoded here as far as they take one byte: a file has a header for each page, and most of it are such.
    """
    if depth > _MAX_DEPTH:
        raise ValueError
    values: Struct = {}
    seen = set()
    field = 0
    while head := data[position]:
        position += 1
        step, kind = head >> 4, head & 15
        if step:
            field += step
        else:
            field, position = _zigzag(data, position, 16)
        if field in seen:
            raise ValueError
        seen.add(field)
        if kind in _BITS:
            number = data[position]
            if number < 0x80:
                position += 1
                values[field, kind] = (number >> 1) ^ -(number & 1)
            else:
                values[field, kind], position = _zigzag(data, position, _BITS[kind])
        elif kind in {_TRUE, _FALSE}:
            values[field, kind] = kind == _TRUE
        else:
            values[field, kind], position = _value(data, position, kind, depth)
    return values, position + 1


def _value(data: bytes, position: int, kind: int, depth: int) -> tuple[Any, int]:
    if kind == BINARY:
        length, position = _varint(data, position, 32)
        return _bytes(data, position, length)
    if kind == STRUCT:
        return _struct(data, position, depth + 1)
    if kind in _BITS:
        return _zigzag(data, position, _BITS[kind])
    if kind in {LIST, _SET}:
        return _list(data, position, depth + 1)
    if kind == _DOUBLE:
        return _bytes(data, position, 8)
    if kind in {_TRUE, _FALSE, _BYTE}:  # inside a list, a boolean takes one byte
        return data[position], position + 1
    raise ValueError  # maps do not occur in parquet.thrift


def _list(data: bytes, position: int, depth: int) -> tuple[list[Any], int]:
    if depth > _MAX_DEPTH:
        raise ValueError
    size, kind = divmod(data[position], 16)
    position += 1
    if size == 15:
        size, position = _varint(data, position, 32)
    values = []
    for _ in range(size):
        value, position = _value(data, position, kind, depth)
        values.append(value)
    return values, position


def _zigzag(data: bytes, position: int, bits: int) -> tuple[int, int]:
    number, position = _varint(data, position, bits)
    return (number >> 1) ^ -(number & 1), position


def _varint(data: bytes, position: int, bits: int) -> tuple[int, int]:
    number = shift = 0
    while True:
        byte = data[position]
        position += 1
        number |= (byte & 0x7F) << shift
        if number >> bits:
            raise ValueError
        if byte < 0x80:
            return number, position
        shift += 7


def _bytes(data: bytes, position: int, count: int) -> tuple[bytes, int]:
    end = position + count
    if end > len(data):
        raise ValueError
    return data[position:end], end
