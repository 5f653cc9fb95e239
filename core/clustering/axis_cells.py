"""AxisCells: the cells of one ordered axis as arrays, for clustering. Unit coordinates: from -1 to 1.

Cells of an axis may differ in width: those of whole numbers hold runs of values, of which some are longer by one. The
formulas for equal cells stand beside the general ones, because they round in another way: answers on axes of equal
cells must not change by a bit.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np
from numpy.typing import NDArray

from core.arrays import Floats
from core.domain.axis import Axis, RunAxis, UniformAxis
from core.domain.grid import Grid


@dataclass(frozen=True, slots=True, eq=False)
class AxisCells:
    """m cells of an ordered axis; its cell of missing values, if there is one, is left out.

    There are m + 1 `edges` and m `centres`. `equal` says whether it is an axis of equal cells. `to_fill` has 2 / width,
    the number of cells of that width that fill the axis: (m,), or (1,) with m in it, exactly, where cells are equal. To
    divide by it is to take a share by width. `single` (m,) marks the cells that hold a single value; their rows lie at
    their centres, all of them.
    """

    edges: Floats
    centres: Floats
    equal: bool
    to_fill: Floats
    single: NDArray[np.bool_]

    @classmethod
    def of(cls, axis: Axis) -> AxisCells:
        """The cells of an axis."""
        edges, m, equal = axis.edges(), axis.value_cells, isinstance(axis, UniformAxis)
        return cls(
            edges=edges,
            centres=axis.centres(),
            equal=equal,
            to_fill=np.array([float(m)]) if equal else 2.0 / np.diff(edges),
            single=np.diff(axis.starts) == 1 if isinstance(axis, RunAxis) else np.zeros(m, dtype=np.bool_),
        )

    @property
    def cells(self) -> int:
        """m."""
        return len(self.centres)

    @property
    def widest(self) -> float:
        """The width of the widest cell."""
        return float((2.0 / self.to_fill).max())

    def cell_at(self, places: Floats) -> NDArray[np.intp]:
        """The cell of each place; m or more for a place on or above the upper face of an axis of equal cells."""
        if self.equal:
            return ((places + 1.0) * (self.cells / 2)).astype(np.intp)
        return np.searchsorted(self.edges[1:-1], places, side="right")

    def within(self, cells: NDArray[np.intp], shares: Floats) -> Floats:
        """The place a share of the way from the lower to the upper edge of each of these cells."""
        if self.equal:
            return (cells + shares) * (2.0 / self.cells) - 1.0
        return self.edges[cells] + shares * (2.0 / self.to_fill)[cells]


def axes_of(grid: Grid) -> tuple[AxisCells, ...]:
    """The ordered axes of a grid. Equal axes share one object."""
    ordered = [grid.axes[x] for x in grid.ordered_axes]
    by_key = {axis: AxisCells.of(axis) for axis in ordered}
    return tuple(by_key[axis] for axis in ordered)


def ordered_shape(grid: Grid) -> tuple[int, ...]:
    """The number of value cells of each ordered axis: the shape of the grid that clusters are placed on."""
    return tuple(grid.axes[x].value_cells for x in grid.ordered_axes)


def cells_to_fill(axes: tuple[AxisCells, ...]) -> Floats:
    """How many cells of the volume of each fill the box: (M,), or (1,) where all cells of all axes are equal.

    The share of the volume that lies in a cell is its reciprocal.
    """
    if all(axis.equal for axis in axes):
        return np.array([float(prod(axis.cells for axis in axes))])
    product = np.ones(1)
    for axis in axes:
        product = np.multiply.outer(product, np.broadcast_to(axis.to_fill, axis.cells)).ravel()
    return product
