"""How many rows lie in a box? Raw sums of noisy counts: unbiased, with the exact law of their noise.

Of an adaptive release the count is a sum of shrunk estimates (`core.adaptive.shrinkage`), and everything else is about
the sum of fused ones, which is as good as unbiased.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from core.arrays import Floats
from core.intervals.levels import alpha_of
from core.queries.boxes import Asked, Box, resolve
from core.queries.edges import Edges
from core.queries.layer_sums import LayerSums
from core.queries.tables import RangeTable, SummedArea, range_table

__all__ = ["RangeCounts", "RangeTable", "SummedArea", "count_boxes", "range_table"]

_AT_ONCE = 2**21  # runs of boxes on axes


@dataclass(frozen=True, slots=True, eq=False)
class RangeCounts:
    """For each box its count, the interval of its whole error at `level`, and the two parts of that error.

    `low` to `high` covers the number of rows in the box: noise and cut cells together (see `count_boxes`). The parts:
    `noise_low` to `noise_high` covers what `count` would be without noise, at the same level; `without_cut` is the
    noisy count of the whole cells inside the box, `with_cut` that of all cells that hold a part of it. `size_weight` is
    the weight of a bought size in `count`, 0 where it has none: see `core.queries.bought`. Of an adaptive release
    `noise_low` to `noise_high` and `noise_sd` are those of the fused estimate; the interval holds `count` as well.
    """

    level: float
    simultaneous: bool
    count: Floats
    low: Floats
    high: Floats
    noise_low: Floats
    noise_high: Floats
    noise_sd: Floats
    without_cut: Floats
    with_cut: Floats
    size_weight: Floats

    @property
    def inner_ends(self) -> tuple[Floats, Floats]:
        """The inner ones of the ends of both intervals: a count between them lies in both."""
        return np.maximum(self.low, self.noise_low), np.minimum(self.high, self.noise_high)


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
    asked = resolve(boxes, synopsis.domain, synopsis.grid)
    alpha = alpha_of(level) / (len(boxes) if simultaneous else 1)
    columns = np.empty((len(_COLUMNS), len(boxes)))
    for rows in _batches(asked):
        columns[:, rows] = _counted(table, asked, rows, alpha=alpha, snap=snap)
    return RangeCounts(level=level, simultaneous=simultaneous, **dict(zip(_COLUMNS, columns, strict=True)))


_COLUMNS = ("count", "low", "high", "noise_low", "noise_high", "noise_sd", "without_cut", "with_cut", "size_weight")


def _counted(table: RangeTable, asked: Asked, rows: Sequence[int], *, alpha: float, snap: bool) -> list[Floats]:
    """The columns of some of the boxes."""
    synopsis = table.synopsis
    grid = synopsis.grid
    edges = Edges.on(asked, rows, synopsis.domain, grid)
    if isinstance(table, LayerSums):
        shown, inside, around = table.bounded(table.nearest(edges) if snap else edges, alpha=alpha)
    else:
        edges = edges.nearest(grid) if snap else edges
        inner, outer = (edges, edges) if snap else (edges.inner(), edges.outer(grid))
        # One call for all three: numpy's cost is mostly per call.
        shown, inside, around = table.bounded(Edges.stacked(edges, inner, outer), alpha=alpha).parts(len(rows))
    return [
        shown.count,
        np.minimum(inside.low, shown.count),
        np.maximum(around.high, shown.count),
        shown.low,
        shown.high,
        shown.noise_sd,
        inside.count,
        around.count,
        np.zeros(len(rows)) if shown.size_weight is None else shown.size_weight,
    ]


def _batches(asked: Asked) -> list[Sequence[int]]:
    """All boxes at once; or, where a box has so many runs that all others would have to make room, by their number."""
    runs = asked.runs_of_each()
    axes = max(map(len, asked.lower), default=1)
    if len(runs) * max(runs, default=1) * axes <= _AT_ONCE:
        return [range(len(runs))]
    batches: list[Sequence[int]] = []
    order = np.argsort(runs, kind="stable").tolist()
    while order:
        size = max(1, next((n for n, i in enumerate(order, 1) if n * runs[i] * axes > _AT_ONCE), len(order) + 1) - 1)
        batches.append(order[:size])
        order = order[size:]
    return batches
