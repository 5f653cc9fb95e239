"""Fieller intervals for ratios of noisy sums (means, variances, centres): many at once, since an answer has many.

Let cell j have the weight a_j (its centre, say), the exact count t_j and the noisy count y_j = t_j + Z_j. The ratio is
theta = sum of t a / sum of t. Then sum of t (a - theta) = 0, so

    B - theta A = sum of y (a - theta) = sum of Z (a - theta),    A = sum of y,  B = sum of y a.

The right side is a weighted sum of noise; let r(theta) be its radius at alpha. Fieller's set is all theta with
|B - theta A| <= r(theta), and it covers the ratio with probability 1 - alpha, however noisy the denominator A is. With
f = r(theta)^2 / sum of (a - theta)^2 and P_i = sum of a^i over cells, it is a quadratic inequality in theta:

    (A^2 - f P_0) theta^2 - 2 (A B - f P_1) theta + (B^2 - f P_2) <= 0.

If its leading coefficient is not positive, A cannot be told from zero: the set is unbounded, and the interval is all
that the bounds of the ratio allow. f depends a little on theta (the law of the noise is not quite normal). It is taken
at the estimate B / A first, then at both ends of the interval that this gives; the largest of the three serves.

Reference: Fieller (1954). `tests/core/intervals/fieller.py` has the same for one ratio, step by step, as a reference.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from core.arrays import Floats
from core.intervals.radius import radii
from core.intervals.weighted_sums import STEPS, Rounding, Sums, by_steps
from core.mechanisms.law import NoiseLaw

Ends = tuple[float, float]


@dataclass(frozen=True, slots=True, eq=False)
class Ratio:
    """B / A = sum of y a / sum of y for noisy counts y and weights a; without noise it would lie within the bounds.

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


def ratio_intervals(law: NoiseLaw, ratios: Sequence[Ratio], alphas: Sequence[float]) -> list[list[Ends]]:
    """For each alpha the Fieller interval (low, high) of every ratio, within its bounds."""
    batch = _Batch.of(ratios)
    low, high = (np.tile(ends, (len(alphas), 1)) for ends in batch.without_noise())
    noisy = np.flatnonzero((batch.total > 0.0) & (batch.least < batch.most))
    if len(noisy):
        rows, at = np.tile(noisy, len(alphas)), np.repeat(np.asarray(alphas), len(noisy))
        widest = batch.factors(law, rows, batch.estimate(rows), at)
        ends = np.stack(batch.fieller_ends(rows, widest))
        inner = np.flatnonzero((ends != batch.bounds[:, rows]).any(axis=0))  # the others are as wide as they can be
        if len(inner):
            at_ends = batch.factors(law, np.tile(rows[inner], 2), ends[:, inner].ravel(), np.tile(at[inner], 2))
            widest[inner] = np.maximum(widest[inner], at_ends.reshape(2, -1).max(axis=0))
        for side, kept in zip((low, high), batch.fieller_ends(rows, widest), strict=True):
            side[:, noisy] = kept.reshape(len(alphas), -1)
    return [list(zip(lows, highs, strict=True)) for lows, highs in zip(low.tolist(), high.tolist(), strict=True)]


