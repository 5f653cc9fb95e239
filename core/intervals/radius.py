"""The radius of any weighted sum of noise: the r with P(|S| > r) <= alpha. Chooses the method.

A noisy count is t + Z, with Z of a public law and independent from cell to cell. So a sum over cells with weights w_j
is off by S = sum of w_j Z_j, whose law is known whatever the data. With kappa the excess kurtosis of Z and
n_eff = (sum of w^2)^2 / sum of w^4, S is as far from normal as a plain sum of 3 n_eff / kappa Laplace draws: the
"effective draws". The first method that applies serves:

1. `core.intervals.chernoff` if alpha < 10^-9, which no transform in double precision resolves;
2. `core.intervals.exact` for equal weights with fewer than 256 effective draws;
3. `core.intervals.lattice` for any weights with fewer than 16 effective draws (more for levels above 0.999), and no
   more than Chernoff's bound;
4. `core.intervals.normal` for all other sums.

Where a cell has the sum of s draws (`NoiseLaw.summed`), it stands for s cells of the same weight with a draw each.

Where most cells have no noise at all (a large rate), kappa is large, and more cells are needed to be "many".
"""

from __future__ import annotations

from math import log

import numpy as np
from numpy.typing import NDArray

from core.arrays import Floats
from core.intervals.chernoff import chernoff_radius
from core.intervals.exact import exact_radius
from core.intervals.inversion import SMALLEST_TAIL
from core.intervals.lattice import lattice_radius
from core.intervals.levels import TINIEST
from core.intervals.normal import normal_radius
from core.intervals.weighted_sums import Sums, down, plain_sums, up, weighted_sum
from core.mechanisms.law import NoiseLaw

# Effective draws from which the normal method serves. For equal weights the exact law costs little, and what jumps by
# whole numbers gains from it.
_MANY, _MANY_EQUAL = 16, 256


def radius(law: NoiseLaw, weights: Floats, times: float = 1.0, *, alpha: float) -> float:
    """The least r (or a little more) with P(|S| > r) <= alpha; each weight stands for `times` cells."""
    return float(radii(law, weighted_sum(weights, times), alpha=alpha)[0])


def equal_radius(law: NoiseLaw, cells: int, *, alpha: float) -> float:
    """The radius of a plain sum of so many cells."""
    return float(equal_radii(law, np.array([cells]), alpha=alpha)[0])


def equal_radii(law: NoiseLaw, cells: NDArray[np.int64], *, alpha: float) -> Floats:
    """The radii of plain sums of so many cells each."""
    return radii(law, plain_sums(cells), alpha=alpha)


def radii(law: NoiseLaw, sums: Sums, *, alpha: float | Floats) -> Floats:
    """The radius of each of many sums, with one alpha for all or each with its own; 0 where all weights are 0."""
    law, sums = law.single, sums.repeated(law.draws)
    radius_of_all = np.zeros(len(sums.squares))
    noisy = np.flatnonzero(sums.squares > 0.0)
    largest = sums.largest[noisy]
    tail = np.broadcast_to(np.asarray(alpha), radius_of_all.shape)[noisy]
    in_units = _in_units_of_the_largest(law, sums, noisy, tail)
    # The law has atoms exactly at the radius, and the rounding of sums must not leave them outside.
    radius_of_all[noisy] = in_units * largest * (1.0 + 1e-9)
    return radius_of_all


def _in_units_of_the_largest(law: NoiseLaw, sums: Sums, noisy: NDArray[np.int64], alpha: Floats) -> Floats:
    """The radii of the sums numbered `noisy`, as if the largest weight of each were 1."""
    squares, fourths = sums.squares[noisy], sums.fourths[noisy]
    relative = squares / sums.largest[noisy] ** 2  # the sum of w^2 in units of the largest weight
    effective = squares**2 / fourths  # n_eff
    draws = 3.0 * effective / law.kurtosis
    resolved = alpha >= SMALLEST_TAIL
    many = _MANY * np.maximum(1.0, np.log(np.maximum(alpha, TINIEST)) / log(1e-3)) ** 3
    is_exact = resolved & (draws < _MANY_EQUAL) & sums.equal[noisy]
    lattice = np.flatnonzero(resolved & (draws < many) & ~is_exact)

    result = normal_radius(law, alpha, relative, effective)
    for i in np.flatnonzero(is_exact).tolist():
        result[i] = exact_radius(law, float(alpha[i]), round(relative[i]))
    if len(lattice):
        rounded = (sums.steps(noisy[lattice], rounding) for rounding in (up, down))
        result[lattice] = lattice_radius(law, alpha[lattice], relative[lattice], *rounded)
    bounded = np.union1d(lattice, np.flatnonzero(~resolved))
    if len(bounded):
        bound = chernoff_radius(law, alpha[bounded], relative[bounded])
        result[bounded] = np.where(resolved[bounded], np.minimum(result[bounded], bound), bound)
    return result
