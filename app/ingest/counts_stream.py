"""Counts that were taken elsewhere as an Arrow stream: written by an engine, read by the service.

    cell     int64, ascending, the number of a cell that holds records
    count    int64, how many records it holds
    offset_0, offset_1, …    int64, where the order buys offsets: the sums of the records' offsets in that cell

The schema carries one pair of metadata, `rugnik`: a JSON object with the format's version, the release, the step and
the privacy unit that the counts were bounded for. So counts of another release, step or unit are never taken for these.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.ipc

from app.ingest.arrow_messages import Kind, Message, messages
from app.ingest.byte_stream import capped
from app.ingest.errors import Cap, UnreadableFile, UploadTooLarge, attempt
from app.ingest.limits import Limits
from core.counting import Step, Tally
from core.unit import Unit

MEDIA_TYPE = "application/vnd.rugnik.counts+arrow"
_VERSION = 1
_ROWS_AT_ONCE = 2**18
_METADATA = b"rugnik"
_NOT_COUNTS = f"The body is not a stream of counts ({MEDIA_TYPE}), or a damaged one."


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class SentCounts:
    """A tally with what it is of. Private."""

    release: str
    step: Step
    unit: Unit
    tally: Tally


def write_counts(counts: SentCounts) -> Iterator[bytes]:
    """The bytes of a stream, piece by piece."""
    tally = counts.tally
    sums = np.empty((len(tally.cells), 0), dtype=np.int64) if tally.sums is None else tally.sums
    columns = [tally.cells, tally.numbers, *sums.T]
    stated = {
        "format": _VERSION,
        "release": counts.release,
        "step": counts.step.value,
        "unit": counts.unit.to_json(),
    }
    schema = pa.schema([(name, pa.int64()) for name in _names(sums.shape[1])], {_METADATA: json.dumps(stated)})
    sink = io.BytesIO()
    with pyarrow.ipc.new_stream(sink, schema) as writer:
        for start in range(0, len(tally.cells), _ROWS_AT_ONCE):
            part = [pa.array(column[start : start + _ROWS_AT_ONCE]) for column in columns]
            writer.write_batch(pa.record_batch(part, schema=schema))
            yield sink.getvalue()
            sink.seek(0)
            sink.truncate()
    yield sink.getvalue()


def read_counts(chunks: Iterable[bytes], limits: Limits) -> SentCounts:
    """Read a stream to its end. Raises UnreadableFile or UploadTooLarge.

    Whether the cells fit the step of a release is for `core.counting.Target.require_fitting` to say.
    """
    stream = messages(capped(chunks, Cap.BYTES, limits.max_bytes), limits)
    first = next(stream, None)
    if first is None or first.kind is not Kind.SCHEMA:
        raise UnreadableFile(_NOT_COUNTS)
    schema = attempt(partial(_schema, first), _NOT_COUNTS)
    stated = attempt(partial(_stated, schema), _NOT_COUNTS)
    if stated["format"] != _VERSION:
        raise UnreadableFile("These counts were written by another version of rugnik: use that of the service.")
    parts: list[list[np.ndarray[Any, np.dtype[np.int64]]]] = []
    cells = 0
    for message in stream:
        if message.kind is not Kind.BATCH:
            raise UnreadableFile(_NOT_COUNTS)
        parts.append(attempt(partial(_columns, message, schema), _NOT_COUNTS))
        cells += len(parts[-1][0])
        if cells > limits.max_wide_rows:
            raise UploadTooLarge(Cap.WIDE_ROWS, limits.max_wide_rows)
    none = np.empty(0, dtype=np.int64)
    columns = (
        [np.concatenate([none, *column]) for column in zip(*parts, strict=True)] if parts else [none] * len(schema)
    )
    tally = Tally(columns[0], columns[1], np.stack(columns[2:], axis=1) if len(columns) > 2 else None)
    return attempt(partial(_sent, stated, tally), _NOT_COUNTS)


def _names(offset_axes: int) -> list[str]:
    return ["cell", "count", *(f"offset_{axis}" for axis in range(offset_axes))]


def _schema(message: Message) -> pa.Schema:
    """The schema, if it has the columns of counts and no others; ValueError otherwise."""
    schema = pyarrow.ipc.read_schema(pa.py_buffer(message.head + message.body))
    if schema.names != _names(len(schema.names) - 2) or any(field.type != pa.int64() for field in schema):
        raise ValueError
    return schema


def _stated(schema: pa.Schema) -> Mapping[str, Any]:
    stated = json.loads(schema.metadata[_METADATA])
    if not {"format", "release", "step", "unit"} <= set(stated):
        raise ValueError
    return dict(stated)


def _sent(stated: Mapping[str, Any], tally: Tally) -> SentCounts:
    unit = Unit.from_json(stated["unit"])
    return SentCounts(release=str(stated["release"]), step=Step(stated["step"]), unit=unit, tally=tally)


def _columns(message: Message, schema: pa.Schema) -> list[np.ndarray[Any, np.dtype[np.int64]]]:
    batch = pyarrow.ipc.read_record_batch(pa.py_buffer(message.head + message.body), schema)
    batch.validate(full=True)
    return [column.to_numpy(zero_copy_only=True) for column in batch.columns]  # refuses nulls
