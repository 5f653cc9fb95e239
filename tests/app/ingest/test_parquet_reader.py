"""Parquet: read from memory and the sealed spool, page by page, and measured first."""

from __future__ import annotations

import io
import itertools
import os
from decimal import Decimal
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from app.ingest import held_body, parquet_pages, parquet_reader, parquet_texts
from app.ingest.batch import Wanted
from app.ingest.errors import (
    AmbiguousColumns,
    Cap,
    MissingColumns,
    SpoolFailure,
    UnreadableFile,
    UploadTooLarge,
    WrongColumnType,
)
from app.ingest.formats import MediaType, read_batches
from app.ingest.limits import MIB, Limits
from app.ingest.spool import SealedSpool
from app.ingest.thrift import I32, I64, LIST, STRUCT
from core.domain.kinds import attribute_of
from tests.app.ingest.bodies import DOMAIN, LIMITS, cut, parquet_body, read, table
from tests.app.ingest.hostile_parquet import (
    as_decimal,
    closed,
    footer_of,
    headers_of,
    numbers_of,
    replaced,
    with_header,
)

PARQUET = MediaType.PARQUET


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


def lies(body: bytes, field: tuple[int, int], number: int, *, inside: tuple[int, int] | None = None) -> list[bytes]:
    """The file once for each of its page headers that has the field, with another number in it."""
    path = (field,) if inside is None else (inside, field)
    return [
        with_header(body, position, length, replaced(header, path, number))
        for position, length, header in headers_of(body)
        if path in numbers_of(header)
    ]


@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize("field", [(2, I32), (3, I32)], ids=["inflated", "compressed"])
def test_a_page_that_claims_more_than_the_cap_is_refused_by_its_header(field: tuple[int, int], version: str) -> None:
    """Dictionary pages and data pages, whatever the footer says; the reader would allocate what they claim."""
    body = parquet_body(table().select(["x", "y"]), data_page_version=version)
    false = lies(body, field, 2**31 - 1)
    assert len(false) == 4
    assert {refused(lie) for lie in false} == {Cap.BLOCK_BYTES}


def test_a_page_that_ends_outside_of_its_column_chunk_is_unreadable() -> None:
    """By one byte, however much of the file follows."""
    body = parquet_body(table().select(["x", "y"]), use_dictionary=False)
    first, second = headers_of(body)
    for position, length, header in (first, second):
        with pytest.raises(UnreadableFile):
            read(with_header(body, position, length, replaced(header, ((3, I32),), header[3, I32] + 1)), PARQUET)


def test_a_column_chunk_lies_within_the_file() -> None:
    """Neither before its beginning nor into its footer."""
    body = parquet_body(table().select(["x", "y"]), use_dictionary=False)
    footer, end = footer_of(body)
    chunk = ((4, LIST), 0, (1, LIST), 1, (3, STRUCT))
    for field, number in (((7, I64), end), ((9, I64), -1), ((9, I64), 2**62)):
        with pytest.raises(UnreadableFile):
            read(closed(body[:end], replaced(footer, (*chunk, field), number)), PARQUET)


def test_a_column_chunk_holds_as_many_values_as_its_footer_says() -> None:
    """A reader that misses some goes on behind the chunk, where no header was looked at."""
    body = parquet_body(table().select(["x", "y"]))
    footer, end = footer_of(body)
    values = ((4, LIST), 0, (1, LIST), 1, (3, STRUCT), (5, I64))
    with pytest.raises(UnreadableFile):
        read(closed(body[:end], replaced(footer, values, 51)), PARQUET)


def test_a_dictionary_has_no_more_values_than_bytes_for_them() -> None:
    """The reader makes room for all of them at once."""
    body = parquet_body(table().select(["x", "y"]))
    true = [header[7, STRUCT][1, I32] for _, _, header in headers_of(body) if (7, STRUCT) in header]
    for number in (2**31 - 1, max(true) + 1, -1):
        false = lies(body, (1, I32), number, inside=(7, STRUCT))
        assert len(false) == 2
        for lie in false:
            with pytest.raises(UnreadableFile):
                read(lie, PARQUET)


def test_decimals_in_byte_arrays_are_read_up_to_the_length_of_a_decimal() -> None:
    """Of a fixed length up to 32 bytes; a dictionary could repeat a longer one without end."""
    for kind, accepted in ((pa.binary(4), True), (pa.binary(), False), (pa.binary(33), False)):
        rows = pa.table({"x": pa.array([bytes(3) + b"\7" + bytes(29 if kind == pa.binary(33) else 0)] * 3, kind)})
        body = as_decimal(parquet_body(rows), b"x")
        if accepted:
            assert read(body, PARQUET, names=("x",)).values.tolist() == [[7]] * 3
        else:
            with pytest.raises(WrongColumnType):
                read(body, PARQUET, names=("x",))


