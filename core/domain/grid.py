"""The Grid: m^d equal boxes over [-1, 1]^d, numbered with the last attribute fastest."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from core.errors import InvalidOrder

MAX_DIMENSIONS = 16
# 2^16 keeps 32-bit fixed point honest: an edge j/m sits at least 2^-16 from the next multiple of 2^-32 that it is not
# on, far beyond the rounding of a double (about 2^-21 on that scale), so a value on an edge is never misplaced.
MAX_CELLS_PER_AXIS = 2**16


@dataclass(frozen=True, slots=True)
class Grid:
    """`cells_per_axis` (m) equal intervals on each of `dimensions` (d) axes; half-open, the last one closed."""

    cells_per_axis: int
    dimensions: int

    def __post_init__(self) -> None:
        if not 1 <= self.dimensions <= MAX_DIMENSIONS:
            raise InvalidOrder(f"A grid has 1 to {MAX_DIMENSIONS} dimensions.")
        if not 1 <= self.cells_per_axis <= MAX_CELLS_PER_AXIS:
            raise InvalidOrder(f"A grid has 1 to {MAX_CELLS_PER_AXIS:,} cells per axis.")

    @property
    def cell_count(self) -> int:
        """M = m^d."""
        cells: int = self.cells_per_axis**self.dimensions
        return cells

    def edges(self) -> NDArray[np.float64]:
        """The m + 1 edges of every axis, from -1 to 1."""
        steps = np.arange(self.cells_per_axis + 1)
        return 2.0 * steps / self.cells_per_axis - 1.0

    def axis_centres(self) -> NDArray[np.float64]:
        """The m interval centres of every axis."""
        return (2.0 * np.arange(self.cells_per_axis) + 1.0) / self.cells_per_axis - 1.0

    def places(self, cells: NDArray[np.int64]) -> NDArray[np.int64]:
        """Where some cells lie: for each a row with its number on every axis."""
        found = np.empty((len(cells), self.dimensions), dtype=np.int64)
        rest = cells
        for axis in reversed(range(self.dimensions)):
            rest, found[:, axis] = np.divmod(rest, self.cells_per_axis)
        return found

    def centres(self, cells: NDArray[np.int64] | None = None) -> NDArray[np.float64]:
        """The centres of some cells, or of all M in the order of the counts, one row per cell."""
        wanted = np.arange(self.cell_count) if cells is None else cells
        return self.axis_centres()[self.places(wanted)]
