"""Boxes: ranges on some attributes, as the share of each cell that lies inside; one axis at a time.

A box covers a cell by the product of what it covers on each axis, so sums of powers of those shares are products too,
and no cell has to be visited to know the noise of a box.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import inf
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from core.arrays import Floats
from core.domain.attribute import Ordered
from core.domain.domain import Domain
from core.domain.grid import Grid
from core.errors import InvalidQuery
from core.intervals.weighted_sums import STEPS, Rounding, Sums


class Range(NamedTuple):
    """[lower, upper) on one attribute; without an end, as far as the attribute goes. A tuple: workloads have many.

    A row at `lower` lies in it, a row at `upper` does not, unless `upper` is the attribute's own upper bound or beyond.
    """

    attribute: str
    lower: float = -inf
    upper: float = inf


Box = tuple[Range, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Edges:
    """Many boxes in cell units: box i reaches from low[i, x] to high[i, x] on axis x, both between 0 and its cells."""

    low: Floats
    high: Floats

    @classmethod
    def of(cls, boxes: tuple[Box, ...], domain: Domain, grid: Grid) -> Edges:
        """The part of each box that lies in the domain. Ranges on the same attribute intersect.

        InvalidQuery where a range holds no value of its attribute.
        """
        axes = {name: x for x, name in enumerate(domain.names)}
        lower = [[-inf] * domain.dimensions for _ in boxes]
        upper = [[inf] * domain.dimensions for _ in boxes]
        for i, box in enumerate(boxes):
            for part in box:
                x = axes.get(part.attribute)
                if x is None:
                    raise _refused(i, boxes, f"There is no attribute of that name in this release; {_names(domain)}.")
                lower[i][x] = max(lower[i][x], part.lower)
                upper[i][x] = min(upper[i][x], part.upper)
                fault = _fault(domain.attributes[x], part, lower[i][x], upper[i][x])
                if fault:
                    raise _refused(i, boxes, fault)
        ends = np.array([lower, upper], dtype=np.float64)  # whole numbers among the ends must not make it integer
        for x, (attribute, axis) in enumerate(zip(domain.attributes, grid.axes, strict=True)):
            ends[:, :, x] = attribute.in_cell_units(ends[:, :, x], axis)
        return cls(low=ends[0], high=ends[1])

    @classmethod
    def stacked(cls, *parts: Edges) -> Edges:
        """The boxes of several, one after the other."""
        return cls(low=np.concatenate([p.low for p in parts]), high=np.concatenate([p.high for p in parts]))

    def shares(self, x: int, places: NDArray[np.int64]) -> Floats:
        """One row for each box: the share of the cells at these places on axis x that lies inside its range."""
        low, high = self.low[:, x, None], self.high[:, x, None]
        shares: Floats = np.clip(np.minimum(high, places + 1) - np.maximum(low, places), 0.0, 1.0)
        return shares

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

    def outer(self, grid: Grid) -> Edges:
        """The smallest box of whole cells that holds each box with its upper ends.

        A row exactly at an upper end that is an edge between two cells lies in the cell above it. That cell is taken
        in: who writes 7..9 about whole numbers may mean 9 as well.
        """
        cells = np.array(grid.shape)
        low = np.minimum(np.floor(self.low), cells - 1)
        return Edges(low=low, high=np.minimum(np.floor(self.high) + 1, cells))

    def nearest(self, grid: Grid) -> Edges:
        """Each end at the nearest edge; a range whose ends meet there becomes the cell in which its middle lies."""
        low, high = np.floor(self.low + 0.5), np.floor(self.high + 0.5)
        middle = np.minimum(np.floor((self.low + self.high) / 2), np.array(grid.shape) - 1)
        none = low == high
        return Edges(low=np.where(none, middle, low), high=np.where(none, middle + 1, high))


@dataclass(frozen=True, slots=True, eq=False)
class BoundedCounts:
    """For each box its noisy count, bounds on the same count without noise, and the noise's standard deviation.

    Cut cells count by the share that lies inside.
    """

    count: Floats
    low: Floats
    high: Floats
    noise_sd: Floats

    def parts(self, size: int) -> Iterator[BoundedCounts]:
        """Consecutive parts of so many boxes each."""
        for start in range(0, len(self.count), size):
            part = slice(start, start + size)
            yield BoundedCounts(self.count[part], self.low[part], self.high[part], self.noise_sd[part])


def _names(domain: Domain) -> str:
    return f"it has: {', '.join(domain.names)}"


def _fault(attribute: Ordered, part: Range, lower: float, upper: float) -> str | None:
    """Why no value of the attribute lies in `part`, or in it and the ranges before it: from `lower` to `upper`."""
    if fault := attribute.why_empty(part.lower, part.upper):
        return fault
    if attribute.why_empty(lower, upper):
        return f"The ranges of {attribute.name} have no value in common."
    return attribute.why_outside(lower, upper)


def _refused(i: int, boxes: tuple[Box, ...], fault: str) -> InvalidQuery:
    return InvalidQuery(fault if len(boxes) == 1 else f"Box {i + 1} of {len(boxes)}: {fault}")
