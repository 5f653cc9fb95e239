"""NoiseLaw: what is public about the noise of a cell, as one value that a synopsis carries.

Whoever computes an interval, a threshold or a likelihood asks the law. No formula of a particular law stands anywhere
else, except the proof in `core.intervals.listed`, which says so. A law cannot draw secret noise: samplers live in
modules of their own, which questions may not import (tests/contracts/test_imports.py).
"""

from __future__ import annotations

from fractions import Fraction
from typing import Protocol, Self

import numpy as np
from numpy.typing import NDArray

from core.arrays import Floats


class NoiseLaw(Protocol):
    """The law of a whole random number Z, symmetric about 0, with a tail that falls at an exponential rate."""

    def __hash__(self) -> int:
        """Laws are values: equal laws share the tables that are computed for them."""

    @property
    def mechanism(self) -> str:
        """The name that synopses and answers give to this family of laws."""

    @property
    def rows_per_unit(self) -> int:
        """c, the most rows that one protected unit may have: 1 where a unit is a record."""

    @property
    def single(self) -> NoiseLaw:
        """The law of the independent draws that Z is the sum of; this law, where Z is a single draw."""

    @property
    def draws(self) -> int:
        """The number of those draws."""

    def summed(self, times: int) -> NoiseLaw:
        """The law of a sum of so many independent draws of Z; this law for 1. Raises ValueError for less than 1."""

    @property
    def rate(self) -> float:
        """P(|Z| > r) falls like exp(-rate r), and E exp(t Z) is finite for |t| < rate. 1 / rate is a draw's scale."""

    @property
    def variance(self) -> float:
        """Var Z."""

    @property
    def standard_deviation(self) -> float:
        """sqrt(Var Z)."""

    @property
    def kurtosis(self) -> float:
        """The excess kurtosis E Z^4 / (Var Z)^2 - 3."""

    @property
    def mean_excess(self) -> float:
        """The largest E[Z - T | Z >= T] for whole T >= 0."""

    def tail_radius(self, *, probability: float) -> int:
        """The least whole r with P(|Z| > r) <= probability."""

    def rough_radius(self, log_inverse: float) -> float:
        """An r, not always whole, that |Z| exceeds with a probability of about exp(-log_inverse) < 1."""

    def probability_at_least(self, threshold: int) -> float:
        """P(Z >= threshold), for a whole threshold >= 0."""

    def upper_threshold(self, log_inverse: float) -> int:
        """The least whole T, about, with P(Z >= T) <= exp(-log_inverse)."""

    def log_mgf(self, t: Floats) -> Floats:
        """log E exp(t Z), for |t| < rate."""

    def characteristic_exponent(self, angles: Floats) -> Floats:
        """-log E exp(i a Z) for each angle a; real, since Z is symmetric, and not negative."""

    @property
    def kernel_reach(self) -> int:
        """Whole numbers from a noisy count beyond which P(Z = z) / P(Z = 0) is below 10^-6."""

    @property
    def negative_reach(self) -> int:
        """Noisy counts below minus this have its likelihood, up to a factor.

        0 where the noise is exponential on either side of 0: then this holds for every noisy count below 0.
        """

    def kernel_sums(self, terms: Floats, *, unit: int) -> Floats:
        """sum over t of terms[t] P(Z = unit (y - t)) / P(Z = 0), for y = 0, 1, … len(terms) - 1, along the first axis.

        The likelihood of a noisy count y given the probabilities `terms` of the true count t; likewise its moments. A
        law whose probabilities are not exponential averages them over units of more than 1.
        """

    def simulate(self, size: tuple[int, ...], rng: np.random.Generator) -> NDArray[np.int64]:
        """Draws of Z from a public seed, to show what noise can do. They protect nobody."""

    def with_rate_at_least(self, least: Fraction) -> Self:
        """This law if its rate is `least` or more, else the law of the same family at rate `least`."""
