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
from itertools import combinations, combinations_with_replacement
from math import sqrt

import numpy as np

from core.adaptive.cells import AdaptiveCells
from core.adaptive.radius import radii
from core.adaptive.weighted import SomeSums
from core.arrays import Floats
from core.domain.attribute import Ordered
from core.domain.whole import WholeValues
from core.intervals.levels import Interval, alpha_of
from core.intervals.ratios import Ends
from core.noisy_histogram import NoisyHistogram
from core.queries.adaptive_slices import leaves_with_values, steps_along
from core.queries.estimates import AttributeMoments, Estimate, Moments, PairMoments, correlation

# Shares of alpha, as in `core.queries.moments`.
_MEAN, _VARIANCE, _COVARIANCE, _IN_CORRELATION = 0.05, 0.95, 0.9, 0.3


@dataclass(frozen=True, slots=True)
class _Attribute:
    """One attribute: its moments, and the intervals of mean and variance that others rest on, in unit coordinates."""

    moments: AttributeMoments
    means: Ends
    variance: Ends
    value: float | None


def adaptive_moments(histogram: NoisyHistogram, cells: AdaptiveCells, level: float) -> Moments:
    """The moments of every ordered attribute and pair of them."""
    alpha, ordered = alpha_of(level), histogram.domain.ordered_axes
    has_missing = bool(np.isnan(cells.leaves.low).any())
    everything = Middles.of(cells, () if has_missing else tuple(range(len(ordered))))

    def of(*columns: int) -> Middles:
        """The leaves whose rows have values of these attributes."""
        if not has_missing:
            return everything
        part = leaves_with_values(histogram, cells, [histogram.domain.ordered[i].name for i in columns])
        return Middles.of(cells if part is None else part.cells, columns)

    single = [_attribute(attribute, i, of(i), level, alpha) for i, attribute in enumerate(histogram.domain.ordered)]
    pairs = []
    for i, j in combinations(range(len(ordered)), 2):
        middles, attributes = of(i, j), (histogram.domain.ordered[i], histogram.domain.ordered[j])
        both = (single[i], single[j])
        if has_missing:  # means and variances of the rows that have both values
            both = (
                _attribute(attributes[0], i, middles, level, alpha),
                _attribute(attributes[1], j, middles, level, alpha),
            )
        pairs.append(_pair(attributes, (i, j), both, middles, level, alpha))
    rows, reach = float(everything.sums.values[0]), everything.sums.radius(everything.chosen(), alpha)
    return Moments(
        level=level,
        size=Estimate(rows, Interval(level, rows - reach, rows + reach)),
        attributes=tuple(each.moments for each in single),
        pairs=tuple(pairs),
    )


def _attribute(attribute: Ordered, i: int, middles: Middles, level: float, alpha: float) -> _Attribute:
    sums, middle = middles.sums, middles.middle[i]
    bounds = (-1.0 - middle, 1.0 - middle)
    first = middles.chosen((i,))
    mean, means = (sums.ratio(first, bounds, each) for each in (alpha, _MEAN * alpha))
    # About mu the square is x^2 - 2 mu x + mu^2. No variance within [-1, 1] exceeds 1.
    squares = [middles.chosen((i, i)) - 2.0 * mu * first + mu**2 * middles.chosen() for mu in (0.0, *means)]
    alone, together = (
        _union([sums.ratio(each, (0.0, 1.0), share * alpha) for each in squares])
        for share in (_VARIANCE, _IN_CORRELATION)
    )
    value, variance = sums.value(first, bounds), sums.value(squares[0], (0.0, 1.0))
    half = attribute.width / 2.0
    of_mean, of_deviation = leaf_shifts(middles.cells, attribute, i, middle, variance)
    start = attribute.start + half * (1.0 + middle)
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
        means=means,
        variance=together,
        value=variance,
    )


