"""Grid: a product of axes. Its cells are numbered with the last attribute fastest."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np
from numpy.typing import NDArray

from core.domain.axis import Axis
from core.errors import InvalidOrder

MAX_DIMENSIONS = 16


@dataclass(frozen=True, slots=True)
class Grid:
    """1 to 16 axes, each with its own number of cells. A uniform grid has equally many cells on every axis."""

    axes: tuple[Axis, ...]

    def __post_init__(self) -> None:
        _require_dimensions(len(self.axes))

    @classmethod
    def uniform(cls, cells_per_axis: int, dimensions: int) -> Grid:
        """`cells_per_axis` (m) cells on each of `dimensions` (d) axes."""
        _require_dimensions(dimensions)
        return cls((Axis(cells_per_axis),) * dimensions)

    @property
    def dimensions(self) -> int:
        """d, the number of axes."""
        return len(self.axes)

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of cells on each axis."""
        return tuple(axis.cells for axis in self.axes)

    @property
    def cell_count(self) -> int:
        """M, the product of `shape`: a whole number of any length."""
        return prod(self.shape)

    @property
    def cells_per_axis(self) -> int:
        """m of a uniform grid. Raises ValueError where axes differ."""
        return self._axis.cells

    def edges(self) -> NDArray[np.float64]:
        """The m + 1 edges of every axis of a uniform grid, from -1 to 1."""
        return self._axis.edges()

    def axis_centres(self) -> NDArray[np.float64]:
        """The m cell centres of every axis of a uniform grid, in unit coordinates."""
        return self._axis.centres()

    def select(self, axes: tuple[int, ...]) -> Grid:
        """The grid of the axes with these numbers, in this order."""
        return Grid(tuple(self.axes[x] for x in axes))

    def places(self, cells: NDArray[np.int64]) -> NDArray[np.int64]:
        """One row for each cell number: the cell's place on every axis."""
        places = np.empty((len(cells), self.dimensions), dtype=np.int64)
        rest = cells
        for x in reversed(range(self.dimensions)):
            rest, places[:, x] = np.divmod(rest, self.axes[x].cells)
        return places

    def centres(self, cells: NDArray[np.int64] | None = None) -> NDArray[np.float64]:
        """One row for each cell number, or for all M in order: the cell's centre in unit coordinates."""
        places = self.places(np.arange(self.cell_count) if cells is None else cells)
        centres = np.empty(places.shape)
        for x, axis in enumerate(self.axes):
            centres[:, x] = axis.centres()[places[:, x]]
        return centres

    @property
    def _axis(self) -> Axis:
        """The axis that all axes of a uniform grid are equal to."""
        if any(axis != self.axes[0] for axis in self.axes):
            raise ValueError(f"This grid is not uniform: {' x '.join(map(str, self.shape))} cells.")
        return self.axes[0]


def _require_dimensions(dimensions: int) -> None:
    if not 1 <= dimensions <= MAX_DIMENSIONS:
        raise InvalidOrder(f"A grid has 1 to {MAX_DIMENSIONS} dimensions.")
