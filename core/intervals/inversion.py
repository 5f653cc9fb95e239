"""The tail of a sum of noise on a lattice, by inversion of its characteristic function.

Let S = sum over v = 1 … V of v (sum of n_v independent draws of Z), with whole v. With phi the characteristic function
of Z, that of S is phi_S(a) = prod over v of phi(v a)^n_v. On a circle of L points the probabilities are

    P(S = s) = (1 / L) sum over k = 0 … L - 1 of phi_S(2 pi k / L) exp(-2 pi i k s / L),

up to what lies beyond L / 2, which the caller makes negligible by the choice of L. S is symmetric, so a discrete cosine
transform of half the length does it.

Reference: Abate and Whitt (1992), the Fourier-series method for inverting transforms of probability distributions.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from scipy.fft import dct

from core.arrays import Floats
from core.mechanisms.law import NoiseLaw

ROUNDING = 1e-12  # the error that a transform in double precision may leave in a probability
SMALLEST_TAIL = 1e-9  # the smallest tail probability that a transform resolves well


@lru_cache(maxsize=16)
def characteristic_exponents(law: NoiseLaw, length: int, steps: int) -> Floats:
    """-log phi(v a) for v = 1 … steps (rows) and the angles a = 2 pi k / length, k = 0 … length / 2 (columns)."""
    angles = 2 * np.pi * np.arange(length // 2 + 1) / length
    exponents = law.characteristic_exponent(np.multiply.outer(np.arange(1, steps + 1), angles))
    exponents.flags.writeable = False
    return exponents


def tails(times: Floats, exponents: Floats, length: int) -> Floats:
    """P(|S| > r) for r = 0, 1, … length / 2 - 1 (columns), for each row n_1 … n_V of `times`."""
    exponent = times @ exponents
    law = dct(np.exp(np.negative(exponent, out=exponent), out=exponent), type=1, axis=1)[:, : length // 2]
    # law / length is P(S = s). P(|S| > r) = 1 - 2 (P(0) + … + P(r)) + P(0): both signs, but zero once.
    beyond: Floats = np.cumsum(law, axis=1)
    beyond *= -2.0 / length
    beyond += 1.0 + law[:, :1] / length
    return np.clip(beyond, 0.0, 1.0, out=beyond)


def scale(law: NoiseLaw, tabulated: NoiseLaw) -> float:
    """The factor from a radius under the tabulated law to one under a law of smaller rate: the standard deviations'."""
    return law.standard_deviation / tabulated.standard_deviation
