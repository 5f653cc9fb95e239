"""Moments of a thresholded synopsis, from bounds on how many rows lie below and above each edge.

A mean is a sum over edges: x = x_0 + (step for each edge that x lies above), so its mean is bounded by the bounds on
the number of rows above each edge, all of them at once, over the bounds on the number of all rows. Squares about a
middle rise with each edge to the right of it and to the left of it, so a variance is bounded in the same way. Products
of two attributes do not rise along edges: the listed cells give their value, and the domain their bounds.
"""

from __future__ import annotations

from math import sqrt

import numpy as np

from core.queries.estimates import AttributeMoments, Estimate, Moments, PairMoments, axis_centres, mean_error
from core.queries.listed import ListedCells
from core.queries.uncertainty import Floats, Interval


def listed_moments(listed: ListedCells, level: float) -> Moments:
    """The moments of every attribute and pair of attributes."""
    synopsis = listed.synopsis
    size = Interval(level, *listed.rows(level))
    attributes = tuple(_attribute(listed, x, level) for x in range(synopsis.domain.dimensions))
    pairs = tuple(
        _pair(listed, attributes, (x, y), level) for x in range(len(attributes)) for y in range(x + 1, len(attributes))
    )
    return Moments(level=level, size=Estimate(float(synopsis.size), size), attributes=attributes, pairs=pairs)


def _attribute(listed: ListedCells, x: int, level: float) -> AttributeMoments:
    attribute = listed.synopsis.domain.attributes[x]
    centres = axis_centres(listed.synopsis, x)
    mean = _bounded(listed, x, centres, 0, level, bounds=(attribute.lower, attribute.upper))
    middle = mean.value if mean.value is not None else float(np.mean(centres))
    spread = (centres - middle) ** 2
    # The variance rests on two statements, its own and one on the mean that it is taken about: half the error each.
    half = 1.0 - (1.0 - level) / 2
    about = _bounded(listed, x, spread, int(np.argmin(spread)), half, bounds=(0.0, attribute.width**2 / 4))
    surer = _bounded(listed, x, centres, 0, half, bounds=(attribute.lower, attribute.upper))
    lowest = max(0.0, about.interval.low - mean_error(surer, middle) ** 2)
    return AttributeMoments(
        name=attribute.name,
        mean=mean,
        variance=Estimate(about.value, Interval(level, lowest, about.interval.high)),
        discretisation=attribute.width / listed.synopsis.grid.cells_per_axis / 2,
    )


def _bounded(
    listed: ListedCells, x: int, values: Floats, lowest: int, level: float, *, bounds: tuple[float, float]
) -> Estimate:
    """The mean over rows of `values` by cell of one axis, which rise to both sides of the cell `lowest`."""
    m = len(values)
    total = listed.counts.sum()
    value = float(np.clip(listed.counts @ values[listed.places[:, x]] / total, *bounds)) if total > 0 else None
    below = listed.below(x)
    # One pair of bounds for each inner edge, and one for the number of rows.
    each = 1.0 - (1.0 - level) / m
    low, high = np.zeros(m - 1), np.zeros(m - 1)
    for side, sets in ((slice(0, lowest), below), (slice(lowest, m - 1), listed.outside(below))):
        lows, highs = listed.bounds(sets, each)
        low[side], high[side] = lows[1:-1][side], highs[1:-1][side]
    steps = np.abs(np.diff(values))
    fewest, most = listed.rows(each)
    least = values[lowest] + float(steps @ low) / most if most > 0 else bounds[0]
    greatest = values[lowest] + float(steps @ high) / fewest if fewest > 0 else bounds[1]
    interval = Interval(level, *(float(end) for end in np.clip([least, greatest], *bounds)))
    return Estimate(value, interval)


def _pair(
    listed: ListedCells, attributes: tuple[AttributeMoments, ...], axes: tuple[int, int], level: float
) -> PairMoments:
    first, second = (attributes[x] for x in axes)
    widths = [listed.synopsis.domain.attributes[x].width for x in axes]
    most = float(widths[0] * widths[1] / 4)
    names = (first.name, second.name)
    covariance = Estimate(_covariance(listed, (first, second), axes), Interval(level, -most, most))
    scale = sqrt((first.variance.value or 0.0) * (second.variance.value or 0.0))
    known = covariance.value is not None and scale > 0.0
    value = float(np.clip((covariance.value or 0.0) / scale, -1.0, 1.0)) if known else None
    return PairMoments(names=names, covariance=covariance, correlation=Estimate(value, Interval(level, -1.0, 1.0)))


def _covariance(
    listed: ListedCells, pair: tuple[AttributeMoments, AttributeMoments], axes: tuple[int, int]
) -> float | None:
    if pair[0].mean.value is None or pair[1].mean.value is None:
        return None
    u, v = (
        axis_centres(listed.synopsis, x)[listed.places[:, x]] - (found.mean.value or 0.0)
        for x, found in zip(axes, pair, strict=True)
    )
    return float(listed.counts @ (u * v) / listed.counts.sum())
