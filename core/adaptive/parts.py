"""Cut: cells divided into equal parts along their ordered axes, and the part that a place in a cell belongs to.

A cell has a width along each ordered axis, in steps: whole numbers. Numbers have 2^32 steps in all, as their codes do,
whole values one step each. Along an axis of w steps that is cut into n parts, part j begins at step ceil(j w / n). A
part has one step or more, so no part is without values.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from core.arrays import Wholes


@dataclass(frozen=True, slots=True, eq=False)
class Cut:
    """Cells of `widths` (cells, d), cut into `parts` (cells, d). Parts are numbered by cell, the last axis fastest.

    `first` has the number of each cell's first part, and the number of all parts at the end.
    """

    widths: Wholes
    parts: Wholes
    first: Wholes

    @classmethod
    def of(cls, widths: Wholes, parts: Wholes) -> Cut:
        """The cut of cells of these widths into so many parts."""
        return cls(widths, parts, np.append(0, np.cumsum(parts.prod(axis=1))))

    def __len__(self) -> int:
        return int(self.first[-1])

    @property
    def sizes(self) -> Wholes:
        """How many parts each cell has."""
        return np.diff(self.first)

    def parents(self) -> Wholes:
        """The cell of each part."""
        return np.repeat(np.arange(len(self.widths)), self.sizes)

    def places(self) -> Wholes:
        """(parts, d): the place of each part in its cell along each axis."""
        parents = self.parents()
        rest = np.arange(len(self)) - self.first[parents]
        places = np.empty((len(self), self.parts.shape[1]), dtype=np.int64)
        for x in reversed(range(places.shape[1])):
            rest, places[:, x] = np.divmod(rest, self.parts[parents, x])
        return places

    def spans(self) -> tuple[Wholes, Wholes]:
        """(parts, d) twice: the step at which each part begins in its cell, and its width."""
        parents, places = self.parents(), self.places()
        widths, parts = self.widths[parents], self.parts[parents]
        begin = starts_of_parts(places, widths, parts)
        return begin, starts_of_parts(places + 1, widths, parts) - begin

    def locate(self, cells: Wholes, steps: list[Wholes]) -> tuple[Wholes, list[Wholes]]:
        """The part of each place, given by its cell and the step in it along each axis; and the step in that part."""
        numbers, inside = np.zeros(len(cells), dtype=np.int64), []
        for x, along in enumerate(steps):
            parts, widths = self.parts[cells, x], self.widths[cells, x]
            places = along * parts // widths
            numbers = numbers * parts + places
            inside.append(along - starts_of_parts(places, widths, parts))
        return self.first[cells] + numbers, inside


def starts_of_parts(places: Wholes, widths: Wholes, parts: Wholes) -> Wholes:
    """The step at which part j begins: ceil(j w / n)."""
    starts: Wholes = -(-places * widths // parts)
    return starts


def share_halvings(halvings: Wholes, widths: Wholes, before: Wholes) -> tuple[Wholes, Wholes]:
    """(parts, halvings along each axis): each halving goes to the axis that was halved least, the first among equals.

    `before` has the halvings along each axis so far. An axis of w steps takes ceil(log2 w) halvings and is then cut
    into its w steps; what no axis can take is left out.
    """
    capacity = _bit_lengths(widths - 1)
    along = np.zeros_like(widths)
    left = halvings.copy()
    cells = np.flatnonzero(left > 0)
    while len(cells):
        free = along[cells] < capacity[cells]
        order = np.where(free, before[cells] + along[cells], np.iinfo(np.int64).max)
        takes = free.any(axis=1)
        cells, order = cells[takes], order[takes]
        along[cells, order.argmin(axis=1)] += 1
        left[cells] -= 1
        cells = cells[left[cells] > 0]
    return np.minimum(np.left_shift(1, along), widths), along


def _bit_lengths(numbers: Wholes) -> Wholes:
    """ceil(log2(n + 1)) of whole numbers below 2^53, exactly: the exponent of a float."""
    return np.frexp(numbers.astype(np.float64))[1].astype(np.int64)
