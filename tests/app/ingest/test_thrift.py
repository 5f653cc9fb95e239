"""Thrift's compact protocol: read with the same result as pyarrow's, or refused."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet
import pytest

from app.ingest.thrift import I32, I64, LIST, STRUCT, decode
from tests.app.ingest.bodies import parquet_body, table


def test_the_footer_of_a_file_reads_as_pyarrow_reads_it() -> None:
    """Rows, row groups and the places of every column chunk."""
    body = parquet_body(table(50), row_group_size=20)
    length = int.from_bytes(body[-8:-4], "little")
    footer, used = decode(body[-8 - length : -8])
    metadata = pyarrow.parquet.ParquetFile(pa.BufferReader(body)).metadata
    assert used == length
    assert footer[3, I64] == metadata.num_rows
    assert len(footer[4, LIST]) == metadata.num_row_groups == 3
    for row_group, columns in enumerate(part[1, LIST] for part in footer[4, LIST]):
        for leaf, column in enumerate(chunk[3, STRUCT] for chunk in columns):
            expected = metadata.row_group(row_group).column(leaf)
            assert column[7, I64] == expected.total_compressed_size
            assert column[9, I64] == expected.data_page_offset
            assert column[11, I64] == expected.dictionary_page_offset


@pytest.mark.parametrize(
    ("data", "value"),
    [
        (b"\x15\x00\x00", {(1, I32): 0}),
        (b"\x15\x01\x00", {(1, I32): -1}),
        (b"\x15\xfe\xff\xff\xff\x0f\x00", {(1, I32): 2**31 - 1}),
        (b"\x06\x28\x01\x00", {(20, I64): -1}),
        (b"\x25\x02\x1c\x15\x04\x00\x00", {(2, I32): 1, (3, STRUCT): {(1, I32): 2}}),
        (b"\x11\x12\x00", {(1, 1): True, (2, 2): False}),
        (b"\x19\x25\x02\x04\x00", {(1, LIST): [1, 2]}),
        (b"\x18\x02ab\x13\x07\x00", {(1, 8): b"ab", (2, 3): 7}),
        (b"\x17" + bytes(8) + b"\x00", {(1, 7): bytes(8)}),
    ],
)
def test_values_are_known_by_number_and_type(data: bytes, value: object) -> None:
    """Steps and whole numbers of fields, numbers of both signs, nested values."""
    assert decode(data + b"more") == (value, len(data))


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x15",
        b"\x15\x02",
        b"\x18\x05ab\x00",
        b"\x15\x00\x05\x02\x00\x00",
        b"\x15\xff\xff\xff\xff\x1f\x00",
        b"\x16" + b"\xff" * 10 + b"\x01\x00",
        b"\x1b\x01\x55\x00\x00\x00",
        b"\x1e\x00",
        b"\x19\xf5\xff\xff\xff\xff\x0f\x00",
        b"\x1c" * 100 + b"\x00" * 101,
    ],
)
def test_what_could_be_read_in_two_ways_is_not_read(data: bytes) -> None:
    """Cut off, a field twice, a number wider than its type, an unknown type, depth without end."""
    with pytest.raises((ValueError, IndexError)):
        decode(data)
