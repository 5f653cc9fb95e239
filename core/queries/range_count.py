"""How many rows lie in a box? Raw sums of noisy counts: unbiased, with the exact law of their noise."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import assert_never

import numpy as np
from numpy.typing import NDArray

from core.arrays import Floats
from core.intervals.levels import alpha_of
from core.intervals.listed import ListedCells
from core.intervals.radius import radii
from core.queries.boxes import Box, Edges
from core.synopsis import Synopsis

_AT_ONCE = 2**21
# Corners that are looked up however few cells there are, and what one costs in cells that are multiplied through.
_FEW_CORNERS, _COST_OF_A_CORNER = 256, 32


class SummedArea:
    """A synopsis with its cumulative counts: a box costs 4 look-ups to the power of the axes that it restricts.

    However many cells it covers; but with many axes and few cells on each, going through all cells costs less.
    """

    def __init__(self, synopsis: Synopsis) -> None:
        self.synopsis = synopsis
        grid = synopsis.grid
        self._counts = synopsis.counts.reshape((grid.cells_per_axis,) * grid.dimensions)
        self._cumulative = self._counts.copy()
        for axis in range(grid.dimensions):
            np.cumsum(self._cumulative, axis=axis, out=self._cumulative)

    def sums(self, edges: Edges) -> Floats:
        """The noisy count of each box, cut cells by the share that lies inside; exact where no cell is cut."""
        m = self.synopsis.grid.cells_per_axis
        restricted = (edges.low > 0.0) | (edges.high < m)
        kinds = restricted @ (1 << np.arange(restricted.shape[1]))  # the boxes that restrict the same axes together
        sums = np.empty(len(edges.low))
        for kind in np.unique(kinds).tolist():
            rows = np.flatnonzero(kinds == kind)
            some = restricted[rows[0]]
            axes = np.flatnonzero(some)
            asked = Edges(low=edges.low[np.ix_(rows, axes)], high=edges.high[np.ix_(rows, axes)])
            if 4 ** len(axes) <= max(_FEW_CORNERS, m ** len(axes) // _COST_OF_A_CORNER):
                others_whole = self._cumulative[tuple(slice(None) if cut else m - 1 for cut in some)]
                sums[rows] = _by_corners(others_whole, asked)
            else:
                sums[rows] = _by_cells(self._counts.sum(axis=tuple(np.flatnonzero(~some))), asked)
        return sums


def _by_corners(cumulative: NDArray[np.int64], edges: Edges) -> Floats:
    d = cumulative.ndim
    positions, shares = edges.corners()
    shares = np.where(positions > 0, shares, 0.0)  # nothing lies below the first edge
    index = np.maximum(positions - 1, 0)
    sums = np.empty(len(positions))
    step = max(1, _AT_ONCE // 4**d)
    for start in range(0, len(sums), step):
        part = slice(start, start + step)
        places = tuple(index[part, :, x].reshape((-1, *(4 if x == y else 1 for y in range(d)))) for x in range(d))
        corners = np.broadcast_to(cumulative[places], (len(sums[part]),) + (4,) * d).astype(np.float64)
        for x in reversed(range(d)):
            corners = np.einsum("n...k,nk->n...", corners, shares[part, :, x])
        sums[part] = corners
    return sums


def _by_cells(counts: NDArray[np.int64], edges: Edges) -> Floats:
    """The same from the cells themselves: one axis after the other is summed by what lies inside."""
    d, m = counts.ndim, len(counts)
    cells = counts.reshape(m, -1).astype(np.float64)
    begin = np.arange(m)
    sums = np.empty(len(edges.low))
    step = max(1, _AT_ONCE // cells.shape[1])
    for start in range(0, len(sums), step):
        low, high = edges.low[start : start + step, :, None], edges.high[start : start + step, :, None]
        shares = np.clip(np.minimum(high, begin + 1) - np.maximum(low, begin), 0.0, 1.0)
        left = shares[:, 0] @ cells
        for x in range(1, d):
            left = np.einsum("nm,nmk->nk", shares[:, x], left.reshape(len(left), m, -1))
        sums[start : start + step] = left[:, 0]
    return sums


@dataclass(frozen=True, slots=True, eq=False)
class RangeCounts:
    """For each box its count, the interval of its whole error at `level`, and the two parts of that error.

    `low` to `high` covers the number of rows in the box: noise and cut cells together (see `count_boxes`). The parts:
    `noise_low` to `noise_high` covers what `count` would be without noise, at the same level; `without_cut` is the
    noisy count of the whole cells inside the box, `with_cut` that of all cells that hold a part of it. `edges` are the
    boxes in cell units, as they were counted.
    """

    level: float
    simultaneous: bool
    edges: Edges
    count: Floats
    low: Floats
    high: Floats
    noise_low: Floats
    noise_high: Floats
    noise_sd: Floats
    without_cut: Floats
    with_cut: Floats


RangeTable = SummedArea | ListedCells


def range_table(synopsis: Synopsis) -> RangeTable:
    """What range counts are read from: every cell, or those that a threshold left."""
    return SummedArea(synopsis) if synopsis.cells is None else ListedCells(synopsis)


def count_boxes(
    table: RangeTable, boxes: tuple[Box, ...], *, level: float, simultaneous: bool, snap: bool = False
) -> RangeCounts:
    """Count many boxes at once. Simultaneous intervals hold all together with probability `level` (a union bound).

    With `snap` each end moves to the nearest cell edge, and the answer is about the moved box: no cell is cut.

    *Coverage.* Let T be the number of rows in a box, T_in the exact count of the cells inside it (`Edges.inner`), T_out
    of those that hold a part of it or its upper ends (`Edges.outer`); with `snap`, all three are the same. Every row of
    a cell inside is a row of the box, and every row of the box lies in a cell of the outer ones, so
    T_in <= T <= T_out, also if T counts rows at the upper ends. (Rows are as counted: `core.records` rounds a value up
    to the next 2^-32 of its attribute's range.) Let alpha = 1 - level. `low` exceeds T_in with
    probability alpha / 2 at most, and `high` is below T_out with probability alpha / 2 at most: one-sided bounds, which
    the two ends of an interval at `level` are, since the law of the noise is symmetric (`radii`) or since each end was
    given its half of alpha (`ListedCells.bounds`). So low <= T_in <= T <= T_out <= high with probability `level` or
    more. An interval that misses `count` itself is widened to hold it, which loses no coverage.

    Of a thresholded synopsis a count is the sum over listed cells, and its intervals also cover what is not listed.
    """
    synopsis = table.synopsis
    m = synopsis.grid.cells_per_axis
    edges = Edges.of(boxes, synopsis.domain, synopsis.grid)
    edges = edges.nearest(m) if snap else edges
    inner, outer = (edges, edges) if snap else (edges.inner(), edges.outer(m))
    alpha = alpha_of(level) / (len(boxes) if simultaneous else 1)
    # One call for all three: numpy's cost is mostly per call.
    shown, inside, around = _bounded(table, Edges.stacked(edges, inner, outer), alpha=alpha).parts(len(boxes))
    return RangeCounts(
        level=level,
        simultaneous=simultaneous,
        edges=edges,
        count=shown.count,
        low=np.minimum(inside.low, shown.count),
        high=np.maximum(around.high, shown.count),
        noise_low=shown.low,
        noise_high=shown.high,
        noise_sd=shown.sd,
        without_cut=inside.count,
        with_cut=around.count,
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Bounded:
    """Noisy counts with bounds on the same counts without noise, cut cells by their share, and standard deviations."""

    count: Floats
    low: Floats
    high: Floats
    sd: Floats

    def parts(self, size: int) -> Iterator[_Bounded]:
        """Consecutive parts of so many boxes each."""
        for start in range(0, len(self.count), size):
            part = slice(start, start + size)
            yield _Bounded(self.count[part], self.low[part], self.high[part], self.sd[part])


def _bounded(table: RangeTable, edges: Edges, *, alpha: float) -> _Bounded:
    law = table.synopsis.law
    match table:
        case SummedArea():
            sums = edges.sums()
            count, squares = table.sums(edges), sums.squares
            reach = radii(law, sums, alpha=alpha)
            low, high = count - reach, count + reach
        case ListedCells():
            weighed = table.weigh(edges)
            count, squares = weighed.sums, weighed.listed_squares
            low, high = table.bounds(weighed, alpha=alpha)
        case _:
            assert_never(table)
    return _Bounded(count=count, low=low, high=high, sd=law.standard_deviation * np.sqrt(squares))
