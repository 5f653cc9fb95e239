"""The paper's formulas: h(m), xi(m), Proposition 1, Theorem 2, and the EUGkM rule for comparison.

The paper's letters stay here, so that an equation can be checked by eye: N size, K clusters, d dimensions, m cells per
axis, M = m^d cells. `core.sharing` has the same rule for attributes of all kinds.
"""

from __future__ import annotations

import math
from math import ceil, exp, floor, inf, log, sqrt

from scipy.optimize import brentq


def expected_deviation(m: int, *, N: int, epsilon: float, K: int, d: int) -> float:
    """Bound h(m) on the expected K-means deviation, up to the factor d r^2 / K (Sec. III, after Eq. 9).

    h(m) = sqrt(2) m^(d/2) / (eps K^(2/d))  +  2 sqrt(N/3) / (m K^(1/d))  +  N / (3 m^2)
    """
    noise: float = sqrt(2) * _power(m, d / 2) / (epsilon * K ** (2 / d))  # Eq. (6)
    cross: float = 2 * sqrt(N / 3) / (m * K ** (1 / d))  # Eq. (8)
    quantisation = N / (3 * m**2)  # Eq. (9)
    return noise + cross + quantisation


def xi(m: float, *, N: int, epsilon: float, K: int, d: int) -> float:
    """h'(m) up to a positive factor: xi(m) = m^(d/2 + 2) - rho K^(1/d) m - rho sqrt(N/3) K^(2/d) (Sec. III)."""
    rho = epsilon / d * sqrt(8 * N / 3)
    value: float = _power(m, d / 2 + 2) - rho * K ** (1 / d) * m - rho * sqrt(N / 3) * K ** (2 / d)
    return value


def xi_root(*, N: int, epsilon: float, K: int, d: int) -> float:
    """The unique positive root of xi (Proposition 1).

    Solved for x = log m, as m^(d/2 + 2) = A m + B with both sides under a logarithm: nothing overflows, and the slope
    lies between d/2 + 1 and d/2 + 2. At x = log(2 max(A, B)^…) the left side wins against either term, at
    x = log(B^…) it loses: a bracket from the equation itself. (Holds for d = 1 too, where h is not convex.)
    """
    power = d / 2 + 2
    log_rho = log(epsilon / d) + log(8 * N / 3) / 2
    log_A = log_rho + log(K) / d
    log_B = log_rho + log(N / 3) / 2 + 2 * log(K) / d

    def excess(x: float) -> float:
        high, low = max(log_A + x, log_B), min(log_A + x, log_B)
        return power * x - high - log(1 + exp(low - high))

    lowest = log_B / power - 1e-9
    highest = max((log_A + log(2)) / (power - 1), (log_B + log(2)) / power) + 1e-9
    return exp(float(brentq(excess, lowest, highest, xtol=1e-14, rtol=1e-14)))


def cells_per_axis(*, N: int, epsilon: float, K: int, d: int) -> int:
    """The whole number that minimises h: one of the two beside the root of xi (Proposition 1).

    Gives all 108 RUGNIK entries of Table III; rounding the root to the nearest integer gives 106.
    """
    root = xi_root(N=N, epsilon=epsilon, K=K, d=d)
    beside = max(1, floor(root)), max(1, ceil(root))
    return min(beside, key=lambda m: expected_deviation(m, N=N, epsilon=epsilon, K=K, d=d))


def eugkm_cells_per_axis(*, N: int, epsilon: float, d: int) -> int:
    """The EUGkM rule, Eq. (3): M = (N eps / 10)^(2d / (2 + d)), so m = (N eps / 10)^(2 / (2 + d)), to the nearest."""
    return max(1, floor(_power(N * epsilon / 10, 2 / (2 + d)) + 0.5))


def epsilon_range(*, N: int, K: int, d: int) -> tuple[float, float]:
    """(eps0, eps1): Theorem 2 bounds M from below for epsilon >= eps0 and from above for epsilon <= eps1."""
    eps0 = d * sqrt(3 * K / (8 * N)) / (1 + sqrt(N / 3))
    eps1 = d * sqrt(2 * K) / 3 * _power(4 * N / 3, d / 4)
    return eps0, eps1


def cell_bounds(*, N: int, epsilon: float, K: int, d: int) -> tuple[float, float]:
    """Theorem 2: floor and ceiling of M, the optimal number of cells; 0 or infinity outside the range of epsilon."""
    eps0, eps1 = epsilon_range(N=N, K=K, d=d)
    eta = epsilon / d * sqrt(8 * N / 3) * (1 + sqrt(N / 3))
    gamma = 1 / (1 + sqrt(N / 3))
    power = 2 * d / (4 + d)
    low = floor(_power(eta * K ** (2 / d), power)) if epsilon >= eps0 else 0
    high = ceil(_power(gamma * sqrt(3 * N) * eta * K ** (2 / d), power)) if epsilon <= eps1 else inf
    return low, high


def _power(base: float, exponent: float) -> float:
    """base ** exponent, infinite where a double cannot hold it."""
    try:
        return math.pow(base, exponent)
    except OverflowError:
        return inf
