"""Axis: the cells of one attribute.

Three coordinates are in use along an axis of m cells. Unit coordinates run from -1 at the attribute's lower bound to 1
at its upper bound. Cell units run from 0 to m: cell j reaches from j to j + 1. Fixed-point numbers q of 32 bits stand
for q / 2^32 of the way from the lower to the upper bound (`core.records`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from core.errors import InvalidOrder

# 2^16 keeps 32-bit fixed point honest: an edge j/m sits at least 2^-16 from the next multiple of 2^-32 that it is not
# on, far beyond the rounding of a double (about 2^-21 on that scale), so a value on an edge is never misplaced.
MAX_CELLS_PER_AXIS = 2**16
_ON_AN_EDGE = 1e-9  # in cell units: an end that misses an edge by less does so by rounding


@dataclass(frozen=True, slots=True)
class Axis:
    """`cells` (m) equal intervals from the lower to the upper bound of an attribute; half-open, the last one closed."""

    cells: int

    def __post_init__(self) -> None:
        if not 1 <= self.cells <= MAX_CELLS_PER_AXIS:
            raise InvalidOrder(f"A grid has 1 to {MAX_CELLS_PER_AXIS:,} cells per axis.")

    def edges(self) -> NDArray[np.float64]:
        """The m + 1 edges in unit coordinates, from -1 to 1."""
        return 2.0 * np.arange(self.cells + 1) / self.cells - 1.0

    def edges_between(self, lower: float, upper: float) -> NDArray[np.float64]:
        """The m + 1 edges in the units of an attribute with these bounds; the first and the last one are exact."""
        return np.linspace(lower, upper, self.cells + 1)

    def centres(self) -> NDArray[np.float64]:
        """The m cell centres in unit coordinates."""
        return (2.0 * np.arange(self.cells) + 1.0) / self.cells - 1.0

    def cell_of(self, fixed: NDArray[np.uint32]) -> NDArray[np.int64]:
        """The cell of each fixed-point number: integer arithmetic, the same on every platform."""
        return (fixed.astype(np.int64) * self.cells) >> 32

    def in_cell_units(self, shares: NDArray[np.float64]) -> NDArray[np.float64]:
        """Shares of the way from the lower to the upper bound -> cell units, no less than 0 and no more than m.

        What misses an edge by a rounding error only is put on it.
        """
        places = np.clip(shares * self.cells, 0.0, self.cells)
        nearest = np.round(places)
        return np.where(np.abs(places - nearest) < _ON_AN_EDGE, nearest, places)
