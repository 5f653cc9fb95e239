"""Damaged Parquet: fields of the footer, page headers, lengths, compressed pages, levels and dictionary indexes."""

from __future__ import annotations

import gzip
import io
from collections.abc import Callable, Iterator
from functools import cache

import pyarrow as pa
import pyarrow.parquet

from app.ingest.formats import MediaType
from app.ingest.thrift import BINARY, I32, LIST, Struct
from tests.app.ingest.bodies import parquet_body
from tests.app.ingest.hostile_arrow import parquet as with_schema
from tests.app.ingest.hostile_arrow import schema
from tests.app.ingest.hostile_parquet import (
    closed,
    footer_of,
    headers_of,
    numbers_of,
    replaced,
    with_header,
)
from tests.app.ingest.mixed import Layout
from torture.fuzzing.damage import CANARY, Chance, damaged, odd_number, overwrite, reordered

_BASES = 200  # files that are damaged, in so many ways of writing them
_CODECS = ["none", "none", "snappy", "gzip", "zstd", "brotli", "lz4"]
_ENCODINGS = [None, None, None, "PLAIN", "DELTA_BYTE_ARRAY", "DELTA_LENGTH_BYTE_ARRAY"]


@cache
def table_of(number: int, media_type: MediaType) -> bytes:
    """A sound file of every kind of attribute and of persons, in one of many ways of writing it."""
    chance = Chance(number)
    layout = Layout(chance, media_type)
    rows = [layout.row() for _ in range(chance.choice([0, 1, 5, 40]))]
    return layout.body(rows, [f"p{chance.randrange(9)}".encode() for _ in rows])


@cache
def _base(number: int) -> bytes:
    """The same, written by other options: each codec, each page version, with and without dictionaries."""
    chance = Chance(number)
    with io.BytesIO(table_of(number, MediaType.PARQUET)) as body:
        table: pa.Table = pyarrow.parquet.read_table(body)
    encoding = chance.choice(_ENCODINGS)
    texts = [field.name for field in table.schema if pa.types.is_binary(field.type) or pa.types.is_string(field.type)]
    options = {"column_encoding": dict.fromkeys(texts, encoding), "use_dictionary": False} if encoding and texts else {}
    return parquet_body(
        table,
        **{"use_dictionary": chance.random() < 0.5} | options,
        compression=chance.choice(_CODECS),
        data_page_version=chance.choice(["1.0", "2.0"]),
        write_page_checksum=chance.random() < 0.3,
        write_page_index=chance.random() < 0.3,
        data_page_size=chance.choice([1, 64, 2**20]),
        row_group_size=chance.choice([2, 1000]),
        store_schema=chance.random() < 0.7,
    )


def parquet(chance: Chance) -> bytes:
    """A Parquet file, damaged."""
    body = _base(chance.randrange(_BASES))
    for _ in range(chance.choice([1, 1, 1, 2, 3])):
        try:
            body = chance.choice(_DAMAGES)(body, chance)
        except (ValueError, IndexError, KeyError, OverflowError):
            break  # what was damaged before is no file any more
    return body


def _footer_number(body: bytes, chance: Chance) -> bytes:
    footer, end = footer_of(body)
    path = chance.choice(list(numbers_of(footer)))
    return closed(body[:end], replaced(footer, path, _odd(footer, path, chance)))


def _odd(struct: Struct, path: tuple[object, ...], chance: Chance) -> int:
    value: object = struct
    for step in path:
        value = value[step]  # type: ignore[index]
    return odd_number(chance, int(value))  # type: ignore[call-overload]


def _footer_field(body: bytes, chance: Chance) -> bytes:
    """A field is gone, has another type, or a list in it has other elements."""
    footer, end = footer_of(body)
    place = chance.choice(list(_structs(footer)))
    if isinstance(place, list):
        place[:] = reordered(place, chance)
        return closed(body[:end], footer)
    key = chance.choice(list(place))
    value = place.pop(key)
    if isinstance(value, bytes) and chance.random() < 0.7:
        texts = [b"", b"income", b"person", CANARY.encode(), b"a.b", b"\xff\xfe", b"x" * 70_000, b"ARROW:schema"]
        place[key] = chance.choice([*texts, damaged(value, chance)])
    elif chance.random() < 0.3:
        place[key[0] + chance.choice([1, 7]), key[1]] = value
    return closed(body[:end], dict(footer))


