"""The law of a sum of s independent draws of discrete Laplace noise: the noise of a cell that is a sum of s cells.

Let Z_1, …, Z_s be draws at the rate e, p = exp(-e), and S = Z_1 + … + Z_s. Cumulants add up, so moments and transforms
follow from those of a draw. S is a difference of two negative binomial numbers, and for z >= 0 a mixture of them:

    P(S = z) = sum over k = 1 … s of b_k C(z + k - 1, z) (1 - p)^k p^z.

*Why.* For p < |w| < 1 / p, E w^S = (1 - p)^(2 s) (1 - p w)^-s (1 - p / w)^-s. The probabilities of z >= 0 come from the
pole at w = 1 / p. With u = 1 - p w and q = 1 - p^2,

    (1 - p / w)^-s = q^-s ((1 - u) / (1 - u / q))^s = q^-s sum over j of c_j (u / q)^j,

so the coefficient of (1 - p w)^-(s - j) is (1 - p)^(2 s) q^-(s + j) c_j. Divided by (1 - p)^(s - j), the weight of a
negative binomial law with k = s - j, it is

    b_(s - j) = c_j (1 + p)^-(s + j).

h(v) = ((1 - q v) / (1 - v))^s = (1 + p^2 v / (1 - v))^s has the coefficients c_j, none of them negative, and satisfies
(1 - v) (1 - q v) h' = s p^2 h, so

    (j + 1) c_(j + 1) = ((1 + q) j + s p^2) c_j - q (j - 1) c_(j - 1),    c_0 = 1,  c_1 = s p^2.

All terms of the mixture are positive: nothing cancels, and tails keep their digits, however thin they are. Weights
below 10^-300 of the largest are left out.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from math import ceil, exp, expm1, log, log1p, sqrt
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import toeplitz
from scipy.special import betaincc, betaln, diric

from core.arrays import Floats

if TYPE_CHECKING:
    from core.mechanisms.discrete_laplace import DiscreteLaplace

_NEGLIGIBLE = 1e-6  # of P(S = 0): probabilities beyond `kernel_reach`
_LOG_TINIEST = -690.0  # logarithm of the smallest weight that counts, beside the largest
_LONGEST = 2.0**18  # points on either side of 0 at which a transform gives the law


@dataclass(frozen=True, slots=True)
class SummedLaplace:
    """The sum of `draws` independent draws of the law `single`: a `core.mechanisms.law.NoiseLaw`.

    `DiscreteLaplace.summed` makes it. Raises ValueError for fewer than two draws: one draw has the law `single`.
    """

    single: DiscreteLaplace
    draws: int

    def __post_init__(self) -> None:
        if self.draws < 2:
            raise ValueError("A sum of noise has two draws or more.")

    def summed(self, times: int) -> SummedLaplace:
        """The law of a sum of so many independent draws of this law."""
        return self if times == 1 else SummedLaplace(self.single, self.draws * times)

    @property
    def mechanism(self) -> str:
        """That of a draw."""
        return self.single.mechanism

    @property
    def rows_per_unit(self) -> int:
        """That of a draw."""
        return self.single.rows_per_unit

    @property
    def rate(self) -> float:
        """That of a draw: P(|S| > r) falls like a polynomial times exp(-e r)."""
        return self.single.rate

    def with_rate_at_least(self, least: Fraction) -> SummedLaplace:
        """This law if its rate is `least` or more, else the sum of as many draws at rate `least`."""
        single = self.single.with_rate_at_least(least)
        return self if single is self.single else SummedLaplace(single, self.draws)

    @property
    def variance(self) -> float:
        """s Var Z."""
        return self.draws * self.single.variance

    @property
    def standard_deviation(self) -> float:
        """The square root of the variance."""
        return sqrt(self.variance)

    @property
    def kurtosis(self) -> float:
        """That of a draw, divided by s."""
        return self.single.kurtosis / self.draws

    @property
    def mean_excess(self) -> float:
        """E[S | S >= 0], the largest E[S - T | S >= T]: S is log-concave, so these fall as T grows.

        A negative binomial number has the mean k p / (1 - p).
        """
        number, weights = _mixture(self.rate, self.draws)
        return float((weights * number).sum() / weights.sum()) / expm1(self.rate)

    def tail_radius(self, *, probability: float) -> int:
        """The least whole r with P(|S| > r) = 2 P(S >= r + 1) <= probability."""
        return max(0, _threshold(self, probability / 2.0) - 1)

    def rough_radius(self, log_inverse: float) -> float:
        """The tail radius."""
        return float(self.tail_radius(probability=exp(-log_inverse)))

    def probability_at_least(self, threshold: int) -> float:
        """P(S >= T), for T >= 0: tails of negative binomial laws, which are incomplete beta functions."""
        number, weights = _mixture(self.rate, self.draws)
        if threshold == 0:
            return float(weights.sum())
        return float((weights * betaincc(number, threshold, -expm1(-self.rate))).sum())

    def upper_threshold(self, log_inverse: float) -> int:
        """The least whole T >= 0 with P(S >= T) <= exp(-log_inverse)."""
        return _threshold(self, exp(-log_inverse))

    def log_mgf(self, t: Floats) -> Floats:
        """s log E exp(t Z), for |t| < e."""
        growth: Floats = self.draws * self.single.log_mgf(t)
        return growth

    def characteristic_exponent(self, angles: Floats) -> Floats:
        """-s log E exp(i a Z)."""
        exponents: Floats = self.draws * self.single.characteristic_exponent(angles)
        return exponents

    def probability(self, value: int) -> float:
        """P(S = z), by the mixture of the module's docstring; C(z + k - 1, z) = 1 / ((z + k) B(z + 1, k))."""
        z, e = abs(value), self.rate
        number, weights = _mixture(e, self.draws)
        logs = number * log(-expm1(-e)) - e * z - betaln(z + 1.0, number) - np.log(z + number)
        return float((weights * np.exp(logs)).sum())

    @property
    def kernel_reach(self) -> int:
        """The least whole z with P(S = z) / P(S = 0) below 10^-6; P(S = z) falls from 0 on."""
        return _kernel_reach(self)

    @property
    def negative_reach(self) -> int:
        """`kernel_reach`: only farther out the law is nearly exponential."""
        return self.kernel_reach

    def kernel_sums(self, terms: Floats, *, unit: int) -> Floats:
        """sum over t of terms[t] K(y - t) / K(0), for y = 0, 1, … along the first axis.

        K(k) = sum over |i| < u of (1 - |i| / u) P(S = u k + i), u = `unit`: how likely a noisy count lies in unit y, if
        the true count is equally likely to be each of the u numbers of unit t. For u = 1, K(k) = P(S = k).
        `terms` are not negative, so nothing cancels.
        """
        kernel = toeplitz(_kernel(self.single, self.draws, unit, len(terms)))
        sums: Floats = (kernel @ terms.reshape(len(terms), -1)).reshape(terms.shape)
        return sums

    def simulate(self, size: tuple[int, ...], rng: np.random.Generator) -> NDArray[np.int64]:
        """Differences of two negative binomial numbers from a public generator. They protect nobody."""
        success = -np.expm1(-self.rate)
        draws: NDArray[np.int64] = rng.negative_binomial(self.draws, success, size)
        draws -= rng.negative_binomial(self.draws, success, size)
        return draws

    def _far(self, log_inverse: float) -> int:
        """A T with P(S >= T) <= exp(-log_inverse): Chernoff's bound at t = e / 2."""
        t = self.rate / 2.0
        growth = float(self.log_mgf(np.array([t]))[0])
        return max(1, ceil((log_inverse + growth) / t))


