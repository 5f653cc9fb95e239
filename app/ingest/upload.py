"""The body of one upload -> all of its records, and the numbers of rows read, dropped and clipped.

Each row becomes at most one record, independently of the other rows: the readers parse rows one at a time, and
`core.records.take_in` maps them one at a time. That is step 1 of the proof in `core.release`. No noise is drawn here:
`core.release.draw` does that with the rows that `read_upload` yields. An upload is read to its last row or refused: no
error is caught to return fewer rows.

Where the privacy unit is a person, the only step across rows is `people.PersonBuffer`: of the records of each person at
most `Unit.max_rows` are kept. A row without a usable id is dropped before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from app.ingest.batch import Batch, Wanted
from app.ingest.errors import Cap, UploadTooLarge
from app.ingest.formats import MediaType, holds_body, read_batches
from app.ingest.limits import Limits
from app.ingest.local_file import LocalFile
from app.ingest.people import PersonBuffer
from app.ingest.record_buffer import RecordBuffer
from app.ingest.relay import Relay
from core.adaptive.release import Counter
from core.domain.domain import Domain
from core.errors import InvalidRecords
from core.histogram import Counts, OccupiedCounts, empty_counts
from core.offsets import takes_offsets
from core.plan import THRESHOLDED_DIMENSIONS, DeclaredSize, Order, Plan, make_plan
from core.records import OutOfRange, Records, take_in
from core.unit import RECORD, Unit
from core.workspace import Workspace

COMPARED_BOUNDS = (1, 2, 5, 10)  # rows per person for which `check_upload` says how many rows they would keep

# Takes the ids of persons, None where a unit is one record, and their records.
_Sink = Callable[[pa.Array | None, Records], None]


class Explainer(Protocol):
    """Is told of each batch and of what became of it: `app.ingest.losses`."""

    def add(self, batch: Batch, judged: Judged) -> None:
        """Note one batch; its arrays are valid during the call."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Ingest:
    """Exact numbers of rows. They are private: only the curator's reply has them, and they are stored nowhere.

    rows_over_limit  rows left out because their person has more than `Unit.max_rows` of them; they are not in
                     rows_dropped, and they are in rows_clipped if they were clipped
    rows_kept_by     (c, rows that would be kept with at most c of each person), from `check_upload` for persons only
    """

    rows_read: int
    rows_dropped: int
    rows_clipped: int
    rows_over_limit: int = 0
    rows_kept_by: tuple[tuple[int, int], ...] = ()

    def __add__(self, other: Ingest) -> Ingest:
        """The numbers of two parts of the rows, without `rows_kept_by`, which are not sums."""
        return Ingest(
            rows_read=self.rows_read + other.rows_read,
            rows_dropped=self.rows_dropped + other.rows_dropped,
            rows_clipped=self.rows_clipped + other.rows_clipped,
            rows_over_limit=self.rows_over_limit + other.rows_over_limit,
        )

    @property
    def rows_kept(self) -> int:
        """Rows that are counted."""
        return self.rows_read - self.rows_dropped - self.rows_over_limit


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class CountedRows:
    """The rows of an upload with a declared size: the grid was planned before, so rows were counted as they arrived."""

    plan: Plan
    counts: Counts | OccupiedCounts
    ingest: Ingest
    unit: Unit

    def __len__(self) -> int:
        return self.ingest.rows_kept

    def count_on(self, plan: Plan) -> Counts | OccupiedCounts:
        """The counts; raises InvalidRecords for another plan than the one they were counted for."""
        if plan != self.plan:
            raise InvalidRecords("The rows were counted for another plan.")
        return self.counts

    def count_into(self, counter: Counter) -> None:
        """Rows that were counted as they arrived cannot be counted again."""
        del counter
        raise InvalidRecords("The rows were counted for a plan without layers.")


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class HeldRows:
    """The rows of an upload that are kept until all is counted: until the grid is planned from their noisy number, or
    for every layer of an adaptive release.
    """

    buffer: RecordBuffer
    ingest: Ingest
    unit: Unit

    def __len__(self) -> int:
        return len(self.buffer)

    def count_on(self, plan: Plan) -> Counts | OccupiedCounts:
        """Count every record of the buffer on the planned grid."""
        counts = empty_counts(plan)
        self.count_into(counts)
        return counts

    def count_into(self, counter: Counter) -> None:
        """Pass every record to `counter`."""
        for records in self.buffer.pages():
            counter.add(records)