def _structs(value: object) -> Iterator[Struct | list[object]]:
    """Every struct and list in a struct that has something in it."""
    if isinstance(value, dict | list) and value:
        yield value
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _structs(inner)


def _header_number(body: bytes, chance: Chance) -> bytes:
    position, length, header = chance.choice(list(headers_of(body)))
    path = chance.choice(list(numbers_of(header)))
    return with_header(body, position, length, replaced(header, path, _odd(header, path, chance)))


def _header_field(body: bytes, chance: Chance) -> bytes:
    position, length, header = chance.choice(list(headers_of(body)))
    place = chance.choice([each for each in _structs(header) if isinstance(each, dict)])
    key = chance.choice(list(place))
    value = place.pop(key)
    if chance.random() < 0.5:
        place[key[0] + 1, key[1]] = value
    return with_header(body, position, length, header)


def _page(body: bytes, chance: Chance) -> bytes:
    """The content of a page, by its length: levels, dictionary indexes, lengths of texts, compressed bytes."""
    position, length, header = chance.choice(list(headers_of(body)))
    start, size = position + length, header[3, I32]
    if size <= 0:
        return body
    content = damaged(body[start : start + size], chance)[:size]
    return overwrite(body, start, content.ljust(size, b"\xff"))


def _bomb(body: bytes, chance: Chance) -> bytes:
    """A page that inflates to far more than it says, or says so; honest only where the file is compressed by gzip."""
    position, length, header = chance.choice(list(headers_of(body)))
    zeros = gzip.compress(bytes(chance.choice([2**20, 2**24])), 1, mtime=0)
    old = header[3, I32]
    header[3, I32] = len(zeros)
    if chance.random() < 0.5:
        header[2, I32] = chance.choice([2**20, 2**24, 2**31 - 1])
    moved = body[: position + length] + zeros + body[position + length + old :]
    return with_header(moved, position, length, header)


def _pages(body: bytes, chance: Chance) -> bytes:
    """Pages in another order, left out, or repeated; the footer does not know."""
    footer, end = footer_of(body)
    parts = [body[position : position + length + header[3, I32]] for position, length, header in headers_of(body)]
    return closed(body[:4] + b"".join(reordered(parts, chance))[:end], footer)


def _ends(body: bytes, chance: Chance) -> bytes:
    """The length of the footer, and the magic numbers."""
    match chance.randrange(4):
        case 0:
            return body[:-8] + (odd_number(chance, len(body)) & 2**32 - 1).to_bytes(4, "little") + b"PAR1"
        case 1:
            return body[:-4] + chance.choice([b"PARE", b"PAR2", b"ORC\0", b"ARROW1"])
        case 2:
            return body[4:] if chance.random() < 0.5 else body * 2
        case _:
            return body[: chance.choice([0, 4, 8, 12])] + body[-chance.choice([4, 8, 12]) :]


def _thrift(body: bytes, chance: Chance) -> bytes:
    """Bytes of the footer, with a length that fits."""
    _, end = footer_of(body)
    footer = damaged(body[end:-8], chance)
    return body[:end] + footer + len(footer).to_bytes(4, "little") + b"PAR1"


def _arrow_schema(body: bytes, chance: Chance) -> bytes:
    """The Arrow schema within the footer."""
    if chance.random() < 0.1:
        return with_schema(schema(fan=chance.choice([1, 9]), name_bytes=chance.choice([1, 70_000])))
    footer, end = footer_of(body)
    for pair in footer.get((5, LIST), []):
        pair[2, BINARY] = damaged(pair[2, BINARY], chance)
    return closed(body[:end], footer)


_DAMAGES: tuple[Callable[[bytes, Chance], bytes], ...] = (
    *(_footer_number, _footer_number, _footer_field, _footer_field, _header_number, _header_number, _header_field),
    *(_page, _page, _page, _bomb, _pages, _ends, _thrift, _arrow_schema, damaged),
)