def _least(holds: Callable[[int], bool], most: int) -> int:
    """The least whole number up to `most` for which `holds`; it holds for `most` and from the least one on."""
    return bisect_left(range(most), True, key=holds)


@lru_cache(maxsize=4096)
def _threshold(law: SummedLaplace, probability: float) -> int:
    """The least whole T >= 0 with P(S >= T) <= probability."""
    return _least(lambda whole: law.probability_at_least(whole) <= probability, law._far(-log(probability)))


@lru_cache(maxsize=64)
def _kernel_reach(law: SummedLaplace) -> int:
    least = _NEGLIGIBLE * law.probability(0)
    return _least(lambda z: law.probability(z) < least, law._far(1.0 - log(least)))


@lru_cache(maxsize=64)
def _mixture(rate: float, draws: int) -> tuple[Floats, Floats]:
    """(k, b_k) for every k whose weight counts. Ratios c_(j + 1) / c_j keep small and large numbers within bounds."""
    s, p2, q = draws, exp(-2.0 * rate), -expm1(-2.0 * rate)
    logs = np.full(s, -s * log1p(exp(-rate)))
    steps, ratio = np.empty(s - 1), 1.0
    steps[0] = log(s) - 2.0 * rate
    for j in range(1, s - 1):
        ratio = ((1.0 + q) * j + s * p2 - q * (j - 1) / ratio) / (j + 1)
        steps[j] = log(ratio)
    logs[1:] += np.cumsum(steps - log1p(exp(-rate)))
    kept = np.flatnonzero(logs - logs.max() > _LOG_TINIEST)
    number, weights = (s - kept).astype(np.float64), np.exp(logs[kept])
    for array in (number, weights):
        array.flags.writeable = False
    return number, weights


@lru_cache(maxsize=16)
def _kernel(single: DiscreteLaplace, draws: int, unit: int, length: int) -> Floats:
    """K(k) / K(0) for k = 0 … length - 1, by inversion of the characteristic function on a circle; 0 beyond half of it.

    Where S reaches beyond 2^18, a unit is divided into fewer parts than whole numbers, and the rate is larger in
    proportion: noise that wide has the same shape in steps of its parts. This serves units of `kernel_reach` / 1000 and
    more. The Fejer kernel (1 / u) (sin(u a / 2) / sin(a / 2))^2 is the transform of the weights 1 - |i| / u.
    """
    reach = _reach(single, draws)
    parts = unit if reach <= _LONGEST else max(1, int(unit * _LONGEST / reach))
    if parts < unit:
        single = replace(single, nano=single.nano * unit, rows_per_unit=single.rows_per_unit * parts)
    circle = 1 << ceil(2.0 * (_reach(single, draws) + parts)).bit_length()
    angles = 2.0 * np.pi * np.arange(circle // 2 + 1) / circle
    transform = np.exp(-draws * single.characteristic_exponent(angles)) * diric(angles, parts) ** 2
    inverse = np.fft.irfft(transform, n=circle)[: circle // 2 : parts][:length]
    kernel = np.zeros(length)
    kernel[: len(inverse)] = np.maximum(inverse / inverse[0], 0.0)  # rounding may leave less than 0 far out
    kernel.flags.writeable = False
    return kernel


def _reach(single: DiscreteLaplace, draws: int) -> float:
    """Less than 10^-15 of the law of the sum lies beyond this."""
    return 40.0 / single.rate + 12.0 * single.standard_deviation * sqrt(draws)
