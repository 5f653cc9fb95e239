"""Cells: the noisy counts of a synopsis on their grid, for every cell or for those that reach a threshold.

Counts have positions (0, 1, … in the order they are stored) and cells have numbers (`core.domain.grid`). With every
cell listed, position and number are the same.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from core.domain.grid import Grid
from core.errors import InvalidSynopsis
from core.mechanisms.vector_laplace import VectorLaplace
from core.offsets import Offsets

Wholes = NDArray[np.int64]


class Cells(ABC):
    """Noisy counts as drawn, read-only, in the order of their cells' numbers."""

    __slots__ = ()

    complete: ClassVar[bool]  # whether every cell of the grid is listed
    grid: Grid
    counts: Wholes

    @property
    def offsets(self) -> Offsets | None:
        """Sums of offsets of the listed cells; None where none were bought."""
        return None

    @property
    @abstractmethod
    def threshold(self) -> int | None:
        """The least noisy count that is listed; None where every count is."""

    @property
    @abstractmethod
    def listed(self) -> Wholes | None:
        """The numbers of the listed cells, ascending; None where every cell is listed."""

    @property
    @abstractmethod
    def visited_by_a_box(self) -> int:
        """How many cells a range count goes through, box by box; 0 where a table of sums spares that."""

    @property
    @abstractmethod
    def memory_bytes(self) -> int:
        """About how many bytes the counts take, with what range counts and synthetic rows are worked out from."""

    @abstractmethod
    def numbers_at(self, positions: Wholes) -> Wholes:
        """The numbers of the cells whose counts have these positions."""

    @abstractmethod
    def marginal(self, axes: tuple[int, ...]) -> Wholes:
        """Counts summed over all other axes, for every cell of `grid.select(axes)` in order."""

    @abstractmethod
    def restricted(self, grid: Grid, places: Sequence[Wholes | None]) -> Cells:
        """The counts of some cells, on a grid of their own: `places` has those of each axis; None stands for all."""

    @abstractmethod
    def header(self) -> dict[str, Any]:
        """What the header of format 1 says of them beside the grid."""

    @abstractmethod
    def to_bytes(self) -> bytes:
        """As format 1 stores them: little-endian 64-bit integers."""

    def centres(self) -> NDArray[np.float64]:
        """The centres of the listed cells in unit coordinates, in the order of the counts."""
        return self.grid.centres(self.listed)

    def mean_places(self) -> NDArray[np.float64]:
        """The mean place of the rows of each listed cell in unit coordinates: its centre, or better with offsets."""
        centres = self.centres()
        if self.offsets is not None:
            centres += self.half_widths() * self.offsets.shrunk_means(self.counts.astype(np.float64))
        return centres

    def half_widths(self) -> NDArray[np.float64]:
        """Half the width of each listed cell on each ordered axis, in unit coordinates."""
        places = self.grid.places(np.arange(self.grid.cell_count) if self.listed is None else self.listed)
        halves = [np.diff(self.grid.axes[x].edges())[places[:, x]] / 2.0 for x in self.grid.ordered_axes]
        return np.stack(halves, axis=1)


@dataclass(frozen=True, slots=True, eq=False)
class DenseCells(Cells):
    """A signed count for each cell of the grid."""

    complete = True

    grid: Grid
    counts: Wholes

    def __post_init__(self) -> None:
        _require_counts(self.counts, self.grid.cell_count)
        object.__setattr__(self, "counts", _frozen(self.counts))

    @property
    def threshold(self) -> None:
        """Every count is listed."""
        return None

    @property
    def listed(self) -> None:
        """Every cell is listed."""
        return None

    @property
    def visited_by_a_box(self) -> int:
        """None: a range count is read off a table of sums."""
        return 0

    @property
    def memory_bytes(self) -> int:
        """Counts, their cumulative sums and cumulative weights, 8 bytes each."""
        return 24 * self.grid.cell_count

    def numbers_at(self, positions: Wholes) -> Wholes:
        """The same."""
        return positions

    def table(self) -> Wholes:
        """The counts with one dimension for each axis."""
        return self.counts.reshape(self.grid.shape)

    def marginal(self, axes: tuple[int, ...]) -> Wholes:
        """Counts summed over all other axes, for every cell of `grid.select(axes)` in order."""
        summed = self.table().sum(axis=tuple(x for x in range(self.grid.dimensions) if x not in axes))
        remaining = sorted(axes)
        ordered: Wholes = np.transpose(summed, [remaining.index(x) for x in axes]).ravel()
        return ordered

    def restricted(self, grid: Grid, places: Sequence[Wholes | None]) -> DenseCells:
        """The counts of some cells, on a grid of their own."""
        table = self.table()
        for x, chosen in enumerate(places):
            if chosen is not None:
                table = np.take(table, chosen, axis=x)
        return DenseCells(grid, table.ravel())

    def reaching(self, threshold: int) -> ThresholdedCells:
        """What a threshold would have left of these cells."""
        numbers = np.flatnonzero(self.counts >= threshold)
        return ThresholdedCells(self.grid, numbers, self.counts[numbers], threshold)

    def header(self) -> dict[str, Any]:
        """Nothing."""
        return {}

    def to_bytes(self) -> bytes:
        """The counts."""
        return self.counts.astype("<i8").tobytes()


