"""Parquet: read from the sealed spool, page by page, and measured first."""

from __future__ import annotations

import io
import itertools
import os
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from app.ingest import pages, parquet_reader
from app.ingest.errors import AmbiguousColumns, Cap, MissingColumns, SpoolFailure, UnreadableFile, UploadTooLarge
from app.ingest.formats import MediaType
from app.ingest.limits import MIB, Limits
from app.ingest.spool import SealedSpool
from tests.app.ingest.bodies import DOMAIN, LIMITS, cut, parquet_body, read, table

PARQUET = MediaType.PARQUET


def varint(number: int) -> bytes:
    """A positive i32 as Thrift's compact protocol writes it."""
    number, digits = number << 1, b""
    while number >= 0x80:
        digits += bytes([number & 0x7F | 0x80])
        number >>= 7
    return digits + bytes([number])


@pytest.mark.parametrize(
    ("compression", "version", "dictionary"),
    list(itertools.product(["none", "snappy", "gzip", "zstd", "lz4", "brotli"], ["1.0", "2.0"], [True, False])),
)
def test_every_row_of_every_row_group_is_read(compression: str, version: str, dictionary: bool) -> None:
    """In every compression, page version and encoding, however the body is cut into chunks."""
    rows = table(3_000)
    body = parquet_body(
        rows,
        compression=compression,
        data_page_version=version,
        use_dictionary=dictionary,
        row_group_size=700,
        data_page_size=512,
    )
    expected = np.column_stack([rows[name].to_numpy() for name in DOMAIN.names])
    np.testing.assert_array_equal(read(cut(body, 997), PARQUET).values, expected)


def test_a_file_without_rows_is_read() -> None:
    """With an empty row group, or with none."""
    empty = table().slice(0, 0)
    assert len(read(parquet_body(empty), PARQUET).values) == 0
    sink = io.BytesIO()
    pyarrow.parquet.ParquetWriter(sink, empty.schema).close()
    assert len(read(sink.getvalue(), PARQUET).values) == 0


def test_every_truncation_is_unreadable() -> None:
    """From nothing to the last byte missing; the footer comes last."""
    body = parquet_body(table())
    for end in range(0, len(body), 37):
        with pytest.raises(UnreadableFile):
            read(body[:end], PARQUET)


@pytest.mark.parametrize("body", [b"x,y\n1,2\n", b"PAR1", b"PAR1PAR1", b"\0\0\0\0PAR1", b"PAR1\xff\0\0\0PAR1"])
def test_what_is_no_parquet_file_is_unreadable(body: bytes) -> None:
    """Whatever it says of itself."""
    with pytest.raises(UnreadableFile):
        read(body, PARQUET)


def test_columns_must_be_there_once() -> None:
    """By the names of the attributes; a name with a dot is also the path to a nested field."""
    with pytest.raises(MissingColumns) as missing:
        read(parquet_body(pa.table({"y": [1.0]})), PARQUET)
    assert missing.value.names == ("x",)
    with pytest.raises(MissingColumns):
        read(parquet_body(pa.table({"x": [{"y": 1.0}]})), PARQUET, names=("x.y",))
    dotted = pa.table({"x.y": [1.0], "x": [{"y": 2.0}]})
    with pytest.raises(AmbiguousColumns):
        read(parquet_body(dotted), PARQUET, names=("x.y",))
    assert read(parquet_body(dotted.select(["x.y"])), PARQUET, names=("x.y",)).values.tolist() == [[1]]


def refused(body: bytes, limits: Limits = LIMITS) -> Cap:
    """The cap that refuses a body."""
    with pytest.raises(UploadTooLarge) as refusal:
        read(body, PARQUET, limits=limits)
    return refusal.value.cap


def test_rows_and_columns_are_capped_by_what_the_footer_says() -> None:
    """Before a page is read."""
    body = parquet_body(table(50))
    assert refused(body, Limits(max_rows=49)) is Cap.ROWS
    assert refused(body, Limits(max_columns=2)) is Cap.COLUMNS
    assert len(read(body, PARQUET, limits=Limits(max_rows=50, max_columns=3)).values) == 50


