"""Contributions: of each person the rows with the smallest tags, at most `max_rows`.

The input is a stream of PersonRows in order of their keys, in which no (id, record) comes twice. The key begins with a
prefix of the id's hash, so all rows of a person have the same prefix and follow each other, perhaps with rows of other
persons of the same prefix between them. Hence only rows of the last prefix have to wait for the next piece of the
stream, and of those only the `max_rows` best of each person.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from app.ingest.keyed_hash import tags
from app.ingest.person_rows import Columns, PersonRows, changes, person_numbers, tie_order
from core.records import Records

ROWS_AT_ONCE = 2**17


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class _Candidates:
    """Single rows (no multiplicities), sorted by the prefix of their person, with their tags."""

    ids: pa.LargeBinaryArray
    prefixes: NDArray[np.uint64]
    columns: Columns
    tags: NDArray[np.uint64]


class Contributions:
    """`add` each piece of the stream, then `finish`. Both yield the rows that are kept."""

    def __init__(self, *, max_rows: int) -> None:
        self._max_rows = max_rows
        self._waiting: _Candidates | None = None
        self._persons_by_rows = np.zeros(max_rows + 1, dtype=np.int64)

    def add(self, rows: PersonRows) -> Iterator[Records]:
        """The kept rows of the persons who are complete before the last prefix of these rows."""
        ends = np.cumsum(rows.counts)
        total = int(ends[-1])
        for start in range(0, total, ROWS_AT_ONCE):
            candidates = _expanded(rows, ends, start, min(start + ROWS_AT_ONCE, total))
            if self._waiting is not None:
                candidates = _followed_by(self._waiting, candidates)
            kept = self._keep(candidates, open_prefix=candidates.prefixes[-1])
            if len(kept):
                yield kept

    def finish(self) -> Iterator[Records]:
        """The kept rows of the persons who were still waiting for more rows."""
        if self._waiting is not None:
            yield self._keep(self._waiting, open_prefix=None)

    def rows_kept_by(self, bound: int) -> int:
        """How many rows `max_rows=bound` would keep: the sum of min(rows of the person, bound) over all persons.

        Call it after `finish`. Raises ValueError unless 1 <= bound <= max_rows.
        """
        if not 1 <= bound <= self._max_rows:
            raise ValueError(f"The bound must be 1 to {self._max_rows} rows a person.")
        return int(np.minimum(np.arange(self._max_rows + 1), bound) @ self._persons_by_rows)

    def _keep(self, candidates: _Candidates, *, open_prefix: np.uint64 | None) -> Records:
        """Choose rows of each person. Those of persons with `open_prefix` wait, the others are returned."""
        person = person_numbers(candidates.ids, candidates.prefixes)
        chosen = _smallest(person, candidates, self._max_rows)
        waits = np.zeros(len(chosen), dtype=np.bool_)
        if open_prefix is not None:
            waits = candidates.prefixes[chosen] == open_prefix
        self._waiting = _taken(candidates, chosen[waits]) if waits.any() else None
        complete = chosen[~waits]
        rows_of_person = np.bincount(person[complete])
        self._persons_by_rows += np.bincount(rows_of_person[rows_of_person > 0], minlength=self._max_rows + 1)
        columns = tuple(column[complete] for column in candidates.columns)
        for column in columns:
            column.flags.writeable = False
        return Records(columns)


def _expanded(rows: PersonRows, ends: NDArray[np.int64], start: int, end: int) -> _Candidates:
    """Occurrences number start to end - 1 of all in the rows; `ends` is the cumulative sum of the counts."""
    first, last = (int(row) for row in np.searchsorted(ends, [start, end - 1], side="right"))
    rows, ends = rows.between(first, last + 1), ends[first : last + 1]
    begins = ends - rows.counts
    counts = np.minimum(ends, end) - np.maximum(begins, start)
    if len(rows) < end - start:
        index = np.repeat(np.arange(len(rows)), counts)
        rows, begins = rows.take(index), begins[index]
    return _Candidates(rows.ids, rows.prefixes, rows.columns, tags(rows.hashes, np.arange(start, end) - begins))


def _smallest(person: NDArray[np.int64], candidates: _Candidates, max_rows: int) -> NDArray[np.int64]:
    """Indices of the `max_rows` rows of each person with the smallest (tag, record), grouped by person."""
    bits = np.uint64(int(person.max()).bit_length())
    keys = (person.astype(np.uint64) << (np.uint64(64) - bits)) | (candidates.tags >> bits)
    order = np.argsort(keys)
    again = tie_order(keys[order], [array[order] for array in (candidates.tags, *candidates.columns)])
    order = order if again is None else order[again]
    starts = np.flatnonzero(changes(person[order]))
    place = np.arange(len(order)) - np.repeat(starts, np.diff(np.append(starts, len(order))))
    return order[place < max_rows]


def _followed_by(first: _Candidates, second: _Candidates) -> _Candidates:
    columns = zip(first.columns, second.columns, strict=True)
    return _Candidates(
        pa.concat_arrays([first.ids, second.ids]),
        np.concatenate([first.prefixes, second.prefixes]),
        tuple(np.concatenate(pair) for pair in columns),
        np.concatenate([first.tags, second.tags]),
    )


def _taken(candidates: _Candidates, which: NDArray[np.int64]) -> _Candidates:
    return _Candidates(
        candidates.ids.take(pa.array(which)),
        candidates.prefixes[which],
        tuple(column[which] for column in candidates.columns),
        candidates.tags[which],
    )
