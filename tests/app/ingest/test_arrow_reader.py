"""Arrow streams are read batch by batch, and lengths in the file are checked before memory is allocated."""

from __future__ import annotations

import io
import struct
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.ipc
import pytest

from app.ingest.arrow_messages import MAX_METADATA_BYTES, Kind, messages
from app.ingest.errors import AmbiguousColumns, Cap, MissingColumns, UnreadableFile, UploadTooLarge
from app.ingest.formats import MediaType
from app.ingest.limits import MIB, Limits
from tests.app.ingest.bodies import DOMAIN, LIMITS, arrow_body, cut, finite, read, table
from tests.app.ingest.hostile_arrow import parquet, schema, stream

ARROW = MediaType.ARROW_STREAM
END = b"\xff\xff\xff\xff\0\0\0\0"


def expected(rows: pa.Table) -> np.ndarray:
    """The attributes of a table, as numpy has them."""
    return np.column_stack([rows[name].to_numpy() for name in DOMAIN.names])


@pytest.mark.parametrize("compression", [None, "zstd", "lz4"])
@pytest.mark.parametrize("size", [1, 7, 10**6])
def test_every_row_of_every_batch_is_read(compression: str | None, size: int) -> None:
    """Compressed or not, however the body is cut into chunks."""
    rows = table(100)
    batch = read(cut(arrow_body(rows, rows=7, compression=compression), size), ARROW)
    np.testing.assert_array_equal(batch.values, expected(rows))


def test_a_large_batch_is_handed_on_in_parts() -> None:
    """Every row once, in order."""
    numbers = pa.table({"x": np.arange(150_000), "y": np.zeros(150_000)})
    batch = read(arrow_body(numbers), ARROW)
    np.testing.assert_array_equal(batch.values[:, 0], np.arange(150_000))


@pytest.mark.parametrize("deltas", [False, True])
def test_other_columns_may_be_dictionaries_lists_or_structs(deltas: bool) -> None:
    """Also dictionaries that grow or change from batch to batch."""
    batches = [
        pa.record_batch(
            {
                "tag": pa.array(words).dictionary_encode(),
                "x": pa.array([1.0, 2.0]),
                "list": [["a"], []],
                "y": pa.array([0.0, 0.5]),
            }
        )
        for words in (["a", "b"], ["a", "b"] if not deltas else ["a", "c"])
    ]
    sink = io.BytesIO()
    options = pyarrow.ipc.IpcWriteOptions(emit_dictionary_deltas=deltas)
    with pyarrow.ipc.new_stream(sink, batches[0].schema, options=options) as writer:
        for batch in batches:
            writer.write_batch(batch)
    assert finite(read(sink.getvalue(), ARROW)).tolist() == [[1, 0], [2, 0.5]] * 2


def test_a_stream_may_just_stop_after_a_message_but_not_within_one() -> None:
    """The end marker is optional by the format; half a message is damage."""
    body = arrow_body(table(100), rows=50)
    assert len(read(body.removesuffix(END), ARROW).values) == 100
    for end in (1, 7, 300, len(body) - 1):
        with pytest.raises(UnreadableFile):
            read(body[:end], ARROW)
    with pytest.raises(UnreadableFile, match="in the middle of a message"):
        read(body[: -len(END) - 1], ARROW)


def test_bytes_after_the_end_marker_are_refused() -> None:
    """Two streams in one body would otherwise lose the second one's rows in silence."""
    body = arrow_body(table())
    with pytest.raises(UnreadableFile, match="More bytes"):
        read(body + body, ARROW)


@pytest.mark.parametrize("body", [b"", END, b"x,y\n1,2\n", b"PAR1" * 10, b"ARROW1\0\0", b"\xff" * 100, bytes(100)])
def test_what_is_no_stream_is_unreadable(body: bytes) -> None:
    """An empty body included: a stream without rows still has a schema."""
    with pytest.raises(UnreadableFile):
        read(body, ARROW)


def test_a_stream_without_rows_is_read() -> None:
    """No batch, or one without a row."""
    empty = table().slice(0, 0)
    assert len(read(arrow_body(empty), ARROW).values) == 0
    assert len(read(arrow_body(pa.Table.from_batches([], empty.schema)), ARROW).values) == 0


def test_an_index_outside_of_its_dictionary_is_a_missing_value() -> None:
    """A row's own fault: it refuses no file, and no other row is read differently."""
    indices = pa.array([0, 2, -1, None, 1], pa.int8())
    column = pa.DictionaryArray.from_arrays(indices, pa.array([1.0, 2.0]), safe=False)
    batch = read(arrow_body(pa.table({"x": column, "y": [0.0] * 5})), ARROW)
    np.testing.assert_array_equal(batch.values[:, 0], [1, np.nan, np.nan, np.nan, 2])


