"""Moments of a thresholded synopsis, from bounds on how many rows lie below and above each edge.

A mean is a sum over edges: x = x_0 + (step for each edge that x lies above), so its mean is bounded by the bounds on
the number of rows above each edge, all of them at once, over the bounds on the number of all rows. Squares about a
middle rise with each edge to the right of it and to the left of it, so a variance is bounded in the same way. Products
of two attributes do not rise along edges: the listed cells give their value, and the domain their bounds.

With offsets (`core.offsets`), all of them are moments of the rows themselves. A mean is that of the rows at the middles
of their cells and, added to it, the mean offset from there, with bounds on each (half of alpha each). Rows lie within
half a cell, h, of these middles, so their standard deviation differs by at most h from that of rows at the middles; the
interval of the variance is widened by that. Values of variances and covariances put the rows of a cell at their mean.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations
from math import sqrt

import numpy as np

from core.arrays import Floats
from core.domain.axis import OFFSET_STEPS
from core.intervals.levels import Interval, alpha_of
from core.intervals.listed import ListedCells
from core.intervals.listed_offsets import AxisOffsets
from core.queries.estimates import (
    AttributeMoments,
    Estimate,
    Moments,
    PairMoments,
    axis_centres,
    half_cell,
    ordered_attribute,
)
from core.queries.slices import with_values


def listed_moments(listed: ListedCells, level: float) -> Moments:
    """The moments of every attribute and pair of attributes."""
    alpha = alpha_of(level)
    size = _holding(listed.rows(), level, listed.fewest_rows(alpha / 2), listed.most_rows(alpha / 2))
    ordered = listed.synopsis.domain.ordered_axes
    attributes = {x: _attribute(_with_values(listed, x), x, level) for x in ordered}
    pairs = tuple(_pair(listed, attributes, axes, level) for axes in combinations(ordered, 2))
    return Moments(level=level, size=size, attributes=tuple(attributes.values()), pairs=pairs)


def _with_values(listed: ListedCells, *axes: int) -> ListedCells:
    """The listed cells whose rows have a value of these attributes."""
    part = with_values(listed.synopsis, [listed.synopsis.domain.names[x] for x in axes])
    return listed if part is listed.synopsis else ListedCells(part)


def _attribute(listed: ListedCells, x: int, level: float) -> AttributeMoments:
    if listed.synopsis.cells.offsets is not None:
        return _with_offsets(listed, x, level)
    attribute, alpha = ordered_attribute(listed.synopsis, x), alpha_of(level)
    centres, ends = axis_centres(listed.synopsis, x), (attribute.start, attribute.stop)
    mean = _listed_mean(listed, x, centres, ends)
    middle = mean if mean is not None else float(np.mean(centres))
    spread, most = (centres - middle) ** 2, (0.0, attribute.width**2 / 4)
    return AttributeMoments(
        name=attribute.name,
        mean=_holding(mean, level, *_bounds(listed, x, centres, 0, alpha, ends=ends)),
        variance=_holding(_listed_mean(listed, x, spread, most), level, *_variance_bounds(listed, x, middle, alpha)),
        discretisation=half_cell(listed.synopsis, x),
    )


def _variance_bounds(listed: ListedCells, x: int, middle: float, alpha: float) -> tuple[float, float]:
    """Bounds on the variance of rows at the middles of their cells.

    It rests on two statements, its own and one on the mean that it is taken about: half the error each.
    """
    attribute, centres = ordered_attribute(listed.synopsis, x), axis_centres(listed.synopsis, x)
    spread, most = (centres - middle) ** 2, (0.0, attribute.width**2 / 4)
    low, high = _bounds(listed, x, spread, int(np.argmin(spread)), alpha / 2, ends=most)
    surer = _bounds(listed, x, centres, 0, alpha / 2, ends=(attribute.start, attribute.stop))
    error = max(surer[1] - middle, middle - surer[0])
    return max(0.0, low - error**2), high


def _with_offsets(listed: ListedCells, x: int, level: float) -> AttributeMoments:
    """Moments of the rows themselves. Half of alpha for the middles, an eighth each for two sums and two numbers."""
    attribute, alpha = ordered_attribute(listed.synopsis, x), alpha_of(level)
    centres, ends = axis_centres(listed.synopsis, x), (attribute.start, attribute.stop)
    inside, every = AxisOffsets(listed, x), np.ones(len(listed.counts), dtype=np.bool_)
    middles = _listed_mean(listed, x, centres, ends)
    low, high = _bounds(listed, x, centres, 0, alpha / 2, ends=ends)
    certain = float(listed.least(every[None].astype(np.float64), alpha=alpha / 8)[0])
    offsets = inside.bounds(every, certain=certain, most=listed.most_rows(alpha / 8), alpha=alpha / 4)
    mean = None if middles is None else float(np.clip(middles + inside.mean(every), *ends))
    about = middles if middles is not None else float(np.mean(centres))
    deviations = np.sqrt(_variance_bounds(listed, x, about, alpha)) + np.array([-1.0, 1.0]) * inside.widest
    squares = np.clip(np.maximum(deviations, 0.0) ** 2, 0.0, attribute.width**2 / 4)
    variance = None if mean is None else float(listed.counts @ (inside.cell_means() - mean) ** 2 / listed.counts.sum())
    return AttributeMoments(
        name=attribute.name,
        mean=_holding(mean, level, *np.clip([low + offsets[0], high + offsets[1]], *ends).tolist()),
        variance=_holding(variance, level, *squares.tolist()),
        discretisation=inside.widest / OFFSET_STEPS,
    )


def _holding(value: float | None, level: float, low: float, high: float) -> Estimate:
    """An estimate with its interval, which holds it even where the statements behind the two ends contradict it."""
    if value is not None:
        low, high = min(low, value), max(high, value)
    return Estimate(value, Interval(level, low, high))


def _listed_mean(listed: ListedCells, x: int, values: Floats, ends: tuple[float, float]) -> float | None:
    """The mean over the rows of the listed cells of `values` by cell of one axis; None where there are none."""
    total = listed.counts.sum()
    return float(np.clip(listed.counts @ values[listed.places[:, x]] / total, *ends)) if total > 0 else None


def _bounds(
    listed: ListedCells, x: int, values: Floats, lowest: int, alpha: float, *, ends: tuple[float, float]
) -> tuple[float, float]:
    """Bounds on the mean over all rows of `values` by cell, which rise to both sides of the cell `lowest`.

    `values` and `lowest` may follow from the noisy counts: the bounds on the rows below and above every inner edge hold
    all together, two pairs for each edge, and so do two bounds on the number of rows. Each has its share of alpha.
    """
    m = len(values)
    each = alpha / (2 * m)
    below = listed.below(x)
    low, high = np.zeros(m - 1), np.zeros(m - 1)
    for side, sets in ((slice(0, lowest), below), (slice(lowest, m - 1), listed.outside(below))):
        lows, highs = listed.bounds(sets, alpha=each)
        low[side], high[side] = lows[1:-1][side], highs[1:-1][side]
    steps = np.abs(np.diff(values))
    fewest, most = listed.fewest_rows(each), listed.most_rows(each)
    least = values[lowest] + float(steps @ low) / most if most > 0 else ends[0]
    greatest = values[lowest] + float(steps @ high) / fewest if fewest > 0 else ends[1]
    bounded = np.clip([least, greatest], *ends)
    return float(bounded[0]), float(bounded[1])


def _pair(
    listed: ListedCells, attributes: Mapping[int, AttributeMoments], axes: tuple[int, int], level: float
) -> PairMoments:
    part = _with_values(listed, *axes)
    if part is not listed:  # means and variances of the rows that have both values
        attributes = {x: _attribute(part, x, level) for x in axes}
    first, second = (attributes[x] for x in axes)
    widths = [ordered_attribute(listed.synopsis, x).width for x in axes]
    most = float(widths[0] * widths[1] / 4)
    names = (first.name, second.name)
    covariance = Estimate(_covariance(part, (first, second), axes), Interval(level, -most, most))
    scale = sqrt((first.variance.value or 0.0) * (second.variance.value or 0.0))
    has_value = covariance.value is not None and scale > 0.0
    value = float(np.clip((covariance.value or 0.0) / scale, -1.0, 1.0)) if has_value else None
    return PairMoments(names=names, covariance=covariance, correlation=Estimate(value, Interval(level, -1.0, 1.0)))


def _covariance(
    listed: ListedCells, pair: tuple[AttributeMoments, AttributeMoments], axes: tuple[int, int]
) -> float | None:
    if pair[0].mean.value is None or pair[1].mean.value is None:
        return None
    u, v = (cell_means(listed, x) - (attribute.mean.value or 0.0) for x, attribute in zip(axes, pair, strict=True))
    return float(listed.counts @ (u * v) / listed.counts.sum())


def cell_means(listed: ListedCells, x: int) -> Floats:
    """Where the rows of each listed cell lie: at its middle or, with offsets, at their mean."""
    if listed.synopsis.cells.offsets is None:
        return axis_centres(listed.synopsis, x)[listed.places[:, x]]
    return AxisOffsets(listed, x).cell_means()
