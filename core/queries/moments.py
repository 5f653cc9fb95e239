"""Size, means, variances, covariances and correlations of the gridded rows, each a ratio of noisy sums.

Rows count at the centre of their cell. What that adds is bounded apart: a mean moves by at most half the width of the
widest cell, h, and so does a standard deviation, since the distance between a row and its cell's centre is at most that
(Minkowski's inequality). A variance s^2 therefore moves by at most (s + h)^2 - s^2 = h (2 s + h).
(Of whole numbers and dates, half of what lies between the first and the last value of a cell.) Only rows with a value
of an attribute count for its moments, and rows with a value of both for a pair; the size counts all rows.

*Variances and covariances.* Let mu be the true mean. The variance is the mean of (x - mu)^2, and for given mu that is a
ratio of noisy sums with fixed weights, which `ratio_intervals` covers. Nobody knows mu, but its own interval holds it
but for a share of alpha. So the union of the intervals for every mu in that interval covers the variance, and the
errors of the two statements add up. (Weights taken about the *noisy* mean would depend on the noise: their ratio is too
low on average, and its interval fails at small sizes.) Of the union a few mu are worked out: with a the noisy mean, the
ratio at mu is that at a and (a - mu)^2 more, so the union reaches highest at an end of the mean's interval and lowest
near a. A covariance has (a - mu_x) (b - mu_y) in its place, which is largest and smallest at the corners. (The radius
changes with mu as well, by less. That these few mu suffice is measured, in `bench/coverage.py`, and not proved.)

*Correlations.* With the covariance in [c, C] and the variances in [v, V] and [w, W], the correlation lies between
c / sqrt(V W), or c / sqrt(v w) where c is negative, and likewise C. Five statements stand behind that: the means of
both attributes, which all three intervals share, the covariance and two variances. Their errors add up to alpha
(Bonferroni). That is 1.7 times as wide as a normal approximation by the first derivative, which misses too often.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import assert_never

import numpy as np

from core.adaptive.cells import AdaptiveCells
from core.arrays import Floats
from core.intervals.levels import Interval, alpha_of
from core.intervals.listed import ListedCells
from core.intervals.ratios import Ends, Ratio, ratio_intervals
from core.noisy_histogram import NoisyHistogram
from core.queries.adaptive_moments import adaptive_moments
from core.queries.estimates import (
    AttributeMoments,
    Estimate,
    Moments,
    PairMoments,
    axis_centres,
    correlation,
    half_cell,
    ordered_attribute,
)
from core.queries.listed_moments import listed_moments
from core.queries.marginal import raw_marginal
from core.queries.size import noisy_size, size_interval
from core.queries.slices import with_values
from core.queries.tables import SummedArea, grid_table

# Shares of alpha: of each mean that squares or products are taken about, of a variance or covariance by itself, and of
# each of the three behind a correlation. 0.05 + 0.95 = 2 x 0.05 + 0.9 = 2 x 0.05 + 3 x 0.3 = 1.
_MEAN, _VARIANCE, _COVARIANCE, _IN_CORRELATION = 0.05, 0.95, 0.9, 0.3


@dataclass(frozen=True, slots=True)
class _Attribute:
    """One attribute: its cell centres, the interval of its mean at its share of alpha, and of its variance at two."""

    moments: AttributeMoments
    axis: int
    centres: Floats
    middle: float
    means: Ends
    variance: Ends


def moments(synopsis: NoisyHistogram, *, level: float) -> Moments:
    """The moments of every ordered attribute and pair of them. Each interval holds by itself at the level."""
    if isinstance(synopsis.cells, AdaptiveCells):
        return adaptive_moments(synopsis, synopsis.cells, level)
    match grid_table(synopsis):
        case SummedArea():
            return _dense_moments(synopsis, level)
        case ListedCells() as listed:
            return listed_moments(listed, level)
        case table:
            assert_never(table)


def _dense_moments(synopsis: NoisyHistogram, level: float) -> Moments:
    alpha, ordered = alpha_of(level), synopsis.domain.ordered_axes
    size = Estimate(noisy_size(synopsis).rows, size_interval(synopsis, level, alpha=alpha))
    attributes = {x: _attribute(synopsis, x, level, alpha) for x in ordered}
    pairs = tuple(_pair(synopsis, (attributes[x], attributes[y]), level, alpha) for x, y in combinations(ordered, 2))
    singles = tuple(attribute.moments for attribute in attributes.values())
    return Moments(level=level, size=size, attributes=singles, pairs=pairs)


def _attribute(synopsis: NoisyHistogram, x: int, level: float, alpha: float) -> _Attribute:
    attribute = ordered_attribute(synopsis, x)
    centres = axis_centres(synopsis, x)
    part = with_values(synopsis, (attribute.name,))
    counts, summed = raw_marginal(part, (attribute.name,)).astype(np.float64), _summed(part, x)

    def ratio(weights: Floats, ends: Ends) -> Ratio:
        return _ratio(counts, summed, weights, ends)

    first = ratio(centres, (attribute.start, attribute.stop))
    (own,), (means,) = ratio_intervals(synopsis.law, [first], (alpha, _MEAN * alpha))
    middle = first.value if counts.sum() > 0 else float(np.mean(centres))
    most = (0.0, float(attribute.width**2 / 4))
    squares = [ratio((centres - mu) ** 2, most) for mu in (middle, *means)]
    alphas = _VARIANCE * alpha, _IN_CORRELATION * alpha
    alone, together = (_union(each) for each in ratio_intervals(synopsis.law, squares, alphas))
    return _Attribute(
        moments=AttributeMoments(
            name=attribute.name,
            mean=Estimate(_value(first), Interval(level, *own)),
            variance=Estimate(_value(squares[0]), Interval(level, *alone)),
            discretisation=half_cell(synopsis, x),
        ),
        axis=x,
        centres=centres,
        middle=middle,
        means=means,
        variance=together,
    )


def _pair(synopsis: NoisyHistogram, pair: tuple[_Attribute, _Attribute], level: float, alpha: float) -> PairMoments:
    names, axes = (pair[0].moments.name, pair[1].moments.name), (pair[0].axis, pair[1].axis)
    part = with_values(synopsis, names)
    if part is not synopsis:  # means and variances of the rows that have both values
        pair = _attribute(part, axes[0], level, alpha), _attribute(part, axes[1], level, alpha)
    first, second = pair
    counts, summed = raw_marginal(part, names).astype(np.float64), _summed(part, *axes)
    widths = [ordered_attribute(synopsis, x).width for x in axes]
    most = float(widths[0] * widths[1] / 4)
    alphas = _COVARIANCE * alpha, _IN_CORRELATION * alpha

    def about(a: float, b: float) -> Ratio:
        weights = np.multiply.outer(first.centres - a, second.centres - b).ravel()
        return _ratio(counts, summed, weights, (-most, most))

    def intervals(ratio: Ratio) -> list[Ends]:
        return [ends for (ends,) in ratio_intervals(synopsis.law, [ratio], alphas)]

    # One ratio at a time: a grid may have millions of cells.
    middle = about(first.middle, second.middle)
    value, each = _value(middle), [intervals(middle)]
    if each[0][0] != (-most, most):
        each += [intervals(about(mu, nu)) for mu in first.means for nu in second.means]
    alone, together = (_union(at_alpha) for at_alpha in zip(*each, strict=True))
    covariance = Estimate(value, Interval(level, *alone))
    values = first.moments.variance.value, second.moments.variance.value
    related = correlation(value, together, values, (first.variance, second.variance), level)
    return PairMoments(names=names, covariance=covariance, correlation=related)


def _summed(synopsis: NoisyHistogram, *axes: int) -> int:
    """How many cells the counts over these axes are sums of."""
    return synopsis.grid.cell_count // synopsis.grid.select(axes).cell_count


def _ratio(counts: Floats, summed: int, weights: Floats, ends: Ends) -> Ratio:
    """sum of y a / sum of y over marginal counts, each of so many cells."""
    return Ratio(counts, np.full(len(counts), float(summed)), weights, ends)


def _value(ratio: Ratio) -> float | None:
    """None where the sum of counts is not positive."""
    return ratio.value if ratio.counts.sum() > 0 else None


def _union(intervals: Sequence[Ends]) -> Ends:
    """From the lowest to the highest end."""
    lows, highs = zip(*intervals, strict=True)
    return min(lows), max(highs)