def _pair(
    attributes: tuple[Ordered, Ordered],
    columns: tuple[int, int],
    both: tuple[_Attribute, _Attribute],
    middles: Middles,
    level: float,
    alpha: float,
) -> PairMoments:
    (first, second), (i, j), sums = both, columns, middles.sums
    a, b, product = middles.chosen((i,)), middles.chosen((j,)), middles.chosen((i, j))
    about = [(0.0, 0.0), *((mu, nu) for mu in first.means for nu in second.means)]
    products = [product - nu * a - mu * b + mu * nu * middles.chosen() for mu, nu in about]
    alone, together = (
        _union([sums.ratio(each, (-1.0, 1.0), share * alpha) for each in products])
        for share in (_COVARIANCE, _IN_CORRELATION)
    )
    value = sums.value(products[0], (-1.0, 1.0))
    return PairMoments(
        names=(attributes[0].name, attributes[1].name),
        covariance=_scaled(value, alone, attributes[0].width * attributes[1].width / 4.0, level),
        correlation=correlation(value, together, (first.value, second.value), (first.variance, second.variance), level),
    )


@dataclass(frozen=True, slots=True, eq=False)
class Middles:
    """The middles of leaves about the noisy mean along some attributes, and the sums of all monomials in them.

    `monomials` has the columns that are multiplied in each: none, one or two.
    """

    cells: AdaptiveCells
    middle: dict[int, float]
    monomials: list[tuple[int, ...]]
    sums: MonomialSums

    @classmethod
    def of(cls, cells: AdaptiveCells, columns: tuple[int, ...]) -> Middles:
        """Along the ordered attributes with these numbers, of which every row has a value."""
        centres = {i: (cells.leaves.low[:, i] + cells.leaves.high[:, i]) / 2.0 for i in columns}
        middle = {i: _mean(cells.estimates, each) for i, each in centres.items()}
        about = {i: each - middle[i] for i, each in centres.items()}
        monomials = [(), *((i,) for i in columns), *combinations_with_replacement(columns, 2)]
        weights = np.ones((len(monomials), len(cells.estimates)))
        for row, monomial in enumerate(monomials):
            for i in monomial:
                weights[row] *= about[i]
        return cls(cells, middle, monomials, MonomialSums(cells, weights))

    def chosen(self, monomial: tuple[int, ...] = ()) -> Floats:
        """The combination that is the sum of one monomial."""
        combination = np.zeros(len(self.monomials))
        combination[self.monomials.index(monomial)] = 1.0
        return combination


class MonomialSums:
    """Sums over leaves of estimates times weights, one for each row of weights, and the covariances of their noise."""

    def __init__(self, cells: AdaptiveCells, weights: Floats) -> None:
        leaves = cells.leaves
        self.values: Floats = weights @ cells.estimates
        noise = SomeSums.of(cells.fusion, leaves.numbers, weights * leaves.shares)
        self.covariances, self._scales = noise.covariances, noise.scales

    def value(self, numerator: Floats, bounds: Ends) -> float | None:
        """The ratio of a combination of sums to the first of them; None where that is not positive."""
        total = float(self.values[0])
        return float(np.clip(numerator @ self.values / total, *bounds)) if total > 0.0 else None

    def radius(self, combination: Floats, alpha: float) -> float:
        """The radius of the noise of a combination of sums. No draw in it is larger than in all of them together."""
        deviation = sqrt(max(0.0, float(combination @ self.covariances @ combination)))
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
        v = self.covariances
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
        variance = float(combination @ self.covariances @ combination)
        return self.radius(combination, alpha) / sqrt(variance) if variance > 0.0 else 0.0


def _mean(estimates: Floats, centres: Floats) -> float:
    """The noisy mean; the middle of the bounds where the sum of the estimates is not positive."""
    total = float(estimates.sum())
    return float(np.clip(estimates @ centres / total, -1.0, 1.0)) if total > 0.0 else 0.0


def leaf_shifts(
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
