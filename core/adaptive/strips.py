"""StripTable: base cells of two attributes that boxes cut along both, with a few look-ups for each side of the box.

Along a side of a box the coarse cells lie in a row, at the same place along the axis x that the side cuts. Those of
them with equally many leaves along x are taken together, as in `core.adaptive.slabs`. Here they are also cumulative
along the row, so that any part of it is the difference of two entries: prefix sums of prefix sums.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from core.adaptive.border import Border, Span, cross
from core.adaptive.fusion import Fusion
from core.adaptive.slabs import SlabTable
from core.adaptive.tables import LeafTable, Taken, Way, along_axis, rows_of_ways, taken_along
from core.arrays import Floats, Wholes

DIMENSIONS = 2  # the other axis is the row


class StripTable:
    """The groups of a SlabTable along axis x, with sums over the first members of each, in order along the other axis.

    Group g of m members with n leaves each has a table of (m + 1) rows and (n + 1) columns: what lies in the first
    members, below a place along x.
    """

    def __init__(self, fusion: Fusion, leaves: LeafTable, slabs: SlabTable, x: int) -> None:
        layers, together = fusion.layers, slabs.together
        self._slabs, self._x, self._row = slabs, x, 1 - x
        along = layers.coarse.places()[:, self._row]
        lengths = np.zeros(len(slabs.parts), dtype=np.int64)
        lengths[together] = layers.coarse.parts[layers.coarse_base, self._row]
        # For each group, how many members lie below each place of its row; all groups before it are added.
        self._places = np.append(0, np.cumsum(lengths + 1))
        entries = self._places[together] + along + 1
        self._below = np.cumsum(np.bincount(entries, minlength=int(self._places[-1])))
        members = np.argsort(entries)
        sizes = np.bincount(together, minlength=len(slabs.parts))
        self._first = np.append(0, np.cumsum(sizes))
        self._u, self._leaves = (
            np.append(0.0, np.cumsum(each[members])) for each in (fusion.u, layers.leaves.sizes.astype(np.float64))
        )
        sides = slabs.parts + 1
        self._start = np.append(0, np.cumsum((sizes + 1) * sides))
        cells, places = cross(np.arange(len(members)), np.zeros(len(members), dtype=np.int64), sides[together[members]])
        groups = together[members][cells]
        rows = cells - self._first[groups] + 1
        self._sums = np.zeros((2, int(self._start[-1])))
        self._sums[:, self._start[groups] + rows * sides[groups] + places] = leaves.sums_up_to(
            members[cells], x, places
        )
        for g in np.flatnonzero(sizes > 1).tolist():
            for sums in self._sums:
                table = sums[self._start[g] : self._start[g + 1]].reshape(-1, sides[g])
                np.cumsum(table, axis=0, out=table)

    def take(self, border: Border) -> Iterator[tuple[Wholes, Floats, Iterator[Taken]]]:
        """For each side along x: item, u, and what is taken of the coarse cells that are together, three times.

        Only coarse cells that are whole along the other axis: corners of boxes are no part of a side.
        """
        slabs = self._slabs
        for face in border.along(self._x, slabs.cut).faces():
            first = slabs.first_of[face.parts]
            entry, groups = cross(np.arange(len(first)), first, slabs.first_of[face.parts + 1] - first)
            owner = face.owner[entry]
            below, above = (
                self._below[self._places[groups] + each[owner, self._row]] for each in (border.first, border.last)
            )
            there = np.flatnonzero(above > below)
            entry, groups, owner, below, above = (each[there] for each in (entry, groups, owner, below, above))
            if not len(owner):
                continue
            span = Span(*(each[entry] for each in face.spans[0]))
            parts = slabs.parts[groups]
            ways = along_axis(span, slabs.widths[groups], parts, np.ones(1, dtype=np.int64))
            leaves = self._leaves[above] - self._leaves[below]
            start = self._start[groups] - self._first[groups] * (parts + 1)
            low, high = (start + each * (parts + 1) for each in (below, above))
            yield owner, self._u[above] - self._u[below], self._taken(ways, low, high, leaves)

    def _taken(self, ways: list[Way], low: Wholes, high: Wholes, leaves: Floats) -> Iterator[Taken]:
        for way, sums in zip(ways, rows_of_ways(self._sums), strict=True):
            yield taken_along((way,), sums, high, leaves, without=low)
