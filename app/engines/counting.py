"""Engine: counts all rows of some files for one step of a release after the other.

The one seam to other machines is `concurrent.futures.Executor`: each task takes a part of a file and returns its exact
counts, and they add up. Any executor will do whose workers can open the files and import rugnik.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor, wait
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from itertools import islice
from multiprocessing import get_context
from typing import Protocol

from app.engines.files import find_files
from app.engines.parts import Job, Part, count_part, parts_of, read_part
from app.ingest.formats import MediaType
from app.ingest.limits import MIB, Limits
from app.ingest.people import PersonBuffer
from app.ingest.record_buffer import RecordBuffer
from app.ingest.upload import Ingest, judge
from core.counting import Tally, Target
from core.domain.domain import Domain
from core.records import OutOfRange
from core.unit import Unit

Progress = Callable[[int, int], object]  # parts done, parts in all
_WORTH_PROCESSES = 256 * MIB  # of files, from which on processes are worth their start
_NONE = Ingest(rows_read=0, rows_dropped=0, rows_clipped=0)


class Engine(Protocol):
    """Counts the rows of some files. Everything it returns is exact, and private."""

    def check(self) -> Ingest:
        """What becomes of the rows, without counting them on a grid: one pass over all files."""

    def count(self, target: Target) -> Tally:
        """The exact counts of one step: one pass over all rows."""


def count_parts(
    executor: Executor,
    parts: Sequence[Part],
    job: Job,
    target: Target | None,
    *,
    at_once: int,
    progress: Progress | None = None,
) -> tuple[Tally | None, Ingest]:
    """The counts of all parts, None without a target, and what became of the rows.

    At most `at_once` tasks are submitted and not done, so that results do not pile up. The first error ends the rest.
    """
    waiting = iter(parts)
    running: set[Future[tuple[Tally | None, Ingest]]] = set()
    tally, ingest, done = None, _NONE, 0
    try:
        while True:
            for part in islice(waiting, at_once - len(running)):
                running.add(executor.submit(count_part, part, job, target))
            if not running:
                return tally, ingest
            finished, running = wait(running, return_when=FIRST_COMPLETED)
            for future in finished:
                counted, rows = future.result()
                ingest += rows
                if counted is not None:
                    tally = counted if tally is None else Tally.merged([tally, counted])
            done += len(finished)
            if progress is not None:
                progress(done, len(parts))
    finally:
        for future in running:
            future.cancel()


@dataclass(frozen=True, slots=True)
class RecordEngine:
    """For records as privacy units: every row by itself, so parts are counted wherever the executor puts them."""

    executor: Executor
    parts: Sequence[Part]
    job: Job
    at_once: int
    progress: Progress | None = None

    def check(self) -> Ingest:
        """What becomes of the rows."""
        return self._counted(None)[1]

    def count(self, target: Target) -> Tally:
        """The exact counts of one step."""
        tally, _ = self._counted(target)
        assert tally is not None  # noqa: S101 - there is a target, and at least one part
        return tally

    def _counted(self, target: Target | None) -> tuple[Tally | None, Ingest]:
        return count_parts(self.executor, self.parts, self.job, target, at_once=self.at_once, progress=self.progress)


class PersonEngine:
    """For persons as privacy units: all rows are read once, in this process, and bounded together.

    What is kept of each person stays in a buffer, beyond memory in a sealed spool, so that every step counts the same
    rows.
    """

    def __init__(self, parts: Sequence[Part], job: Job, progress: Progress | None) -> None:
        self._parts, self._job, self._progress = parts, job, progress
        self._exits = ExitStack()
        self._kept: RecordBuffer | None = None
        self._ingest = _NONE

    def check(self) -> Ingest:
        """What becomes of the rows."""
        self._bounded()
        return self._ingest

    def count(self, target: Target) -> Tally:
        """The exact counts of one step."""
        counter = target.counter()
        for records in self._bounded().pages():
            counter.add(records)
        return counter.tally()

    def close(self) -> None:
        """Forget the rows."""
        self._exits.close()

    def _bounded(self) -> RecordBuffer:
        if self._kept is not None:
            return self._kept
        job, bound = self._job, self._job.unit.max_rows
        dtypes = tuple(each.code_type for each in job.domain.attributes)
        kept = self._exits.enter_context(RecordBuffer(dtypes=dtypes, limits=job.limits))
        with PersonBuffer(dtypes=dtypes, max_rows=bound, limits=job.limits) as people:
            for done, part in enumerate(self._parts, start=1):
                for batch in read_part(part, job):
                    judged = judge(batch, job.domain, job.out_of_range)
                    self._ingest += judged.ingest
                    people.add(judged.ids, judged.records)
                if self._progress is not None:
                    self._progress(done, len(self._parts))
            for records in people.kept():
                kept.add(records)
            over_limit = self._ingest.rows_kept - people.rows_kept_by(bound)
        self._ingest = replace(self._ingest, rows_over_limit=over_limit)
        self._kept = kept
        return kept


@contextmanager
def open_engine(
    files: Sequence[str],
    *,
    domain: Domain,
    unit: Unit,
    out_of_range: OutOfRange,
    limits: Limits,
    media_type: MediaType | None = None,
    scheduler: str | None = None,
    progress: Progress | None = None,
) -> Iterator[Engine]:
    """An engine for the rows of these files: threads of this process, or a Dask cluster if a scheduler is named.

    Raises NoFiles for files that are not there, and UnfitCluster for a cluster that must not see private rows.
    """
    job = Job(domain, unit, out_of_range, _unlimited(limits))
    parts = [part for file in find_files(files, media_type) for part in parts_of(file)]
    with ExitStack() as exits:
        if scheduler is not None:
            from app.engines.dask_cluster import connected  # noqa: PLC0415 - an extra

            executor, at_once = exits.enter_context(connected(scheduler, unit))
            yield RecordEngine(executor, parts, job, at_once, progress)
        elif unit.is_person:
            people = PersonEngine(parts, job, progress)
            exits.callback(people.close)
            yield people
        else:
            cores = os.cpu_count() or 1
            executor = exits.enter_context(_local(min(cores, len(parts)), parts))
            yield RecordEngine(executor, parts, job, 2 * cores, progress)


def _local(workers: int, parts: Sequence[Part]) -> Executor:
    """Processes, which share nothing and use every core. Threads wait for each other's interpreter lock.

    Measured with two cores: processes 1.8 times one, threads 1.1 times. They take a second to start, so few rows are
    counted in this process.
    """
    if workers == 1 or sum({part.file: part.file.size for part in parts}.values()) < _WORTH_PROCESSES:
        return ThreadPoolExecutor(1)
    return ProcessPoolExecutor(workers, mp_context=get_context("spawn"))


def _unlimited(limits: Limits) -> Limits:
    """The limits of single rows and blocks alone: files of the curator's own may have any number of rows."""
    most = 2**62
    return replace(limits, max_bytes=most, max_inflated_bytes=most, max_rows=most, spool_bytes=most)
