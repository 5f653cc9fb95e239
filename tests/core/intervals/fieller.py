"""Fieller's interval for one ratio, step by step: the reference for the batch in `core.intervals.ratios`.

The ratio theta = sum of t a / sum of t of exact counts t and weights a is estimated from noisy counts y = t + Z. For
the true theta, sum of y (a - theta) = sum of Z (a - theta), a weighted sum of noise of known law. Fieller (1954) keeps
every theta for which the left side is within the radius of the right side.
"""

from __future__ import annotations

from math import sqrt

import numpy as np

from core.arrays import Floats
from core.intervals.radius import radius
from core.intervals.ratios import Ends, Ratio
from core.mechanisms.law import NoiseLaw


def factor(law: NoiseLaw, a: Floats, theta: float, alpha: float) -> float:
    """f = r(theta)^2 / sum of (a - theta)^2, with r the radius of sum of Z (a - theta)."""
    return radius(law, a - theta, alpha=alpha) ** 2 / float(((a - theta) ** 2).sum())


def solve(total: float, first: float, a: Floats, f: float, bounds: Ends) -> Ends:
    """All theta within the bounds with (B - theta A)^2 <= f sum of (a - theta)^2, where A = total and B = first."""
    quadratic = total**2 - f * len(a)
    linear = total * first - f * float(a.sum())
    constant = first**2 - f * float((a**2).sum())
    if quadratic <= 0.0:  # A cannot be told from zero
        return bounds
    root = sqrt(max(linear**2 - quadratic * constant, 0.0))
    low, high = ((linear + sign * root) / quadratic for sign in (-1, 1))
    return min(max(low, bounds[0]), bounds[1]), min(max(high, bounds[0]), bounds[1])


def fieller_interval(law: NoiseLaw, ratio: Ratio, alpha: float) -> Ends:
    """The interval of one ratio; every cell by itself, whatever `times` says."""
    total = float(ratio.counts.sum())
    if not len(ratio.weights) or total <= 0.0:
        return ratio.bounds
    a = np.repeat(ratio.weights, ratio.times.astype(np.int64))
    if a.min() == a.max():
        return float(a[0]), float(a[0])
    first = float(ratio.counts @ ratio.weights)
    estimate = min(max(first / total, ratio.bounds[0]), ratio.bounds[1])
    f = factor(law, a, estimate, alpha)
    ends = solve(total, first, a, f, ratio.bounds)
    if ends != ratio.bounds:
        f = max(f, *(factor(law, a, end, alpha) for end in ends))
    return solve(total, first, a, f, ratio.bounds)
