"""Boxes: ranges on some attributes, as the share of each cell that lies inside; one axis at a time.

A box covers a cell by the product of what it covers on each axis, so sums of powers of those shares are products too,
and no cell has to be visited to know the noise of a box.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from core.domain import Domain
from core.errors import InvalidQuery
from core.grid import Grid
from core.queries.uncertainty import STEPS, Floats, Rounding, Sums


class Range(NamedTuple):
    """lower to upper on one attribute; without a bound, as far as the attribute goes. A tuple: workloads have many."""

    attribute: str
    lower: float = -inf
    upper: float = inf


Box = tuple[Range, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Edges:
    """Many boxes in cell units: box i reaches from low[i, x] to high[i, x] on axis x, both between 0 and m."""

    low: Floats
    high: Floats

    @classmethod
    def of(cls, boxes: tuple[Box, ...], domain: Domain, grid: Grid) -> Edges:
        """The part of each box that lies in the domain. Ranges on the same attribute intersect."""
        m, axes = grid.cells_per_axis, {name: x for x, name in enumerate(domain.names)}
        lower = [[-inf] * domain.dimensions for _ in boxes]
        upper = [[inf] * domain.dimensions for _ in boxes]
        for i, box in enumerate(boxes):
            for name, begin, end in box:
                x = axes.get(name)
                if x is None:
                    known = ", ".join(domain.names)
                    raise InvalidQuery(f"There is no attribute of that name in this release; it has: {known}.")
                if not begin <= end:
                    raise InvalidQuery("A range is reversed: its lower bound is above its upper one.")
                lower[i][x] = max(lower[i][x], begin)
                upper[i][x] = min(upper[i][x], end)
        # Snap what is on an edge but for rounding; then empty where a box ends before it begins.
        low, high = (_snapped(np.clip((bounds - domain.lower) / domain.width * m, 0.0, m)) for bounds in (lower, upper))
        return cls(low=low, high=np.maximum(low, high))

    def power_sums(self, power: int) -> Floats:
        """For each box the sum over cells of (share of the cell inside)^power."""
        shares, times = self._shares()
        sums: Floats = (times * shares**power).sum(axis=1).prod(axis=1)
        return sums

    def sums(self) -> Sums:
        """The noise of each box."""
        shares, times = self._shares()
        largest = shares.max(axis=1)
        there = (shares > 0.0) & (times > 0.0)
        return Sums(
            largest=largest.prod(axis=1),
            squares=self.power_sums(2),
            fourths=self.power_sums(4),
            equal=((shares == largest[:, None]) | ~there).all(axis=(1, 2)),
            steps=self._steps,
        )

    def _shares(self) -> tuple[Floats, Floats]:
        """Per box and axis: shares of the cell it begins in, of whole cells, of the cell it ends in; and how many."""
        in_one_cell = np.ceil(self.high) - np.floor(self.low) <= 1.0
        whole = np.where(in_one_cell, 0.0, np.floor(self.high) - np.ceil(self.low))
        first = np.where(in_one_cell, self.high - self.low, np.ceil(self.low) - self.low)
        last = np.where(in_one_cell, 0.0, self.high - np.floor(self.high))
        once = np.ones_like(whole)
        return np.stack([first, (whole > 0) * 1.0, last], axis=1), np.stack([once, whole, once], axis=1)

    def _steps(self, rows: NDArray[np.int64], rounding: Rounding) -> Floats:
        """Cells by the size of their share in some of the boxes, one axis after the other, rounded each time."""
        shares, times = self._shares()
        shares, times = shares[rows] / shares[rows].max(axis=1, keepdims=True), times[rows]
        counted = np.zeros((len(rows), STEPS))
        counted[:, -1] = 1.0
        boxes = np.arange(len(rows))[:, None]
        for x in range(shares.shape[2]):
            wider = np.zeros_like(counted)
            for part in range(3):
                product = np.multiply.outer(shares[:, part, x], np.arange(1, STEPS + 1))
                place = rounding(product) - 1
                np.add.at(wider, (boxes, place), counted * times[:, part, x, None] * (place >= 0))
            counted = wider
        return counted

    def corners(self) -> tuple[NDArray[np.int64], Floats]:
        """For each box and axis four positions in a cumulative table, and what each counts for.

        Within a cell rows are taken to be spread evenly, so the cumulative count is linear between edges: at `high` it
        is read off the two edges around it, and the same at `low` is taken away.
        """
        positions, shares = [], []
        for edges, sign in ((self.high, 1.0), (self.low, -1.0)):
            below = np.floor(edges)
            part = edges - below
            positions += [below, np.ceil(edges)]
            shares += [sign * (1.0 - part), sign * part]
        return np.stack(positions, axis=1).astype(np.int64), np.stack(shares, axis=1)

    def inner(self) -> Edges:
        """The largest box of whole cells inside each box."""
        low, high = np.ceil(self.low), np.floor(self.high)
        return Edges(low=low, high=np.maximum(low, high))

    def outer(self) -> Edges:
        """The smallest box of whole cells around each box; a box without width keeps none of its own."""
        low = np.floor(self.low)
        return Edges(low=low, high=np.maximum(np.ceil(self.high), low))


def _snapped(edges: Floats) -> Floats:
    nearest = np.round(edges)
    return np.where(np.abs(edges - nearest) < 1e-9, nearest, edges)
