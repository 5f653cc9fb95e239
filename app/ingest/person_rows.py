"""PersonRows: rows of persons with their multiplicities, and the exact sorting and merging of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from app.ingest.keyed_hash import KeyedHash

Columns = tuple[NDArray[Any], ...]

PREFIX_SHIFT = np.uint64(32)


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class PersonRows:
    """Row i says: the person ids[i] has the record (column[i] for column in columns) counts[i] times.

    ids     large_binary, as many as rows
    hashes  the hash of each (id, record)
    keys    the sort key: the upper half of the id's hash (the prefix), then the upper half of the pair's hash

    Equal pairs have equal keys, so sorting by key brings them together, and the rows of a person too. Different persons
    may have equal prefixes and different pairs equal keys: there `person_numbers` and `tie_order` compare ids and
    records.
    """

    ids: pa.LargeBinaryArray
    columns: Columns
    counts: NDArray[np.int64]
    hashes: NDArray[np.uint64]
    keys: NDArray[np.uint64]

    def __len__(self) -> int:
        return len(self.keys)

    @property
    def nbytes(self) -> int:
        """Bytes of memory that the rows take."""
        arrays = (*self.columns, self.counts, self.hashes, self.keys)
        return sum(array.nbytes for array in arrays) + int(self.ids.nbytes)

    @property
    def prefixes(self) -> NDArray[np.uint64]:
        """The upper half of the hash of each row's id."""
        return self.keys >> PREFIX_SHIFT

    def between(self, start: int, end: int) -> PersonRows:
        """Rows start to end - 1, without a copy."""
        return PersonRows(
            self.ids.slice(start, end - start),
            tuple(column[start:end] for column in self.columns),
            self.counts[start:end],
            self.hashes[start:end],
            self.keys[start:end],
        )

    def take(self, which: NDArray[np.int64]) -> PersonRows:
        """These rows, in this order."""
        return PersonRows(
            self.ids.take(pa.array(which)),
            tuple(column[which] for column in self.columns),
            self.counts[which],
            self.hashes[which],
            self.keys[which],
        )


def hashed(ids: pa.LargeBinaryArray, columns: Columns, counts: NDArray[np.int64], keyed_hash: KeyedHash) -> PersonRows:
    """PersonRows with their hashes and keys."""
    id_hashes = keyed_hash.of_ids(ids)
    hashes = keyed_hash.of_pairs(id_hashes, columns)
    keys = ((id_hashes >> PREFIX_SHIFT) << PREFIX_SHIFT) | (hashes >> PREFIX_SHIFT)
    return PersonRows(ids, columns, counts, hashes, keys)


def compacted(parts: Sequence[PersonRows]) -> PersonRows:
    """All rows of the parts (one row at least), sorted by key, each (id, record) once with the sum of its counts."""
    order = np.argsort(np.concatenate([part.keys for part in parts]))
    rows = PersonRows(
        pa.concat_arrays([part.ids for part in parts]).take(pa.array(order)),
        tuple(np.concatenate(column)[order] for column in zip(*(part.columns for part in parts), strict=True)),
        np.concatenate([part.counts for part in parts])[order],
        np.concatenate([part.hashes for part in parts])[order],
        np.concatenate([part.keys for part in parts])[order],
    )
    person = person_numbers(rows.ids, rows.prefixes)
    again = tie_order(rows.keys, (person, *rows.columns))
    if again is not None:
        rows, person = rows.take(again), person[again]
    starts = np.flatnonzero(changes(person, *rows.columns))
    if len(starts) == len(rows):
        return rows
    counts = np.add.reduceat(rows.counts, starts)
    rows = rows.take(starts)
    return PersonRows(rows.ids, rows.columns, counts, rows.hashes, rows.keys)


def person_numbers(ids: pa.LargeBinaryArray, prefixes: NDArray[np.uint64]) -> NDArray[np.int64]:
    """A number from 1 for each row: equal for two rows if and only if their whole ids are equal.

    Rows must be sorted by prefix, and equal ids must have equal prefixes. Then the numbers count the different
    prefixes, except where persons share a prefix. Those few persons get further numbers from an exact dictionary.
    """
    numbers: NDArray[np.int64] = np.cumsum(changes(prefixes))
    other_id = pc.not_equal(ids.slice(1), ids.slice(0, len(ids) - 1)).to_numpy(zero_copy_only=False)
    shared = numbers[1:][other_id & (numbers[1:] == numbers[:-1])]
    if len(shared):
        rows = np.flatnonzero(np.isin(numbers, shared))
        codes = ids.take(pa.array(rows)).dictionary_encode().indices.to_numpy()
        numbers[rows] = codes + (numbers[-1] + 1)
    return numbers


def tie_order(keys: NDArray[np.uint64], ties: Sequence[NDArray[Any]]) -> NDArray[np.int64] | None:
    """The order that sorts rows of equal key by the arrays of `ties`, the first one first; None if all is well.

    `keys` must be sorted. A sort by one array of words is several times faster than a sort by many arrays. So callers
    sort by key alone, and this function sorts again the few groups of equal key in which the ties differ.
    """
    new = changes(keys)
    if new.all():
        return None
    clash = changes(*ties) & ~new
    if not clash.any():
        return None
    group = np.cumsum(new)
    rows = np.flatnonzero(np.isin(group, group[clash]))
    order = np.arange(len(keys))
    order[rows] = rows[np.lexsort((*(tie[rows] for tie in reversed(ties)), group[rows]))]
    return order


def changes(*arrays: NDArray[Any]) -> NDArray[np.bool_]:
    """Whether each row differs from the row before it in one of the arrays; True for the first row."""
    result = np.zeros(len(arrays[0]), dtype=np.bool_)
    result[:1] = True
    for array in arrays:
        result[1:] |= array[1:] != array[:-1]
    return result
