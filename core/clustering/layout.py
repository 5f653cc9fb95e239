"""Layout: the cells that a mixture expects rows in. The sampler asks for their expected counts and nothing else.

A grid's cells are products of intervals of its axes: their expectations are outer products (`GridLayout`). The cells
of several layers are a list of boxes that lie on no grid (`core.clustering.boxes.Boxes`).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Protocol

from core.arrays import Floats
from core.clustering.axis_cells import axes_of, cells_to_fill
from core.clustering.mixture import expected_by_component
from core.domain.grid import Grid


class Layout(Protocol):
    """Cells in [-1, 1]^d, M in number."""

    @property
    def dimensions(self) -> int:
        """d."""

    @property
    def cell_count(self) -> int:
        """M."""

    @property
    def to_fill(self) -> Floats:
        """How many cells of the volume of each fill the domain: (M,), or (1,) where all are equal."""

    def expected(self, mu: Floats, s: Floats, a: Floats) -> Floats:
        """The rows that a component expects in every cell: (…, d), (…, d), (…) -> (…, M)."""


@dataclass(frozen=True, slots=True, eq=False)
class GridLayout:
    """The cells of a grid whose axes have these `edges`."""

    edges: tuple[Floats, ...]
    to_fill: Floats

    @classmethod
    def of(cls, grid: Grid) -> GridLayout:
        """The cells of a grid, all of whose axes are ordered."""
        axes = axes_of(grid)
        return cls(tuple(axis.edges for axis in axes), cells_to_fill(axes))

    @property
    def dimensions(self) -> int:
        """d."""
        return len(self.edges)

    @property
    def cell_count(self) -> int:
        """M."""
        return prod(len(edges) - 1 for edges in self.edges)

    def expected(self, mu: Floats, s: Floats, a: Floats) -> Floats:
        """The rows that a component expects in every cell."""
        return expected_by_component(mu, s, a, self.edges)
