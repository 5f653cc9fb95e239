"""ShuffleEngine: rows of persons counted on a cluster, after all rows of a person were brought to one worker.

    split    a task for each part of a file reads it, judges its rows, sorts them by the keyed hash of the person's id,
             and cuts them into pieces: one for each range of hashes
    bound    a task for each range takes its piece of every part and keeps at most c rows of each person
    count    a task for each range counts what it kept, for each step of the release

Why bounds hold exactly. All rows with the same id have the same hash under the key of the release, whichever worker
reads them, so they are in the same range. The rows kept of a person depend on the key, the id and that person's rows
alone (`app.ingest.people`). So they are the rows that one process would keep, and each step counts them again.

Pieces and kept rows stay in the memory of workers and go from worker to worker. The curator's process sees counts and
numbers of rows. A worker that is lost takes its pieces along; the cluster makes them anew from the files, and the same
key gives the same rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from operator import getitem
from types import TracebackType
from typing import Any, Protocol, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from app.engines.parts import NO_ROWS, Job, Part, Progress, read_part
from app.ingest.contributions import Contributions
from app.ingest.keyed_hash import KeyedHash
from app.ingest.limits import MIB
from app.ingest.person_rows import PREFIX_SHIFT, Columns, PersonRows, compacted, hashed
from app.ingest.upload import Ingest, judge
from core.counting import Tally, Target
from core.records import Records

RANGE_BYTES = 256 * MIB  # of files for each range of hashes, about: a worker bounds one range in memory


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Kept:
    """The rows kept of all persons of a range. Private. Unlike Records they may be moved to another worker."""

    columns: Columns
    rows: int


class Tasks(Protocol):
    """Where tasks run: results stay on workers until they are asked for, and are arguments of further tasks."""

    @property
    def threads(self) -> int:
        """How many tasks run at once."""

    def submit(self, task: Callable[..., Any], /, *arguments: Any) -> Any:
        """A future, which may be an argument, or an item of a list of arguments, of another task."""

    def results(self, futures: Sequence[Any], progress: Progress | None = None) -> list[Any]:
        """What tasks returned, in order. Raises the first error."""


class ShuffleEngine:
    """For persons as privacy units, on a cluster. What is kept stays on the workers until the engine is closed."""

    def __init__(
        self, tasks: Tasks, parts: Sequence[Part], job: Job, key: bytes, progress: Progress | None = None
    ) -> None:
        self._tasks, self._parts, self._job, self._key, self._progress = tasks, parts, job, key, progress
        self._kept: list[Any] | None = None
        self._ingest = NO_ROWS

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._kept = None  # a cluster forgets what nobody waits for

    def check(self) -> Ingest:
        """What becomes of the rows."""
        self._shuffled()
        return self._ingest

    def count(self, target: Target) -> Tally:
        """The exact counts of one step."""
        counted = [self._tasks.submit(count_kept, kept, target) for kept in self._shuffled()]
        return Tally.merged(self._tasks.results(counted, self._progress))

    def _shuffled(self) -> list[Any]:
        """A future of Kept for each range of hashes."""
        if self._kept is not None:
            return self._kept
        submit, unit = self._tasks.submit, self._job.unit
        files = sum({part.file: part.file.size for part in self._parts}.values())
        ranges = max(2 * self._tasks.threads, files // RANGE_BYTES)
        split = [submit(split_part, part, self._job, self._key, ranges) for part in self._parts]
        read = [submit(getitem, pieces, ranges) for pieces in split]
        kept = [
            submit(bound_pieces, [submit(getitem, pieces, number) for pieces in split], unit.max_rows)
            for number in range(ranges)
        ]
        rows = [submit(rows_kept, each) for each in kept]
        for ingest in self._tasks.results(read, self._progress):
            self._ingest += ingest
        over_limit = self._ingest.rows_kept - sum(self._tasks.results(rows))
        self._ingest = replace(self._ingest, rows_over_limit=over_limit)
        self._kept = kept
        return kept


def split_part(part: Part, job: Job, key: bytes, ranges: int) -> list[PersonRows | Ingest]:
    """The rows of a part in order of their keys, cut at the bounds of the ranges; and last, what became of all rows.

    Range x has the persons with x / ranges <= (prefix of the id's hash) / 2^32 < (x + 1) / ranges.
    """
    keyed_hash = KeyedHash(key)
    dtypes = [each.code_type for each in job.domain.attributes]
    held, ingest = [_none_of(dtypes, keyed_hash)], NO_ROWS
    for batch in read_part(part, job):
        judged = judge(batch, job.domain, job.out_of_range)
        ingest += judged.ingest
        ids = pa.concat_arrays([pc.cast(judged.ids, pa.large_binary())])
        columns = tuple(
            column.astype(dtype, copy=False) for column, dtype in zip(judged.records.columns, dtypes, strict=True)
        )
        held.append(hashed(ids, columns, np.ones(len(ids), dtype=np.int64), keyed_hash))
    rows = compacted(held) if any(map(len, held)) else held[0]
    bounds = [-(-(number << 32) // ranges) for number in range(1, ranges)]
    cuts = np.searchsorted(rows.keys >> PREFIX_SHIFT, np.array(bounds, dtype=np.uint64))
    places = [0, *cuts.tolist(), len(rows)]
    return [*(rows.take(np.arange(a, b)) for a, b in pairwise(places)), ingest]


def bound_pieces(pieces: Sequence[PersonRows], max_rows: int) -> Kept:
    """At most `max_rows` rows of each person; the pieces hold all rows of these persons, from all parts."""
    contributions = Contributions(max_rows=max_rows)
    batches = [Records(pieces[0].columns)] if not any(map(len, pieces)) else []
    if not batches:
        batches += [*contributions.add(compacted(pieces)), *contributions.finish()]
    columns = tuple(np.concatenate(each) for each in zip(*(batch.columns for batch in batches), strict=True))
    return Kept(columns, len(columns[0]))


def rows_kept(kept: Kept) -> int:
    """How many rows there are."""
    return kept.rows


def count_kept(kept: Kept, target: Target) -> Tally:
    """The exact counts of the kept rows for one step."""
    counter = target.counter()
    counter.add(Records(kept.columns))
    return counter.tally()


def _none_of(dtypes: Sequence[np.dtype[Any]], keyed_hash: KeyedHash) -> PersonRows:
    no_ids = pa.array([], type=pa.large_binary())
    columns = tuple(np.empty(0, dtype=dtype) for dtype in dtypes)
    return hashed(no_ids, columns, np.empty(0, dtype=np.int64), keyed_hash)
