"""Intervals that follow from the known noise, for any weighted sum of cells.

A noisy count is t + Z with Z discrete Laplace, independent from cell to cell, so a sum over cells with weights w_j is
off by S = sum of w_j Z_j, whose law is known whatever the data. What is wanted is its radius: the r with
P(|S| <= r) >= level.

- n cells of weight 1: S is a sum of n independent draws. Its law is computed, not approximated: the characteristic
  function of Z to the power n, inverted by a Fourier transform.
- Fractional weights (a box that cuts cells): S has variance s^2 sum w^2 and the kurtosis of a sum of
  n' = (sum w^2)^2 / sum w^4 equal terms. The standardised radius changes little between such sums, so it is read off
  the exact ones at the whole numbers around n', the larger of the two. With all weights 1 this is the exact one.
- From _MANY effective cells on, the normal law: the exact radius is then within 0.1 % of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import ceil, floor, sqrt

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from core.budget import Epsilon
from core.noise import standard_deviation

Floats = NDArray[np.float64]
DEFAULT_LEVEL = 0.95
_MANY = 1024
# Below this epsilon the standardised law is that of the limit to four digits, and its table would only grow longer.
_FINEST = Epsilon.parse("0.05")


@dataclass(frozen=True, slots=True)
class Interval:
    """low to high, which holds what the noise-free counts would have answered with probability `level` or more."""

    level: float
    low: float
    high: float


def radius(epsilon: Epsilon, level: float, *, squares: float, fourths: float) -> float:
    """The least r (or a little more) with P(|S| <= r) >= level; squares = sum of w^2, fourths = sum of w^4."""
    if squares <= 0.0:
        return 0.0
    effective = squares**2 / fourths
    reach = standard_deviation(epsilon) * sqrt(squares) * _standard(epsilon, level, effective)
    # The law has atoms exactly at the radius, and rounding must not leave them outside: a whole radius stays whole, any
    # other is widened by more than the rounding of sums can take away.
    whole = round(reach)
    return float(whole) if abs(reach - whole) <= 1e-9 * max(1, whole) else reach * (1.0 + 1e-9)


def radii(epsilon: Epsilon, level: float, *, squares: Floats, fourths: Floats) -> Floats:
    """`radius` for many sums: those of many cells all at once, the others one by one."""
    reach = standard_deviation(epsilon) * normal_radius(level) * np.sqrt(squares) * (1.0 + 1e-9)
    for i in np.flatnonzero(squares**2 < _MANY * fourths).tolist():
        reach[i] = radius(epsilon, level, squares=float(squares[i]), fourths=float(fourths[i]))
    return reach


def _standard(epsilon: Epsilon, level: float, effective: float) -> float:
    """The radius in standard deviations of a sum of so many effective cells."""
    if effective >= _MANY:
        return normal_radius(level)
    around_it = {max(1, floor(effective + 1e-9)), max(1, ceil(effective - 1e-9))}
    return max(standard_radius(epsilon, level, n) for n in around_it)


@lru_cache(maxsize=4096)
def normal_radius(level: float) -> float:
    """The radius of a normal law in standard deviations."""
    return float(ndtri(0.5 + level / 2))


def around(value: float, reach: float, level: float) -> Interval:
    """value - reach to value + reach."""
    return Interval(level=level, low=value - reach, high=value + reach)


@lru_cache(maxsize=4096)
def standard_radius(epsilon: Epsilon, level: float, n: int) -> float:
    """The radius of a sum of n draws in units of its standard deviation, from the exact law."""
    law_epsilon = max(epsilon, _FINEST)
    upper = tail_of_sum(law_epsilon, n)
    # upper[r] = P(|S| > r): the first r at which it is small enough; entries beyond the array are smaller still.
    r = int(np.argmax(upper <= 1.0 - level + 1e-12))
    spread = standard_deviation(law_epsilon) * sqrt(n)
    return r / spread if spread > 0 else 0.0


@lru_cache(maxsize=64)
def tail_of_sum(epsilon: Epsilon, n: int) -> Floats:
    """P(|S| > r) for r = 0, 1, 2, … where S is a sum of n discrete Laplace draws."""
    spread = standard_deviation(epsilon) * sqrt(n)
    reach = ceil(40 / float(epsilon) + 12 * spread) + 2  # beyond it less than 10^-15 is left
    length = 1 << (2 * reach).bit_length()
    p = np.exp(-float(epsilon))
    angles = 2 * np.pi * np.arange(length // 2 + 1) / length
    # |1 - p exp(i t)|^2 = (1 - p)^2 + 4 p sin(t / 2)^2, written so that small p and small t lose no digits
    characteristic = (1.0 / (1.0 + 4 * p * np.sin(angles / 2) ** 2 / (1 - p) ** 2)) ** n
    law = np.fft.irfft(characteristic, n=length)[: length // 2]
    inside = law[0] + 2 * np.concatenate([[0.0], np.cumsum(law[1:])])
    tail: Floats = np.clip(1.0 - inside, 0.0, 1.0)
    tail.flags.writeable = False
    return tail
