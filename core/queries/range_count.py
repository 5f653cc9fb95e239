"""How many rows lie in a box? Raw sums of noisy counts: unbiased, with the exact law of their noise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import assert_never

import numpy as np

from core.noise import standard_deviation
from core.queries.boxes import Box, Edges
from core.queries.listed import ListedCells
from core.queries.uncertainty import Floats, radii
from core.synopsis import Synopsis

_GATHERED_AT_ONCE = 2**21


class SummedArea:
    """A synopsis with its cumulative counts: any box costs 4^d look-ups, however many cells it covers."""

    def __init__(self, synopsis: Synopsis) -> None:
        self.synopsis = synopsis
        grid = synopsis.grid
        table = np.zeros((grid.cells_per_axis + 1,) * grid.dimensions, dtype=np.int64)
        inner = table[(slice(1, None),) * grid.dimensions]
        inner[...] = synopsis.counts.reshape((grid.cells_per_axis,) * grid.dimensions)
        for axis in range(grid.dimensions):
            np.cumsum(inner, axis=axis, out=inner)
        self._table = table

    def sums(self, edges: Edges) -> Floats:
        """The noisy count of each box, cut cells by the share that lies inside; exact where no cell is cut."""
        d = self.synopsis.grid.dimensions
        positions, shares = edges.corners()
        sums = np.empty(len(positions))
        step = max(1, _GATHERED_AT_ONCE // 4**d)
        for start in range(0, len(sums), step):
            part = slice(start, start + step)
            index = tuple(
                positions[part, :, x].reshape((-1, *(4 if x == y else 1 for y in range(d)))) for x in range(d)
            )
            corners = self._table[index].astype(np.float64)
            for x in reversed(range(d)):
                corners = np.einsum("n...k,nk->n...", corners, shares[part, :, x])
            sums[part] = corners
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
