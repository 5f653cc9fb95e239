"""Border: which parts of a cell a box holds whole, and which of them it cuts.

Along an axis a box takes the steps from `low` up to `high` of a cell, and it touches those up to `end`: of numbers one
more, because a number at the upper end lies in the cell above it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import NamedTuple

import numpy as np

from core.adaptive.parts import Cut, starts_of_parts
from core.arrays import Wholes

_WHOLE = 1  # the middle one of three sides


@dataclass(frozen=True, slots=True, eq=False)
class Item:
    """What boxes take of cells: (items, d) steps each."""

    low: Wholes
    high: Wholes
    end: Wholes

    def part(self, items: Wholes) -> Item:
        """Some of them."""
        return Item(self.low[items], self.high[items], self.end[items])


class Span(NamedTuple):
    """The same along one axis."""

    low: Wholes
    high: Wholes
    end: Wholes


class Face(NamedTuple):
    """Parts that are cut along `axes` and whole along all others: item and number of each, and what is taken of it."""

    axes: tuple[int, ...]
    owner: Wholes
    parts: Wholes
    spans: list[Span]


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

    def part(self, items: Wholes) -> Border:
        """Some of the items."""
        ends = (each[items] for each in (self.begin, self.stop, self.first, self.last))
        return Border(self.cut, self.cells[items], self.item.part(items), *ends)

    def along(self, x: int, cut: Cut) -> Border:
        """The same along axis x alone, on the cut of the same cells along it."""
        ends = (each[:, x : x + 1] for each in (self.begin, self.stop, self.first, self.last))
        item = Item(*(each[:, x : x + 1] for each in (self.item.low, self.item.high, self.item.end)))
        return Border(cut, self.cells, item, *ends)

    def faces(self, *, least_axes: int = 1) -> Iterator[Face]:
        """The parts that are touched and not whole, each once, by the axes along which they are not whole.

        Along each axis parts lie below `first`, from `first` to `last`, or from `last` on. So the border falls into
        3^d - 1 blocks; on most of it only a single axis is cut, and the others need not be looked at. Blocks that are
        cut along the same axes are taken together; those cut along fewer than `least_axes` are left out.
        """
        d = self.begin.shape[1]
        sides = (self.begin, self.first), (self.first, self.last), (self.last, self.stop)
        lengths = [np.maximum(stop - start, 0) for start, stop in sides]
        for cut in product((False, True), repeat=d):
            axes = tuple(x for x in range(d) if cut[x])
            if len(axes) < least_axes:
                continue
            blocks = []
            for kinds in product(*((0, 2) if each else (_WHOLE,) for each in cut)):
                touched = np.flatnonzero(np.logical_and.reduce([lengths[kind][:, x] for x, kind in enumerate(kinds)]))
                columns = [(sides[kind][0][touched, x], lengths[kind][touched, x]) for x, kind in enumerate(kinds)]
                blocks.append((touched, *(np.stack(column, axis=1) for column in zip(*columns, strict=True))))
            touched, starts, counts = (np.concatenate(column) for column in zip(*blocks, strict=True))
            if len(touched):
                yield self._face(axes, touched, starts, counts)

    def _face(self, axes: tuple[int, ...], touched: Wholes, starts: Wholes, lengths: Wholes) -> Face:
        """The parts from `starts` on, `lengths` of them along each axis, of the items numbered `touched`."""
        cells = self.cells[touched]
        entry, rest = cross(np.arange(len(touched)), np.zeros(len(touched), dtype=np.int64), lengths.prod(axis=1))
        parts, widths = self.cut.parts[cells], self.cut.widths[cells]
        places: list[Wholes] = []
        stride = np.ones(len(touched), dtype=np.int64)
        numbers = self.cut.first[cells][entry]
        for x in reversed(range(lengths.shape[1])):
            length = lengths[:, x]
            if (length == 1).all():
                along = starts[entry, x]
            else:
                rest, inside = np.divmod(rest, length[entry])
                along = starts[entry, x] + inside
            numbers += along * stride[entry]
            stride = stride * parts[:, x]
            places.insert(0, along)
        owner = touched[entry]
        taken = []
        for x in axes:
            n, w = parts[entry, x], widths[entry, x]
            begin = starts_of_parts(places[x], w, n)
            width = starts_of_parts(places[x] + 1, w, n) - begin
            item = (each[owner, x] - begin for each in (self.item.low, self.item.high, self.item.end))
            taken.append(Span(*(np.clip(each, 0, width) for each in item)))
        return Face(axes, owner, numbers, taken)


def cross(owners: Wholes, first: Wholes, count: Wholes) -> tuple[Wholes, Wholes]:
    """Each entry repeated `count[owner]` times: (number of the entry, first[owner] + 0, 1, … of the repetition)."""
    repeats = count[owners]
    entry = np.repeat(np.arange(len(owners)), repeats)
    offsets = np.arange(len(entry)) - np.repeat(np.cumsum(repeats) - repeats, repeats)
    return entry, first[owners][entry] + offsets
