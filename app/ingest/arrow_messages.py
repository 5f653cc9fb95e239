"""Splits an Arrow IPC stream into messages and checks their sizes before pyarrow reads them.

A message states its own length, and a compressed buffer states its length after decompression. pyarrow allocates as
much memory as they state. So the frame is read here first: continuation marker, length of the metadata, metadata (a
FlatBuffer), body. Only those parts of the metadata are read that determine how much memory pyarrow will use. Their
layout is that of Message.fbs and Schema.fbs in the format folder of Arrow. The meaning of a message is left to pyarrow.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import IntEnum
from functools import partial

from app.ingest.byte_stream import ByteSource
from app.ingest.errors import Cap, UnreadableFile, UploadTooLarge, attempt
from app.ingest.flatbuffer import Table, read_number
from app.ingest.limits import MIB, Limits

MAX_METADATA_BYTES = 4 * MIB
NOT_A_STREAM = "The body is not an Arrow stream, or a damaged one."
_CONTINUATION = 0xFFFFFFFF

# Slots of the tables in Message.fbs and Schema.fbs.
_HEADER_TYPE, _HEADER, _BODY_LENGTH, _MESSAGE_PAIRS = 1, 2, 3, 4  # table Message
_SCHEMA_FIELDS, _SCHEMA_PAIRS = 1, 2  # table Schema
_NAME, _TYPE_TYPE, _TYPE, _CHILDREN, _FIELD_PAIRS = 0, 2, 3, 5, 6  # table Field
_KEY, _VALUE = 0, 1  # table KeyValue
_VECTORS_IN_TYPES = {10, 14}  # types with a vector in slot 1: Timestamp (time zone) and Union (ids)
_PAIR_BYTES = 16  # counted for each key-value pair: also a pair of empty texts takes memory


class Kind(IntEnum):
    """Kinds of message in a stream of tables (MessageHeader in Message.fbs)."""

    SCHEMA = 1
    DICTIONARY = 2
    BATCH = 3


@dataclass(frozen=True, slots=True, repr=False)
class Message:
    """One message of a stream.

    head        frame and metadata
    body        the buffers, as sent
    held_bytes  bytes that pyarrow holds after reading the message: the body, and its buffers after decompression
    """

    kind: Kind
    head: bytearray
    body: bytearray
    held_bytes: int


def messages(chunks: Iterable[bytes], limits: Limits) -> Iterator[Message]:
    """Yield the messages of a stream up to its end marker, or up to its last byte: the end marker is optional.

    Raises UnreadableFile for a malformed frame and UploadTooLarge for a message beyond the limits.
    """
    source = ByteSource(chunks)
    while frame := source.take(8):
        metadata_bytes = attempt(partial(_metadata_bytes, frame), NOT_A_STREAM)
        if metadata_bytes == 0:
            break
        yield _message(source, frame, metadata_bytes, limits)
    if source.take(1):
        raise UnreadableFile("More bytes follow the end of the Arrow stream.")


def metadata_of(message: bytes) -> bytearray:
    """The metadata of a message that has no body, given with its frame."""
    return bytearray(message[8 : 8 + _metadata_bytes(message[:8])])


def _metadata_bytes(frame: bytes | bytearray) -> int:
    marker, length = struct.unpack("<Ii", frame)
    if marker != _CONTINUATION or length < 0:
        raise ValueError
    return int(length)


def _message(source: ByteSource, frame: bytearray, metadata_bytes: int, limits: Limits) -> Message:
    if metadata_bytes > MAX_METADATA_BYTES:
        raise UploadTooLarge(Cap.METADATA_BYTES, MAX_METADATA_BYTES)
    metadata = source.take(metadata_bytes)
    require_small_metadata(metadata, limits)
    kind, body_bytes = attempt(partial(_measure, metadata), NOT_A_STREAM)
    if body_bytes > limits.max_block_bytes:
        raise UploadTooLarge(Cap.BLOCK_BYTES, limits.max_block_bytes)
    body = source.take(body_bytes)
    if len(body) < body_bytes:
        raise UnreadableFile("The Arrow stream ends in the middle of a message.")
    inflated = attempt(partial(_inflated_bytes, kind, metadata, body), NOT_A_STREAM)
    if inflated > limits.max_block_bytes:
        raise UploadTooLarge(Cap.BLOCK_BYTES, limits.max_block_bytes)
    return Message(kind, frame + metadata, body, body_bytes + inflated)


def _measure(metadata: bytearray) -> tuple[Kind, int]:
    """The kind of a message, and the length of its body in bytes."""
    message = Table.root(metadata)
    kind = Kind(message.number(_HEADER_TYPE, "<B"))
    body_bytes = message.number(_BODY_LENGTH, "<q")
    if body_bytes < 0:
        raise ValueError
    return kind, body_bytes


def require_small_metadata(metadata: bytearray, limits: Limits) -> None:
    """Raise UploadTooLarge for metadata that expand beyond the limits when they are read.

    A FlatBuffer may point to the same field or text many times: 4 MB of metadata described ten million fields
    (measured: 0.9 GB and 37 s in pyarrow). An honest writer stores each text where it is used, so its texts are not
    longer than the metadata.
    """
    fields, text_bytes = attempt(partial(_expanded_size, metadata, limits.max_columns), NOT_A_STREAM)
    if fields > limits.max_columns:
        raise UploadTooLarge(Cap.COLUMNS, limits.max_columns)
    if text_bytes > MAX_METADATA_BYTES:
        raise UploadTooLarge(Cap.METADATA_BYTES, MAX_METADATA_BYTES)


def _expanded_size(metadata: bytearray, max_fields: int) -> tuple[int, int]:
    """The number of fields of a schema, nested ones included, and the bytes of all texts.

    A field or text counts as often as it is reached. Counting stops as soon as one of the two numbers exceeds its
    limit, so it takes no longer than it takes for honest metadata.
    """
    message = Table.root(metadata)
    text_bytes = _pair_bytes(message, _MESSAGE_PAIRS)
    fields = 0
    waiting: list[tuple[Table, int]] = []
    header = message.table(_HEADER)
    if header and message.number(_HEADER_TYPE, "<B") == Kind.SCHEMA:
        text_bytes += _pair_bytes(header, _SCHEMA_PAIRS)
        waiting.append((header, _SCHEMA_FIELDS))
    while waiting:
        table, slot = waiting.pop()
        fields += table.vector(slot)[1]
        if fields > max_fields:
            break
        for field in table.tables(slot):
            text_bytes += _text_bytes(field)
            if text_bytes > MAX_METADATA_BYTES:
                return fields, text_bytes
            waiting.append((field, _CHILDREN))
    return fields, text_bytes


def _text_bytes(field: Table) -> int:
    """Bytes of a field's name, of its key-value metadata, and of the vector in its type, if there is one."""
    _, name_bytes = field.vector(_NAME)
    kind = field.table(_TYPE)
    listed = kind.vector(1)[1] if kind and field.number(_TYPE_TYPE, "<B") in _VECTORS_IN_TYPES else 0
    return name_bytes + 4 * listed + _pair_bytes(field, _FIELD_PAIRS)


def _pair_bytes(table: Table, slot: int) -> int:
    """Bytes of key-value metadata; a lower bound where even that exceeds MAX_METADATA_BYTES."""
    size = _PAIR_BYTES * table.vector(slot)[1]
    if size <= MAX_METADATA_BYTES:
        size += sum(pair.vector(_KEY)[1] + pair.vector(_VALUE)[1] for pair in table.tables(slot))
    return size


def _inflated_bytes(kind: Kind, metadata: bytearray, body: bytearray) -> int:
    """The stated total length of the buffers of a batch after decompression; 0 if the batch is not compressed.

    A compressed buffer starts with its decompressed length, or with -1 if it is stored uncompressed.
    """
    batch = Table.root(metadata).table(_HEADER)
    if kind is Kind.DICTIONARY and batch:
        batch = batch.table(1)
    if kind is Kind.SCHEMA or batch is None or batch.table(3) is None:
        return 0
    start, count = batch.vector(2)
    buffers = struct.iter_unpack("<qq", metadata[start : start + 16 * count])
    return sum(max(0, read_number("<q", body, offset)) for offset, length in buffers if length)
