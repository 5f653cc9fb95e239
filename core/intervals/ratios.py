"""Intervals for ratios of noisy sums: means, variances, centres. Many at once, since an answer has many."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from core.budget import Epsilon
from core.intervals.uncertainty import STEPS, Floats, Rounding, Sums, by_steps, radii

Ends = tuple[float, float]


@dataclass(frozen=True, slots=True, eq=False)
class Ratio:
    """sum of y a / sum of y for noisy counts y and weights a; without noise it would lie between the bounds.

    Cells of the same weight may stand together: their sum in `counts`, and how many they are in `times`.
    """

    counts: Floats
    times: Floats
    weights: Floats
    bounds: tuple[float, float]

    @property
    def value(self) -> float:
        """The ratio, within its bounds; their middle where the sum of counts is not positive."""
        total = float(self.counts.sum())
        low, high = self.bounds
        return min(max(float(self.counts @ self.weights) / total, low), high) if total > 0.0 else (low + high) / 2


def ratio_intervals(epsilon: Epsilon, ratios: Sequence[Ratio], alphas: Sequence[float]) -> list[list[Ends]]:
    """For each alpha the (low, high) of all ratios, however noisy their denominators are (Fieller 1954).

    theta is kept if B - theta A = sum of y (a - theta) is within the radius of its own noise, whose variance is
    s^2 sum of (a - theta)^2: a quadratic inequality in theta. Where it holds for arbitrarily large theta, the sum of
    counts cannot be told from zero, and the interval is all that the bounds allow.

    The radius in standard deviations depends a little on theta. So it is taken at the ratio first, then also at both
    ends of the interval which that gives, and the widest of the three serves.
    """
    many = _Ratios.of(ratios)
    low, high = (np.tile(ends, (len(alphas), 1)) for ends in many.without_noise())
    noisy = np.flatnonzero((many.total > 0.0) & (many.least < many.most))
    if len(noisy):
        rows, at = np.tile(noisy, len(alphas)), np.repeat(np.asarray(alphas), len(noisy))
        widest = many.factors(epsilon, rows, many.middle(rows), at)
        ends = np.stack(many.kept(rows, widest))
        some = np.flatnonzero((ends != many.bounds[:, rows]).any(axis=0))  # all else is as wide as it can be already
        if len(some):
            at_ends = many.factors(epsilon, np.tile(rows[some], 2), ends[:, some].ravel(), np.tile(at[some], 2))
            widest[some] = np.maximum(widest[some], at_ends.reshape(2, -1).max(axis=0))
        for side, kept in zip((low, high), many.kept(rows, widest), strict=True):
            side[:, noisy] = kept.reshape(len(alphas), -1)
    return [list(zip(lows, highs, strict=True)) for lows, highs in zip(low.tolist(), high.tolist(), strict=True)]


@dataclass(frozen=True, slots=True, eq=False)
class _Ratios:
    """Sums over the cells of many ratios, with a from `about` and in units of `span`, so that no digits are lost.

    `total` is the sum of y, `first` that of y a, and `powers[i]` that of a^i; `least` and `most` are of a.
    """

    weights: Floats
    times: Floats
    starts: NDArray[np.int64]
    lengths: NDArray[np.int64]
    about: Floats
    span: Floats
    bounds: Floats
    total: Floats
    first: Floats
    powers: Floats
    least: Floats
    most: Floats

    @classmethod
    def of(cls, ratios: Sequence[Ratio]) -> _Ratios:
        """All cells of all ratios in one array; a ratio without cells has one without rows."""
        nothing = Ratio(np.zeros(1), np.ones(1), np.zeros(1), (0.0, 0.0))
        cells = [ratio if len(ratio.weights) else nothing for ratio in ratios]
        counts, times, weights = (
            np.concatenate(parts)
            for parts in zip(*((some.counts, some.times, some.weights) for some in cells), strict=True)
        )
        lengths = np.array([len(some.weights) for some in cells])
        starts = np.cumsum(lengths) - lengths
        least, most = np.minimum.reduceat(weights, starts), np.maximum.reduceat(weights, starts)
        about, span = least + (most - least) / 2.0, np.where(most > least, most - least, 1.0)
        weights = (weights - np.repeat(about, lengths)) / np.repeat(span, lengths)
        return cls(
            weights=weights,
            times=times,
            starts=starts,
            lengths=lengths,
            about=about,
            span=span,
            bounds=np.array([ratio.bounds for ratio in ratios]).T,
            total=np.add.reduceat(counts, starts),
            first=np.add.reduceat(counts * weights, starts),
            powers=np.stack([np.add.reduceat(times * weights**power, starts) for power in range(5)]),
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
        ratio = self.about[rows] + self.span[rows] * (self.first[rows] / self.total[rows])
        return np.clip(ratio, *self.bounds[:, rows])

    def kept(self, rows: NDArray[np.int64], factor: Floats) -> tuple[Floats, Floats]:
        """The ends of all theta with (sum of y (a - theta))^2 <= factor sum of (a - theta)^2, within the bounds."""
        A, B, power = self.total[rows], self.first[rows], self.powers[:, rows]  # noqa: N806 - as in the formula
        a, b, c = A**2 - factor * power[0], A * B - factor * power[1], B**2 - factor * power[2]
        root = np.sqrt(np.maximum(b**2 - a * c, 0.0))  # not negative, since theta = B / A is always kept; but rounding
        bounded = np.where(a > 0.0, a, 1.0)
        about, span, (lower, upper) = self.about[rows], self.span[rows], self.bounds[:, rows]
        low, high = (np.clip(about + span * ((b + side * root) / bounded), lower, upper) for side in (-1, 1))
        return np.where(a > 0.0, low, lower), np.where(a > 0.0, high, upper)

    def factors(self, epsilon: Epsilon, rows: NDArray[np.int64], thetas: Floats, alphas: Floats) -> Floats:
        """radius^2 / sum of (a - theta)^2 for some ratios, each at its theta and alpha."""
        t, power = (thetas - self.about[rows]) / self.span[rows], self.powers[:, rows]
        squares = power[2] - 2 * t * power[1] + t**2 * power[0]
        fourths = power[4] - 4 * t * power[3] + 6 * t**2 * power[2] - 4 * t**3 * power[1] + t**4 * power[0]
        largest = np.maximum(self.most[rows] - t, t - self.least[rows])

        def steps(some: NDArray[np.int64], rounding: Rounding) -> Floats:
            lengths = self.lengths[rows[some]]
            owner = np.repeat(np.arange(len(some)), lengths)
            first = self.starts[rows[some]] - (np.cumsum(lengths) - lengths)
            cells = np.arange(len(owner)) + first[owner]
            shares = np.abs(self.weights[cells] - t[some][owner]) / largest[some][owner]
            return by_steps(rounding(shares * STEPS), self.times[cells], owner, len(some))

        unequal = np.zeros(len(rows), dtype=np.bool_)
        sums = Sums(largest=largest, squares=squares, fourths=fourths, equal=unequal, steps=steps)
        factors: Floats = radii(epsilon, sums, alpha=alphas) ** 2 / squares
        return factors