def test_a_dictionary_beyond_its_buffers_is_unreadable() -> None:
    """Dictionary values are checked like those of the batch itself."""
    body = arrow_body(pa.table({"x": pa.array(["1", "22"]).dictionary_encode(), "y": [0.0, 0.5]}))
    offsets = struct.pack("<3i", 0, 1, 3)
    assert body.count(offsets) == 1
    with pytest.raises(UnreadableFile):
        read(body.replace(offsets, struct.pack("<3i", 0, 1, 2**30)), ARROW)


def test_columns_must_be_there_once() -> None:
    """A file-level fault, by the names of the attributes."""
    with pytest.raises(MissingColumns) as missing:
        read(arrow_body(pa.table({"x": [1.0], "z": [1.0]})), ARROW)
    assert missing.value.names == ("y",)
    twice = pa.Table.from_arrays([pa.array([1.0])] * 3, names=["x", "y", "x"])
    with pytest.raises(AmbiguousColumns) as ambiguous:
        read(arrow_body(twice), ARROW)
    assert ambiguous.value.names == ("x",)


def test_a_decimal_beyond_its_precision_refuses_no_file() -> None:
    """A full check of the column would refuse the file, but a single row must not."""
    wide = pa.array([Decimal(12345), Decimal(1)], pa.decimal128(38, 0))
    narrow = pa.Array.from_buffers(pa.decimal128(3, 0), 2, wide.buffers())
    batch = read(arrow_body(pa.table({"x": narrow, "y": [0.0, 0.0]})), ARROW)
    assert batch.values.tolist() == [[12345, 0], [1, 0]]


def refused(body: bytes, limits: Limits = LIMITS) -> Cap:
    """The cap that refuses a body."""
    with pytest.raises(UploadTooLarge) as refusal:
        read(cut(body, 1000), ARROW, limits=limits)
    return refusal.value.cap


def with_body_length(body: bytes, length: int) -> bytes:
    """A stream whose first batch says that its body has another length."""
    _, batch, *_ = messages([body], Limits())
    true = struct.pack("<q", len(batch.body))
    assert batch.head.count(true) == 1
    return body.replace(bytes(batch.head), bytes(batch.head).replace(true, struct.pack("<q", length)))


def test_lengths_are_believed_only_up_to_their_caps() -> None:
    """Metadata and bodies that claim gigabytes are refused before anything is allocated for them."""
    body = arrow_body(table())
    assert refused(b"\xff\xff\xff\xff" + struct.pack("<I", MAX_METADATA_BYTES + 1) + bytes(100)) is Cap.METADATA_BYTES
    assert refused(with_body_length(body, 2**40)) is Cap.BLOCK_BYTES
    assert refused(with_body_length(body, 2**63 - 1)) is Cap.BLOCK_BYTES


def test_a_batch_with_more_rows_than_its_buffers_hold_is_unreadable() -> None:
    """pyarrow does not check the number of rows unless it is asked to."""
    body = arrow_body(pa.table({"x": np.zeros(21), "y": np.zeros(21)}))
    _, batch = messages([body], Limits())
    more = bytes(batch.head).replace(struct.pack("<q", 21), struct.pack("<q", 23))
    assert more.count(struct.pack("<q", 23)) == 3
    with pytest.raises(UnreadableFile):
        read(body.replace(bytes(batch.head), more), ARROW)


def test_a_length_below_zero_is_no_length() -> None:
    """It would reduce the total size of the dictionaries of a stream."""
    stream = messages([with_body_length(arrow_body(table()), -8)], Limits())
    assert next(stream).kind is Kind.SCHEMA
    with pytest.raises(UnreadableFile):
        next(stream)


def test_metadata_that_point_outside_of_themselves_are_no_metadata() -> None:
    """A vtable eight bytes before the buffer; read with a negative index, it would look like that of a batch."""
    layout = struct.pack("<HHHHHH", 8, 8, 0, 6, 0, 0)
    metadata = struct.pack("<Ii", 4, 16) + bytes([0, 0, 3, 0]) + layout
    with pytest.raises(UnreadableFile):
        list(messages([b"\xff\xff\xff\xff" + struct.pack("<I", len(metadata)) + metadata], Limits()))


