"""Damaged Arrow streams: offsets of the metadata, lengths of batches, buffers, dictionaries, order of messages."""

from __future__ import annotations

import io
import struct
from collections.abc import Callable
from functools import cache

import pyarrow.ipc

from app.ingest.flatbuffer import Table
from app.ingest.formats import MediaType
from tests.app.ingest.bodies import arrow_body
from tests.app.ingest.hostile_arrow import schema, stream
from torture.fuzzing.damage import Chance, damaged, odd_number, overwrite, renumber, reordered, wrapped
from torture.fuzzing.parquet_files import table_of

_BASES = 200
_END = b"\xff\xff\xff\xff\0\0\0\0"
_DICTIONARY, _BATCH = 2, 3  # kinds of message
_Message = tuple[bytes, bytes]  # metadata without its frame, and body


@cache
def _base(number: int) -> bytes:
    """A sound stream; some with compressed buffers."""
    body = table_of(number, MediaType.ARROW_STREAM)
    compression = Chance(number).choice([None, None, "lz4", "zstd"])
    return (
        arrow_body(pyarrow.ipc.open_stream(body).read_all(), rows=7, compression=compression) if compression else body
    )


def arrow(chance: Chance) -> bytes:
    """An Arrow stream, damaged."""
    choice = chance.random()
    if choice < 0.01:
        return stream(schema(fan=chance.choice([1, 20]), name_bytes=chance.choice([1, 70_000]), pairs=9))
    if choice < 0.03:
        return damaged(_file(_base(chance.randrange(_BASES))), chance)
    return damaged_stream(_base(chance.randrange(_BASES)), _base(chance.randrange(_BASES)), chance)


def _file(body: bytes) -> bytes:
    """The same rows as an Arrow file, which is not a stream."""
    table, sink = pyarrow.ipc.open_stream(body).read_all(), io.BytesIO()
    with pyarrow.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()


def damaged_stream(body: bytes, other: bytes, chance: Chance) -> bytes:
    """A stream, damaged; messages of another one may get into it."""
    messages = _messages(body)
    for _ in range(chance.choice([1, 1, 1, 2, 3])):
        if messages:
            messages = chance.choice(_DAMAGES)(messages, chance)
    if chance.random() < 0.1:
        messages[1:] = _messages(other)[1:]
    end = chance.choice([_END, _END, _END, b"", _END * 2, _END + b"\0", b"\xff\xff\xff\xff"])
    data = b"".join(_framed(*message, chance) for message in messages) + end
    return damaged(data, chance) if chance.random() < 0.15 and data else data


def _messages(body: bytes) -> list[_Message]:
    messages, position = [], 0
    while (length := struct.unpack_from("<i", body, position + 4)[0]) > 0:
        start = position + 8
        metadata = body[start : start + length]
        size = Table.root(bytearray(metadata)).number(3, "<q")
        position = start + length + size
        messages.append((metadata, body[start + length : position]))
    return messages


def _framed(metadata: bytes, body: bytes, chance: Chance) -> bytes:
    length = len(metadata) if chance.random() < 0.98 else odd_number(chance, len(metadata))
    return b"\xff\xff\xff\xff" + wrapped(length, "<i") + metadata + body


def _chosen(messages: list[_Message], chance: Chance) -> int:
    return chance.randrange(len(messages))


def _metadata(messages: list[_Message], chance: Chance) -> list[_Message]:
    """Any number of the metadata: offsets, sizes of vtables and vectors, types, lengths."""
    place = _chosen(messages, chance)
    metadata, body = messages[place]
    messages[place] = (damaged if chance.random() < 0.2 else renumber)(metadata, chance), body
    return messages


def _batch_number(messages: list[_Message], chance: Chance) -> list[_Message]:
    """The length of a batch, of one of its columns, its nulls, or the place and length of a buffer."""
    place = _chosen(messages, chance)
    metadata, body = messages[place]
    try:
        places = _numbers_of(metadata)
    except (struct.error, ValueError):
        return messages  # it was damaged before
    places = [at for at in places if 0 <= at <= len(metadata) - 8]
    if places:
        at = chance.choice(places)
        near = struct.unpack_from("<q", metadata, at)[0]
        messages[place] = overwrite(metadata, at, wrapped(odd_number(chance, near), "<q")), body
    return messages


def _numbers_of(metadata: bytes) -> list[int]:
    """Where the numbers of a batch stand, three times that of its length. Raises where it cannot be read."""
    message = Table.root(bytearray(metadata))
    kind = message.number(1, "<B")
    batch = message.table(2) if kind in {_DICTIONARY, _BATCH} else None
    if batch is not None and kind == _DICTIONARY:
        batch = batch.table(1)
    if batch is None:
        return []
    vectors = [range(start, start + 16 * count, 8)[: len(metadata)] for start, count in map(batch.vector, (1, 2))]
    length = batch._place(0)
    return [*(at for vector in vectors for at in vector), *([length] * 3 if length else [])]


def _body_length(messages: list[_Message], chance: Chance) -> list[_Message]:
    place = _chosen(messages, chance)
    metadata, body = messages[place]
    try:
        at = Table.root(bytearray(metadata))._place(3)
    except (struct.error, ValueError):
        return messages
    if at:
        messages[place] = overwrite(metadata, at, wrapped(odd_number(chance, len(body)), "<q")), body
    return messages


def _buffers(messages: list[_Message], chance: Chance) -> list[_Message]:
    """The bytes of the buffers: offsets of texts, indexes, views, lengths of compressed buffers, bitmaps."""
    place = _chosen(messages, chance)
    metadata, body = messages[place]
    if body:
        messages[place] = metadata, (damaged if chance.random() < 0.3 else renumber)(body, chance)[: len(body)]
    return messages


def _padded(messages: list[_Message], chance: Chance) -> list[_Message]:
    place = _chosen(messages, chance)
    metadata, body = messages[place]
    messages[place] = metadata + bytes(chance.choice([1, 8, 4096])), body
    return messages


def _order(messages: list[_Message], chance: Chance) -> list[_Message]:
    return reordered(messages, chance)


_DAMAGES: tuple[Callable[[list[_Message], Chance], list[_Message]], ...] = (
    *(_metadata, _metadata, _metadata, _batch_number, _batch_number, _batch_number, _buffers, _buffers, _buffers),
    *(_body_length, _padded, _order),
)