@contextmanager
def read_upload(
    chunks: Iterable[bytes] | LocalFile,
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
    Yields HeldRows for an estimated size, and for a layered plan, whose rows are counted more than once; its records
    exist until the `with` block ends. For persons, rows are counted or held after the last row of the body, when it is
    known which of them are kept. Raises IngestError.
    """
    plan = make_plan(order, max_cells=max_cells) if isinstance(order.size, DeclaredSize) else None
    is_counted_at_once = plan is not None and not plan.is_layered and not order.unit.is_person
    if not is_counted_at_once and holds_body(chunks, media_type=media_type, gzip=gzip):
        limits = limits.halved()  # for the body and for the rows that are read from it

    def take(keep: Callable[[Records], None]) -> Ingest:
        source = _Source(
            chunks=chunks,
            media_type=media_type,
            gzip=gzip,
            domain=domain,
            out_of_range=out_of_range,
            limits=limits,
            unit=order.unit,
            offsets=order.offsets,
        )
        return source.take_people(keep) if order.unit.is_person else source.take(lambda _ids, records: keep(records))

    if plan is None or plan.is_layered:
        with RecordBuffer(dtypes=[each.code_type for each in domain.attributes], limits=limits) as buffer:
            yield HeldRows(buffer, take(buffer.add), order.unit)
    else:
        counts = empty_counts(plan)
        yield CountedRows(plan, counts, take(counts.add), order.unit)


def check_upload(
    chunks: Iterable[bytes] | LocalFile,
    *,
    media_type: MediaType,
    gzip: bool,
    domain: Domain,
    out_of_range: OutOfRange,
    limits: Limits,
    unit: Unit = RECORD,
    explainer: Explainer | None = None,
) -> Ingest:
    """The numbers of rows that an upload of this body would give, by the same readers, without counting on a grid.

    They are exact, so show them to the curator only. For persons, `Ingest.rows_kept_by` compares COMPARED_BOUNDS.
    An explainer is told of each batch, and can say why rows are lost. Raises IngestError.
    """
    if unit.is_person and holds_body(chunks, media_type=media_type, gzip=gzip):
        limits = limits.halved()
    source = _Source(
        chunks=chunks,
        media_type=media_type,
        gzip=gzip,
        domain=domain,
        out_of_range=out_of_range,
        limits=limits,
        unit=unit,
        offsets=takes_offsets(domain.attributes),
        explainer=explainer,
    )
    if unit.is_person:
        return source.take_people(lambda _records: None, compared=COMPARED_BOUNDS)
    return source.take(lambda _ids, _records: None)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class _Source:
    """A body, and how it is read. Call one of its methods, once."""

    chunks: Iterable[bytes] | LocalFile
    media_type: MediaType
    gzip: bool
    domain: Domain
    out_of_range: OutOfRange
    limits: Limits
    unit: Unit
    offsets: bool
    explainer: Explainer | None = None

    def take(self, sink: _Sink) -> Ingest:
        """Pass every record to `sink` and return the numbers of rows. Closes the reader and its spool on any exit."""
        total = Ingest(rows_read=0, rows_dropped=0, rows_clipped=0)
        # The limit depends on the attributes and offsets of the order and not on the grid. A grid that was planned from
        # a noisy size must not lead to a refusal, because that would select among draws.
        limits, wide = self.limits, self.domain.dimensions >= THRESHOLDED_DIMENSIONS
        most_wide = limits.most_wide_rows(self.domain, offsets=self.offsets)
        wide = wide and most_wide < limits.max_rows
        cap, most = (Cap.WIDE_ROWS, most_wide) if wide else (Cap.ROWS, limits.max_rows)
        explainer = self.explainer
        wanted = Wanted(self.domain.attributes, self.unit.column, explained=explainer is not None)
        batches = read_batches(self.chunks, wanted, media_type=self.media_type, gzip=self.gzip, limits=limits)
        # A sink of persons holds records of several batches; any other is done with a batch when it returns.
        workspace = None if self.unit.is_person else Workspace()

        def count(batch: Batch) -> None:
            nonlocal total
            judged = judge(batch, self.domain, self.out_of_range, workspace)
            total += judged.ingest
            if total.rows_read > most:
                raise UploadTooLarge(cap, most)
            if explainer is not None:
                explainer.add(batch, judged)
            sink(judged.ids, judged.records)

        with closing(batches), Relay(count) as relay:
            for batch in batches:
                relay.put(batch)
        return total

    def take_people(self, keep: Callable[[Records], None], compared: tuple[int, ...] = ()) -> Ingest:
        """Pass at most `unit.max_rows` records of each person to `keep` and return the numbers of rows.

        With `compared`, more of them may be passed on: the number of rows that the highest of these bounds keeps.
        """
        bound = self.unit.max_rows
        dtypes = tuple(attribute.code_type for attribute in self.domain.attributes)
        with PersonBuffer(dtypes=dtypes, max_rows=max(bound, *compared, 1), limits=self.limits) as people:
            ingest = self.take(people.add)
            for records in people.kept():
                keep(records)
            over_limit = ingest.rows_kept - people.rows_kept_by(bound)
            kept_by = tuple((each, people.rows_kept_by(each)) for each in compared)
        return replace(ingest, rows_over_limit=over_limit, rows_kept_by=kept_by)


@dataclass(frozen=True, slots=True, repr=False)
class Judged:
    """The records of a batch, the ids of their persons (None where they are not wanted), and the numbers of rows.

    `kept` marks the rows that became records, among those that have an id if ids are wanted; None where all did.
    """

    records: Records
    ids: pa.Array | None
    ingest: Ingest
    kept: NDArray[np.bool_] | None


def judge(batch: Batch, domain: Domain, out_of_range: OutOfRange, workspace: Workspace | None = None) -> Judged:
    """Which rows of a batch become records, each judged alone: step 1 of the proof in `core.release`.

    With a workspace, records are valid until the next call with it (`core.records.take_in`).
    """
    usable = _with_ids(batch)
    taken = take_in(usable.columns, domain, out_of_range, workspace)
    ingest = Ingest(
        rows_read=len(batch) + batch.bad_rows,
        rows_dropped=len(batch) - len(taken.records) + batch.bad_rows,
        rows_clipped=taken.rows_clipped,
    )
    return Judged(taken.records, _kept(usable.ids, taken.kept), ingest, taken.kept)


def _with_ids(batch: Batch) -> Batch:
    """The rows of a batch that have an id, if ids are wanted at all."""
    if batch.ids is None or not batch.ids.null_count:
        return batch
    has_id = batch.ids.is_valid().to_numpy(zero_copy_only=False)
    return Batch(tuple(column[has_id] for column in batch.columns), ids=batch.ids.drop_null())


def _kept(ids: pa.Array | None, kept: NDArray[np.bool_] | None) -> pa.Array | None:
    """The ids of the rows that became records."""
    return ids if ids is None or kept is None else ids.filter(pa.array(kept))
