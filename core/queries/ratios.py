"""Intervals for ratios of noisy sums: means, variances, centres. Many at once, since an answer has many."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from core.budget import Epsilon
from core.queries.uncertainty import STEPS, Floats, Interval, Rounding, Sums, by_steps, radii


@dataclass(frozen=True, slots=True, eq=False)
class Ratio:
    """sum of y a / sum of y for noisy counts y and weights a; without noise it would lie between the bounds."""

    counts: Floats
    weights: Floats
    bounds: tuple[float, float]


def ratio_intervals(
    epsilon: Epsilon, ratios: Sequence[Ratio], levels: Sequence[float], *, summed: int = 1
) -> list[list[Interval]]:
    """For each level the intervals of all ratios, however noisy their denominators are (Fieller 1954).

    theta is kept if B - theta A = sum of y (a - theta) is within the radius of its own noise, whose variance is
    s^2 sum of (a - theta)^2: a quadratic inequality in theta. Where it holds for arbitrarily large theta, the sum of
    counts cannot be told from zero, and the interval is all that the bounds allow. Each count sums `summed` cells.

    The radius in standard deviations depends a little on theta. So it is taken at the ratio first, then also at both
    ends of the interval which that gives, and the widest of the three serves.
    """
    many = _Ratios.of(ratios)
    low, high = (np.tile(ends, (len(levels), 1)) for ends in many.without_noise())
    noisy = np.flatnonzero((many.total > 0.0) & (many.least < many.most))
    if len(noisy):
        rows, at = np.tile(noisy, len(levels)), np.repeat(np.asarray(levels), len(noisy))
        widest = many.factors(epsilon, rows, many.middle(rows), at, summed)
        ends = np.concatenate(many.kept(rows, widest))
        at_ends = many.factors(epsilon, np.tile(rows, 2), ends, np.tile(at, 2), summed)
        widest = np.maximum(widest, at_ends.reshape(2, -1).max(axis=0))
        for ends, found in zip((low, high), many.kept(rows, widest), strict=True):
            ends[:, noisy] = found.reshape(len(levels), -1)
    return [
        [Interval(level, *ends) for ends in zip(lows, highs, strict=True)]
        for level, lows, highs in zip(levels, low.tolist(), high.tolist(), strict=True)
    ]


@dataclass(frozen=True, slots=True, eq=False)
class _Ratios:
    """Sums over the cells of many ratios, their weights taken from their mean `about`, so that no digits are lost.

    `total` is the sum of y, `first` that of y a, and `powers[i]` that of a^i; `least` and `most` are of a.
    """

    weights: Floats
    starts: NDArray[np.int64]
    lengths: NDArray[np.int64]
    about: Floats
    bounds: Floats
    total: Floats
    first: Floats
    powers: Floats
    least: Floats
    most: Floats

    @classmethod
    def of(cls, ratios: Sequence[Ratio]) -> _Ratios:
        """All cells of all ratios in one array; a ratio without cells has one without rows."""
        nothing = np.zeros(1)
        lengths = np.array([max(1, len(ratio.weights)) for ratio in ratios])
        starts = np.cumsum(lengths) - lengths
        counts = np.concatenate([ratio.counts if len(ratio.weights) else nothing for ratio in ratios])
        weights = np.concatenate([ratio.weights if len(ratio.weights) else nothing for ratio in ratios])
        about = np.add.reduceat(weights, starts) / lengths
        weights = weights - np.repeat(about, lengths)
        squares = np.square(weights)
        powers = (np.ones(len(weights)), weights, squares, squares * weights, np.square(squares))
        return cls(
            weights=weights,
            starts=starts,
            lengths=lengths,
            about=about,
            bounds=np.array([ratio.bounds for ratio in ratios]).T,
            total=np.add.reduceat(counts, starts),
            first=np.add.reduceat(counts * weights, starts),
            powers=np.stack([np.add.reduceat(power, starts) for power in powers]),
            least=np.minimum.reduceat(weights, starts),
            most=np.maximum.reduceat(weights, starts),
        )

    def without_noise(self) -> tuple[Floats, Floats]:
        """The ends where no law of noise is needed: nothing to divide by, or one place, whatever the noise."""
        one_place = (self.total > 0.0) & (self.least == self.most)
        low, high = (np.where(one_place, self.about, bound) for bound in self.bounds)
        return low, high

    def middle(self, rows: NDArray[np.int64]) -> Floats:
        """The ratios themselves, which only positive sums of counts have."""
        found: Floats = np.clip(self.about[rows] + self.first[rows] / self.total[rows], *self.bounds[:, rows])
        return found

    def kept(self, rows: NDArray[np.int64], k: Floats) -> tuple[Floats, Floats]:
        """The ends of all theta with (sum of y (a - theta))^2 <= k sum of (a - theta)^2, within the bounds."""
        A, B, power = self.total[rows], self.first[rows], self.powers[:, rows]  # noqa: N806 - as in the formula
        a, b, c = A**2 - k * power[0], A * B - k * power[1], B**2 - k * power[2]
        root = np.sqrt(np.maximum(b**2 - a * c, 0.0))  # not negative, since theta = B / A is always kept; but rounding
        bounded = np.where(a > 0.0, a, 1.0)
        lower, upper = self.bounds[:, rows]
        low, high = (np.clip(self.about[rows] + (b + side * root) / bounded, lower, upper) for side in (-1, 1))
        return np.where(a > 0.0, low, lower), np.where(a > 0.0, high, upper)

    def factors(self, epsilon: Epsilon, rows: NDArray[np.int64], thetas: Floats, levels: Floats, summed: int) -> Floats:
        """radius^2 / sum of (a - theta)^2 for some ratios, each at its theta and level."""
        t, power = thetas - self.about[rows], self.powers[:, rows]
        squares = power[2] - 2 * t * power[1] + t**2 * power[0]
        fourths = power[4] - 4 * t * power[3] + 6 * t**2 * power[2] - 4 * t**3 * power[1] + t**4 * power[0]
        largest = np.maximum(self.most[rows] - t, t - self.least[rows])

        def steps(some: NDArray[np.int64], rounding: Rounding) -> Floats:
            lengths = self.lengths[rows[some]]
            owner = np.repeat(np.arange(len(some)), lengths)
            first = self.starts[rows[some]] - (np.cumsum(lengths) - lengths)
            weights = self.weights[np.arange(len(owner)) + first[owner]]
            shares = np.abs(weights - t[some][owner]) / largest[some][owner]
            return by_steps(rounding(shares * STEPS), np.full(len(shares), float(summed)), owner, len(some))

        sums = Sums(largest=largest, squares=summed * squares, fourths=summed * fourths, steps=steps)
        factors: Floats = radii(epsilon, levels, sums) ** 2 / squares
        return factors
