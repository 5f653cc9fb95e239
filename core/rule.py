"""How many cells an axis gets: the paper's formulas, and the same rule for attributes of all kinds.

The paper's letters stay here, so that an equation can be checked by eye: N size, K clusters, d dimensions, m cells per
axis, M = m^d cells. h(m), xi(m), Proposition 1, Theorem 2 and the EUGkM rule are the paper's.

The rule for all kinds. Let d be the number of ordered attributes, m_x the cells of the values of attribute x, cap_x the
number of values that it has (infinite for a number), and C the product of the cells of all categories. Clusters are
placed on the ordered axes, so each of their cells is a sum over C cells, with C times the variance of the noise. The
mean of 1 / m_x^2 takes the place of 1 / m^2 in the error of moving rows to the centres of their cells:

    h(m_1, ... m_d) = sqrt(2 C prod m_x) / (eps K^(2/d))  +  2 sqrt(N/3) sqrt(mean 1/m_x^2) / K^(1/d)
                      +  (N/3) mean 1/m_x^2.

With C = 1 and equal m_x this is the paper's h. With equal m_x and any C it is the paper's h at eps / sqrt(C).

The best cells are m_x = min(m, cap_x) for a single m. Let P be the first term of h and q = sqrt(mean 1/m_x^2). Then

    dh / d log m_x = P / 2 - (1 / m_x^2) g,    g = 2 sqrt(N/3) / (K^(1/d) d q) + 2 N / (3 d).

P and g are the same for every x. At the minimum it is zero where m_x < cap_x, so these m_x are equal, say m. Where
m_x = cap_x it is zero or negative, so cap_x <= m.

Along m_x = min(m, cap_x), h falls and then rises in m. Its slope in log m is the sum, over the axes with cap_x > m, of
P / 2 - g / m^2. That has the sign of

    m P / 2 - 2 sqrt(N/3) / (K^(1/d) d m q) - 2 N / (3 d m).

P does not fall with m. Nor does m q = sqrt(mean (m / m_x)^2), where m / m_x = max(1, m / cap_x). So the first term
rises, the two that are subtracted do not rise, and the sign changes once. Beyond the largest cap h is constant. Hence
the least whole m with h(m + 1) >= h(m) has the least h of all whole m, and a binary search finds it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from math import ceil, exp, floor, inf, log, prod, sqrt

from scipy.optimize import brentq

Caps = Sequence[int | None]  # of each ordered attribute, how many values it has; None for any number


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


def cells_at(m: int, caps: Caps) -> tuple[int, ...]:
    """m cells on each axis, or as many as it has values: m_x = min(m, cap_x)."""
    return tuple(m if cap is None else min(m, cap) for cap in caps)


def deviation(cells: Sequence[int], *, N: int, epsilon: float, K: int, C: int) -> float:
    """h for m_x = cells[x] on each of d >= 1 ordered axes and C cells of categories (the module's docstring)."""
    d = len(cells)
    if len(set(cells)) == 1:
        return expected_deviation(cells[0], N=N, epsilon=epsilon / sqrt(C), K=K, d=d)
    mean = sum(1 / m**2 for m in cells) / d
    noise: float = sqrt(2 * C * prod(cells)) / (epsilon * K ** (2 / d))
    cross: float = 2 * sqrt(N / 3 * mean) / K ** (1 / d)
    return noise + cross + N / 3 * mean


def shared_cells(caps: Caps, *, N: int, epsilon: float, K: int, C: int) -> int:
    """The whole m for which m_x = min(m, cap_x) minimises h. Without caps below it, the paper's for eps / sqrt(C)."""
    m = cells_per_axis(N=N, epsilon=epsilon / sqrt(C), K=K, d=len(caps))
    if m < min((cap for cap in caps if cap is not None), default=inf):
        return m

    def h(m: int) -> float:
        return deviation(cells_at(m, caps), N=N, epsilon=epsilon, K=K, C=C)

    return least(lambda m: h(m + 1) >= h(m))


def eugkm_shared_cells(caps: Caps, *, N: int, epsilon: float, C: int) -> int:
    """The EUGkM rule for eps' = eps / sqrt(C): m_x = min(m, cap_x) with a product of (N eps' / 10)^(2d / (2 + d)).

    The m that the uncapped axes share is rounded to the nearest whole number.
    """
    d, rate = len(caps), epsilon / sqrt(C)
    log_M, free = 2 * d / (2 + d) * log(N * rate / 10), d
    for cap in sorted(cap for cap in caps if cap is not None):
        if free * log(cap) >= log_M:
            break
        log_M, free = log_M - log(cap), free - 1
    if free == d:
        return eugkm_cells_per_axis(N=N, epsilon=rate, d=d)
    if free == 0:
        return max(cap for cap in caps if cap is not None)
    return max(1, floor(exp(log_M / free) + 0.5))


def least(holds: Callable[[int], bool]) -> int:
    """The least whole m >= 1 for which `holds`. From there on it holds for every m."""
    high = 1
    while not holds(high):
        high *= 2
    low = high // 2  # does not hold there, or is 0
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high
