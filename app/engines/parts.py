"""Parts: pieces of files that are counted independently of each other, anywhere. Their tallies add up.

A part of Parquet is a run of row groups; a part of CSV or NDJSON is a range of bytes, moved to ends of lines, because
no row has more than one line; anything else is a whole file. A part is a small value that can be sent to a worker,
together with the target (`core.counting.Target`); `count_part` is what runs there.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.parquet

from app.engines.files import SourceFile
from app.ingest.batch import ROWS_AT_ONCE, Batch, Columns, Wanted, positions
from app.ingest.columns.kinds import converter_of
from app.ingest.errors import attempt
from app.ingest.formats import MediaType, read_batches
from app.ingest.limits import MIB, Limits
from app.ingest.parquet_pages import NOT_PARQUET
from app.ingest.upload import Ingest, judge
from core.counting import Tally, Target
from core.domain.domain import Domain
from core.records import OutOfRange
from core.unit import Unit
from core.workspace import Workspace

PART_BYTES = 64 * MIB  # of a text file; about the same of Parquet
_READ_BYTES = MIB
_BY_LINES = (MediaType.CSV, MediaType.NDJSON)

Progress = Callable[[int, int], object]  # parts done, parts in all
NO_ROWS = Ingest(rows_read=0, rows_dropped=0, rows_clipped=0)


@dataclass(frozen=True, slots=True)
class Part:
    """Row groups `start` to `stop` - 1 of a Parquet file, or bytes of a text file; `stop` None is to the end."""

    file: SourceFile
    start: int = 0
    stop: int | None = None


@dataclass(frozen=True, slots=True)
class Job:
    """How every part of a release is read: the order's attributes, its unit, and what becomes of values out of range.

    The limits are those of one row and one block; a curator's own files have no limit on rows and bytes.
    """

    domain: Domain
    unit: Unit
    out_of_range: OutOfRange
    limits: Limits


def parts_of(file: SourceFile) -> list[Part]:
    """The parts of a file, in order."""
    if file.media_type is MediaType.PARQUET:
        return _row_groups(file)
    if file.gzip or file.media_type not in _BY_LINES or file.size <= PART_BYTES:
        return [Part(file)]
    starts = range(0, file.size, PART_BYTES)
    return [Part(file, start, start + PART_BYTES) for start in starts[:-1]] + [Part(file, starts[-1])]


def count_part(part: Part, job: Job, target: Target | None) -> tuple[Tally | None, Ingest]:
    """The exact counts of a part, None without a target, and what became of its rows. Both are private."""
    counter = None if target is None else target.counter()
    total, workspace = NO_ROWS, Workspace()
    with closing(read_part(part, job)) as batches:
        for batch in batches:
            judged = judge(batch, job.domain, job.out_of_range, workspace)
            total += judged.ingest
            if counter is not None:
                counter.add(judged.records)
    return None if counter is None else counter.tally(), total


def read_part(part: Part, job: Job) -> Generator[Batch]:
    """The rows of a part, judged by nobody yet. Raises IngestError."""
    wanted = Wanted(job.domain.attributes, job.unit.column)
    given = dict(part.file.partitions)
    inside = replace(wanted, attributes=tuple(each for each in wanted.attributes if each.name not in given))
    if not inside.attributes:
        inside = wanted  # a file without one wanted column is told so
    constants = {
        each.name: converter_of(each).from_text(given[each.name].encode())
        for each in wanted.attributes
        if each.name in given
    }
    read = _read_row_groups if part.file.media_type is MediaType.PARQUET else _read_text
    with closing(read(part, inside, job.limits)) as batches:
        for batch in batches:
            yield batch if inside is wanted else _with_constants(batch, wanted, inside, constants)


def _with_constants(batch: Batch, wanted: Wanted, inside: Wanted, constants: dict[str, object]) -> Batch:
    """The batch with a column for each hive partition that is an attribute."""
    held = dict(zip((each.name for each in inside.attributes), batch.columns, strict=True))
    columns = tuple(
        held[each.name] if each.name in held else np.full(len(batch), constants[each.name], dtype=each.column_type)
        for each in wanted.attributes
    )
    return replace(batch, columns=columns)


def _row_groups(file: SourceFile) -> list[Part]:
    metadata = attempt(partial(_parquet_metadata, file), NOT_PARQUET)
    parts, start, held = [], 0, 0
    for group in range(metadata.num_row_groups):
        held += metadata.row_group(group).total_byte_size
        if held >= PART_BYTES or group + 1 == metadata.num_row_groups:
            parts.append(Part(file, start, group + 1))
            start, held = group + 1, 0
    return parts or [Part(file, 0, 0)]


def _parquet_metadata(file: SourceFile) -> pyarrow.parquet.FileMetaData:
    system, path = file.opened()
    with system.open_input_file(path) as source:
        return pyarrow.parquet.ParquetFile(source).metadata


def _read_row_groups(part: Part, wanted: Wanted, limits: Limits) -> Generator[Batch]:
    """The curator's own file, read by pyarrow as it is: the checks against hostile files are for uploads."""
    del limits
    system, path = part.file.opened()
    columns = Columns(wanted)
    with attempt(partial(system.open_input_file, path), NOT_PARQUET) as source:
        file = attempt(partial(pyarrow.parquet.ParquetFile, source, coerce_int96_timestamp_unit="us"), NOT_PARQUET)
        schema = file.schema_arrow
        columns.require_types([schema.field(x).type for x in positions(columns.names, schema.names)])
        names = list(dict.fromkeys(columns.names))
        groups = range(part.start, file.num_row_groups if part.stop is None else part.stop)
        batches = file.iter_batches(ROWS_AT_ONCE, row_groups=list(groups), columns=names, use_threads=False)
        while (batch := attempt(partial(next, batches, None), NOT_PARQUET)) is not None:
            yield attempt(partial(_converted, columns, batch), NOT_PARQUET)


def _converted(columns: Columns, batch: pa.RecordBatch) -> Batch:
    return columns.from_arrow([batch.column(name) for name in columns.names])


def _read_text(part: Part, wanted: Wanted, limits: Limits) -> Generator[Batch]:
    return read_batches(_chunks(part), wanted, media_type=part.file.media_type, gzip=part.file.gzip, limits=limits)


def _chunks(part: Part) -> Iterator[bytes]:
    """The bytes of a part: from the first line that begins in its range to the end of the last one that does.

    The header of a CSV file comes first in each of its parts.
    """
    system, path = part.file.opened()
    with system.open_input_file(path) as source:
        begin = 0
        if part.start:
            if part.file.media_type is MediaType.CSV:
                yield from _until_line_end(source.read)
            source.seek(part.start - 1)
            begin = part.start - 1 + sum(map(len, _until_line_end(source.read)))
            source.seek(begin)
        yield from _range(source.read, begin, part.stop)


def _until_line_end(read: Callable[[int], bytes]) -> Iterator[bytes]:
    """Bytes up to and including the first LF, in pieces."""
    while piece := read(_READ_BYTES):
        line, end, _ = piece.partition(b"\n")
        yield line + end
        if end:
            return


def _range(read: Callable[[int], bytes], begin: int, stop: int | None) -> Iterator[bytes]:
    """Bytes from here to the end of the line that holds byte `stop` - 1."""
    left = None if stop is None else stop - begin
    while left is None or left > 0:
        piece = read(_READ_BYTES if left is None else min(_READ_BYTES, left))
        if not piece:
            return
        left = None if left is None else left - len(piece)
        yield piece
        if left == 0 and not piece.endswith(b"\n"):
            yield from _until_line_end(read)
