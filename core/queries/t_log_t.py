"""Estimates of t log t from a noisy count: what entropies are sums of, without the bias of the plain formula.

*Identity.* Let Z have the discrete Laplace law P(z) in proportion to q^|z|, and c = q / (1 - q)^2. For a function f on
all whole numbers that grows like a polynomial at most, and D f(y) = f(y + 1) - 2 f(y) + f(y - 1),

    E[f(t + Z) - c D f(t + Z)] = f(t).

*Why.* P(z) = a q^|z| with a = (1 - q) / (1 + q). For z other than 0, D P(z) = (q - 2 + 1 / q) P(z) = P(z) / c. At 0,
D P(0) = 2 a (q - 1) and P(0) - c D P(0) = a (1 + 2 q / (1 - q)) = 1. So P - c D P is 1 at 0 and 0 elsewhere. In
E D f(t + Z) = sum of P(z) D f(t + z), D can be moved to P (summation by parts; P falls faster than f grows), which
leaves sum of (P - c D P)(z) f(t + z) = f(t).

A cell that sums s draws needs the operator 1 - c D s times. Its expansion, sum over k of C(s, k) (-c)^k D^k f, is exact
with all s + 1 terms; but f has a kink where counts are near 0, D^k has entries up to 4^k, and the variance grows with
them. `estimator` takes the number of terms for which the sum over all cells is nearest to the truth, by the law alone,
before any count is seen. What the terms left out would have corrected is its bias: it is computed for every t from the
law, and `bias` is the most that it is.

*Extension.* Only t >= 0 occurs, and f(t) = t log |t| continues t log t as an odd function. The noise is symmetric, so
for cells without rows, the most frequent ones, the estimate has no bias with any number of terms.

References: Tsybakov (2009), for bias and variance; Ghosh, Roughgarden and Sundararajan (2009), for the law.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import ceil, sqrt

import numpy as np
from numpy.typing import NDArray

from core.arrays import Floats
from core.mechanisms.law import NoiseLaw

_MOST_TERMS = 8  # beyond the first
_WIDEST = 2_000.0  # standard deviations of noise that are tabulated
_PLAIN_BIAS = 0.6  # of a standard deviation: more than that of t log |t| itself, for Laplace (0.46) and normal noise


@dataclass(frozen=True, slots=True)
class Estimator:
    """Estimates t log t from t + Z, with Z of `law`: with `terms` corrections, off by at most `bias` on average."""

    law: NoiseLaw
    terms: int
    bias: float

    def __call__(self, noisy: NDArray[np.int64]) -> Floats:
        """The estimate for each noisy count, in nats."""
        around = np.arange(-self.terms, self.terms + 1)
        estimates: Floats = np.zeros(noisy.shape)
        for shift, weight in zip(around.tolist(), _weights(self.law, self.terms).tolist(), strict=True):
            estimates += weight * t_log_t(noisy + shift)
        return estimates


def t_log_t(t: NDArray[np.int64] | Floats) -> Floats:
    """t log |t|, and 0 for 0."""
    size = np.abs(t).astype(np.float64)
    values: Floats = np.sign(t) * size * np.log(np.where(size > 0.0, size, 1.0))
    return values


@lru_cache(maxsize=64)
def estimator(law: NoiseLaw, cells: int) -> Estimator:
    """The one whose sum over so many cells is off by the least: bias of every cell, and two standard deviations."""
    if law.standard_deviation > _WIDEST:
        return Estimator(law, 0, _PLAIN_BIAS * law.standard_deviation)
    off = {terms: _error(law, terms) for terms in range(min(law.draws, _MOST_TERMS) + 1)}
    terms = min(off, key=lambda number: cells * off[number][0] + 2.0 * sqrt(cells) * off[number][1])
    return Estimator(law, terms, off[terms][0])


def _weights(law: NoiseLaw, terms: int) -> Floats:
    """The weights of f(y - terms) … f(y + terms): the expansion of (1 - c D)^s, cut after so many powers of D.

    c is half the variance of a draw: Var Z = 2 q / (1 - q)^2.
    """
    c, weights = law.single.variance / 2.0, np.zeros(2 * terms + 1)
    power, factor = np.ones(1), 1.0
    for k in range(terms + 1):
        weights[terms - k : terms + k + 1] += factor * power
        power, factor = np.convolve(power, [1.0, -2.0, 1.0]), -factor * c * (law.draws - k) / (k + 1)
    return weights


def _error(law: NoiseLaw, terms: int) -> tuple[float, float]:
    """The largest bias and the largest standard deviation for t from 0 to eight standard deviations of the noise.

    By convolution with the law on a circle, long enough that next to none of it wraps around. A multiple of t is taken
    off t log t first, which no term changes: values stay small beside those at the cut of the circle. Bias falls like
    t^-(2 terms + 1): beyond, it is less.
    """
    sd = law.standard_deviation
    half = 1 << ceil(60.0 * sd + 200.0).bit_length() - 1
    places = np.fft.fftfreq(2 * half, 1.0 / (2 * half)).astype(np.int64)
    transform = np.exp(-law.characteristic_exponent(np.pi * np.arange(half + 1) / half))
    linear = np.log(sd + 1.0)
    wanted = t_log_t(places) - linear * places
    weights = _weights(law, terms)
    values = np.zeros(2 * half)
    for shift, weight in zip(range(-terms, terms + 1), weights.tolist(), strict=True):
        values += weight * (t_log_t(places + shift) - linear * (places + shift))
    values[np.abs(places) > 0.9 * half] = 0.0
    mean, square = (np.fft.irfft(np.fft.rfft(each) * transform, n=2 * half) for each in (values, values**2))
    near = slice(0, ceil(8.0 * sd) + 8)
    variance = np.maximum(square[near] - mean[near] ** 2, 0.0)
    return float(np.abs(mean[near] - wanted[near]).max()), sqrt(float(variance.max()))
