"""SortedRuns: an external merge sort of PersonRows through one sealed spool.

Each run is sorted by key and written as pages of about PAGE_BYTES. A page never ends between two rows of equal key. So
the loaded pages of a run contain all of its rows up to the last loaded key. The smallest of these keys over all runs is
a safe place to cut: all rows up to it, of every run, are in memory. Hence all occurrences of an (id, record) come out
in the same step. The merge assumes nothing about persons: the rows of a person may be in several steps, also if there
are 10^8 of them, and equal rows of a run are a single row with a count.

Memory: one page of each run at least, otherwise about a sixth of `buffer_bytes` for all runs together, and three times
that while a step is sorted. Each row is written once and read once, so `Limits.spool_bytes` bounds all runs together.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from app.ingest.keyed_hash import KeyedHash
from app.ingest.limits import KIB, Limits
from app.ingest.person_rows import PersonRows, changes, compacted, hashed, person_numbers
from app.ingest.spool import SealedSpool

PAGE_BYTES = 64 * KIB

_IDS = pa.schema([("id", pa.large_binary()), ("rows", pa.uint32())])


@dataclass(frozen=True, slots=True)
class _Page:
    """Where a page is in the spool: two Arrow messages, the ids and then the rows."""

    start: int
    ids_bytes: int
    rows_bytes: int

    @property
    def end(self) -> int:
        return self.start + self.ids_bytes + self.rows_bytes


class SortedRuns:
    """First `write` each run, then iterate over `steps` once. Close the spool with `close`."""

    def __init__(self, *, dtypes: Sequence[np.dtype[Any]], limits: Limits, keyed_hash: KeyedHash) -> None:
        self._spool = SealedSpool(max_bytes=limits.spool_bytes, folder=limits.spool_folder)
        self._buffer_bytes = limits.buffer_bytes
        self._keyed_hash = keyed_hash
        fields = [(f"c{x}", pa.from_numpy_dtype(dtype)) for x, dtype in enumerate(dtypes)]
        self._schema = pa.schema([*fields, ("count", pa.uint32())])
        self._runs: list[list[_Page]] = []

    def close(self) -> None:
        """Close the spool."""
        self._spool.close()

    def write(self, rows: PersonRows) -> None:
        """Append a run: rows as `compacted` returns them, made of fewer than 2^32 rows.

        Raises UploadTooLarge or SpoolFailure if the spool cannot take them.
        """
        run: list[_Page] = []
        new_person = changes(person_numbers(rows.ids, rows.prefixes))
        page_rows = max(1, PAGE_BYTES * len(rows) // rows.nbytes)
        start = 0
        while start < len(rows):
            end = min(len(rows), start + page_rows)
            end = int(np.searchsorted(rows.keys, rows.keys[end - 1], side="right"))
            new_person[start] = True
            run.append(self._write_page(rows.between(start, end), np.flatnonzero(new_person[start:end])))
            start = end
        self._runs.append(run)

    def _write_page(self, rows: PersonRows, starts: NDArray[np.int64]) -> _Page:
        """Write one page. `starts` are the rows with another id than the row before; the others' ids are left out."""
        repeats = pa.array(np.diff(starts, append=len(rows)).astype(np.uint32))
        every_id = rows.ids if len(starts) == len(rows) else rows.ids.take(pa.array(starts))
        ids = pa.record_batch([every_id, repeats], schema=_IDS).serialize()
        columns = [*rows.columns, rows.counts.astype(np.uint32)]
        content = pa.record_batch([pa.array(column) for column in columns], schema=self._schema).serialize()
        page = _Page(len(self._spool), ids.size, content.size)
        self._spool.append(memoryview(ids))
        self._spool.append(memoryview(content))
        return page

    def steps(self) -> Iterator[PersonRows]:
        """All rows in order of their keys, as `compacted` returns them; no (id, record) is in two steps."""
        self._spool.seal()
        at_once = self._buffer_bytes // (6 * max(1, len(self._runs)))
        cursors = [_Cursor(self, run, at_once) for run in self._runs]
        while cursors:
            for cursor in cursors:
                cursor.refill()
            cut = min((cursor.last_key for cursor in cursors if cursor.has_pages), default=None)
            yield compacted([part for cursor in cursors for part in cursor.take(cut)])
            cursors = [cursor for cursor in cursors if cursor.parts or cursor.has_pages]

    def read(self, pages: list[_Page]) -> PersonRows:
        """The rows of consecutive pages."""
        first = pages[0].start
        self._spool.seek(first)
        content = memoryview(self._spool.read(pages[-1].end - first))
        ids, rows = [], []
        for page in pages:
            middle = page.start - first + page.ids_bytes
            ids.append(_message(content[page.start - first : middle], _IDS))
            rows.append(_message(content[middle : page.end - first], self._schema))
        repeats = _column(ids, 1)
        every_id = pa.concat_arrays([batch.column(0) for batch in ids])
        if (repeats > 1).any():
            every_id = every_id.take(pa.array(np.repeat(np.arange(len(repeats)), repeats)))
        *columns, counts = (_column(rows, x) for x in range(len(self._schema)))
        return hashed(every_id, tuple(columns), counts.astype(np.int64), self._keyed_hash)


class _Cursor:
    """The place that the merge has reached in one run: rows in memory (`parts`), and then the pages not read yet."""

    def __init__(self, runs: SortedRuns, pages: list[_Page], at_once: int) -> None:
        self.parts: list[PersonRows] = []
        self._runs = runs
        self._pages = pages[::-1]
        self._at_once = at_once
        self._last_load = 1

    @property
    def has_pages(self) -> bool:
        """Whether pages are left to read."""
        return bool(self._pages)

    @property
    def last_key(self) -> np.uint64:
        """The largest key in memory."""
        key: np.uint64 = self.parts[-1].keys[-1]
        return key

    def refill(self) -> None:
        """Read about `at_once` bytes (one page at least), unless half of the last load is still in memory."""
        if not self._pages or 2 * sum(map(len, self.parts)) >= self._last_load:
            return
        pages = [self._pages.pop()]
        while self._pages and self._pages[-1].end - pages[0].start <= self._at_once:
            pages.append(self._pages.pop())
        self.parts.append(self._runs.read(pages))
        self._last_load = len(self.parts[-1])

    def take(self, cut: np.uint64 | None) -> list[PersonRows]:
        """Remove and return the rows with a key up to `cut`; all rows in memory if it is None."""
        ends = [len(part) if cut is None else int(np.searchsorted(part.keys, cut, side="right")) for part in self.parts]
        taken = [part.between(0, end) for part, end in zip(self.parts, ends, strict=True) if end]
        self.parts = [
            part.between(end, len(part)) for part, end in zip(self.parts, ends, strict=True) if end < len(part)
        ]
        return taken


def _message(content: memoryview, schema: pa.Schema) -> pa.RecordBatch:
    return pa.ipc.read_record_batch(pa.py_buffer(content), schema)


def _column(batches: list[pa.RecordBatch], number: int) -> NDArray[Any]:
    return np.concatenate([batch.column(number).to_numpy() for batch in batches])
