"""How many rows lie in a box? Raw sums of noisy counts: unbiased, with the exact law of their noise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import assert_never

import numpy as np
from numpy.typing import NDArray

from core.noise import standard_deviation
from core.queries.boxes import Box, Edges
from core.queries.listed import ListedCells
from core.queries.uncertainty import Floats, radii
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
    """For each box its count, the interval of its noise at `level`, and what the cells that it cuts may add.

    `without_cut` is the noisy count of the whole cells inside the box, `with_cut` that of all cells it touches: without
    noise, the number of rows in the box would lie between the two.
    """

    level: float
    simultaneous: bool
    count: Floats
    low: Floats
    high: Floats
    noise_sd: Floats
    without_cut: Floats
    with_cut: Floats


RangeTable = SummedArea | ListedCells


def range_table(synopsis: Synopsis) -> RangeTable:
    """What range counts are read from: every cell, or those that a threshold left."""
    return SummedArea(synopsis) if synopsis.cells is None else ListedCells(synopsis)


def count_boxes(table: RangeTable, boxes: tuple[Box, ...], *, level: float, simultaneous: bool) -> RangeCounts:
    """Many boxes at once. Simultaneous intervals hold all together with probability `level` (a union bound).

    Of a thresholded synopsis a count is the sum over listed cells, and its interval also covers what is not listed.
    """
    synopsis = table.synopsis
    sd = standard_deviation(synopsis.histogram_epsilon)
    edges = Edges.of(boxes, synopsis.domain, synopsis.grid)
    each = 1.0 - (1.0 - level) / len(boxes) if simultaneous else level
    match table:
        case SummedArea():
            sums = edges.sums()
            count, squares = table.sums(edges), sums.squares
            reach = radii(synopsis.histogram_epsilon, each, sums)
            low, high = count - reach, count + reach
            without_cut, with_cut = table.sums(edges.inner()), table.sums(edges.outer())
        case ListedCells():
            weighed = table.weigh(edges)
            count, squares = weighed.sums, weighed.listed_squares
            low, high = table.bounds(weighed, each)
            without_cut, with_cut = table.weigh(edges.inner()).sums, table.weigh(edges.outer()).sums
        case _:
            assert_never(table)
    return RangeCounts(
        level=level,
        simultaneous=simultaneous,
        count=count,
        low=low,
        high=high,
        noise_sd=sd * np.sqrt(squares),
        without_cut=without_cut,
        with_cut=with_cut,
    )