def test_values_that_share_their_beginnings_are_not_read() -> None:
    """Each may be as long as all before it, and the page does not say so."""
    rows = pa.table({"x": pa.array([Decimal(1), Decimal(2)], pa.decimal128(9, 0))})
    for version in ("1.0", "2.0"):
        body = parquet_body(rows, use_dictionary=False, column_encoding="DELTA_BYTE_ARRAY", data_page_version=version)
        with pytest.raises(UnreadableFile, match="DELTA_BYTE_ARRAY"):
            read(body, PARQUET, names=("x",))


TEXTS = Wanted((attribute_of({"name": "x", "kind": "category", "values": ["f", "g"], "other": True}),), "person")


def texts(body: bytes, limits: Limits = LIMITS) -> list[tuple[list[int], list[bytes | None]]]:
    """Categories and ids of each batch."""
    batches = read_batches([body], TEXTS, media_type=PARQUET, gzip=False, limits=limits)
    return [(batch.columns[0].tolist(), batch.ids.to_pylist()) for batch in batches if batch.ids is not None]


def text_table(values: list[str]) -> pa.Table:
    """Texts as categories and as ids."""
    return pa.table({"x": values, "person": values})


@pytest.mark.parametrize("codec", ["none", "snappy", "gzip", "zstd", "lz4", "brotli"])
@pytest.mark.parametrize("encoding", ["dictionary", "mixed", "PLAIN", "DELTA_LENGTH_BYTE_ARRAY"])
def test_texts_are_read_in_batches_that_fit_into_memory(codec: str, encoding: str) -> None:
    """Whatever the encoding: fewer rows at once where texts are long, and every row once and in order."""
    values = [("g" if row == 700 else f"{row:0100d}") for row in range(1000)] * 2
    options: dict[str, object] = {"compression": codec, "write_batch_size": 10, "data_page_size": 2000}
    if encoding in {"dictionary", "mixed"}:
        options["dictionary_pagesize_limit"] = MIB if encoding == "dictionary" else 20_000
    else:
        options |= {"use_dictionary": False, "column_encoding": encoding}
    body = parquet_body(text_table(values), **options)
    batches = texts(body, Limits(max_block_bytes=160_000))
    assert max(len(places) for places, _ in batches) < 400
    assert [place for places, _ in batches for place in places] == [1 if value == "g" else -1 for value in values]
    assert [person for _, ids in batches for person in ids] == [value.encode() for value in values]
    assert len(texts(body)) == 1


@pytest.mark.parametrize("dictionary", [True, False])
def test_a_text_as_long_as_a_block_costs_no_other_row(dictionary: bool) -> None:
    """It is no value and no id; the rows around it are read as if it were not there."""
    values = ["f"] * 500 + ["w" * 10**6] + ["f"] * 500
    for write_batch_size in (1, 1024):
        body = parquet_body(text_table(values), use_dictionary=dictionary, write_batch_size=write_batch_size)
        batches = texts(body, Limits(max_block_bytes=2 * 10**6))
        assert [place for places, _ in batches for place in places] == [0] * 500 + [-1] + [0] * 500
        assert [person for _, ids in batches for person in ids] == [b"f"] * 500 + [None] + [b"f"] * 500


def test_a_dictionary_of_very_many_texts_is_refused() -> None:
    """Each takes memory besides its bytes."""
    body = parquet_body(text_table([str(row) for row in range(2000)]))
    assert len(texts(body, Limits(max_block_bytes=2000 * 64))) >= 1
    with pytest.raises(UploadTooLarge) as refusal:
        texts(body, Limits(max_block_bytes=2000 * 64 - 1))
    assert refusal.value.cap is Cap.BLOCK_BYTES


def test_texts_that_arrow_would_collect_are_bounded() -> None:
    """A file may ask for an Arrow dictionary and yet hold its texts in pages of their own."""
    column = pa.array([f"{row:0100d}" for row in range(2000)]).dictionary_encode()
    body = parquet_body(pa.table({"x": column, "person": column}), use_dictionary=False, data_page_size=1000)
    assert sum(len(places) for places, _ in texts(body, Limits(max_block_bytes=10**6))) == 2000
    with pytest.raises(UploadTooLarge) as refusal:
        texts(body, Limits(max_block_bytes=300_000))
    assert refusal.value.cap is Cap.BLOCK_BYTES


def test_the_number_of_batches_is_capped() -> None:
    """Rows that must be read one by one take time."""
    values = [f"{row}" * 3000 for row in range(1000, 1100)]
    body = parquet_body(text_table(values), use_dictionary=False, write_batch_size=1, data_page_size=1)
    limits = Limits(max_block_bytes=20_000)
    assert len(texts(body, limits)) == 100
    with patch.object(parquet_texts, "MAX_BATCHES", 50), pytest.raises(UploadTooLarge):
        texts(body, limits)


def test_the_number_of_pages_is_capped() -> None:
    """Each costs a look."""
    body = parquet_body(table(3_000), data_page_size=64, write_batch_size=16)
    with patch.object(parquet_pages, "MAX_PAGES", 20):
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

    with patch.object(held_body, "SealedSpool", Damaged), pytest.raises(SpoolFailure):
        read(body, PARQUET, limits=Limits(buffer_bytes=0, spool_folder=tmp_path))
