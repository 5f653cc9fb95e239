"""Reader of Arrow IPC streams: batch by batch, the wanted columns only.

The size of each message is checked (`arrow_messages`) before pyarrow allocates memory for it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Generator, Iterable
from functools import partial

import pyarrow as pa
import pyarrow.ipc

from app.ingest.arrow_messages import NOT_A_STREAM, Kind, Message, messages
from app.ingest.batch import ROWS_AT_ONCE, Batch, Columns, Wanted, positions
from app.ingest.columns.arrow import require_sound
from app.ingest.errors import Cap, UnreadableFile, UploadTooLarge, attempt
from app.ingest.limits import Limits


def read_arrow(chunks: Iterable[bytes], wanted: Wanted, limits: Limits) -> Generator[Batch]:
    """Yield the rows of an Arrow stream in batches of at most ROWS_AT_ONCE rows.

    Raises UnreadableFile, ColumnFault or UploadTooLarge. Each message is pushed to pyarrow and read immediately. If
    pyarrow pulled the bytes itself, an exception of the body (such as a client that disconnects) would pass through
    pyarrow and look like a fault of the file.
    """
    stream = messages(chunks, limits)
    first = next(stream, None)
    if first is None or first.kind is not Kind.SCHEMA:
        raise UnreadableFile(NOT_A_STREAM)
    wanted_columns = Columns(wanted)
    included = _included(first, wanted_columns)
    feed = _Feed()
    feed.push(first)
    reader = attempt(partial(_open, feed, included), NOT_A_STREAM)
    dictionary_bytes = 0  # of all columns; pyarrow keeps them as long as the stream is open
    for message in stream:
        feed.push(message)
        if message.kind is Kind.DICTIONARY:
            dictionary_bytes += message.held_bytes
            if dictionary_bytes > limits.max_block_bytes:
                raise UploadTooLarge(Cap.BLOCK_BYTES, limits.max_block_bytes)
            continue
        columns = attempt(partial(_next_columns, reader, wanted.names), NOT_A_STREAM)
        if len(columns[0]) > limits.max_rows:
            raise UploadTooLarge(Cap.ROWS, limits.max_rows)
        for start in range(0, len(columns[0]), ROWS_AT_ONCE):
            yield attempt(partial(_part, wanted_columns, columns, start), NOT_A_STREAM)


def _included(message: Message, columns: Columns) -> list[int]:
    """Indices of the wanted columns, from the schema message; raises ColumnFault where they do not fit."""
    schema = attempt(partial(_schema, message), NOT_A_STREAM)
    included = positions(columns.names, [name for name, _ in schema])
    columns.require_types([schema[position][1] for position in included])
    return sorted(set(included))


def _schema(message: Message) -> list[tuple[str, pa.DataType]]:
    schema = pyarrow.ipc.read_schema(pa.py_buffer(message.head + message.body))
    return [(field.name, field.type) for field in schema]


def _open(feed: _Feed, included: list[int]) -> pa.RecordBatchReader:
    options = pyarrow.ipc.IpcReadOptions(use_threads=False, included_fields=included)
    return pyarrow.ipc.open_stream(pa.PythonFile(feed, mode="r"), options=options)


def _next_columns(reader: pa.RecordBatchReader, names: tuple[str, ...]) -> list[pa.Array]:
    """The wanted columns of the next batch, checked to lie within their buffers."""
    batch = reader.read_next_batch()
    columns = [batch.column(name) for name in names]
    for column in columns:
        require_sound(column)
    return columns


def _part(wanted: Columns, columns: list[pa.Array], start: int) -> Batch:
    return wanted.from_arrow([column.slice(start, ROWS_AT_ONCE) for column in columns])


class _Feed:
    """The file object that pyarrow reads from: a queue of the messages pushed so far."""

    closed = False

    def __init__(self) -> None:
        self._parts: deque[memoryview] = deque()

    def push(self, message: Message) -> None:
        """Append one message to the queue."""
        self._parts.extend(memoryview(part) for part in (message.head, message.body) if part)

    def read(self, count: int) -> memoryview:
        """At most `count` bytes, and nothing at the end of the queue.

        pyarrow reads frame, metadata and body separately, so no read has to join two parts.
        """
        if not self._parts:
            return memoryview(b"")
        part = self._parts.popleft()
        if len(part) > count:
            self._parts.appendleft(part[count:])
        return part[:count]
