"""The body of one upload -> its records, read to the last row, and what the curator is told about them.

Each row becomes at most one record, by itself: the readers judge rows one at a time, `core.records.take_in` maps them
one at a time. That is step 1 of the proof in `core.release`. No noise is drawn here: the steps that draw are
`core.release.draw`, on what `read_upload` yields. Nothing here is caught and turned into a smaller answer: an upload is
read to its last row or refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import assert_never

from app.ingest.errors import Cap, UploadTooLarge
from app.ingest.formats import MediaType, read_batches
from app.ingest.holding import Holding
from app.ingest.limits import Limits
from core.domain.domain import Domain
from core.errors import InvalidRecords
from core.histogram import Counts, OccupiedCounts, empty_counts
from core.plan import THRESHOLDED_DIMENSIONS, DeclaredSize, EstimatedSize, Order, Plan, make_plan
from core.records import OutOfRange, Records, take_in


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Ingest:
    """What became of the rows: exact, so for the curator's reply alone and stored nowhere."""

    rows_read: int
    rows_dropped: int
    rows_clipped: int


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class CountedRows:
    """The rows of an upload whose grid was known beforehand: counted as they came."""

    plan: Plan
    counts: Counts | OccupiedCounts
    ingest: Ingest

    def __len__(self) -> int:
        return self.ingest.rows_read - self.ingest.rows_dropped

    def count_on(self, plan: Plan) -> Counts | OccupiedCounts:
        """The counts; on the plan that they were taken for and no other."""
        if plan != self.plan:
            raise InvalidRecords("The rows were counted for another plan.")
        return self.counts


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class HeldRows:
    """The rows of an upload whose grid follows from their noisy number: held until it is known."""

    holding: Holding
    ingest: Ingest

    def __len__(self) -> int:
        return len(self.holding)

    def count_on(self, plan: Plan) -> Counts | OccupiedCounts:
        """Count every held record; called once."""
        counts = empty_counts(plan)
        for records in self.holding.pages():
            counts.add(records)
        return counts


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
    """Read and judge every row of a body; `domain` has the attributes of the order, in its order.

    With a declared size the grid is known and each batch is counted as it comes. Otherwise the records are held, for
    as long as the block runs, until the grid follows from their noisy number.
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
            with Holding(dimensions=domain.dimensions, limits=limits) as holding:
                yield HeldRows(holding, take(holding.add))
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
    """What would become of the rows of a file, by the same readers and without counting: for the curator's own eyes."""
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
    """Give every record to `sink`; closes the reader, and with it its spool, on any exit."""
    read = dropped = clipped = 0
    # By the number of attributes and not by the grid: a grid that follows from a noisy size must not lead to a refusal,
    # because that would select among draws.
    wide = domain.dimensions >= THRESHOLDED_DIMENSIONS and limits.max_wide_rows < limits.max_rows
    cap, most = (Cap.WIDE_ROWS, limits.max_wide_rows) if wide else (Cap.ROWS, limits.max_rows)
    with closing(read_batches(chunks, domain.names, media_type=media_type, gzip=gzip, limits=limits)) as batches:
        for batch in batches:
            taken = take_in(batch.values, domain, out_of_range)
            read += taken.rows_read + batch.bad_rows
            dropped += taken.rows_dropped + batch.bad_rows
            clipped += taken.rows_clipped
            if read > most:
                raise UploadTooLarge(cap, most)
            sink(taken.records)
    return Ingest(rows_read=read, rows_dropped=dropped, rows_clipped=clipped)
