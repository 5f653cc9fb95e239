"""Size, means, variances, covariances and correlations of the gridded rows, each a ratio of noisy sums.

Rows count at the centre of their cell. What that adds is bounded apart: a mean moves by at most half a cell's width,
and so does a standard deviation, since the distance between a row and its cell's centre is at most that.
"""

from __future__ import annotations

from math import sqrt

import numpy as np

from core.queries.estimates import AttributeMoments, Estimate, Moments, PairMoments, axis_centres, mean_error
from core.queries.listed import ListedCells
from core.queries.listed_moments import listed_moments
from core.queries.marginal import raw_marginal
from core.queries.ratios import Ratio, ratio_intervals
from core.queries.uncertainty import Floats, Interval, around, equal_radius, radius
from core.synopsis import Synopsis


def moments(synopsis: Synopsis, *, level: float) -> Moments:
    """The moments of every attribute and pair of attributes."""
    if synopsis.cells is not None:
        return listed_moments(ListedCells(synopsis), level)
    names = synopsis.domain.names
    size = float(synopsis.counts.sum())
    cells = synopsis.grid.cell_count
    reach = equal_radius(synopsis.histogram_epsilon, level, cells)
    singles = tuple(_attribute(synopsis, x, level) for x in range(len(names)))
    pairs = tuple(
        _pair(synopsis, singles[x], singles[y], (x, y), level)
        for x in range(len(names))
        for y in range(x + 1, len(names))
    )
    return Moments(level=level, size=Estimate(size, around(size, reach, level)), attributes=singles, pairs=pairs)


def _attribute(synopsis: Synopsis, x: int, level: float) -> AttributeMoments:
    attribute = synopsis.domain.attributes[x]
    centres = axis_centres(synopsis, x)
    counts = raw_marginal(synopsis, (attribute.name,)).astype(np.float64)
    half = attribute.width / synopsis.grid.cells_per_axis / 2
    mean = ratio(synopsis, counts, centres, level, bounds=(attribute.lower, attribute.upper))
    middle = mean.value if mean.value is not None else float(np.mean(centres))
    spread = (centres - middle) ** 2
    about = ratio(synopsis, counts, spread, level, bounds=(0.0, float(attribute.width**2 / 4)))
    # Squares about a noisy mean are the variance and the square of its error, which the mean's own interval bounds.
    lowest = max(0.0, about.interval.low - mean_error(mean, middle) ** 2)
    variance = Estimate(about.value, Interval(level=level, low=lowest, high=about.interval.high))
    return AttributeMoments(name=attribute.name, mean=mean, variance=variance, discretisation=half)


def _pair(
    synopsis: Synopsis, first: AttributeMoments, second: AttributeMoments, axes: tuple[int, int], level: float
) -> PairMoments:
    names = (first.name, second.name)
    counts = raw_marginal(synopsis, names).astype(np.float64)
    u, v = (
        axis_centres(synopsis, x)
        - (found.mean.value if found.mean.value is not None else float(np.mean(axis_centres(synopsis, x))))
        for x, found in zip(axes, (first, second), strict=True)
    )
    product = np.multiply.outer(u, v).ravel()
    widths = [synopsis.domain.attributes[x].width for x in axes]
    most = float(widths[0] * widths[1] / 4)
    about = ratio(synopsis, counts, product, level, bounds=(-most, most))
    slack = mean_error(first.mean, first.mean.value) * mean_error(second.mean, second.mean.value)
    low, high = max(-most, about.interval.low - slack), min(most, about.interval.high + slack)
    covariance = Estimate(about.value, Interval(level=level, low=low, high=high))
    return PairMoments(
        names=names,
        covariance=covariance,
        correlation=_correlation(synopsis, first, second, u, v, covariance, counts, level),
    )


def _correlation(
    synopsis: Synopsis,
    first: AttributeMoments,
    second: AttributeMoments,
    u: Floats,
    v: Floats,
    covariance: Estimate,
    counts: Floats,
    level: float,
) -> Estimate:
    """cov / sqrt(var var), its noise by its first derivative: each cell moves it by a v' - rho (u'^2 + v'^2) / 2."""
    anything = Estimate(None, Interval(level=level, low=-1.0, high=1.0))
    if covariance.value is None or not (first.variance.value and second.variance.value):
        return anything
    if first.variance.interval.low <= 0.0 or second.variance.interval.low <= 0.0:
        return anything
    s, t = u / sqrt(first.variance.value), v / sqrt(second.variance.value)
    rho = float(np.clip(covariance.value / sqrt(first.variance.value * second.variance.value), -1.0, 1.0))
    slope = np.multiply.outer(s, t) - rho / 2 * np.add.outer(s**2, t**2)
    summed = synopsis.grid.cell_count // slope.size
    noise = radius(synopsis.histogram_epsilon, level, slope, summed)
    reach = noise / float(counts.sum())
    return Estimate(rho, Interval(level=level, low=max(-1.0, rho - reach), high=min(1.0, rho + reach)))


def ratio(
    synopsis: Synopsis, counts: Floats, weights: Floats, level: float, *, bounds: tuple[float, float]
) -> Estimate:
    """sum of y a / sum of y over marginal counts, with its interval; None where the sum of counts is not positive."""
    total = float(counts.sum())
    value = float(np.clip(float(counts @ weights) / total, *bounds)) if total > 0 else None
    summed = synopsis.grid.cell_count // len(counts)
    asked = Ratio(counts, np.full(len(counts), float(summed)), weights, bounds)
    return Estimate(value, ratio_intervals(synopsis.histogram_epsilon, [asked], [level])[0][0])
