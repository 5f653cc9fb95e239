"""The discrete vector Laplace law: noise for a vector of whole numbers that falls with the largest coordinate.

The law. For a rational rate e > 0 and every vector z of d whole numbers,

    P(Z = z) = C p^(max over x of |z_x|),    p = exp(-e),    1 / C = (1 - p) sum over k >= 0 of (2k + 1)^d p^k.

It is the K-norm mechanism (Hardt and Talwar 2010) for the largest coordinate as norm, on whole numbers; Steinke and
Ullman (2016) use the continuous one. A vector whose coordinates each change by at most S has L1 sensitivity d S, so
independent Laplace noise would need the rate epsilon / (d S) on each coordinate, of deviation sqrt(2) d S / epsilon.
Here each coordinate has the deviation sqrt((d + 1) (d + 2) / 3) S / epsilon, about: 2.1 times less at d = 8.

Privacy loss. Let neighbours have vectors t_j and t_j + delta_j in cell j, with the sum over cells of max |delta_j| at
most D. Cells have independent noise, so for noisy vectors y_j the two probabilities have the ratio

    prod over j of P(Z = y_j - t_j) / P(Z = y_j - t_j - delta_j)
        = p^(sum over j of max |y_j - t_j| - max |y_j - t_j - delta_j|),

which lies in [p^D, p^-D] = [exp(-D e), exp(D e)], because the largest coordinate is a norm and obeys the triangle
inequality. The rate e = epsilon / D makes the vectors epsilon-DP. A record changes the sums of one cell by at most S
on every axis; a unit has at most c records, each in one cell; so D = c S, whatever d is.

The rate is rational, nano / (10^9 c S), and `vector_laplace_sampler` uses it exactly. Moments and tails below are
floating-point values of exact formulas; they serve questions, which privacy does not depend on. They need

    sum over k >= 0 of (2k + 1)^n x^k = B_n(x) / (1 - x)^(n + 1),

where B_n is the Eulerian polynomial of type B (Brenti 1994), with positive coefficients: nothing cancels.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import log, sqrt

import numpy as np

from core.arrays import Floats
from core.budget import NANO, Epsilon
from core.errors import InvalidEpsilon
from core.mechanisms.discrete_laplace import DiscreteLaplace

MECHANISM = "discrete_vector_laplace"


@dataclass(frozen=True, slots=True)
class VectorLaplace:
    """Noise for vectors of `dimensions` whole numbers at the rate nano / (10^9 sensitivity).

    `nano` is epsilon in billionths. `sensitivity` is D, the most that one unit changes the largest coordinates by,
    added up over the cells. Raises InvalidEpsilon unless all are positive.
    """

    nano: int
    sensitivity: int
    dimensions: int

    def __post_init__(self) -> None:
        if min(self.nano, self.sensitivity, self.dimensions) < 1:
            raise InvalidEpsilon("Noise needs an epsilon above zero.")

    @classmethod
    def at(cls, epsilon: Epsilon, *, rows_per_unit: int, largest: int, dimensions: int) -> VectorLaplace:
        """The law that makes sums epsilon-DP, where a row changes a coordinate by at most `largest` (S)."""
        return cls(nano=epsilon.nano, sensitivity=rows_per_unit * largest, dimensions=dimensions)

    @property
    def exact_rate(self) -> Fraction:
        """e, as a rational number."""
        return Fraction(self.nano, NANO * self.sensitivity)

    @property
    def rate(self) -> float:
        """e, to double precision."""
        return self.nano / (NANO * self.sensitivity)

    @property
    def geometric(self) -> DiscreteLaplace:
        """The law whose upper half is geometric at the same rate: the sampler adds d + 1 draws of that."""
        return DiscreteLaplace(nano=self.nano, rows_per_unit=self.sensitivity)

    @property
    def variance(self) -> float:
        """Var Z_x = E k (k + 1) / 3 of one coordinate, which is uniform on -k … k for P(k) ~ (2k + 1)^d p^k.

        k (k + 1) = ((2k + 1)^2 - 1) / 4.
        """
        x = np.array(-self.rate)
        return float(np.expm1(_log_sum(self.dimensions + 2, x) - _log_sum(self.dimensions, x))) / 12.0

    @property
    def standard_deviation(self) -> float:
        """The square root of the variance."""
        return sqrt(self.variance)

    def log_mgf(self, t: Floats) -> Floats:
        """log E exp(t Z_x) of one coordinate, for 0 < t < e.

        E exp(t Z_x | k) = sinh((k + 1/2) t) / ((2k + 1) sinh(t / 2)), so E exp(t Z_x) is the difference of two of the
        sums above, at p exp(t) and p exp(-t), over 2 sinh(t / 2) and the sum at p.
        """
        d, e = self.dimensions, self.rate
        above = t / 2.0 + _log_sum(d - 1, t - e)
        below = -t / 2.0 + _log_sum(d - 1, -t - e)
        logs: Floats = above + np.log(-np.expm1(below - above)) - np.log(2.0 * np.sinh(t / 2.0))
        return np.maximum(logs - _log_sum(d, np.array(-e)), 0.0)

    def tail_radius(self, *, probability: float) -> float:
        """An r that one coordinate exceeds with at most this probability, to either side: Chernoff's bound."""
        t = self.rate * SHARES
        return float(((log(2.0 / probability) + self.log_mgf(t)) / t).min())

    def simulate(self, size: int, rng: np.random.Generator) -> Floats:
        """(size, d) vectors of nearly this law from a public generator, in floating point. They protect nobody."""
        reach = rng.gamma(self.dimensions + 1, 1.0 / self.rate, (size, 1))
        vectors: Floats = np.rint(reach * rng.uniform(-1.0, 1.0, (size, self.dimensions)))
        return vectors


# t as shares of the rate, for Chernoff's bound: small ones for sums of very many cells, large ones for few.
SHARES = np.concatenate([np.geomspace(1e-4, 1 / 64, 24), np.arange(1, 32) / 32])


def _log_sum(n: int, log_x: Floats) -> Floats:
    """log of the sum over k >= 0 of (2k + 1)^n x^k, for x = exp(log_x) < 1."""
    polynomial = np.polynomial.polynomial.polyval(np.exp(log_x), _eulerian(n))
    logs: Floats = np.log(polynomial) - (n + 1) * np.log(-np.expm1(log_x))
    return logs


@lru_cache(maxsize=128)
def _eulerian(n: int) -> tuple[float, ...]:
    """The coefficients of B_n: B(n, j) = (2j + 1) B(n - 1, j) + (2n - 2j + 1) B(n - 1, j - 1)."""
    row = [1]
    for i in range(1, n + 1):
        padded = [0, *row, 0]
        row = [(2 * j + 1) * padded[j + 1] + (2 * i - 2 * j + 1) * padded[j] for j in range(i + 1)]
    return tuple(float(each) for each in row)
