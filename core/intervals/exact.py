"""Exact radius of a plain sum: S = Z_1 + … + Z_n, all weights equal.

The characteristic function of S is phi(a)^n, with phi that of Z. `core.intervals.inversion` turns it into P(|S| > r)
for every whole r. Nothing is approximated but by double precision.

Below the rate 0.05, the law of S / sd(S) hardly depends on the rate any more. Then the radius at 0.05 is scaled by the
ratio of standard deviations, and one jump is added, instead of computing a longer table.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from math import ceil, sqrt

import numpy as np

from core.arrays import Floats
from core.intervals.inversion import ROUNDING, characteristic_exponents, scale, tails
from core.mechanisms.law import NoiseLaw

_LEAST_RATE = Fraction(1, 20)


def exact_radius(law: NoiseLaw, alpha: float, n: int) -> float:
    """The least r with P(|S| > r) <= alpha for a sum S of n draws: whole, unless it is scaled from a larger rate."""
    tabulated = law.with_rate_at_least(_LEAST_RATE)
    radius = _tabulated_radius(tabulated, alpha, n)
    return radius if tabulated is law else (radius + 1) * scale(law, tabulated)


@lru_cache(maxsize=4096)
def _tabulated_radius(law: NoiseLaw, alpha: float, n: int) -> int:
    # P(|S| > r) falls in r: the first r at which it is small enough. What lies beyond the array is smaller still.
    return int(np.argmax(tail_of_sum(law, n) <= alpha + ROUNDING))


@lru_cache(maxsize=64)
def tail_of_sum(law: NoiseLaw, n: int) -> Floats:
    """P(|S| > r) for r = 0, 1, 2, … where S is a sum of n draws of Z."""
    spread = law.standard_deviation * sqrt(n)
    reach = ceil(40 / law.rate + 12 * spread) + 2  # less than 10^-15 lies beyond it
    length = 1 << (2 * reach).bit_length()
    tail: Floats = tails(np.full((1, 1), float(n)), characteristic_exponents(law, length, 1), length)[0]
    tail.flags.writeable = False
    return tail
