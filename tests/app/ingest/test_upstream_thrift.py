"""Our reader of Thrift's compact protocol against Apache Thrift's: the same values, or none."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.ingest.thrift import BINARY, I32, I64, LIST, STRUCT, Struct, decode
from tests.app.ingest.bodies import parquet_body, table
from tests.app.ingest.hostile_parquet import headers_of
from tests.app.ingest.upstream_thrift import (
    BYTE,
    DOUBLE,
    FALSE,
    I16,
    SET,
    TRUE,
    upstream_decode,
    upstream_encode,
)


def integers(bits: int) -> st.SearchStrategy[int]:
    """Every integer of a width, its ends included."""
    return st.integers(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


PLAIN: dict[int, st.SearchStrategy[Any]] = {
    BYTE: integers(8),
    I16: integers(16),
    I32: integers(32),
    I64: integers(64),
    DOUBLE: st.floats(allow_nan=False),
    BINARY: st.binary(max_size=200),
}


def structs(values: st.SearchStrategy[tuple[int, Any]]) -> st.SearchStrategy[Struct]:
    """Structs of some values, in any order of their fields' numbers, which a writer may choose."""
    fields = st.lists(st.tuples(integers(16), values), max_size=8, unique_by=lambda pair: pair[0])
    return fields.map(lambda pairs: {(field, kind): value for field, (kind, value) in pairs})


def lists_of(kind: int, items: st.SearchStrategy[Any]) -> st.SearchStrategy[tuple[int, Any]]:
    """Lists and sets of one kind of item, of a length with and without a varint of its own."""
    return st.tuples(st.sampled_from([LIST, SET]), st.tuples(st.just(kind), st.lists(items, max_size=20)))


def values(inner: st.SearchStrategy[tuple[int, Any]]) -> st.SearchStrategy[tuple[int, Any]]:
    """Structs of values, and lists of such structs."""
    return structs(inner).map(lambda value: (STRUCT, value)) | lists_of(STRUCT, structs(inner))


LEAVES = st.one_of(
    st.booleans().map(lambda truth: (TRUE if truth else FALSE, truth)),
    *(st.tuples(st.just(kind), strategy) for kind, strategy in PLAIN.items()),
    *(lists_of(kind, strategy) for kind, strategy in PLAIN.items()),
    lists_of(TRUE, st.booleans()),
)


def as_read(kind: int, value: Any) -> Any:
    """What a reader gives for a value that was written."""
    if kind == STRUCT:
        return {key: as_read(key[1], inner) for key, inner in value.items()}
    if kind in {LIST, SET}:
        item, items = value
        return [(1 if inner else 2) if item == TRUE else as_read(item, inner) for inner in items]
    if kind == BYTE:
        return value % 256
    return struct.pack("<d", value) if kind == DOUBLE else value


@settings(max_examples=25)  # drawing such a struct takes long, reading it does not
@given(structs(st.recursive(LEAVES, values, max_leaves=4)))
def test_what_upstream_writes_is_read(value: Struct) -> None:
    """Every kind but maps, nested; the length too, with other bytes behind it."""
    data = upstream_encode(value)
    assert decode(data + b"more") == (as_read(STRUCT, value), len(data)) == upstream_decode(data)


FILES = {
    "plain": parquet_body(table(50), use_dictionary=False, compression="none"),
    "dictionaries": parquet_body(table(50), row_group_size=20),
    "second data page": parquet_body(table(50), data_page_version="2.0", compression="zstd"),
    "checksums and index": parquet_body(table(50), write_page_checksum=True, write_page_index=True),
    "nested": parquet_body(pa.table({"x": [[1, 2], None, []], "y": [{"a": 1}, {"a": None}, None]})),
}


def metadata_of(body: bytes) -> list[bytes]:
    """The footer of a file, and the header of each of its pages."""
    footer = body[len(body) - 8 - int.from_bytes(body[-8:-4], "little") : -8]
    return [footer, *(body[start : start + length] for start, length, _ in headers_of(body))]


@pytest.mark.parametrize("name", FILES)
def test_the_metadata_of_files_reads_as_upstream_reads_it(name: str) -> None:
    """Footers and page headers that pyarrow wrote, with every option that changes them."""
    parts = metadata_of(FILES[name])
    assert len(parts) > 2
    for part in parts:
        assert decode(part) == upstream_decode(part) == (upstream_decode(part)[0], len(part))


PARTS = [part for body in FILES.values() for part in metadata_of(body)]


@given(st.data())
def test_damaged_metadata_is_read_as_upstream_reads_it_or_refused(data: st.DataObject) -> None:
    """No file reads differently here and there. Refusing what upstream reads is allowed: ours takes no risks."""
    part = bytearray(data.draw(st.sampled_from(PARTS)))
    for _ in range(data.draw(st.integers(1, 4))):
        part[data.draw(st.integers(0, len(part) - 1))] = data.draw(st.integers(0, 255))
    ours, theirs = attempted(decode, bytes(part)), attempted(upstream_decode, bytes(part))
    assert ours is None or theirs is None or ours == theirs


def attempted(read: Callable[[bytes], tuple[Struct, int]], data: bytes) -> tuple[Struct, int] | None:
    """What a reader reads; None for what it refuses, by an exception of any class."""
    try:
        return read(data)
    except Exception:
        return None
