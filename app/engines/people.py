"""PersonEngine: rows of persons counted on this machine. The key of a release, which decides which rows are kept."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from hashlib import sha256
from types import TracebackType
from typing import Self

from app.engines.parts import NO_ROWS, Job, Part, Progress, read_part
from app.ingest.keyed_hash import SECRET_BYTES
from app.ingest.people import PersonBuffer
from app.ingest.record_buffer import RecordBuffer
from app.ingest.upload import Ingest, judge
from core.counting import Tally, Target


def key_of(release: str) -> bytes:
    """The key under which rows of persons are chosen for a release.

    Every step of a release must count the same rows of each person. Otherwise a person with one row here and another
    row there could pay the larger share of both paths of an adaptive release (`core.adaptive.shares`). Steps may be
    counted by different runs of a command, because one that is interrupted is repeated with --order. So the key follows
    from the id of the release. It need not be secret: the proof in `app.ingest.people` holds for every fixed key.
    """
    return sha256(b"rugnik: rows of persons in release " + release.encode()).digest()[:SECRET_BYTES]


class PersonEngine:
    """For persons as privacy units: all rows are read once, in this process, and bounded together.

    What is kept of each person stays in a buffer, beyond memory in a sealed spool, so that every step counts the same
    rows.
    """

    def __init__(self, parts: Sequence[Part], job: Job, key: bytes, progress: Progress | None = None) -> None:
        self._parts, self._job, self._key, self._progress = parts, job, key, progress
        self._exits = ExitStack()
        self._kept: RecordBuffer | None = None
        self._ingest = NO_ROWS

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

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._exits.close()

    def _bounded(self) -> RecordBuffer:
        if self._kept is not None:
            return self._kept
        job, bound = self._job, self._job.unit.max_rows
        dtypes = tuple(each.code_type for each in job.domain.attributes)
        kept = self._exits.enter_context(RecordBuffer(dtypes=dtypes, limits=job.limits))
        with PersonBuffer(dtypes=dtypes, max_rows=bound, limits=job.limits, secret=self._key) as people:
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
