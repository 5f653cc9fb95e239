"""FineGrid: every cell of a grid divided into parts, for densities within cells.

Parts of a cell are equal along an axis, and every cell of an axis has equally many of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np

from core.arrays import Floats
from core.clustering.axis_cells import AxisCells, axes_of, cells_to_fill
from core.clustering.mixture import expected_by_component
from core.domain.axis import UniformAxis
from core.domain.grid import Grid

_FINE, _MOST_FINE = 12, 2**14  # parts wanted along an axis; parts of the whole grid at most


@dataclass(frozen=True, slots=True, eq=False)
class FineGrid:
    """The cells of `axes`, d in number; `parts` has the number of parts of a cell along each axis.

    `edges` has the edges of the parts along each axis; equal axes share one array. Arrays over all parts have the last
    axis fastest, and so have arrays over the parts of a cell.
    """

    axes: tuple[AxisCells, ...]
    parts: tuple[int, ...]
    edges: tuple[Floats, ...]

    @classmethod
    def of(cls, grid: Grid) -> FineGrid:
        """Each cell in 2^d parts; in more where cells are few and large, so that an axis has 12 parts or so.

        Along an axis whose cells hold a single value each, cells are not divided.
        """
        axes = axes_of(grid)
        parts = _parts(axes)
        pairs = list(zip(axes, parts, strict=True))
        edges = {pair: _edges(*pair) for pair in pairs}
        return cls(axes, parts, tuple(edges[pair] for pair in pairs))

    @property
    def cell_count(self) -> int:
        """The number of parts of all cells."""
        return prod(len(edges) - 1 for edges in self.edges)

    def expected(self, mu: Floats, s: Floats, a: Floats) -> Floats:
        """The rows that a component expects in every part: (…, d), (…, d), (…) -> (…, parts)."""
        return expected_by_component(mu, s, a, self.edges)

    def to_fill(self) -> Floats:
        """How many parts of the volume of each fill the box: one number for each part, or one for all."""
        each = prod(self.parts)
        volumes = cells_to_fill(self.axes) * each
        return volumes if len(volumes) == 1 else self.by_axis(np.repeat(volumes, each)[None])[0]

    def centres(self) -> Floats:
        """(parts, d): where the rows of each part lie, that is its centre, or the single value that its cell holds."""
        along = [_places(axis, parts) for axis, parts in zip(self.axes, self.parts, strict=True)]
        return np.stack([values.ravel() for values in np.meshgrid(*along, indexing="ij")], axis=1)

    def offsets(self, x: int) -> Floats:
        """(cells, parts of a cell): how far along axis x each part's rows lie from the centre of their cell.

        (1, parts of a cell) where they are the same for every cell.
        """
        own = _offsets(self.axes[x], self.parts[x])
        d, m = len(self.axes), len(own)
        shape = [m if y == x else 1 for y in range(d)] + [self.parts[x] if y == x else 1 for y in range(d)]
        cells = [axis.cells if m > 1 else 1 for axis in self.axes]
        return np.broadcast_to(own.reshape(shape), (*cells, *self.parts)).reshape(prod(cells), -1)

    def by_cell(self, values: Floats) -> Floats:
        """(samples, parts) -> (samples, cells, parts of a cell)."""
        d = len(self.axes)
        sides = [number for axis, parts in zip(self.axes, self.parts, strict=True) for number in (axis.cells, parts)]
        order = (0, *range(1, 2 * d, 2), *range(2, 2 * d + 1, 2))
        return values.reshape(len(values), *sides).transpose(order).reshape(len(values), -1, prod(self.parts))

    def by_axis(self, values: Floats) -> Floats:
        """The inverse of `by_cell`."""
        d = len(self.axes)
        split = values.reshape(len(values), *(axis.cells for axis in self.axes), *self.parts)
        order = (0, *(place for x in range(d) for place in (1 + x, 1 + d + x)))
        return split.transpose(order).reshape(len(values), -1)


def _parts(axes: tuple[AxisCells, ...]) -> tuple[int, ...]:
    """The number of parts of a cell along each axis. If they are too many, the axes with the most parts have fewer."""
    parts = [1 if axis.single.all() else max(2, -(-_FINE // axis.cells)) for axis in axes]
    while max(parts) > 2 and prod(axis.cells * p for axis, p in zip(axes, parts, strict=True)) > _MOST_FINE:
        most = max(axis.cells * p for axis, p in zip(axes, parts, strict=True) if p > 2)
        parts = [p - (p > 2 and axis.cells * p == most) for axis, p in zip(axes, parts, strict=True)]
    return tuple(parts)


def _edges(axis: AxisCells, parts: int) -> Floats:
    if axis.equal:
        return UniformAxis(parts * axis.cells).edges()
    lower, width = axis.edges[:-1, None], np.diff(axis.edges)[:, None]
    return np.append((lower + width * (np.arange(parts) / parts)).ravel(), 1.0)


def _offsets(axis: AxisCells, parts: int) -> Floats:
    """(m, parts of a cell), or (1, parts of a cell) where cells are equal."""
    offsets = UniformAxis(parts).centres() / axis.to_fill[:, None]
    return offsets if axis.equal else np.where(axis.single[:, None], 0.0, offsets)


def _places(axis: AxisCells, parts: int) -> Floats:
    if axis.equal:
        return UniformAxis(parts * axis.cells).centres()
    return (axis.centres[:, None] + _offsets(axis, parts)).ravel()