@pytest.mark.parametrize("compression", ["zstd", "lz4"])
def test_compressed_batches_are_measured_by_what_they_inflate_to(compression: str) -> None:
    """Two megabytes of zeros in a few kilobytes: refused where one megabyte is allowed, read where three are."""
    zeros = pa.table({"x": np.zeros(2 * MIB // 16), "y": np.zeros(2 * MIB // 16)})
    body = arrow_body(zeros, compression=compression)
    assert len(body) < 20_000
    assert refused(body, Limits(max_block_bytes=MIB)) is Cap.BLOCK_BYTES
    assert len(read(body, ARROW, limits=Limits(max_block_bytes=3 * MIB)).values) == len(zeros)


def test_compressed_dictionaries_are_measured_by_what_they_inflate_to() -> None:
    """Also those of columns that nobody asked for, since Arrow reads them all."""
    words = pa.DictionaryArray.from_arrays([0], ["w" * 2 * MIB])
    body = arrow_body(pa.table({"t": words, "x": [1.0], "y": [0.0]}), compression="zstd")
    assert len(body) < 20_000
    assert refused(body, Limits(max_block_bytes=MIB)) is Cap.BLOCK_BYTES
    assert len(read(body, ARROW, limits=Limits(max_block_bytes=3 * MIB)).values) == 1


def test_dictionaries_that_grow_are_measured_together() -> None:
    """Each one is small; Arrow holds them all until the stream ends."""
    sink = io.BytesIO()
    options = pyarrow.ipc.IpcWriteOptions(emit_dictionary_deltas=True)
    words = [f"{number:0100d}" for number in range(100)]
    rows = [
        pa.record_batch([pa.DictionaryArray.from_arrays([0], words[:end]), [0.0], [0.0]], names=["t", "x", "y"])
        for end in range(1, 101)
    ]
    with pyarrow.ipc.new_stream(sink, rows[0].schema, options=options) as writer:
        for row in rows:
            writer.write_batch(row)
    assert len(read(sink.getvalue(), ARROW).values) == 100
    assert refused(sink.getvalue(), Limits(max_block_bytes=5_000)) is Cap.BLOCK_BYTES


def test_rows_that_take_no_bytes_are_capped_too() -> None:
    """A column of nulls takes no bytes, whatever its length."""
    nulls = arrow_body(pa.table({"x": pa.nulls(10**6), "y": pa.nulls(10**6)}))
    assert len(nulls) < 1000
    assert refused(nulls, Limits(max_rows=10**6 - 1)) is Cap.ROWS


def test_columns_are_capped_whether_wanted_or_not() -> None:
    """Refused on the number alone, before the schema is built."""
    wide = pa.table({name: [1.0] for name in ("x", "y", "z")})
    assert refused(arrow_body(wide), Limits(max_columns=2)) is Cap.COLUMNS
    assert len(read(arrow_body(wide), ARROW, limits=Limits(max_columns=3)).values) == 1


def test_nested_fields_are_columns_and_shared_ones_count_each_time() -> None:
    """A schema of some kilobytes may describe millions; the same within the footer of a Parquet file."""
    for fan, cap in ((3, None), (20, Cap.COLUMNS)):
        for media_type, body in ((ARROW, stream(schema(fan=fan))), (MediaType.PARQUET, parquet(schema(fan=fan)))):
            assert _cap(body, media_type) is cap


@pytest.mark.parametrize("message", [schema(fan=9, name_bytes=2**16), schema(pairs=50, name_bytes=2**17)])
def test_texts_of_the_metadata_count_as_often_as_they_are_pointed_to(message: bytes) -> None:
    """Names, keys and values: stored once, and copied by Arrow for each place that points to them."""
    for media_type, body in ((ARROW, stream(message)), (MediaType.PARQUET, parquet(message))):
        assert _cap(body, media_type) is Cap.METADATA_BYTES
    assert _cap(stream(schema(pairs=300_000)), ARROW) is Cap.METADATA_BYTES


def _cap(body: bytes, media_type: MediaType) -> Cap | None:
    """The cap that refuses a body; None where it is read."""
    try:
        read(body, media_type)
    except UploadTooLarge as refusal:
        return refusal.cap
    return None


def test_messages_are_what_arrow_wrote() -> None:
    """Kinds, lengths and bytes, for a stream with dictionaries."""
    tags = pa.table({"t": pa.array(["a", "b"]).dictionary_encode(), "x": [1.0, 2.0]})
    body = arrow_body(tags)
    parts = list(messages(cut(body, 3), Limits()))
    assert [message.kind for message in parts] == [Kind.SCHEMA, Kind.DICTIONARY, Kind.BATCH]
    assert b"".join(bytes(message.head + message.body) for message in parts) + END == body