@dataclass(frozen=True, slots=True, eq=False)
class ThresholdedCells(Cells):
    """The cells whose noisy count is at least `threshold`: their numbers, ascending, their counts, maybe offsets."""

    complete = False

    grid: Grid
    numbers: Wholes
    counts: Wholes
    threshold: int
    offsets: Offsets | None = None

    def __post_init__(self) -> None:
        numbers = self.numbers
        if numbers.ndim != 1 or numbers.dtype != np.int64:
            raise InvalidSynopsis("The cells of a synopsis are 64-bit integers.")
        _require_counts(self.counts, len(numbers))
        if self.threshold < 1 or bool((self.counts < self.threshold).any()):
            raise InvalidSynopsis("A thresholded synopsis lists no count below its threshold, which is at least 1.")
        ascend = bool((numbers[1:] > numbers[:-1]).all())
        if len(numbers) and not (ascend and numbers[0] >= 0 and numbers[-1] < self.grid.cell_count):
            raise InvalidSynopsis("The cells of a synopsis ascend, and lie on its grid.")
        if self.offsets is not None and self.offsets.sums.shape != (len(numbers), len(self.grid.ordered_axes)):
            raise InvalidSynopsis("A synopsis with offsets has a sum for each listed cell and each ordered axis.")
        object.__setattr__(self, "numbers", _frozen(numbers))
        object.__setattr__(self, "counts", _frozen(self.counts))

    @property
    def listed(self) -> Wholes:
        """The numbers of the listed cells, ascending."""
        return self.numbers

    @property
    def visited_by_a_box(self) -> int:
        """All of them."""
        return len(self.numbers)

    @property
    def memory_bytes(self) -> int:
        """Numbers, counts, counts as floats, cumulative weights, and for each axis a place and a sum: 8 bytes each."""
        sums = 0 if self.offsets is None else self.offsets.sums.shape[1]
        return 8 * (4 + self.grid.dimensions + sums) * len(self.numbers) + 1024

    def numbers_at(self, positions: Wholes) -> Wholes:
        """The numbers of the cells whose counts have these positions."""
        return self.numbers[positions]

    def marginal(self, axes: tuple[int, ...]) -> Wholes:
        """Listed counts summed over all other axes, for every cell of `grid.select(axes)` in order."""
        shape, cells = self.grid.shape, self.grid.select(axes)
        owners = np.zeros(len(self.numbers), dtype=np.int64)
        for x in axes:
            owners = owners * shape[x] + self.numbers // prod(shape[x + 1 :]) % shape[x]
        # In floats, which hold whole numbers up to 2^53 exactly: numpy adds by groups in no other way as fast.
        sums = np.bincount(owners, weights=self.counts, minlength=cells.cell_count)
        return np.rint(sums).astype(np.int64)

    def restricted(self, grid: Grid, places: Sequence[Wholes | None]) -> ThresholdedCells:
        """The counts of some listed cells, on a grid of their own, with the same threshold."""
        shape, numbers, positions = self.grid.shape, self.numbers, np.arange(len(self.numbers))
        owns: dict[int, Wholes] = {}
        for x, chosen in enumerate(places):
            if chosen is not None:
                owns[x] = np.full(shape[x], -1, dtype=np.int64)
                owns[x][chosen] = np.arange(len(chosen))
                kept = owns[x][numbers // prod(shape[x + 1 :]) % shape[x]] >= 0
                numbers, positions = numbers[kept], positions[kept]
        inside = self.grid.places(numbers)  # of few cells: all axes of all listed cells would take long
        for x, own in owns.items():
            inside[:, x] = own[inside[:, x]]
        # An axis of missing values alone has become one of categories.
        axes = [i for i, x in enumerate(self.grid.ordered_axes) if grid.axes[x].is_ordered]
        offsets = None if self.offsets is None else self.offsets.select(positions, axes)
        return ThresholdedCells(grid, grid.numbers(inside), self.counts[positions], self.threshold, offsets)

    def header(self) -> dict[str, Any]:
        """The threshold."""
        return {"threshold": self.threshold}

    def to_bytes(self) -> bytes:
        """The numbers of the cells, then their counts, then their sums of offsets."""
        sums = b"" if self.offsets is None else self.offsets.to_bytes()
        return self.numbers.astype("<i8").tobytes() + self.counts.astype("<i8").tobytes() + sums


def cells_from_bytes(grid: Grid, data: bytes, threshold: int | None, law: VectorLaplace | None = None) -> Cells:
    """The cells that `to_bytes` wrote, with offsets where there is a law of their noise.

    Raises ValueError or InvalidSynopsis where the bytes are none.
    """
    integers = np.frombuffer(data, dtype="<i8").astype(np.int64)
    if threshold is None:
        return DenseCells(grid, integers)
    if law is None:
        numbers, counts = np.split(integers, 2)
        return ThresholdedCells(grid, numbers, counts, threshold)
    columns = integers.reshape(2 + law.dimensions, -1)  # all parts have a number for each cell
    sums = columns[2:].reshape(-1, law.dimensions)
    return ThresholdedCells(grid, columns[0], columns[1], threshold, Offsets(sums, law))


def _require_counts(counts: Wholes, cells: int) -> None:
    if counts.shape != (cells,) or counts.dtype != np.int64:
        raise InvalidSynopsis("A synopsis has one 64-bit integer for each of its cells.")


def _frozen(integers: Wholes) -> Wholes:
    """A copy over bytes, which, unlike a copy with its flag cleared, cannot be made writeable again."""
    return np.frombuffer(integers.tobytes(), dtype=np.int64)
