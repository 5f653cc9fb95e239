"""The body of one upload -> all of its records, and the numbers of rows read, dropped and clipped.

Each row becomes at most one record, independently of the other rows: the readers parse rows one at a time, and
`core.records.take_in` maps them one at a time. That is step 1 of the proof in `core.release`. No noise is drawn here:
`core.release.draw` does that with the rows that `read_upload` yields. An upload is read to its last row or refused: no
error is caught to return fewer rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import assert_never

from app.ingest.errors import Cap, UploadTooLarge
from app.ingest.formats import MediaType, read_batches
from app.ingest.limits import Limits
from app.ingest.record_buffer import RecordBuffer
from core.domain.domain import Domain
from core.errors import InvalidRecords
from core.histogram import Counts, OccupiedCounts, empty_counts
from core.plan import THRESHOLDED_DIMENSIONS, DeclaredSize, EstimatedSize, Order, Plan, make_plan
from core.records import OutOfRange, Records, take_in
from core.unit import RECORD, Unit


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Ingest:
    """Exact numbers of rows. They are private: only the curator's reply has them, and they are stored nowhere."""

    rows_read: int
    rows_dropped: int
    rows_clipped: int


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class CountedRows:
    """The rows of an upload with a declared size: the grid was planned before, so rows were counted as they arrived."""

    plan: Plan
    counts: Counts | OccupiedCounts
    ingest: Ingest

    def __len__(self) -> int:
        return self.ingest.rows_read - self.ingest.rows_dropped

    def count_on(self, plan: Plan) -> Counts | OccupiedCounts:
        """The counts; raises InvalidRecords for another plan than the one they were counted for."""
        if plan != self.plan:
            raise InvalidRecords("The rows were counted for another plan.")
        return self.counts

    @property
    def unit(self) -> Unit:
        """A record: the rows of a person are not bounded here."""
        return RECORD


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class HeldRows:
    """The rows of an upload with an estimated size: kept until the grid is planned from their noisy number."""

    buffer: RecordBuffer
    ingest: Ingest

    def __len__(self) -> int:
        return len(self.buffer)

    def count_on(self, plan: Plan) -> Counts | OccupiedCounts:
        """Count every record of the buffer on the planned grid. Call it once."""
        counts = empty_counts(plan)
        for records in self.buffer.pages():
            counts.add(records)
        return counts

    @property
    def unit(self) -> Unit:
        """A record: the rows of a person are not bounded here."""
        return RECORD


@contextmanager
def read_upload(
    chunks: Iterable[bytes],
    *,
    media_type: MediaType,
    gzip: bool,
    order: Order,
    domain: Domain,
    out_of_range: OutOfRange,
    max_cells: int,
    limits: Limits,
) -> Iterator[CountedRows | HeldRows]:
    """Read every row of a body; `domain` has the attributes of the order, in the same sequence.

    Yields CountedRows for a declared size, where the grid is planned first and each batch is counted as it arrives.
    Yields HeldRows for an estimated size; its records exist until the `with` block ends. Raises IngestError.
    """

    def take(sink: Callable[[Records], None]) -> Ingest:
        return _take_all(
            chunks,
            sink,
            media_type=media_type,
            gzip=gzip,
            domain=domain,
            out_of_range=out_of_range,
            limits=limits,
        )

    match order.size:
        case DeclaredSize():
            plan = make_plan(order, max_cells=max_cells)
            counts = empty_counts(plan)
            yield CountedRows(plan, counts, take(counts.add))
        case EstimatedSize():
            with RecordBuffer(dtypes=[each.code_type for each in domain.attributes], limits=limits) as buffer:
                yield HeldRows(buffer, take(buffer.add))
        case _:
            assert_never(order.size)


def check_upload(
    chunks: Iterable[bytes],
    *,
    media_type: MediaType,
    gzip: bool,
    domain: Domain,
    out_of_range: OutOfRange,
    limits: Limits,
) -> Ingest:
    """The numbers of rows that an upload of this body would give, by the same readers, without counting on a grid.

    They are exact, so show them to the curator only. Raises IngestError.
    """
    return _take_all(
        chunks,
        lambda _records: None,
        media_type=media_type,
        gzip=gzip,
        domain=domain,
        out_of_range=out_of_range,
        limits=limits,
    )


def _take_all(
    chunks: Iterable[bytes],
    sink: Callable[[Records], None],
    *,
    media_type: MediaType,
    gzip: bool,
    domain: Domain,
    out_of_range: OutOfRange,
    limits: Limits,
) -> Ingest:
    """Pass every record to `sink` and return the numbers of rows. Closes the reader and its spool on any exit."""
    read = dropped = clipped = 0
    # The limit depends on the number of attributes and not on the grid. A grid that was planned from a noisy size must
    # not lead to a refusal, because that would select among draws.
    wide = domain.dimensions >= THRESHOLDED_DIMENSIONS and limits.max_wide_rows < limits.max_rows
    cap, most = (Cap.WIDE_ROWS, limits.max_wide_rows) if wide else (Cap.ROWS, limits.max_rows)
    with closing(read_batches(chunks, domain.names, media_type=media_type, gzip=gzip, limits=limits)) as batches:
        for batch in batches:
            taken = take_in(tuple(batch.values.T), domain, out_of_range)
            read += taken.rows_read + batch.bad_rows
            dropped += taken.rows_dropped + batch.bad_rows
            clipped += taken.rows_clipped
            if read > most:
                raise UploadTooLarge(cap, most)
            sink(taken.records)
    return Ingest(rows_read=read, rows_dropped=dropped, rows_clipped=clipped)
