"""The body of one upload -> exact counts on the planned grid, and what the curator is told about the rows.

Each row becomes at most one record, by itself: the readers judge rows one at a time, `core.records.take_in` maps them
one at a time. That is step 1 of the proof in `core.release`. Nothing here is caught and turned into a smaller answer:
an upload is counted to its last row or refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import closing
from dataclasses import dataclass
from typing import assert_never

from app.ingest.errors import Cap, UploadTooLarge
from app.ingest.formats import MediaType, read_batches
from app.ingest.holding import Holding
from app.ingest.limits import Limits
from core.domain import Domain
from core.histogram import Counts, OccupiedCounts
from core.plan import THRESHOLDED_DIMENSIONS, DeclaredSize, EstimatedSize, Order, Plan, make_plan
from core.randomness import NoiseSource
from core.records import OutOfRange, Records, take_in
from core.release import noisy_size


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Ingest:
    """What became of the rows: exact, so for the curator's reply alone and stored nowhere."""

    rows_read: int
    rows_dropped: int
    rows_clipped: int


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Counted:
    """An upload, counted: the plan it was counted on, the exact counts, and what became of the rows."""

    plan: Plan
    counts: Counts | OccupiedCounts
    ingest: Ingest


def count_upload(
    chunks: Iterable[bytes],
    *,
    media_type: MediaType,
    gzip: bool,
    order: Order,
    domain: Domain,
    out_of_range: OutOfRange,
    max_cells: int,
    limits: Limits,
    noise: NoiseSource,
) -> Counted:
    """Count the rows of a body; `domain` has the attributes of the order, in its order.

    With a declared size the grid is known and each batch is counted as it comes. Otherwise the records are held until
    their number is known, that number is noised (once), and the grid follows from the noisy one.
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
            counts = _no_counts(plan)
            ingest = take(counts.add)
        case EstimatedSize():
            with Holding(dimensions=domain.dimensions, limits=limits) as held:
                ingest = take(held.add)
                plan = make_plan(order, max_cells=max_cells, noisy_size=noisy_size(len(held), order, noise))
                counts = _no_counts(plan)
                for records in held.pages():
                    counts.add(records)
        case _:
            assert_never(order.size)
    return Counted(plan=plan, counts=counts, ingest=ingest)


def _no_counts(plan: Plan) -> Counts | OccupiedCounts:
    return Counts.zero(plan.grid) if plan.threshold is None else OccupiedCounts(plan.grid)


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
