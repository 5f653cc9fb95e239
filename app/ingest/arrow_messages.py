"""The messages of an Arrow stream, measured before Arrow sees them.

A message says how long it is, and a compressed buffer how long it will be; Arrow allocates what they say. So the frame
is read here first: continuation marker, length of the metadata, metadata (a FlatBuffer), body. Of the metadata only
what costs memory is looked at, by the layout of Message.fbs and Schema.fbs in Arrow's format folder; what the message
means is left to Arrow.
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
_HEADER_TYPE, _HEADER, _BODY_LENGTH, _MESSAGE_PAIRS = 1, 2, 3, 4  # of Message
_SCHEMA_FIELDS, _SCHEMA_PAIRS = 1, 2  # of Schema
_NAME, _TYPE_TYPE, _TYPE, _CHILDREN, _FIELD_PAIRS = 0, 2, 3, 5, 6  # of Field
_KEY, _VALUE = 0, 1  # of KeyValue
_VECTORS_IN_TYPES = {10, 14}  # time zone of a Timestamp, ids of a Union; in slot 1 of either
_PAIR_BYTES = 16  # counted for a pair of empty texts, which takes memory too


class Kind(IntEnum):
    """Kinds of message in a stream of tables (MessageHeader in Message.fbs)."""

    SCHEMA = 1
    DICTIONARY = 2
    BATCH = 3


@dataclass(frozen=True, slots=True, repr=False)
class Message:
    """One message: frame with metadata, body, and the bytes that Arrow holds once it has read it."""

    kind: Kind
    head: bytearray
    body: bytearray
    held_bytes: int


def messages(chunks: Iterable[bytes], limits: Limits) -> Iterator[Message]:
    """The messages of a stream up to its end marker, or up to its end: a writer may also just stop."""
    source = ByteSource(chunks)
    while frame := source.take(8):
        metadata_bytes = attempt(partial(_metadata_bytes, frame), NOT_A_STREAM)
        if metadata_bytes == 0:
            break
        yield _message(source, frame, metadata_bytes, limits)
    if source.take(1):
        raise UnreadableFile("More bytes follow the end of the Arrow stream.")


def metadata_of(message: bytes) -> bytearray:
    """The metadata of a message without a body."""
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
    """Kind of message, and bytes of its body."""
    message = Table.root(metadata)
    kind = Kind(message.number(_HEADER_TYPE, "<B"))
    body_bytes = message.number(_BODY_LENGTH, "<q")
    if body_bytes < 0:
        raise ValueError
    return kind, body_bytes


def require_small_metadata(metadata: bytearray, limits: Limits) -> None:
    """Refuse metadata that grow beyond the caps once they are read.

    Fields and texts may be shared within a FlatBuffer: 4 MB of it described ten million fields (measured: 0.9 GB and
    37 s in Arrow). An honest writer stores each where it is used, so texts take no more than the metadata do.
    """
    fields, text_bytes = attempt(partial(_reached, metadata, limits.max_columns), NOT_A_STREAM)
    if fields > limits.max_columns:
        raise UploadTooLarge(Cap.COLUMNS, limits.max_columns)
    if text_bytes > MAX_METADATA_BYTES:
        raise UploadTooLarge(Cap.METADATA_BYTES, MAX_METADATA_BYTES)


def _reached(metadata: bytearray, max_fields: int) -> tuple[int, int]:
    """Fields of a schema, nested ones included, and bytes of all texts, as often as they are reached.

    Counting ends with the first of them that is over its cap, so it takes no longer than honest metadata would.
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
    """Bytes of a field's name, of its metadata, and of what its type holds beside numbers."""
    _, name_bytes = field.vector(_NAME)
    kind = field.table(_TYPE)
    listed = kind.vector(1)[1] if kind and field.number(_TYPE_TYPE, "<B") in _VECTORS_IN_TYPES else 0
    return name_bytes + 4 * listed + _pair_bytes(field, _FIELD_PAIRS)


def _pair_bytes(table: Table, slot: int) -> int:
    """Bytes of metadata in keys and values; at least so many where that is beyond the cap anyway."""
    size = _PAIR_BYTES * table.vector(slot)[1]
    if size <= MAX_METADATA_BYTES:
        size += sum(pair.vector(_KEY)[1] + pair.vector(_VALUE)[1] for pair in table.tables(slot))
    return size


def _inflated_bytes(kind: Kind, metadata: bytearray, body: bytearray) -> int:
    """What the buffers of a compressed batch say they inflate to, all together; 0 where nothing is compressed.

    A compressed buffer starts with its inflated length, or with -1 where it is stored as it is.
    """
    batch = Table.root(metadata).table(_HEADER)
    if kind is Kind.DICTIONARY and batch:
        batch = batch.table(1)
    if kind is Kind.SCHEMA or batch is None or batch.table(3) is None:
        return 0
    start, count = batch.vector(2)
    buffers = struct.iter_unpack("<qq", metadata[start : start + 16 * count])
    return sum(max(0, read_number("<q", body, offset)) for offset, length in buffers if length)
