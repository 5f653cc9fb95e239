"""Quantiles of one attribute, with intervals by inversion of a test: no approximation, however few the rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import assert_never

import numpy as np
from numpy.typing import NDArray

from core.adaptive.cells import AdaptiveCells
from core.arrays import Floats
from core.domain.attribute import Ordered
from core.errors import InvalidQuery
from core.intervals.levels import Interval, alpha_of
from core.intervals.listed import ListedCells
from core.intervals.radius import radii
from core.intervals.weighted_sums import STEPS, Rounding, Sums, by_steps
from core.noisy_histogram import NoisyHistogram
from core.queries.adaptive_quantiles import quantile_places
from core.queries.boxes import require_attributes
from core.queries.denoise import nonnegative
from core.queries.slices import with_values
from core.queries.tables import SummedArea, grid_table


@dataclass(frozen=True, slots=True)
class Quantile:
    """The value below which a share q of the rows lies, in the attribute's own unit; rows without a value count not.

    `cell` are the edges that a number lies between; of the other kinds, the least and the greatest value of the cell.
    """

    q: float
    value: float
    interval: Interval
    cell: tuple[float, float]


def quantiles(synopsis: NoisyHistogram, name: str, qs: Sequence[float], *, level: float) -> list[Quantile]:
    """Several quantiles of an attribute; of an adaptive release, at little more than the cost of one."""
    x = _ordered_axis(synopsis, name)
    if not all(0.0 <= q <= 1.0 for q in qs):
        raise InvalidQuery("A quantile's q lies between 0 and 1.")
    part = with_values(synopsis, (name,))
    if not isinstance(part.cells, AdaptiveCells):
        return [quantile(synopsis, name, q, level=level) for q in qs]
    i = part.domain.ordered_axes.index(x)
    places = quantile_places(part.domain.ordered[i], part.cells, i, qs, alpha=alpha_of(level))
    return [
        Quantile(q=q, value=place.value, interval=Interval(level, *place.interval), cell=place.cell)
        for q, place in zip(qs, places, strict=True)
    ]


def quantile(synopsis: NoisyHistogram, name: str, q: float, *, level: float) -> Quantile:
    """The q-quantile of an attribute.

    The value is read off the non-negative counts, rows spread evenly within a cell. The interval: at an edge e let
    D(e) = (1 - q) (rows below) - q (rows above). Without noise D <= 0 at the lower edge of the quantile's cell and
    D >= 0 at its upper edge. A cell stays in the interval unless the noisy D says otherwise by more than the radius of
    its noise; each of the two tests errs with alpha / 2 at most. So it covers the noise and the cell's width. The cell
    of the value is kept in any case, which loses no coverage. Of whole
    numbers, dates and datetimes the value and the ends are values of the attribute: the least value with a share q of
    the rows at or below it.
    """
    x = _ordered_axis(synopsis, name)
    if isinstance(synopsis.cells, AdaptiveCells):
        return quantiles(synopsis, name, [q], level=level)[0]
    if not 0.0 <= q <= 1.0:
        raise InvalidQuery("A quantile's q lies between 0 and 1.")
    part = with_values(synopsis, (name,))
    attribute, axis = part.domain.ordered[part.domain.ordered_axes.index(x)], part.grid.axes[x]
    counts = part.cells.marginal((x,))
    cell, share = _place(nonnegative(counts), q)
    first, last = _kept_cells(part, x, counts, q, alpha_of(level))
    low, high = attribute.extent(axis, min(first, cell), max(last, cell))
    return Quantile(
        q=q,
        value=attribute.value_within(axis, cell, share),
        interval=Interval(level=level, low=low, high=high),
        cell=attribute.extent(axis, cell, cell),
    )


def _ordered_axis(synopsis: NoisyHistogram, name: str) -> int:
    """The place of an ordered attribute. InvalidQuery where there is none of that name."""
    require_attributes(synopsis.domain, (name,))
    x = synopsis.domain.names.index(name)
    if not isinstance(synopsis.domain.attributes[x], Ordered):
        raise InvalidQuery(f"{name} is a category: its values have no order, so it has no quantiles.")
    return x


def _kept_cells(synopsis: NoisyHistogram, axis: int, counts: np.ndarray, q: float, alpha: float) -> tuple[int, int]:
    """The first and last cell that the noisy counts do not rule out."""
    match grid_table(synopsis):
        case SummedArea():
            least, greatest = _statistic(synopsis, counts, q, alpha)
        case ListedCells() as listed:
            least, greatest = _listed_statistic(listed, axis, q, alpha)
        case table:
            assert_never(table)
    may_begin = least <= 0  # the quantile may lie at or above this edge
    may_end = greatest >= 0  # … at or below this edge
    may_begin[0] = may_end[-1] = True
    kept = np.flatnonzero(may_begin[:-1] & may_end[1:])
    if not len(kept):  # the two tests contradict one another: keep every cell either of them allows
        kept = np.flatnonzero(may_begin[:-1] | may_end[1:])
    return int(kept[0]), int(kept[-1])


def _statistic(synopsis: NoisyHistogram, counts: np.ndarray, q: float, alpha: float) -> tuple[Floats, Floats]:
    """Bounds on D at every edge."""
    m = len(counts)
    per_slab = synopsis.grid.cell_count // m
    below = np.concatenate([[0], np.cumsum(counts)])
    statistic = (1 - q) * below - q * (below[-1] - below)
    position = np.arange(m + 1, dtype=np.float64)
    sums = _edge_sums(q, per_slab * position, per_slab * (m - position))
    reach = radii(synopsis.law, sums, alpha=alpha)
    return statistic - reach, statistic + reach


def _listed_statistic(listed: ListedCells, axis: int, q: float, alpha: float) -> tuple[Floats, Floats]:
    """Bounds on D at every edge of a thresholded synopsis, from bounds on the rows below and above it."""
    below = listed.below(axis)
    # Two tests, each of two pairs of bounds: a quarter of what may go wrong for each.
    low, high = listed.bounds(below, alpha=alpha / 4)
    rest_low, rest_high = listed.bounds(listed.outside(below), alpha=alpha / 4)
    return (1 - q) * low - q * rest_high, (1 - q) * high - q * rest_low


def _edge_sums(q: float, below: Floats, above: Floats) -> Sums:
    """The noise of D at each edge: so many cells of weight 1 - q, so many of weight q."""
    weights, cells = np.array([1 - q, q]), np.stack([below, above], axis=1)
    largest = ((cells > 0) * weights).max(axis=1)

    def steps(rows: NDArray[np.int64], rounding: Rounding) -> Floats:
        shares = np.minimum(weights / largest[rows, None], 1.0).ravel()
        return by_steps(rounding(shares * STEPS), cells[rows].ravel(), np.arange(2 * len(rows)) // 2, len(rows))

    equal = (weights[0] == weights[1]) | (cells == 0).any(axis=1)
    return Sums(largest=largest, squares=cells @ weights**2, fourths=cells @ weights**4, equal=equal, steps=steps)


def _place(weights: Floats, q: float) -> tuple[int, float]:
    """The cell that a share q of all rows reaches into, and the share of its own rows that it takes."""
    total = weights.sum()
    if total <= 0.0:
        weights, total = np.ones(len(weights)), float(len(weights))
    cumulative = np.concatenate([[0.0], np.cumsum(weights) / total])
    cell = int(np.clip(np.searchsorted(cumulative, q, side="left") - 1, 0, len(weights) - 1))
    return cell, float((q - cumulative[cell]) / max(cumulative[cell + 1] - cumulative[cell], 1e-300))
