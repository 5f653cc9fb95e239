"""Grid: a product of axes. Its cells are numbered with the last attribute fastest."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np
from numpy.typing import NDArray

from core.domain.axis import Axis, UniformAxis
from core.errors import InvalidOrder

MAX_DIMENSIONS = 32


@dataclass(frozen=True, slots=True)
class Grid:
    """1 to 32 axes, each with its own cells."""

    axes: tuple[Axis, ...]

    def __post_init__(self) -> None:
        _require_dimensions(len(self.axes))

    @classmethod
    def uniform(cls, cells_per_axis: int, dimensions: int) -> Grid:
        """`cells_per_axis` (m) equal cells on each of `dimensions` (d) axes of numbers."""
        _require_dimensions(dimensions)
        return cls((UniformAxis(cells_per_axis),) * dimensions)

    @property
    def dimensions(self) -> int:
        """The number of axes."""
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
    def cells_per_axis(self) -> int | None:
        """m, where every axis has equally many cells; else None."""
        return self.shape[0] if len(set(self.shape)) == 1 else None

    @property
    def ordered_axes(self) -> tuple[int, ...]:
        """The places of the axes that have edges: all but those of categories."""
        return tuple(x for x, axis in enumerate(self.axes) if axis.is_ordered)

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

    def numbers(self, places: NDArray[np.int64]) -> NDArray[np.int64]:
        """The inverse of `places`."""
        numbers = np.zeros(len(places), dtype=np.int64)
        for x, axis in enumerate(self.axes):
            numbers *= axis.cells
            numbers += places[:, x]
        return numbers

    def centres(self, cells: NDArray[np.int64] | None = None) -> NDArray[np.float64]:
        """One row for each cell number, or for all M in order: the cell's centre in unit coordinates.

        It has a column for each ordered axis. Missing values have no place on an axis, so no axis may keep them.
        """
        places = self.places(np.arange(self.cell_count) if cells is None else cells)
        ordered = self.ordered_axes
        if any(self.axes[x].keeps_missing for x in ordered):
            raise ValueError("A cell of missing values has no centre.")
        centres = np.empty((len(places), len(ordered)))
        for i, x in enumerate(ordered):
            centres[:, i] = self.axes[x].centres()[places[:, x]]
        return centres


def _require_dimensions(dimensions: int) -> None:
    if not 1 <= dimensions <= MAX_DIMENSIONS:
        raise InvalidOrder(f"A grid has 1 to {MAX_DIMENSIONS} dimensions.")
