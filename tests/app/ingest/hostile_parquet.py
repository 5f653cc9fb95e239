"""Parquet files with false metadata: real files in which one number of the metadata is replaced."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from app.ingest.thrift import BINARY, I32, I64, LIST, STRUCT, Struct, decode

_ROW_GROUPS, _COLUMNS, _META_DATA = (4, LIST), (1, LIST), (3, STRUCT)
_OFFSETS = ((9, I64), (10, I64), (11, I64))  # of the data, index and dictionary page of a column chunk
_SIZE = (7, I64)  # of a column chunk in the file

Path = tuple[Any, ...]  # the keys that lead to a number, from the outside in


def footer_of(body: bytes) -> tuple[Struct, int]:
    """The footer of a file, and where it starts."""
    start = len(body) - 8 - int.from_bytes(body[-8:-4], "little")
    return decode(body[start:-8])[0], start


def headers_of(body: bytes) -> Iterator[tuple[int, int, Struct]]:
    """Where each page header starts, its length, and what it says."""
    for column in _chunks(footer_of(body)[0]):
        position = min(column[offset] for offset in _OFFSETS if column.get(offset))
        end = position + column[_SIZE]
        while position < end:
            header, length = decode(body[position:end])
            yield position, length, header
            position += length + header[3, I32]


def with_header(body: bytes, position: int, length: int, header: Struct) -> bytes:
    """The file with another page header at a place; the footer follows what that moves."""
    footer, end = footer_of(body)
    new = encode(header)
    grown = len(new) - length
    for column in _chunks(footer):
        begins = min(column[offset] for offset in _OFFSETS if column.get(offset))
        if begins <= position < begins + column[_SIZE]:
            column[_SIZE] += grown
        for offset in _OFFSETS:
            if column.get(offset, 0) > position:
                column[offset] += grown
    return closed(body[:position] + new + body[position + length : end], footer)


def closed(pages: bytes, footer: Struct) -> bytes:
    """A file of pages and a footer."""
    encoded = encode(footer)
    return pages + encoded + len(encoded).to_bytes(4, "little") + b"PAR1"


def as_decimal(body: bytes, name: bytes, *, length: int | None = None) -> bytes:
    """The file with a column of byte arrays called one of decimals, and their fixed length changed, if one is given."""
    footer, end = footer_of(body)
    footer.pop((5, LIST))  # pyarrow's own note of the type
    for element in footer[2, LIST]:
        if element.get((4, BINARY)) == name:
            element.pop((10, STRUCT), None)  # the logical type
            changed = element | {(6, I32): 5, (7, I32): 0, (8, I32): 9}  # DECIMAL of scale 0 and nine digits
            changed |= {} if length is None else {(2, I32): length}
            element.clear()
            element.update(sorted(changed.items()))
    for column in _chunks(footer):
        column.pop((12, STRUCT), None)  # statistics, which would be a megabyte wide
    return closed(body[:end], footer)


def numbers_of(value: Any, path: Path = ()) -> Iterator[Path]:
    """The path to every number in a structure."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        if isinstance(inner, dict | list):
            yield from numbers_of(inner, (*path, key))
        elif isinstance(key, tuple) and key[1] in {I32, I64}:
            yield (*path, key)


def replaced(value: Any, path: Path, number: int) -> Any:
    """A copy of a structure with another number at the end of a path."""
    if not path:
        return number
    copy = value.copy()
    copy[path[0]] = replaced(value[path[0]], path[1:], number)
    return copy


def encode(value: Struct) -> bytes:
    """A struct in Thrift's compact protocol; the opposite of `app.ingest.thrift.decode`."""
    encoded, last = b"", 0
    for (field, kind), inner in value.items():
        step = field - last
        encoded += bytes([step << 4 | kind]) if 0 < step < 16 else bytes([kind]) + varint(field << 1)
        encoded += b"" if isinstance(inner, bool) else _encoded(inner)
        last = field
    return encoded + b"\0"


def _encoded(value: Any) -> bytes:
    if isinstance(value, dict):
        return encode(value)
    if isinstance(value, bytes):
        return varint(len(value)) + value
    if isinstance(value, list):
        kind = {dict: STRUCT, bytes: BINARY}.get(type(value[0]), I32) if value else I32
        size = bytes([len(value) << 4 | kind]) if len(value) < 15 else bytes([0xF0 | kind]) + varint(len(value))
        return size + b"".join(map(_encoded, value))
    return varint(value << 1 if value >= 0 else (-value << 1) - 1)


def varint(number: int) -> bytes:
    """A number of any size, seven bits a byte."""
    digits = b""
    while number >= 0x80:
        digits += bytes([number & 0x7F | 0x80])
        number >>= 7
    return digits + bytes([number])


def _chunks(footer: Struct) -> list[Struct]:
    return [column[_META_DATA] for group in footer[_ROW_GROUPS] for column in group[_COLUMNS]]
