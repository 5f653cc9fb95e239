"""Radius of a sum of many cells: the normal law, corrected for kurtosis. S = sum of w_j Z_j, max |w_j| = 1.

By the central limit theorem S is nearly normal. With z the normal quantile at 1 - alpha / 2, sigma^2 = Var Z,
kappa the excess kurtosis of Z and n_eff = (sum of w^2)^2 / sum of w^4, so that S has the excess kurtosis kappa / n_eff,

    r = sigma sqrt(sum of w^2) (z + (z^3 - 3 z) / 24 kappa / n_eff) + 1 / 2,

the first Cornish-Fisher term (Cornish and Fisher 1938), never negative, and half a jump because S is discrete.

Far out a single heavy cell may matter more than all others. If Z is Laplace at rate e and N normal with the variance v
of all other cells, P(|Z + N| > r) <= exp(v e^2 / 2 - e r) for r > v e. The larger of the two radii serves.
"""

from __future__ import annotations

import numpy as np
from scipy.special import ndtri

from core.arrays import Floats
from core.intervals.levels import TINIEST
from core.mechanisms.law import NoiseLaw


def normal_radius(law: NoiseLaw, alpha: Floats, squares: Floats, effective: Floats) -> Floats:
    """Radii in units of the largest weight; `squares` has the sums of w^2 in that unit, `effective` n_eff."""
    unlikely = np.log(1.0 / np.maximum(alpha, TINIEST))
    z = -ndtri(np.maximum(alpha, TINIEST) / 2)
    corrected = z + np.maximum(z**3 - 3.0 * z, 0.0) / 24.0 * law.kurtosis / effective
    normal = law.standard_deviation * np.sqrt(squares) * corrected
    others = np.maximum(squares - 1.0, 0.0) * (law.standard_deviation * law.rate) ** 2 / 2.0  # v e^2 / 2
    heavy = np.where(others < unlikely, (unlikely + others) / law.rate, 0.0)
    radius: Floats = np.maximum(normal, heavy) + 0.5
    return radius
