"""Chernoff's bound on a sum of noise: it holds for every alpha, however small. S = sum of w_j Z_j, max |w_j| <= 1.

    P(|S| > r) <= 2 exp(-t r) E exp(t S),    so    r = (log(2 / alpha) + log E exp(t S)) / t

for any 0 < t < rate (Chernoff 1952). All cumulants of Z are positive or zero, so log E exp(t w Z) <= w^2 log E exp(t Z)
for |w| <= 1, and only the sum of w^2 enters. Several t are tried; the least r serves.
"""

from __future__ import annotations

import numpy as np

from core.arrays import Floats
from core.intervals.levels import TINIEST
from core.mechanisms.law import NoiseLaw

# t as shares of the rate: small ones for sums of very many cells, large ones for few.
_SHARES = np.concatenate([np.geomspace(1e-4, 1 / 64, 24), np.arange(1, 32) / 32])


def chernoff_radius(law: NoiseLaw, alpha: float | Floats, squares: Floats) -> Floats:
    """An r with P(|S| > r) <= alpha for each sum of w^2 in `squares`."""
    t = law.rate * _SHARES
    unlikely = np.log(2.0 / np.maximum(alpha, TINIEST))
    exponents = np.multiply.outer(squares, law.log_mgf(t)).T + unlikely
    radius: Floats = (exponents.T / t).min(axis=1)
    return radius
