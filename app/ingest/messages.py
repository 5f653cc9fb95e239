"""The messages of an Arrow stream, measured before Arrow sees them.

A message says how long it is, and a compressed buffer how long it will be; Arrow allocates what they say. So the frame
is read here first: continuation marker, length of the metadata, metadata (a FlatBuffer), body. Of the metadata only
the numbers that cost memory are looked at, by the layout of Message.fbs and Schema.fbs in Arrow's format folder; what
the message means is left to Arrow.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import IntEnum
from functools import partial
from typing import Self

from app.ingest.errors import Cap, UnreadableFile, UploadTooLarge, attempt
from app.ingest.limits import MIB, Limits
from app.ingest.stream import ByteSource

MAX_METADATA_BYTES = 4 * MIB
NOT_A_STREAM = "The body is not an Arrow stream, or a damaged one."
_CONTINUATION = 0xFFFFFFFF


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


def _metadata_bytes(frame: bytearray) -> int:
    marker, length = struct.unpack("<Ii", frame)
    if marker != _CONTINUATION or length < 0:
        raise ValueError
    return int(length)


def _message(source: ByteSource, frame: bytearray, metadata_bytes: int, limits: Limits) -> Message:
    if metadata_bytes > MAX_METADATA_BYTES:
        raise UploadTooLarge(Cap.METADATA_BYTES, MAX_METADATA_BYTES)
    metadata = source.take(metadata_bytes)
    kind, body_bytes, columns = attempt(partial(_measure, metadata), NOT_A_STREAM)
    if body_bytes > limits.max_block_bytes:
        raise UploadTooLarge(Cap.BLOCK_BYTES, limits.max_block_bytes)
    if columns > limits.max_columns:
        raise UploadTooLarge(Cap.COLUMNS, limits.max_columns)
    body = source.take(body_bytes)
    if len(body) < body_bytes:
        raise UnreadableFile("The Arrow stream ends in the middle of a message.")
    inflated = attempt(partial(_inflated_bytes, kind, metadata, body), NOT_A_STREAM)
    if inflated > limits.max_block_bytes:
        raise UploadTooLarge(Cap.BLOCK_BYTES, limits.max_block_bytes)
    return Message(kind, frame + metadata, body, body_bytes + inflated)


def _measure(metadata: bytearray) -> tuple[Kind, int, int]:
    """Kind of message, bytes of its body, and number of columns where it is a schema."""
    message = _Table.root(metadata)
    kind = Kind(message.number(1, "<B"))
    body_bytes = message.number(3, "<q")
    if body_bytes < 0:
        raise ValueError
    header = message.table(2)
    columns = header.vector(1)[1] if kind is Kind.SCHEMA and header else 0
    return kind, body_bytes, columns


def _inflated_bytes(kind: Kind, metadata: bytearray, body: bytearray) -> int:
    """What the buffers of a compressed batch say they inflate to, all together; 0 where nothing is compressed.

    A compressed buffer starts with its inflated length, or with -1 where it is stored as it is.
    """
    batch = _Table.root(metadata).table(2)
    if kind is Kind.DICTIONARY and batch:
        batch = batch.table(1)
    if kind is Kind.SCHEMA or batch is None or batch.table(3) is None:
        return 0
    start, count = batch.vector(2)
    buffers = struct.iter_unpack("<qq", metadata[start : start + 16 * count])
    return sum(max(0, _read("<q", body, offset)) for offset, length in buffers if length)


class _Table:
    """A FlatBuffer table: a signed distance back to its vtable, which has the place of each field or 0."""

    def __init__(self, data: bytearray, at: int) -> None:
        self._data = data
        self._at = at
        self._vtable = at - _read("<i", data, at)

    @classmethod
    def root(cls, data: bytearray) -> Self:
        """The table that the buffer holds."""
        return cls(data, _read("<I", data, 0))

    def _place(self, slot: int) -> int:
        entry = 4 + 2 * slot
        if entry >= _read("<H", self._data, self._vtable):
            return 0
        distance = _read("<H", self._data, self._vtable + entry)
        return self._at + distance if distance else 0

    def number(self, slot: int, layout: str) -> int:
        """A number, 0 where it is left out."""
        place = self._place(slot)
        return _read(layout, self._data, place) if place else 0

    def table(self, slot: int) -> _Table | None:
        """A table within this one."""
        place = self._place(slot)
        return _Table(self._data, place + _read("<I", self._data, place)) if place else None

    def vector(self, slot: int) -> tuple[int, int]:
        """Where the elements of a vector start, and how many there are."""
        place = self._place(slot)
        if not place:
            return 0, 0
        start = place + _read("<I", self._data, place)
        return start + 4, _read("<I", self._data, start)


def _read(layout: str, data: bytearray, at: int) -> int:
    if at < 0:
        raise ValueError
    (number,) = struct.unpack_from(layout, data, at)
    return int(number)
