"""Border: which parts of a cell a box holds whole, and which of them it cuts.

Along an axis a box takes the steps from `low` up to `high` of a cell, and it touches those up to `end`: of numbers one
more, because a number at the upper end lies in the cell above it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from core.adaptive.parts import Cut, starts_of_parts
from core.arrays import Wholes


@dataclass(frozen=True, slots=True, eq=False)
class Item:
    """What boxes take of cells: (items, d) steps each."""

    low: Wholes
    high: Wholes
    end: Wholes

    def part(self, items: Wholes) -> Item:
        """Some of them."""
        return Item(self.low[items], self.high[items], self.end[items])


@dataclass(frozen=True, slots=True, eq=False)
class Border:
    """Items on cells of a cut: each touches the parts from `begin` to `stop` and holds those from `first` to `last`.

    All are (items, d). Where an item holds no part whole along an axis, `first` and `last` are both `stop`.
    """

    cut: Cut
    cells: Wholes
    item: Item
    begin: Wholes
    stop: Wholes
    first: Wholes
    last: Wholes

    @classmethod
    def of(cls, cut: Cut, cells: Wholes, item: Item) -> Border:
        """Part j of n of a cell of w steps begins at ceil(j w / n), so step s lies in part floor(s n / w)."""
        n, w = cut.parts[cells], cut.widths[cells]
        begin = np.minimum(item.low * n // w, n - 1)
        stop = np.where(item.end > item.low, (item.end - 1) * n // w + 1, begin)
        first, last = (item.low - 1) * n // w + 1, item.high * n // w
        none = first >= last
        return cls(cut, cells, item, begin, stop, np.where(none, stop, first), np.where(none, stop, last))

    def children(self) -> Iterator[tuple[Wholes, Wholes, Item]]:
        """The parts that are touched and not whole: (item, part, what the box takes of it), each part once.

        Slab by slab: below `first` and from `last` on along an axis, with what is whole along the axes before it and
        all that is touched along those after it.
        """
        d = self.begin.shape[1]
        for x in range(d):
            for low, high in ((self.begin[:, x], self.first[:, x]), (self.last[:, x], self.stop[:, x])):
                starts = [*(self.first[:, y] for y in range(x)), low, *(self.begin[:, y] for y in range(x + 1, d))]
                stops = [*(self.last[:, y] for y in range(x)), high, *(self.stop[:, y] for y in range(x + 1, d))]
                yield from self._slab(starts, stops)

    def _slab(self, starts: list[Wholes], stops: list[Wholes]) -> Iterator[tuple[Wholes, Wholes, Item]]:
        sides = np.stack([np.maximum(stop - start, 0) for start, stop in zip(starts, stops, strict=True)], axis=1)
        owner, rest = cross(np.arange(len(sides)), np.zeros(len(sides), dtype=np.int64), sides.prod(axis=1))
        if not len(owner):
            return
        cells = self.cells[owner]
        places = np.empty((len(owner), len(starts)), dtype=np.int64)
        for x in reversed(range(len(starts))):
            rest, inside = np.divmod(rest, sides[owner, x])
            places[:, x] = starts[x][owner] + inside
        parts, widths = self.cut.parts[cells], self.cut.widths[cells]
        begin = starts_of_parts(places, widths, parts)
        width = starts_of_parts(places + 1, widths, parts) - begin
        numbers = np.zeros(len(owner), dtype=np.int64)
        for x in range(len(starts)):
            numbers = numbers * parts[:, x] + places[:, x]
        item = self.item.part(owner)
        below = Item(*(np.clip(each - begin, 0, width) for each in (item.low, item.high, item.end)))
        yield owner, self.cut.first[cells] + numbers, below


def cross(owners: Wholes, first: Wholes, count: Wholes) -> tuple[Wholes, Wholes]:
    """Each entry repeated `count[owner]` times: (number of the entry, first[owner] + 0, 1, … of the repetition)."""
    repeats = count[owners]
    entry = np.repeat(np.arange(len(owners)), repeats)
    offsets = np.arange(len(entry)) - np.repeat(np.cumsum(repeats) - repeats, repeats)
    return entry, first[owners][entry] + offsets
