"""SlabTable: base cells that boxes cut along a single axis, without going through all of their coarse cells.

Coarse cells at the same place along the axis are cut by a box at the same step. Those of them that have equally many
leaves along it are taken together, as one cell whose leaves are sums: shares of leaves are the same in all of them.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from core.adaptive.border import Border, Span, cross
from core.adaptive.fusion import Fusion
from core.adaptive.parts import Cut
from core.adaptive.tables import LeafTable, Taken, along_axis, rows_of_ways, taken_along
from core.arrays import Floats, Wholes


class SlabTable:
    """Coarse cells taken together along axis x, with the cumulative sums of their leaves along it."""

    def __init__(self, fusion: Fusion, leaves: LeafTable, x: int) -> None:
        layers, self._x = fusion.layers, x
        self.cut = Cut.of(layers.coarse.widths[:, [x]], layers.coarse.parts[:, [x]])
        columns = self.cut.first[layers.coarse_base] + layers.coarse.places()[:, x]
        parts = layers.leaves.parts[:, x]
        most = int(parts.max()) + 1
        keys, together = np.unique(columns * most + parts, return_inverse=True)
        self.together = together = together.ravel()  # the group of each coarse cell
        self.parts = keys % most
        self.first_of = np.searchsorted(keys // most, np.arange(len(self.cut) + 1))
        self.widths = np.zeros(len(keys), dtype=np.int64)
        self.widths[together] = layers.leaves.widths[:, x]
        self._u = _added(together, fusion.u, len(keys))
        self._leaves = _added(together, layers.leaves.sizes.astype(np.float64), len(keys))
        self._start = np.append(0, np.cumsum(self.parts + 1))
        cells, places = cross(np.arange(len(parts)), np.zeros(len(parts), dtype=np.int64), parts + 1)
        sums = leaves.sums_up_to(cells, x, places)
        entries = self._start[together[cells]] + places
        self._sums = np.stack([_added(entries, each, int(self._start[-1])) for each in sums])

    def take(self, border: Border) -> Iterator[tuple[Wholes, Floats, Iterator[Taken]]]:
        """For each side of the cut: item, u, and what is taken of the coarse cells that are together, three times."""
        for face in border.along(self._x, self.cut).faces():
            first = self.first_of[face.parts]
            entry, cells = cross(np.arange(len(first)), first, self.first_of[face.parts + 1] - first)
            span = Span(*(each[entry] for each in face.spans[0]))
            ways = along_axis(span, self.widths[cells], self.parts[cells], np.ones(1, dtype=np.int64))
            leaves = self._leaves[cells]
            kinds = zip(ways, rows_of_ways(self._sums), strict=True)
            taken = (taken_along((way,), sums, self._start[cells], leaves) for way, sums in kinds)
            yield face.owner[entry], self._u[cells], taken


def _added(owners: Wholes, values: Floats, number: int) -> Floats:
    return np.bincount(owners, weights=values, minlength=number).astype(np.float64)
