"""Engine: counts all rows of some files for one step of a release after the other.

The one seam to other machines is `concurrent.futures.Executor`: each task takes a part of a file and returns its exact
counts, and they add up. Any executor will do whose workers can open the files and import rugnik.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor, wait
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from itertools import islice
from multiprocessing import get_context
from typing import Protocol

from app.engines.files import find_files
from app.engines.parts import NO_ROWS, Job, Part, Progress, count_part, parts_of
from app.engines.people import PersonEngine
from app.engines.shuffle import ShuffleEngine
from app.ingest.formats import MediaType
from app.ingest.keyed_hash import SECRET_BYTES
from app.ingest.limits import MIB, Limits
from app.ingest.upload import Ingest
from core.counting import Tally, Target
from core.domain.domain import Domain
from core.records import OutOfRange
from core.unit import Unit

_WORTH_PROCESSES = 256 * MIB  # of files, from which on processes are worth their start


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
    tally, ingest, done = None, NO_ROWS, 0
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
    person_key: bytes | None = None,
) -> Iterator[Engine]:
    """An engine for the rows of these files: cores of this machine, or a Dask cluster if a scheduler is named.

    `person_key` decides which rows of a person are kept (`people.key_of`). None: a fresh one, for numbers of rows.
    Raises NoFiles for files that are not there, and UnfitCluster for a cluster that must not see private rows.
    """
    job = Job(domain, unit, out_of_range, _unlimited(limits))
    parts = [part for file in find_files(files, media_type) for part in parts_of(file)]
    with ExitStack() as exits:
        key = secrets.token_bytes(SECRET_BYTES) if person_key is None else person_key
        if scheduler is not None:
            from app.engines.dask_cluster import connected  # noqa: PLC0415 - an extra

            cluster = exits.enter_context(connected(scheduler))
            if unit.is_person:
                yield exits.enter_context(ShuffleEngine(cluster, parts, job, key, progress))
            else:
                yield RecordEngine(cluster.executor, parts, job, cluster.at_once, progress)
        elif unit.is_person:
            yield exits.enter_context(PersonEngine(parts, job, key, progress))
        else:
            cores = os.cpu_count() or 1
            executor = exits.enter_context(_local(min(cores, len(parts)), parts))
            yield RecordEngine(executor, parts, job, 2 * cores, progress)


def _local(workers: int, parts: Sequence[Part]) -> Executor:
    """Processes, which share nothing and use every core. Threads wait for each other's interpreter lock.

    They take a second to start, so few rows are counted in this process (`python -m bench.engines`).
    """
    if workers == 1 or sum({part.file: part.file.size for part in parts}.values()) < _WORTH_PROCESSES:
        return ThreadPoolExecutor(1)
    return ProcessPoolExecutor(workers, mp_context=get_context("spawn"))


def _unlimited(limits: Limits) -> Limits:
    """The limits of single rows and blocks alone: files of the curator's own may have any number of rows."""
    most = 2**62
    return replace(limits, max_bytes=most, max_inflated_bytes=most, max_rows=most, spool_bytes=most)