def test_the_body_is_capped_by_the_spool() -> None:
    """A Parquet body must be held as a whole."""
    body = parquet_body(table())
    assert refused(body, Limits(spool_bytes=len(body) - 1)) is Cap.SPOOL_BYTES
    assert len(read(body, PARQUET, limits=Limits(spool_bytes=len(body))).values) == 50


def test_a_footer_too_long_to_be_parsed_safely_is_refused() -> None:
    """Its length is known before it is parsed."""
    body = parquet_body(table().replace_schema_metadata({"k": "v" * parquet_reader.MAX_FOOTER_BYTES}))
    assert refused(body) is Cap.METADATA_BYTES


def test_pages_are_measured_by_what_they_inflate_to() -> None:
    """Sixteen megabytes of zeros in a few kilobytes: pages beyond their cap, or all of them together beyond theirs."""
    zeros = pa.table({"x": np.zeros(MIB), "y": np.zeros(MIB)})
    body = parquet_body(zeros, compression="zstd", use_dictionary=False)
    assert len(body) < 20_000
    assert refused(body, Limits(max_block_bytes=100_000)) is Cap.BLOCK_BYTES
    assert refused(body, Limits(max_block_bytes=MIB, max_inflated_bytes=15 * MIB)) is Cap.INFLATED_BYTES
    assert len(read(body, PARQUET, limits=Limits(max_block_bytes=MIB, max_inflated_bytes=17 * MIB)).values) == MIB


def test_the_header_of_a_page_is_asked_and_not_the_footer() -> None:
    """A page that claims a gigabyte beside a footer that claims two hundred kilobytes is refused."""
    rows = pa.table({"x": np.zeros(20_000), "y": np.zeros(20_000)})
    body = parquet_body(rows, compression="zstd", use_dictionary=False, data_page_size=MIB, write_batch_size=20_000)
    claims = [160_000 + extra for extra in range(20) if body.count(b"\x15" + varint(160_000 + extra)) == 2]
    (claim,) = claims
    lie = body.replace(b"\x15" + varint(claim), b"\x15" + varint(2**20 - 1), 1)
    assert len(lie) == len(body)
    assert refused(lie, Limits(max_block_bytes=2**20 - 2)) is Cap.BLOCK_BYTES
    assert refused(lie, Limits(max_inflated_bytes=2**20)) is Cap.INFLATED_BYTES


def test_the_number_of_pages_is_capped() -> None:
    """Each costs a look."""
    body = parquet_body(table(3_000), data_page_size=64, write_batch_size=16)
    with patch.object(pages, "MAX_PAGES", 20):
        assert refused(body) is Cap.PAGES


def test_other_columns_are_neither_measured_nor_inflated() -> None:
    """A large text column beside the attributes is nobody's business."""
    rows = pa.table({"x": [1.0] * 1000, "note": ["text" * 500] * 1000, "y": [0.5] * 1000})
    body = parquet_body(rows, use_dictionary=False)
    assert len(read(body, PARQUET, limits=Limits(max_block_bytes=100_000)).values) == 1000


def test_a_footer_that_ends_the_process_in_pyarrows_accessors_is_just_unreadable() -> None:
    """A column that is called required beside statistics of an optional one: pyarrow aborts when asked about it."""
    body = parquet_body(pa.table({"x": [1.0, None], "y": [0.0, 0.5]}))
    optional, required = b"\x15\x0a\x25\x02\x18\x01x", b"\x15\x0a\x25\x00\x18\x01x"
    assert body.count(optional) == 1
    with pytest.raises(UnreadableFile):
        read(body.replace(optional, required), PARQUET)


def test_a_spool_that_fails_is_not_blamed_on_the_file(tmp_path: Path) -> None:
    """Reading goes through pyarrow, which would hide the reason."""
    body = parquet_body(table(20_000), compression="none", use_dictionary=False)

    class Damaged(SealedSpool):
        def seal(self) -> None:
            super().seal()
            os.pwrite(self.fileno(), bytes(64), 70_000)

    with patch.object(parquet_reader, "SealedSpool", Damaged), pytest.raises(SpoolFailure):
        read(body, PARQUET, limits=Limits(spool_folder=tmp_path))
