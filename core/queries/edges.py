"""Edges: boxes in cell units, one axis at a time, as the share of each cell that lies inside.

A box covers a cell by the product of what it covers on each axis, so sums of powers of those shares are products too,
and no cell has to be visited to know the noise of a box.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from core.arrays import Floats
from core.domain.attribute import Ordered
from core.domain.axis import UniformAxis
from core.domain.domain import Domain
from core.domain.grid import Grid
from core.intervals.weighted_sums import STEPS, Rounding, Sums
from core.queries.boxes import Asked, Box, resolve

Wholes = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Edges:
    """Many boxes in cell units: box i has runs from low[i, r, x] to high[i, r, x] on axis x.

    Runs ascend and do not touch; those without a cell (low = high) come last. Only chosen cells make several runs, so
    wherever an axis has more than one, all of them begin and end between cells. Both arrays have the shape
    (boxes, runs, axes), with one run where no box needs more.
    """

    low: Floats
    high: Floats

    @classmethod
    def of(cls, boxes: tuple[Box, ...], domain: Domain, grid: Grid) -> Edges:
        """The part of each box that lies in the domain. InvalidQuery where there is none."""
        return cls.on(resolve(boxes, domain, grid), range(len(boxes)), domain, grid)

    @classmethod
    def on(cls, asked: Asked, rows: Sequence[int], domain: Domain, grid: Grid) -> Edges:
        """The boxes with these numbers on a grid."""
        # Floats, because whole numbers among the ends must not make the array one of integers.
        ends = np.array([[asked.lower[i] for i in rows], [asked.upper[i] for i in rows]], dtype=np.float64)
        for x, (attribute, axis) in enumerate(zip(domain.attributes, grid.axes, strict=True)):
            if not isinstance(attribute, Ordered):
                ends[0, :, x], ends[1, :, x] = 0.0, axis.cells
                continue
            if attribute.is_whole:
                pairs = ends[:, :, x].T.tolist()
                ends[:, :, x] = np.array([attribute.ends(*pair) for pair in pairs]).reshape(-1, 2).T
            ends[:, :, x] = attribute.in_cell_units(ends[:, :, x], axis)
            if axis.keeps_missing:  # without a range missing values count as well
                ends[1, [x not in asked.ranged[i] for i in rows], x] = axis.cells
        return cls(low=ends[0][:, None], high=ends[1][:, None])._with_runs(asked, rows)

    def _with_runs(self, asked: Asked, rows: Sequence[int]) -> Edges:
        """With the cells that were chosen."""
        if not asked.chosen:
            return self
        here = [
            (n, x, asked.chosen[i, x]) for n, i in enumerate(rows) for x in range(self.axes) if (i, x) in asked.chosen
        ]
        edges = self._with_room(max((len(runs) for *_, runs in here), default=1))
        for n, x, runs in here:
            edges.low[n, : len(runs), x], edges.high[n, : len(runs), x] = np.array(runs).T
        return edges

    def _with_room(self, runs: int) -> Edges:
        """With so many runs; those that are added have no cell."""
        room = ((0, 0), (0, runs - self.runs), (0, 0))
        return self if runs == self.runs else Edges(low=np.pad(self.low, room), high=np.pad(self.high, room))

    @classmethod
    def stacked(cls, *parts: Edges) -> Edges:
        """The boxes of several, one after the other."""
        wide = [part._with_room(max(each.runs for each in parts)) for part in parts]
        return cls(low=np.concatenate([p.low for p in wide]), high=np.concatenate([p.high for p in wide]))

    def __len__(self) -> int:
        return len(self.low)

    @property
    def runs(self) -> int:
        """The number of runs that there is room for."""
        return int(self.low.shape[1])

    @property
    def axes(self) -> int:
        """The number of axes."""
        return int(self.low.shape[2])

    def part(self, rows: slice) -> Edges:
        """Some of the boxes."""
        return Edges(low=self.low[rows], high=self.high[rows])

    def on_axes(self, rows: Wholes, axes: Wholes) -> Edges:
        """Some of the boxes on some of the axes."""
        return Edges(low=self.low[rows][:, :, axes], high=self.high[rows][:, :, axes])

    def is_split(self) -> NDArray[np.bool_]:
        """(boxes, axes): whether a box has several runs on an axis."""
        if self.runs == 1:
            return np.zeros((len(self), self.axes), dtype=np.bool_)
        split: NDArray[np.bool_] = self.high[:, 1] > self.low[:, 1]
        return split

    def shares(self, x: int, places: Wholes) -> Floats:
        """One row for each box: the share of the cells at these places on axis x that lies inside it."""
        low, high = self.low[:, 0, x, None], self.high[:, 0, x, None]
        shares: Floats = np.clip(np.minimum(high, places + 1) - np.maximum(low, places), 0.0, 1.0)
        if self.runs > 1:
            rows = np.flatnonzero(self.is_split()[:, x])
            shares[rows] = self._covered(rows, x)[:, np.minimum(places, int(self.high[:, :, x].max()))]
        return shares

    def _covered(self, rows: Wholes, x: int) -> Floats:
        """For boxes of whole cells, 1 for each cell inside and 0 for all others, up to one after the last inside."""
        cells = int(self.high[:, :, x].max()) + 1
        steps = np.zeros((len(rows), cells))
        for ends, sign in ((self.low, 1.0), (self.high, -1.0)):
            np.add.at(steps, (np.arange(len(rows))[:, None], ends[rows, :, x].astype(np.int64)), sign)
        covered: Floats = np.cumsum(steps, axis=1)
        return covered

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
        low, high = self.low[:, 0], self.high[:, 0]
        in_one_cell = np.ceil(high) - np.floor(low) <= 1.0
        whole = np.where(in_one_cell, 0.0, np.floor(high) - np.ceil(low))
        first = np.where(in_one_cell, high - low, np.ceil(low) - low)
        last = np.where(in_one_cell, 0.0, high - np.floor(high))
        if self.runs > 1:
            split = self.is_split()
            whole = np.where(split, (self.high - self.low).sum(axis=1), whole)
            first, last = np.where(split, 0.0, first), np.where(split, 0.0, last)
        once = np.ones_like(whole)
        return np.stack([first, (whole > 0) * 1.0, last], axis=1), np.stack([once, whole, once], axis=1)

    def _steps(self, rows: Wholes, rounding: Rounding) -> Floats:
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

    def corners(self, x: int) -> tuple[Wholes, Floats]:
        """For each box positions in a table that is cumulative along axis x, and what each counts for.

        Within a cell rows are taken to be spread evenly, so the cumulative count is linear between edges: at `high` it
        is read off the two edges around it, and the same at `low` is taken away.
        """
        used = 1 if self.runs == 1 else max(1, int((self.high[:, :, x] > self.low[:, :, x]).any(axis=0).sum()))
        positions, shares = [], []
        for ends, sign in ((self.high, 1.0), (self.low, -1.0)):
            edges = ends[:, :used, x]
            below = np.floor(edges)
            part = edges - below
            positions.append(below)
            shares.append(sign * (1.0 - part))
            if used == 1:  # several runs begin and end on edges
                positions.append(np.ceil(edges))
                shares.append(sign * part)
        return np.concatenate(positions, axis=1).astype(np.int64), np.concatenate(shares, axis=1)

    def inner(self) -> Edges:
        """The largest box of whole cells inside each box."""
        low, high = np.ceil(self.low), np.floor(self.high)
        return Edges(low=low, high=np.maximum(low, high))

    def outer(self, grid: Grid) -> Edges:
        """The smallest box of whole cells that holds each box with its upper ends.

        A number exactly at an upper end that is an edge between two cells lies in the cell above it. That cell is taken
        in: who writes 7..9 about whole numbers may mean 9 as well. Values of all other kinds lie on no edge.
        """
        on_edges = np.array([isinstance(axis, UniformAxis) for axis in grid.axes])
        end = self._end(grid)
        low = np.minimum(np.floor(self.low[:, 0]), end - 1)
        high = np.where(on_edges, np.floor(self.high[:, 0]) + 1, np.ceil(self.high[:, 0]))
        return self._with_first(low, np.minimum(high, end))

    def nearest(self, grid: Grid) -> Edges:
        """Each end at the nearest edge; a range whose ends meet there becomes the cell in which its middle lies."""
        first, last = self.low[:, 0], self.high[:, 0]
        low, high = np.floor(first + 0.5), np.floor(last + 0.5)
        middle = np.minimum(np.floor((first + last) / 2), self._end(grid) - 1)
        none = low == high
        return self._with_first(np.where(none, middle, low), np.where(none, middle + 1, high))

    def _end(self, grid: Grid) -> Floats:
        """The cells that each box may reach: those of values, or all where it reaches that of missing values."""
        values = np.array([axis.value_cells for axis in grid.axes], dtype=np.float64)
        return np.where(self.high[:, 0] > values, np.array(grid.shape), values)

    def _with_first(self, low: Floats, high: Floats) -> Edges:
        """With another first run. All others are whole cells and stay."""
        lows, highs = self.low.copy(), self.high.copy()
        lows[:, 0], highs[:, 0] = low, high
        return Edges(low=lows, high=highs)


@dataclass(frozen=True, slots=True, eq=False)
class BoundedCounts:
    """For each box its noisy count, bounds on the same count without noise, and the noise's standard deviation.

    Cut cells count by the share that lies inside. `size_weight` is the weight of a bought size in the count
    (`core.queries.bought`); None where it has none in any.
    """

    count: Floats
    low: Floats
    high: Floats
    noise_sd: Floats
    size_weight: Floats | None = None

    def parts(self, size: int) -> Iterator[BoundedCounts]:
        """Consecutive parts of so many boxes each."""
        for start in range(0, len(self.count), size):
            part = slice(start, start + size)
            weight = None if self.size_weight is None else self.size_weight[part]
            yield BoundedCounts(self.count[part], self.low[part], self.high[part], self.noise_sd[part], weight)
