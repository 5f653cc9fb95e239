"""The exact, and therefore private, number of records per cell. Counts of batches add up.

`Counts` has a number for every cell; `OccupiedCounts` has one for each cell that holds a record, for grids that are too
large for that.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from core.domain.axis import OFFSET_STEPS
from core.domain.grid import Grid
from core.errors import InvalidRecords
from core.plan import Plan
from core.records import Records
from core.workspace import Workspace, blocks


class Increments:
    """Adds ones to an array of counts, cell by cell.

    Cell numbers wait until there are as many as cells, then np.bincount adds them at once: it takes half of the time of
    np.add.at, but clears and adds a whole array (bench/counting.py). Where that would take more than _MOST_WAITING of
    them, np.add.at adds each batch immediately.
    """

    def __init__(self, counts: NDArray[np.int64]) -> None:
        self._counts = counts
        room = max(len(counts), _LEAST_WAITING)
        self._waiting = np.empty(room if room <= _MOST_WAITING else 0, dtype=np.int64)
        self._filled = 0

    @property
    def counts(self) -> NDArray[np.int64]:
        """The counts."""
        if self._filled:
            self._counts += np.bincount(self._waiting[: self._filled], minlength=len(self._counts))
            self._filled = 0
        return self._counts

    def add(self, cells: NDArray[np.int64]) -> None:
        """Raise the count of each cell by one, as often as it is listed."""
        if not len(self._waiting):
            np.add.at(self._counts, cells, 1)
            return
        start = 0
        while start < len(cells):
            rows = min(len(cells) - start, len(self._waiting) - self._filled)
            self._waiting[self._filled : self._filled + rows] = cells[start : start + rows]
            self._filled += rows
            start += rows
            if self._filled == len(self._waiting):
                _ = self.counts


class Counts:
    """Exact records per cell. Lives inside a release; `core.release` is the only way out."""

    def __init__(self, grid: Grid, cells: NDArray[np.int64]) -> None:
        self.grid = grid
        self._increments = Increments(cells)
        self._workspace = Workspace()

    @classmethod
    def zero(cls, grid: Grid) -> Counts:
        """No record in any cell."""
        return cls(grid, np.zeros(grid.cell_count, dtype=np.int64))

    @property
    def cells(self) -> NDArray[np.int64]:
        """The number of records of each cell."""
        return self._increments.counts

    def add(self, records: Records) -> None:
        """Count one more batch, in place: each record raises exactly one cell by one."""
        for cells in _cells_by_block(records, self.grid, self._workspace):
            self._increments.add(cells)

    def __add__(self, other: Counts) -> Counts:
        if self.grid != other.grid:
            raise InvalidRecords("Counts add up on one grid only.")
        return Counts(self.grid, self.cells + other.cells)

    def __repr__(self) -> str:
        return "Counts(…)"

    def __reduce__(self) -> NoReturn:
        raise TypeError("Counts are private: they leave a release only with noise added.")


_LEAST_WAITING, _MOST_WAITING = 2**16, 2**20  # cell numbers that wait: 8 MiB at most
_OFFSET_LIMIT = 2**31 // OFFSET_STEPS  # rows whose sums of offsets are certain to fit into 32 bits
_MERGE_AT = 2**20  # cells that wait to be merged: a few batches, so that a merge is worth its while
_ADD_AT = 2**16  # cells that are added at once: about a millisecond


class OccupiedCounts:
    """Exact records per cell on a grid of any size: only cells that hold one. Private like Counts.

    With `offsets` it also has, for each of these cells, the exact sums of the records' offsets from its middle, one
    for each ordered axis (`core.offsets`). They are gathered in the same pass.
    """

    def __init__(self, grid: Grid, *, offsets: bool = False) -> None:
        self.grid = grid
        self._cells = np.empty(0, dtype=np.int64)
        self._numbers = np.empty(0, dtype=np.int64)
        self._waiting: list[NDArray[np.int64]] = []
        self._waiting_cells = 0
        self._axes = grid.ordered_axes if offsets else ()
        self._sums = np.empty((len(self._axes), 0), dtype=np.int32)
        self._waiting_offsets: list[NDArray[np.int16]] = []
        self._rows = 0

    @classmethod
    def of(
        cls, grid: Grid, cells: NDArray[np.int64], numbers: NDArray[np.int64], sums: NDArray[np.int64] | None
    ) -> OccupiedCounts:
        """Counts that were taken elsewhere: cells in ascending order, their records, their sums of offsets or None."""
        counts = cls(grid, offsets=sums is not None)
        counts._cells, counts._numbers, counts._rows = cells, numbers, int(numbers.sum())
        if sums is not None:
            counts._sums = np.ascontiguousarray(sums.T)
        return counts

    def add(self, records: Records) -> None:
        """Count one more batch, in place: each record raises exactly one cell by one."""
        self._waiting.append(cell_indices(records, self.grid))
        if self._axes:
            self._waiting_offsets.append(offsets_of(records, self.grid))
        self._waiting_cells += len(records)
        self._rows += len(records)
        if self._waiting_cells >= max(_MERGE_AT, len(self._cells)):  # so that all merges together cost n log n
            self._merge()

    def occupied(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """(cells, numbers): every cell that holds a record, ascending, and how many it holds."""
        self._merge()
        return self._cells, self._numbers

    @property
    def has_offsets(self) -> bool:
        """Whether sums of offsets are gathered."""
        return bool(self._axes)

    def sums_of(self, cells: NDArray[np.int64]) -> NDArray[np.int64]:
        """The exact sums of offsets of these cells, a row for each and a column for each ordered axis; 0 for empty."""
        self._merge()
        sums = np.zeros((len(cells), len(self._axes)), dtype=np.int64)
        places = np.searchsorted(self._cells, cells)
        held = np.flatnonzero(places < len(self._cells))
        held = held[self._cells[places[held]] == cells[held]]
        sums[held] = self._sums[:, places[held]].T
        return sums

    def _merge(self) -> None:
        cells = np.concatenate([self._cells, *self._waiting])
        numbers = np.concatenate([self._numbers, np.ones(self._waiting_cells, dtype=np.int64)])
        self._cells, place = np.unique(cells, return_inverse=True)
        merged = np.zeros(len(self._cells), dtype=np.int64)
        for start in range(0, len(place), _ADD_AT):  # in slices, because other threads stand still during add.at
            np.add.at(merged, place[start : start + _ADD_AT], numbers[start : start + _ADD_AT])
        self._numbers = merged
        if self._axes:
            self._merge_sums(place)
        self._waiting, self._waiting_cells = [], 0

    def _merge_sums(self, place: NDArray[np.int64]) -> None:
        """Add the waiting offsets to the sums; `place` has the new place of each old cell, then of each waiting record.

        32 bits hold a sum as long as all records together are too few to exceed them.
        """
        kind = np.int32 if self._rows < _OFFSET_LIMIT else np.int64
        none = np.empty((len(self._axes), 0), dtype=np.int16)
        waiting, old = np.concatenate([none, *self._waiting_offsets], axis=1), self._sums.shape[1]
        sums = np.zeros((len(self._axes), len(self._cells)), dtype=kind)
        order = np.argsort(place[old:], kind="stable")
        owners = place[old:][order]
        starts = np.flatnonzero(np.diff(owners, prepend=-1))  # where the records of the next cell begin
        for total, earlier, offsets in zip(sums, self._sums, waiting, strict=True):
            total[place[:old]] = earlier  # old cells differ from one another
            if len(starts):
                total[owners[starts]] += np.add.reduceat(offsets[order], starts, dtype=kind)
        self._sums, self._waiting_offsets = sums, []

    def __repr__(self) -> str:
        return "OccupiedCounts(…)"

    def __reduce__(self) -> NoReturn:
        raise TypeError("Counts are private: they leave a release only with noise added.")


def cell_indices(records: Records, grid: Grid) -> NDArray[np.int64]:
    """The cell number of each record: integer arithmetic, the same on every platform."""
    numbers = [part.copy() for part in _cells_by_block(records, grid, Workspace())]
    return np.concatenate([np.empty(0, dtype=np.int64), *numbers])


def _cells_by_block(records: Records, grid: Grid, workspace: Workspace) -> Iterator[NDArray[np.int64]]:
    """The same, block by block. Each block lies in the memory of the workspace until the next one is asked for."""
    if len(records.columns) != grid.dimensions:
        raise InvalidRecords("The records and the grid have different dimensions.")
    (axis, codes), *rest = zip(grid.axes, records.columns, strict=True)
    for block in blocks(len(records)):
        rows = block.stop - block.start
        cells = axis.cell_of(codes[block], workspace.array("cells", rows, np.int64))
        places = workspace.array("places", rows, np.int64)
        for other, others in rest:
            cells *= other.cells
            cells += other.cell_of(others[block], places)
        yield cells


def offsets_of(records: Records, grid: Grid) -> NDArray[np.int16]:
    """How far each record lies from the middle of its cell: a row for each ordered axis, a column for each record."""
    axes = grid.ordered_axes
    offsets = np.empty((len(axes), len(records)), dtype=np.int16)
    for row, x in zip(offsets, axes, strict=True):
        row[:] = grid.axes[x].offset_of(records.columns[x])
    return offsets


def empty_counts(plan: Plan) -> Counts | OccupiedCounts:
    """No record in any cell: Counts for a plan that releases every cell, OccupiedCounts for one with a threshold."""
    if plan.threshold is None:
        return Counts.zero(plan.grid)
    return OccupiedCounts(plan.grid, offsets=plan.order.offsets)


def count(records: Records, grid: Grid) -> Counts:
    """The exact histogram of one batch."""
    counts = Counts.zero(grid)
    counts.add(records)
    return counts
