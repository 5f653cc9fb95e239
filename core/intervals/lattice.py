"""Radius of a sum of few cells with different weights, on a lattice: S = sum of w_j Z_j, max |w_j| = 1.

Weights are rounded to multiples of 1 / V, V = STEPS = 32. The rounded sum lives on the lattice of multiples of 1 / V,
and `core.intervals.inversion` gives its exact law. Once all weights are rounded up, which mostly gives the wider law;
once all are rounded down, because smaller weights keep S closer to the few values that it may jump between (some whole
cells and many thin slivers). The larger radius serves, widened by 0.5 % and two steps for jumps that rounding moved.

Below the rate 0.25 the radius at 0.25 is scaled by the ratio of standard deviations, with half a jump added.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from core.arrays import Floats
from core.intervals.chernoff import chernoff_radius
from core.intervals.inversion import ROUNDING, characteristic_exponents, scale, tails
from core.intervals.weighted_sums import STEPS
from core.mechanisms.law import NoiseLaw

_LEAST_RATE = Fraction(1, 4)
_AT_ONCE = 2**21  # lattice points of all sums that are transformed together


def lattice_radius(law: NoiseLaw, alpha: Floats, squares: Floats, up: Floats, down: Floats) -> Floats:
    """Radii in units of the largest weight. `squares` holds the sums of w^2; see `Sums.steps` for `up` and `down`."""
    both = np.concatenate([up, down])
    wide = _rounded_radius(law, np.tile(alpha, 2), np.tile(squares, 2), both)
    radius: Floats = wide.reshape(2, -1).max(axis=0)
    return radius


def _rounded_radius(law: NoiseLaw, alpha: Floats, squares: Floats, steps: Floats) -> Floats:
    """The radius of each rounded sum; row i of `steps` counts its cells of weight 1 / V, 2 / V, … 1."""
    tabulated = law.with_rate_at_least(_LEAST_RATE)
    # The law is computed on a circle: what lies beyond half of it must be negligible beside alpha.
    rounded = np.maximum(squares, steps @ (np.arange(1, STEPS + 1) / STEPS) ** 2)
    reach = STEPS * chernoff_radius(tabulated, alpha * 1e-3, rounded) + STEPS
    powers = 2.0 ** np.ceil(np.log2(2.0 * reach))
    lengths = np.where(reach <= 0.375 * powers, 0.75 * powers, powers).astype(np.int64)
    radius = np.empty(len(squares))
    for length in np.unique(lengths).tolist():
        rows = np.flatnonzero(lengths == length)
        exponents = characteristic_exponents(tabulated, length, STEPS)
        for start in range(0, len(rows), max(1, _AT_ONCE // length)):
            part = rows[start : start + max(1, _AT_ONCE // length)]
            beyond = tails(steps[part], exponents, length)
            least = np.argmax(beyond <= alpha[part, None] + ROUNDING, axis=1)
            radius[part] = (1.005 * least + 2) / STEPS
    return radius if tabulated is law else (radius + 0.5) * scale(law, tabulated)
