"""Moments of an adaptive release: ratios of weighted sums of its leaves' fused estimates.

Rows count at the middle of their leaf, z_j rows in leaf j. Coordinates are unit coordinates about the noisy mean, so
that no digits are lost; every moment is then a ratio of two of the sums S_m = sum of z_j m(x_j), where m is a monomial
of degree 2 or less in one or two attributes. Their covariances are those of weighted sums of leaves
(`core.adaptive.weighted`).

*Intervals* are Fieller's (see `core.intervals.ratios`): with A = S_1, B the sum with weights a, and r(theta) the radius
of the noise of B - theta A, the set of all theta with |B - theta A| <= r(theta). The radius is c(theta) standard
deviations (`core.adaptive.radius`). c depends little on theta and is taken at its largest, at the bounds of the ratio
and at the estimate. Then the set solves a quadratic inequality in theta, with V the covariances:

    (A^2 - c^2 V_AA) theta^2 - 2 (A B - c^2 V_AB) theta + (B^2 - c^2 V_BB) <= 0.

Variances, covariances and correlations are unions over the means that they are taken about, as in
`core.queries.moments`. Weights that depend on the noise through the mean would fail here as they do there.

*What the leaves add.* Let leaf j have n_j rows, each at most h_j from its middle. The mean moves by the mean of these
distances at most, sum of n_j h_j / N, and the standard deviation by their root mean square (Minkowski). For
n_j stands max(z_j, 0), which is too much on average. Where a slice cuts a leaf, of which F_j rows are expected in all
and s_j F_j inside, up to max(s_j, 1 - s_j) F_j rows may be more or fewer. With m the mean and v the variance at the
middles, that moves the mean by at most that many times |x_j - m| / N, and the variance by that many times
|(x_j - m)^2 - v| / N, where N counts the rows of uncut leaves alone. No bound is larger than the domain allows.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from math import sqrt

import numpy as np

from core.adaptive.cells import AdaptiveCells
from core.adaptive.radius import radii
from core.adaptive.weighted import covariances, leaf_scales
from core.arrays import Floats
from core.domain.attribute import Ordered
from core.domain.whole import WholeValues
from core.intervals.levels import Interval, alpha_of
from core.intervals.ratios import Ends
from core.noisy_histogram import NoisyHistogram
from core.queries.adaptive_slices import leaves_with_values, steps_along
from core.queries.estimates import AttributeMoments, Estimate, Moments, PairMoments, correlation, ordered_attribute

# Shares of alpha, as in `core.queries.moments`.
_MEAN, _VARIANCE, _COVARIANCE, _IN_CORRELATION = 0.05, 0.95, 0.9, 0.3


@dataclass(frozen=True, slots=True)
class _Attribute:
    """One attribute: its moments, and the intervals of mean and variance that others rest on, in unit coordinates."""

    moments: AttributeMoments
    middle: float
    means: Ends
    variance: Ends
    value: float | None


def adaptive_moments(histogram: NoisyHistogram, cells: AdaptiveCells, level: float) -> Moments:
    """The moments of every ordered attribute and pair of them."""
    alpha, ordered = alpha_of(level), histogram.domain.ordered_axes
    attributes = {x: _attribute(histogram, cells, x, level, alpha) for x in ordered}
    pairs = tuple(_pair(histogram, cells, attributes, axes, level, alpha) for axes in combinations(ordered, 2))
    singles = tuple(each.moments for each in attributes.values())
    return Moments(level=level, size=_size(cells, level, alpha), attributes=singles, pairs=pairs)


def _size(cells: AdaptiveCells, level: float, alpha: float) -> Estimate:
    sums = _Sums(cells, [np.ones(len(cells.estimates))])
    rows, reach = float(sums.values[0]), float(sums.radius(np.ones(1), alpha))
    return Estimate(rows, Interval(level, rows - reach, rows + reach))


def _attribute(histogram: NoisyHistogram, cells: AdaptiveCells, x: int, level: float, alpha: float) -> _Attribute:
    attribute, i = ordered_attribute(histogram, x), histogram.domain.ordered_axes.index(x)
    cells = _with_values(histogram, cells, x)
    centres = cells.centres()[:, i]
    middle = _mean(cells.estimates, centres)
    own = centres - middle
    sums = _Sums(cells, [np.ones(len(own)), own, own**2])
    bounds = (-1.0 - middle, 1.0 - middle)
    mean, means = (sums.ratio(np.array([0.0, 1.0, 0.0]), bounds, each) for each in (alpha, _MEAN * alpha))
    # About mu the square is x^2 - 2 mu x + mu^2. No variance within [-1, 1] exceeds 1.
    squares = [np.array([mu**2, -2.0 * mu, 1.0]) for mu in (0.0, *means)]
    alone, together = (
        _union([sums.ratio(each, (0.0, 1.0), share * alpha) for each in squares])
        for share in (_VARIANCE, _IN_CORRELATION)
    )
    variance = sums.value(squares[0], (0.0, 1.0))
    half = attribute.width / 2.0
    of_mean, of_deviation = _shifts(cells, attribute, i, middle, variance)
    start = attribute.start + half * (1.0 + middle)
    value = sums.value(np.array([0.0, 1.0, 0.0]), bounds)
    return _Attribute(
        moments=AttributeMoments(
            name=attribute.name,
            mean=Estimate(
                None if value is None else start + half * value,
                Interval(level, *_between(attribute, start + half * mean[0], start + half * mean[1])),
            ),
            variance=_scaled(variance, alone, half**2, level),
            discretisation=of_mean,
            deviation_shift=of_deviation,
        ),
        middle=middle,
        means=means,
        variance=together,
        value=variance,
    )


def _pair(
    histogram: NoisyHistogram,
    cells: AdaptiveCells,
    attributes: dict[int, _Attribute],
    axes: tuple[int, int],
    level: float,
    alpha: float,
) -> PairMoments:
    part = _with_values(histogram, cells, *axes)
    first, second = (
        attributes[x] if part is cells else _attribute(histogram, part, x, level, alpha) for x in axes
    )  # of the rows that have both values
    columns = [histogram.domain.ordered_axes.index(x) for x in axes]
    a, b = (part.centres()[:, i] - each.middle for i, each in zip(columns, (first, second), strict=True))
    sums = _Sums(part, [np.ones(len(a)), a, b, a * b])
    products = [
        np.array([mu * nu, -nu, -mu, 1.0])
        for mu, nu in [(0.0, 0.0), *((mu, nu) for mu in first.means for nu in second.means)]
    ]
    alone, together = (
        _union([sums.ratio(each, (-1.0, 1.0), share * alpha) for each in products])
        for share in (_COVARIANCE, _IN_CORRELATION)
    )
    value = sums.value(products[0], (-1.0, 1.0))
    widths = [ordered_attribute(histogram, x).width for x in axes]
    return PairMoments(
        names=(first.moments.name, second.moments.name),
        covariance=_scaled(value, alone, widths[0] * widths[1] / 4.0, level),
        correlation=correlation(value, together, (first.value, second.value), (first.variance, second.variance), level),
    )


class _Sums:
    """Sums over leaves of estimates times weights, one for each row of weights, and the covariances of their noise."""

    def __init__(self, cells: AdaptiveCells, weights: list[Floats]) -> None:
        leaves = cells.leaves
        taken = np.stack(weights)
        self.values: Floats = taken @ cells.estimates
        taken *= leaves.shares
        if cells.part is None:
            whole = taken
        else:
            whole = np.zeros((len(weights), len(cells.layers.leaves)))
            whole[:, leaves.numbers] = taken
        self._covariances = covariances(cells.fusion, whole)
        scales = leaf_scales(cells.fusion)[leaves.numbers]
        self._scales = np.array([float((np.abs(each) * scales).max()) for each in taken])

    def value(self, numerator: Floats, bounds: Ends) -> float | None:
        """The ratio of a combination of sums to the first of them; None where that is not positive."""
        total = float(self.values[0])
        return float(np.clip(numerator @ self.values / total, *bounds)) if total > 0.0 else None

    def radius(self, combination: Floats, alpha: float) -> float:
        """The radius of the noise of a combination of sums. No draw in it is larger than in all of them together."""
        deviation = sqrt(max(0.0, float(combination @ self._covariances @ combination)))
        scale = float(np.abs(combination) @ self._scales)
        return float(radii(np.array([deviation]), np.array([scale]), alpha=alpha)[0]) if deviation > 0.0 else 0.0

    def ratio(self, numerator: Floats, bounds: Ends, alpha: float) -> Ends:
        """The Fieller interval of such a ratio, within its bounds."""
        value = self.value(numerator, bounds)
        if value is None:
            return bounds
        one = np.zeros(len(self.values))
        one[0] = 1.0
        factor = max(self._factor(numerator - theta * one, alpha) for theta in (value, *bounds)) ** 2
        total, summed = float(self.values[0]), float(numerator @ self.values)
        v = self._covariances
        p = total**2 - factor * float(v[0, 0])
        q = total * summed - factor * float(numerator @ v[0])
        r = summed**2 - factor * float(numerator @ v @ numerator)
        if p <= 0.0:
            return bounds
        root = sqrt(max(q * q - p * r, 0.0))  # negative by rounding only: the estimate solves the inequality
        low, high = np.clip([(q - root) / p, (q + root) / p], *bounds).tolist()
        return min(low, value), max(high, value)

    def _factor(self, combination: Floats, alpha: float) -> float:
        """The radius in standard deviations."""
        variance = float(combination @ self._covariances @ combination)
        return self.radius(combination, alpha) / sqrt(variance) if variance > 0.0 else 0.0


def _with_values(histogram: NoisyHistogram, cells: AdaptiveCells, *axes: int) -> AdaptiveCells:
    """The leaves whose rows have a value of these attributes."""
    missing = np.isnan(cells.leaves.low[:, [histogram.domain.ordered_axes.index(x) for x in axes]])
    if not missing.any():
        return cells
    part = leaves_with_values(histogram, cells, [histogram.domain.names[x] for x in axes])
    return cells if part is None else part.cells


def _mean(estimates: Floats, centres: Floats) -> float:
    """The noisy mean; the middle of the bounds where the sum of the estimates is not positive."""
    total = float(estimates.sum())
    return float(np.clip(estimates @ centres / total, -1.0, 1.0)) if total > 0.0 else 0.0


def _shifts(
    cells: AdaptiveCells, attribute: Ordered, i: int, middle: float, variance: float | None
) -> tuple[float, float]:
    """How far the leaves move mean and standard deviation at most, in the attribute's own unit."""
    leaves, half = cells.leaves, attribute.width / 2.0
    reach = _reach(attribute, leaves.low[:, i], leaves.high[:, i])
    rows = np.maximum(cells.fusion.leaves[leaves.numbers], 0.0)  # of whole leaves
    cut = leaves.shares < 1.0
    total = min(float(cells.estimates[~cut].sum()), float(rows[~cut].sum()))
    if total <= 0.0 or variance is None:
        return (float(reach.max()), float(reach.max())) if not cut.any() else (attribute.width, half)
    doubtful = np.where(cut, np.maximum(leaves.shares, 1.0 - leaves.shares) * rows, 0.0)
    about = (leaves.low[:, i] + leaves.high[:, i]) / 2.0 - middle
    moved = half * float(doubtful @ np.abs(about)) / total
    changed = half**2 * float(doubtful @ np.abs(about**2 - variance)) / total + moved**2
    of_mean = min(float(rows @ reach) / total, float(reach.max())) + moved
    of_deviation = min(sqrt(float(rows @ reach**2) / total), float(reach.max())) + sqrt(changed)
    return min(of_mean, attribute.width), min(of_deviation, half)


def _reach(attribute: Ordered, low: Floats, high: Floats) -> Floats:
    """How far a row lies from the middle of its leaf at most; of whole kinds, the first or the last value of it."""
    if not isinstance(attribute, WholeValues):
        return attribute.width * (high - low) / 4.0
    halves = (steps_along(attribute, high) - steps_along(attribute, low)) / 2.0
    outermost = np.maximum(halves + attribute.edge_offset, halves - 1.0 - attribute.edge_offset)
    reach: Floats = outermost / attribute.steps_per_unit
    return reach


def _between(attribute: Ordered, low: float, high: float) -> Ends:
    """Within the bounds of an attribute, whatever the rounding."""
    return max(attribute.start, low), min(attribute.stop, high)


def _scaled(value: float | None, ends: Ends, factor: float, level: float) -> Estimate:
    """An estimate in unit coordinates -> the attributes' own units."""
    return Estimate(None if value is None else value * factor, Interval(level, ends[0] * factor, ends[1] * factor))


def _union(intervals: list[Ends]) -> Ends:
    """From the lowest to the highest end."""
    lows, highs = zip(*intervals, strict=True)
    return min(lows), max(highs)
