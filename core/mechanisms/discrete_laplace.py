"""The discrete Laplace law (two-sided geometric) and its privacy loss. Its exact sampler: `discrete_laplace_sampler`.

The law. For a rational rate e > 0 and every whole number z,

    P(Z = z) = (1 - p) / (1 + p) p^|z|,    p = exp(-e).

Privacy loss (Dwork et al. 2006; Ghosh, Roughgarden and Sundararajan 2009). Let the counts of neighbours differ by
delta_j in cell j, with sum of |delta_j| <= c. Cells have independent noise, so for noisy counts y the two probabilities
have the ratio

    prod over j of P(t_j + Z = y_j) / P(t_j + delta_j + Z = y_j) = p^(sum of |y_j - t_j| - |y_j - t_j - delta_j|),

which lies in [p^c, p^-c] = [exp(-c e), exp(c e)] by the triangle inequality: the histogram is (c e)-DP. If a unit (a
record, or a person) has at most c rows, the rate e = epsilon / c makes it epsilon-DP. For records c = 1.

The rate is rational, nano / (10^9 c), and the sampler uses it exactly: this is the law of the program, not of an
idealisation of it. The moments and tails below are floating-point values of exact formulas; they serve questions, which
privacy does not depend on.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil, exp, expm1, log, log1p, sqrt

import numpy as np
from numpy.typing import NDArray

from core.arrays import Floats
from core.budget import NANO, Epsilon
from core.errors import InvalidEpsilon
from core.mechanisms.summed_laplace import SummedLaplace

MECHANISM = "discrete_laplace"
_LARGEST_RATE = 600.0  # of moments: beyond it they are those at this rate, which are a bound


@dataclass(frozen=True, slots=True)
class DiscreteLaplace:
    """Discrete Laplace noise at the rate nano / (10^9 rows_per_unit): a `core.mechanisms.law.NoiseLaw`.

    `nano` is epsilon in billionths. `rows_per_unit` is c, the most rows that one protected unit may have.
    Raises InvalidEpsilon unless both are positive: an epsilon of zero would be infinite noise, not none.
    """

    nano: int
    rows_per_unit: int = 1

    def __post_init__(self) -> None:
        if self.nano < 1 or self.rows_per_unit < 1:
            raise InvalidEpsilon("Noise needs an epsilon above zero.")

    @classmethod
    def at(cls, epsilon: Epsilon, *, rows_per_unit: int = 1) -> DiscreteLaplace:
        """The law that makes counts epsilon-DP for units of at most so many rows."""
        return cls(nano=epsilon.nano, rows_per_unit=rows_per_unit)

    @property
    def mechanism(self) -> str:
        """The name of this family of laws in synopses and answers."""
        return MECHANISM

    @property
    def exact_rate(self) -> Fraction:
        """e, as a rational number."""
        return Fraction(self.nano, NANO * self.rows_per_unit)

    @property
    def rate(self) -> float:
        """e, to double precision."""
        return self.nano / (NANO * self.rows_per_unit)

    @property
    def single(self) -> DiscreteLaplace:
        """This law."""
        return self

    @property
    def draws(self) -> int:
        """1."""
        return 1

    def summed(self, times: int) -> DiscreteLaplace | SummedLaplace:
        """The law of a sum of so many independent draws; this law for 1. Raises ValueError for less than 1."""
        return self if times == 1 else SummedLaplace(self, times)

    def with_rate_at_least(self, least: Fraction) -> DiscreteLaplace:
        """This law if its rate is `least` or more, else the law at rate `least`, which must divide into billionths."""
        enough = self.nano * least.denominator >= least.numerator * NANO * self.rows_per_unit
        return self if enough else DiscreteLaplace(int(least * NANO))

    @property
    def _p(self) -> float:
        """p for moments: no less than e^-600, so that neither it nor its products with small numbers become zero."""
        return exp(-min(self.rate, _LARGEST_RATE))

    @property
    def variance(self) -> float:
        """Var Z = 2 p / (1 - p)^2, close to 2 / e^2 when e is small."""
        return 2.0 * self._p / expm1(-self.rate) ** 2

    @property
    def standard_deviation(self) -> float:
        """The square root of the variance."""
        return sqrt(self.variance)

    @property
    def kurtosis(self) -> float:
        """Excess kurtosis (p^2 + 4 p + 1) / (2 p): close to 3 (Laplace) when e is small; large when Z is mostly 0."""
        p = self._p
        return (p * p + 4.0 * p + 1.0) / (2.0 * p)

    @property
    def mean_excess(self) -> float:
        """E[Z - T | Z >= T] = p / (1 - p) for T >= 0: given Z >= T, Z - T is geometric, whatever T is."""
        return 1.0 / expm1(self.rate)

    def tail_radius(self, *, probability: float) -> int:
        """The least whole r with P(|Z| > r) <= probability, where P(|Z| > r) = 2 p^(r + 1) / (1 + p).

        Divide `probability` by M for a bound on all of M cells at once (the paper's Remark 1, for the discrete law).
        """
        exponent = log(2.0 / probability) - log1p(exp(-self.rate))  # p^(r + 1) <= probability (1 + p) / 2
        return max(0, ceil(exponent / self.rate - 1.0))

    def rough_radius(self, log_inverse: float) -> float:
        """log_inverse / e, because P(|Z| > r) <= exp(-e r) for whole r."""
        return log_inverse / self.rate

    def probability_at_least(self, threshold: int) -> float:
        """P(Z >= T) = p^T / (1 + p), for T >= 0."""
        return exp(-self.rate * threshold - log1p(exp(-self.rate)))

    def upper_threshold(self, log_inverse: float) -> int:
        """The least whole T, up to rounding, with P(Z >= T) = p^T / (1 + p) <= exp(-log_inverse)."""
        return ceil((log_inverse - log1p(exp(-self.rate))) / self.rate)

    def log_mgf(self, t: Floats) -> Floats:
        """log E exp(t Z) = -log(1 - p (exp(t) + exp(-t) - 2) / (1 - p)^2), for |t| < e.

        exp(t) + exp(-t) - 2 = 4 sinh(t / 2)^2 and (1 - p)^2 / p = 4 sinh(e / 2)^2: in this form a tiny e loses no
        digits.
        """
        growth: Floats = -np.log1p(-((np.sinh(t / 2) / np.sinh(self.rate / 2)) ** 2))
        return growth

    def characteristic_exponent(self, angles: Floats) -> Floats:
        """-log E exp(i a Z) = log(1 + 4 p sin(a / 2)^2 / (1 - p)^2).

        E exp(i a Z) = (1 - p)^2 / |1 - p exp(i a)|^2 and |1 - p exp(i a)|^2 = (1 - p)^2 + 4 p sin(a / 2)^2: in this
        form small p and small angles lose no digits.
        """
        p = exp(-self.rate)
        exponents: Floats = np.log1p(4 * p * np.sin(angles / 2) ** 2 / (1 - p) ** 2)
        return exponents

    @property
    def kernel_reach(self) -> int:
        """14 / e, rounded up: exp(-14) is below 10^-6."""
        return ceil(14 / self.rate)

    @property
    def negative_reach(self) -> int:
        """0: for y <= 0 <= t, exp(-e |y - t|) is exp(-e |y|) exp(-e t)."""
        return 0

    def kernel_sums(self, terms: Floats, *, unit: int) -> Floats:
        """sum over t of terms[t] exp(-e unit |y - t|), for y = 0, 1, … along the first axis.

        Two recurrences of positive terms, one up and one down in t, so that nothing cancels:
        A(y) = terms[y] + exp(-e unit) A(y - 1) and B(y) = exp(-e unit) (B(y + 1) + terms[y + 1]); the sum is A + B.
        """
        kernel = np.exp(-self.rate * unit)
        sums = terms.copy()
        for y in range(1, len(terms)):
            sums[y] += kernel * sums[y - 1]
        above = np.zeros(sums.shape[1:])
        for y in range(len(terms) - 2, -1, -1):
            above = kernel * (above + terms[y + 1])
            sums[y] += above
        return sums

    def simulate(self, size: tuple[int, ...], rng: np.random.Generator) -> NDArray[np.int64]:
        """Differences of two geometric numbers from a public generator, in floating point. They protect nobody."""
        success = -np.expm1(-self.rate)
        draws: NDArray[np.int64] = rng.geometric(success, size) - rng.geometric(success, size)
        return draws
