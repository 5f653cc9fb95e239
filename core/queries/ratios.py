"""Intervals for ratios of noisy sums: means, variances, centres. Many at once, since an answer has many."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt

import numpy as np

from core.budget import Epsilon
from core.queries.uncertainty import Floats, Interval, radii, sums_of


@dataclass(frozen=True, slots=True, eq=False)
class Ratio:
    """sum of y a / sum of y for noisy counts y and weights a; without noise it would lie between the bounds."""

    counts: Floats
    weights: Floats
    bounds: tuple[float, float]

    @property
    def middle(self) -> float:
        """The ratio itself, which only a positive sum of counts has."""
        return float(np.clip(float(self.counts @ self.weights) / float(self.counts.sum()), *self.bounds))

    def kept(self, k: float, level: float) -> Interval:
        """Every theta with (sum of y (a - theta))^2 <= k sum of (a - theta)^2."""
        A, B = float(self.counts.sum()), float(self.counts @ self.weights)  # noqa: N806 - as in the formula
        a = A**2 - k * len(self.weights)
        if a <= 0.0:
            return Interval(level, *self.bounds)
        b = A * B - k * float(self.weights.sum())
        c = B**2 - k * float((self.weights**2).sum())
        root = sqrt(max(0.0, b**2 - a * c))  # not negative, since theta = B / A is always kept; but for rounding
        low, high = (float(np.clip(end, *self.bounds)) for end in ((b - root) / a, (b + root) / a))
        return Interval(level, low, high)


def ratio_intervals(epsilon: Epsilon, ratios: Sequence[Ratio], level: float, *, summed: int = 1) -> list[Interval]:
    """Intervals that hold however noisy the denominators are (Fieller 1954). Each count sums `summed` cells.

    theta is kept if B - theta A = sum of y (a - theta) is within the radius of its own noise, whose variance is
    s^2 sum of (a - theta)^2: a quadratic inequality in theta. Where it holds for arbitrarily large theta, the sum of
    counts cannot be told from zero, and the interval is all that the bounds allow.

    The radius in standard deviations depends a little on theta. So it is taken at the ratio first, then also at both
    ends of the interval which that gives, and the widest of the three serves.
    """
    found = [_without_noise(ratio, level) for ratio in ratios]
    noisy = [i for i, interval in enumerate(found) if interval is None]
    if noisy:
        some = [ratios[i] for i in noisy]
        at_middle = _factors(epsilon, some, [ratio.middle for ratio in some], level, summed)
        first = [ratio.kept(k, level) for ratio, k in zip(some, at_middle.tolist(), strict=True)]
        ends = [interval.low for interval in first] + [interval.high for interval in first]
        at_ends = _factors(epsilon, some * 2, ends, level, summed)
        widest = np.maximum(at_middle, at_ends.reshape(2, -1).max(axis=0))
        for i, ratio, k in zip(noisy, some, widest.tolist(), strict=True):
            found[i] = ratio.kept(k, level)
    return [interval for interval in found if interval is not None]


def _without_noise(ratio: Ratio, level: float) -> Interval | None:
    """Where no law of noise is needed: nothing to divide by, or one place, which is the ratio whatever the noise."""
    if float(ratio.counts.sum()) <= 0.0:
        return Interval(level, *ratio.bounds)
    if np.ptp(ratio.weights) == 0.0:
        return Interval(level, float(ratio.weights[0]), float(ratio.weights[0]))
    return None


def _factors(epsilon: Epsilon, ratios: Sequence[Ratio], thetas: Sequence[float], level: float, summed: int) -> Floats:
    """radius^2 / sum of (a - theta)^2 for each ratio at its theta."""
    offsets = [ratio.weights - theta for ratio, theta in zip(ratios, thetas, strict=True)]
    squares = np.array([np.square(offset).sum() for offset in offsets])
    factors: Floats = radii(epsilon, level, sums_of(offsets, float(summed))) ** 2 / squares
    return factors