@dataclass(frozen=True, slots=True, eq=False)
class _Batch:
    """The sums over the cells of many ratios. Weights are a' = (a - middle) / span, so that no digits are lost.

    All cells stand in one array, ratio after ratio: ratio i has the cells from `starts[i]` on, `lengths[i]` of them.
    For each ratio, `total` is A, `first` is B for a', `powers[i]` is P_i for a', `least` and `most` are those of a'.
    """

    weights: Floats
    times: Floats
    starts: NDArray[np.int64]
    lengths: NDArray[np.int64]
    middle: Floats
    span: Floats
    bounds: Floats
    total: Floats
    first: Floats
    powers: Floats
    least: Floats
    most: Floats

    @classmethod
    def of(cls, ratios: Sequence[Ratio]) -> _Batch:
        """The batch; a ratio of no cells gets a cell of no count, so that every ratio has a place in the array."""
        nothing = Ratio(np.zeros(1), np.ones(1), np.zeros(1), (0.0, 0.0))
        filled = [ratio if len(ratio.weights) else nothing for ratio in ratios]
        counts, times, weights = (
            np.concatenate(parts)
            for parts in zip(*((ratio.counts, ratio.times, ratio.weights) for ratio in filled), strict=True)
        )
        lengths = np.array([len(ratio.weights) for ratio in filled])
        starts = np.cumsum(lengths) - lengths
        least, most = np.minimum.reduceat(weights, starts), np.maximum.reduceat(weights, starts)
        middle, span = least + (most - least) / 2.0, np.where(most > least, most - least, 1.0)
        weights = (weights - np.repeat(middle, lengths)) / np.repeat(span, lengths)
        return cls(
            weights=weights,
            times=times,
            starts=starts,
            lengths=lengths,
            middle=middle,
            span=span,
            bounds=np.array([ratio.bounds for ratio in ratios]).T,
            total=np.add.reduceat(counts, starts),
            first=np.add.reduceat(counts * weights, starts),
            powers=np.stack([np.add.reduceat(times * weights**power, starts) for power in range(5)]),
            least=np.minimum.reduceat(weights, starts),
            most=np.maximum.reduceat(weights, starts),
        )

    def without_noise(self) -> tuple[Floats, Floats]:
        """The ends where the noise does not matter: the bounds where A <= 0; the weight itself where all are equal."""
        single = (self.total > 0.0) & (self.least == self.most)
        low, high = (np.where(single, self.middle, bound) for bound in self.bounds)
        return low, high

    def estimate(self, rows: NDArray[np.int64]) -> Floats:
        """B / A within the bounds, for ratios with A > 0."""
        ratio = self.middle[rows] + self.span[rows] * (self.first[rows] / self.total[rows])
        return np.clip(ratio, *self.bounds[:, rows])

    def fieller_ends(self, rows: NDArray[np.int64], factor: Floats) -> tuple[Floats, Floats]:
        """The roots of the quadratic for f = `factor`, within the bounds; the bounds where it has no finite roots."""
        A, B, power = self.total[rows], self.first[rows], self.powers[:, rows]  # noqa: N806 - as in the formula
        a, b, c = A**2 - factor * power[0], A * B - factor * power[1], B**2 - factor * power[2]
        root = np.sqrt(np.maximum(b**2 - a * c, 0.0))  # negative by rounding only: theta = B / A solves the inequality
        divisor = np.where(a > 0.0, a, 1.0)
        middle, span, (lower, upper) = self.middle[rows], self.span[rows], self.bounds[:, rows]
        low, high = (np.clip(middle + span * ((b + side * root) / divisor), lower, upper) for side in (-1, 1))
        return np.where(a > 0.0, low, lower), np.where(a > 0.0, high, upper)

    def factors(self, law: NoiseLaw, rows: NDArray[np.int64], thetas: Floats, alphas: Floats) -> Floats:
        """f = r(theta)^2 / sum of (a - theta)^2 for the ratios numbered `rows`, each at its theta and alpha."""
        t, power = (thetas - self.middle[rows]) / self.span[rows], self.powers[:, rows]
        squares = power[2] - 2 * t * power[1] + t**2 * power[0]
        fourths = power[4] - 4 * t * power[3] + 6 * t**2 * power[2] - 4 * t**3 * power[1] + t**4 * power[0]
        largest = np.maximum(self.most[rows] - t, t - self.least[rows])

        def steps(chosen: NDArray[np.int64], rounding: Rounding) -> Floats:
            lengths = self.lengths[rows[chosen]]
            owner = np.repeat(np.arange(len(chosen)), lengths)
            first = self.starts[rows[chosen]] - (np.cumsum(lengths) - lengths)
            cells = np.arange(len(owner)) + first[owner]
            shares = np.abs(self.weights[cells] - t[chosen][owner]) / largest[chosen][owner]
            return by_steps(rounding(shares * STEPS), self.times[cells], owner, len(chosen))

        unequal = np.zeros(len(rows), dtype=np.bool_)
        sums = Sums(largest=largest, squares=squares, fourths=fourths, equal=unequal, steps=steps)
        factors: Floats = radii(law, sums, alpha=alphas) ** 2 / squares
        return factors
