"""What counts of boxes and regions are read from: every cell of a dense synopsis, or the listed ones.

`range_table` is the one place that tells the two kinds of synopsis apart for questions that work on both alike.
"""

from __future__ import annotations

from functools import cached_property
from math import prod

import numpy as np
from numpy.typing import NDArray

from core.adaptive.cells import AdaptiveCells
from core.arrays import Floats
from core.cells import DenseCells
from core.errors import InvalidQuery
from core.intervals.listed import ListedCells
from core.intervals.radius import equal_radii, radii
from core.noisy_histogram import NoisyHistogram
from core.queries.bought import BoughtSize
from core.queries.edges import BoundedCounts, Edges
from core.queries.layer_sums import LayerSums

_AT_ONCE = 2**21
# Corners that are looked up however few cells there are, and what one costs in cells that are multiplied through.
_FEW_CORNERS, _COST_OF_A_CORNER = 256, 32


class SummedArea:
    """A dense synopsis with its cumulative counts (a summed-area table), made when first asked for.

    A box costs 4 look-ups to the power of the axes that it restricts, however many cells it covers; where it chooses
    several runs of categories, 2 look-ups for each run of an axis. With many axes and few cells on each, going through
    all cells costs less.
    """

    def __init__(self, synopsis: NoisyHistogram) -> None:
        if not isinstance(synopsis.cells, DenseCells):
            raise InvalidQuery("This release lists cells that reach a threshold: there is no count for every cell.")
        self.synopsis = synopsis
        self._counts = synopsis.cells.table()

    @cached_property
    def _cumulative(self) -> NDArray[np.int64]:
        cumulative = self._counts.copy()
        for axis in range(cumulative.ndim):
            np.cumsum(cumulative, axis=axis, out=cumulative)
        return cumulative

    def bounded(self, edges: Edges, *, alpha: float) -> BoundedCounts:
        """The noisy count of each box, with bounds that both hold but for probability alpha at most.

        Where a size was bought, it is combined with the counts of boxes that gain by it: see `core.queries.bought`.
        """
        law, sums = self.synopsis.law, edges.sums()
        count, reach = self.sums(edges), radii(law, sums, alpha=alpha)
        noise_sd = law.standard_deviation * np.sqrt(sums.squares)
        plain = BoundedCounts(count=count, low=count - reach, high=count + reach, noise_sd=noise_sd)
        return plain if self._bought is None else self._combined(plain, edges, self._bought, alpha)

    @cached_property
    def _bought(self) -> BoughtSize | None:
        return BoughtSize.of(self.synopsis)

    @staticmethod
    def _combined(plain: BoundedCounts, edges: Edges, bought: BoughtSize, alpha: float) -> BoundedCounts:
        weights, rows = bought.weights(edges)
        if not len(rows):
            return plain
        chosen = weights.part(rows)
        size_weight = np.zeros(len(edges))
        size_weight[rows] = chosen.size
        count, low, high, noise_sd = (each.copy() for each in (plain.count, plain.low, plain.high, plain.noise_sd))
        reach = bought.radii(chosen, alpha)
        count[rows] += chosen.size * bought.surplus
        low[rows], high[rows] = count[rows] - reach, count[rows] + reach
        if bought.raised:
            low[rows] = np.minimum(low[rows], 0.0)
        noise_sd[rows] = bought.noise_sd(chosen)
        return BoundedCounts(count=count, low=low, high=high, noise_sd=noise_sd, size_weight=size_weight)

    def region_bounds(self, sizes: Floats, cells: NDArray[np.int64], *, alpha: float) -> tuple[Floats, Floats]:
        """(low, high) for the rows in disjoint regions, from each one's noisy size and number of cells."""
        reach = equal_radii(self.synopsis.law, cells, alpha=alpha)
        return sizes - reach, sizes + reach

    def sums(self, edges: Edges) -> Floats:
        """The noisy count of each box, cut cells by the share that lies inside; exact where no cell is cut."""
        shape = self._counts.shape
        restricted = (edges.low[:, 0] > 0.0) | (edges.high[:, 0] < np.array(shape))
        kinds = restricted @ (1 << np.arange(restricted.shape[1]))  # the boxes that restrict the same axes together
        sums = np.empty(len(edges))
        for kind in np.unique(kinds).tolist():
            rows = np.flatnonzero(kinds == kind)
            is_restricted = restricted[rows[0]]
            axes = np.flatnonzero(is_restricted)
            asked = edges.on_axes(rows, axes)
            corners = [asked.corners(x) for x in range(len(axes))]
            cells = prod(shape[x] for x in axes)
            if prod(positions.shape[1] for positions, _ in corners) <= max(_FEW_CORNERS, cells // _COST_OF_A_CORNER):
                others_whole = self._cumulative[tuple(slice(None) if cut else -1 for cut in is_restricted)]
                sums[rows] = _by_corners(others_whole, corners, len(rows))
            else:
                sums[rows] = _by_cells(self._counts.sum(axis=tuple(np.flatnonzero(~is_restricted))), asked)
        return sums


def _by_corners(cumulative: NDArray[np.int64], corners: list[tuple[NDArray[np.int64], Floats]], boxes: int) -> Floats:
    d, each = cumulative.ndim, tuple(positions.shape[1] for positions, _ in corners)
    room = np.empty((boxes, max(each, default=1), d))  # all in one array: einsum rounds as the strides are
    for x, (positions, weights) in enumerate(corners):
        room[:, : each[x], x] = np.where(positions > 0, weights, 0.0)  # nothing lies below the first edge
    shares = [room[:, : each[x], x] for x in range(d)]
    index = [np.maximum(positions - 1, 0) for positions, _ in corners]
    sums = np.empty(boxes)
    step = max(1, _AT_ONCE // prod(each))
    for start in range(0, boxes, step):
        part = slice(start, start + step)
        places = tuple(index[x][part].reshape((-1, *(each[x] if x == y else 1 for y in range(d)))) for x in range(d))
        values = np.broadcast_to(cumulative[places], (len(sums[part]), *each)).astype(np.float64)
        for x in reversed(range(d)):
            values = np.einsum("n...k,nk->n...", values, shares[x][part])
        sums[part] = values
    return sums


def _by_cells(counts: NDArray[np.int64], edges: Edges) -> Floats:
    """The same from the cells themselves: one axis after the other is summed by what lies inside."""
    shape = counts.shape
    cells = counts.reshape(shape[0], -1).astype(np.float64)
    sums = np.empty(len(edges))
    step = max(1, _AT_ONCE // max(cells.shape[1], len(shape) * max(shape)))
    for start in range(0, len(sums), step):
        part = edges.part(slice(start, start + step))
        shares = np.empty((len(part), len(shape), max(shape)))
        for x, m in enumerate(shape):
            shares[:, x, :m] = part.shares(x, np.arange(m))
        left = shares[:, 0, : shape[0]] @ cells
        for x, m in enumerate(shape[1:], start=1):
            left = np.einsum("nm,nmk->nk", shares[:, x, :m], left.reshape(len(left), m, -1))
        sums[start : start + step] = left[:, 0]
    return sums


GridTable = SummedArea | ListedCells
RangeTable = GridTable | LayerSums


def range_table(synopsis: NoisyHistogram) -> RangeTable:
    """What range counts are read from: every cell, those above a threshold, or the layers of an adaptive release."""
    if isinstance(synopsis.cells, AdaptiveCells):
        return LayerSums(synopsis)
    return grid_table(synopsis)


def grid_table(synopsis: NoisyHistogram) -> GridTable:
    """The same for releases of a grid."""
    return SummedArea(synopsis) if synopsis.cells.complete else ListedCells(synopsis)
