"""PersonBuffer: contribution bounding for the privacy unit "person", at most `max_rows` rows of each.

Which rows are kept. For row number j (from 0) among the equal records r of person i, let t = PRF_k(i, r, j), with a
fresh secret k for each buffer unless one is given. Of each person the rows with the smallest (t, r) are kept, at most
`max_rows` of them.

Why one person changes the counts by at most c = max_rows. Fix k. Let g_k(i, R_i) be the rows kept of person i, where
R_i is the multiset of that person's records. The definition above mentions nothing but k, i and R_i: not the order of
the file, not its batches, not other persons. What is kept of a file is the sum of g_k(i, R_i) over all persons. Adding
or removing person i adds or removes g_k(i, R_i), which has at most c rows. So the exact histogram moves by at most c in
L1, for every k. A mechanism that is epsilon-DP for such a change is so for every k, hence also for a random secret k
that is independent of the data. The argument does not use that PRF is pseudorandom: a fast 64-bit hash is enough
(`keyed_hash`). It does use that different persons are never taken for the same person. So ids are compared as whole
byte strings, and a collision of hashes merges no two persons.

How it is computed in bounded memory. Rows are collected in memory. When they take more than `Limits.buffer_bytes`,
memory for sorting included, they are sorted by a keyed hash and written to a sealed spool (`sorted_runs`). At the end
the runs are merged, and the rows of each person are chosen from the sorted stream (`contributions`). Uploads that fit
into memory touch no disk.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence
from types import TracebackType
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from app.ingest.contributions import Contributions
from app.ingest.keyed_hash import SECRET_BYTES, KeyedHash
from app.ingest.limits import Limits
from app.ingest.person_rows import PersonRows, compacted, hashed
from app.ingest.sorted_runs import SortedRuns
from core.records import Records

ROWS_AT_ONCE = 2**16
BATCHES_AT_ONCE = 2**10

# Memory for sorting and merging, the rows included, in units of the memory of the rows. With 6, ten million rows of a
# million persons take 52 MiB more than the same rows as records, under the default of 64 MiB; with 3, 74 MiB.
_SORTING_FACTOR = 6


class PersonBuffer:
    """Takes rows with the ids of their persons, and returns at most `max_rows` rows of each person.

    dtypes    of the columns of the records: uint32 or uint64 each
    max_rows  rows kept of a person at most; 1 or more
    limits    buffer_bytes, spool_bytes and spool_folder apply
    secret    the key k, SECRET_BYTES bytes; None: a fresh one

    A context manager: on exit it closes the spool.
    """

    def __init__(
        self,
        *,
        dtypes: Sequence[np.dtype[Any]],
        max_rows: int,
        limits: Limits,
        secret: bytes | None = None,
    ) -> None:
        self._dtypes = tuple(dtypes)
        self._limits = limits
        self._keyed_hash = KeyedHash(secrets.token_bytes(SECRET_BYTES) if secret is None else secret)
        self._batches: list[tuple[pa.LargeBinaryArray, Records]] = []
        self._batched_rows = 0
        self._parts: list[PersonRows] = []
        self._part_bytes = 0
        self._runs: SortedRuns | None = None
        self._contributions = Contributions(max_rows=max_rows)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._runs is not None:
            self._runs.close()

    def add(self, ids: pa.Array, records: Records) -> None:
        """Append a batch: `ids[i]` (binary or large_binary, no nulls) is the id of the person of row i.

        Raises UploadTooLarge or SpoolFailure if the spool cannot take it.
        """
        # A copy: the ids of an Arrow batch would keep the memory of all its columns alive.
        self._batches.append((pa.concat_arrays([pc.cast(ids, pa.large_binary())]), records))
        self._batched_rows += len(records)
        # Many small batches are packed as one, so that no batch costs arrays of its own.
        if self._batched_rows >= ROWS_AT_ONCE or len(self._batches) >= BATCHES_AT_ONCE:
            self._pack()

    def kept(self) -> Iterator[Records]:
        """At most `max_rows` rows of each person, in batches. Call it once, after the last `add`.

        Raises UploadTooLarge or SpoolFailure if the spool cannot take the last rows or give them back.
        """
        self._pack()
        for rows in self._sorted():
            yield from self._contributions.add(rows)
        yield from self._contributions.finish()

    def rows_kept_by(self, bound: int) -> int:
        """How many rows `max_rows=bound` would keep, for a bound up to the `max_rows` of this buffer.

        Call it once `kept` has yielded its last batch. The number is exact: show it to the curator only.
        """
        return self._contributions.rows_kept_by(bound)

    def _pack(self) -> None:
        """Turn the waiting batches into a part; move all parts to the spool if they take too much memory."""
        if not self._batched_rows:
            self._batches.clear()
            return
        ids = pa.concat_arrays([ids for ids, _ in self._batches])
        columns = tuple(
            np.concatenate(arrays, dtype=dtype)
            for dtype, *arrays in zip(self._dtypes, *(records.columns for _, records in self._batches), strict=True)
        )
        part = hashed(ids, columns, np.ones(len(ids), dtype=np.int64), self._keyed_hash)
        self._batches.clear()
        self._batched_rows = 0
        self._parts.append(part)
        self._part_bytes += part.nbytes
        if self._part_bytes * _SORTING_FACTOR > self._limits.buffer_bytes:
            self._spill()

    def _spill(self) -> None:
        """Write the parts to the spool as a sorted run."""
        if self._runs is None:
            self._runs = SortedRuns(dtypes=self._dtypes, limits=self._limits, keyed_hash=self._keyed_hash)
        self._runs.write(self._sorted_parts())

    def _sorted(self) -> Iterator[PersonRows]:
        """All rows in order of their keys."""
        if self._runs is None:
            if self._parts:
                yield self._sorted_parts()
            return
        if self._parts:
            self._spill()
        yield from self._runs.steps()

    def _sorted_parts(self) -> PersonRows:
        """The parts as one; forgets them."""
        parts, self._parts, self._part_bytes = self._parts, [], 0
        return compacted(parts)
