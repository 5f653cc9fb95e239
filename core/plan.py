"""Planning the grid from public numbers: h(m), xi(m), Proposition 1, Theorem 2, and the EUGkM rule for comparison.

The paper's letters stay here, so that an equation can be checked by eye: N size, K clusters, d dimensions, m cells per
axis, M = m^d cells. Nothing in this module takes records, so no grid can depend on a row.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from math import ceil, exp, floor, inf, log, sqrt
from typing import assert_never

from scipy.optimize import brentq

from core.budget import NOTHING, Epsilon
from core.domain.axis import MAX_CELLS_PER_AXIS
from core.domain.grid import MAX_DIMENSIONS, Grid
from core.errors import InvalidOrder, TooManyCells
from core.mechanisms.discrete_laplace import DiscreteLaplace
from core.mechanisms.threshold import least_threshold

MAX_EPSILON = Epsilon.parse("100")
MAX_SIZE = 10**12
DEFAULT_SHARE = Fraction(5, 100)
# With fewer attributes, whoever asks wants counts of any range, which a threshold would bias; there a grid is dense.
THRESHOLDED_DIMENSIONS = 4
MAX_THRESHOLDED_CELLS = 10**18  # a cell's number is a 64-bit integer


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


class Rule(StrEnum):
    """How the number of cells follows from the public numbers."""

    RUGNIK = "rugnik"
    EUGKM = "eugkm"


@dataclass(frozen=True, slots=True)
class DeclaredSize:
    """N, public, stated by the curator and recorded as their statement."""

    size: int

    def __post_init__(self) -> None:
        _require_size(self.size, "declared size")


@dataclass(frozen=True, slots=True)
class EstimatedSize:
    """N is private: a share of the epsilon buys a noisy count. The guess serves predictions, never the grid."""

    share: Fraction = DEFAULT_SHARE
    guess: int | None = None

    def __post_init__(self) -> None:
        if not 0 < self.share < 1:
            raise InvalidOrder("The share of epsilon that estimates the size lies between 0 and 1.")
        if self.guess is not None:
            _require_size(self.guess, "guess")


def _require_size(size: int, what: str) -> None:
    if not 1 <= size <= MAX_SIZE:
        raise InvalidOrder(f"The {what} is a whole number from 1 to {MAX_SIZE:,}.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """The public numbers that a grid follows from, as the curator asked for them."""

    dimensions: int
    epsilon: Epsilon
    clusters: int
    size: DeclaredSize | EstimatedSize
    rule: Rule = Rule.RUGNIK

    def __post_init__(self) -> None:
        if not 1 <= self.dimensions <= MAX_DIMENSIONS:
            raise InvalidOrder(f"An order has 1 to {MAX_DIMENSIONS} attributes.")
        if not NOTHING < self.epsilon <= MAX_EPSILON:
            raise InvalidOrder(f"The epsilon of an order is above 0 and at most {MAX_EPSILON}.")
        if self.clusters < 1:
            raise InvalidOrder("An order plans for at least one cluster.")
        if isinstance(self.size, EstimatedSize) and self.size_epsilon >= self.epsilon:
            raise InvalidOrder("The epsilon is too small to be shared between the size and the histogram.")

    @property
    def size_epsilon(self) -> Epsilon:
        """What the noisy size is bought with; nothing for a declared one."""
        match self.size:
            case DeclaredSize():
                return NOTHING
            case EstimatedSize(share=share):
                return self.epsilon.part(share)
            case _:
                assert_never(self.size)

    @property
    def histogram_epsilon(self) -> Epsilon:
        """What the cells are noised with: the rest."""
        return self.epsilon - self.size_epsilon


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The grid chosen for an Order: `size` is the N it was chosen for, `wanted` the m of the rule before any limit.

    With a `threshold` only cells whose noisy count reaches it are released (`core.mechanisms.survivors`).
    """

    order: Order
    size: int
    wanted: int
    grid: Grid
    threshold: int | None = None

    @property
    def counted_cells(self) -> int:
        """How many cells are counted at most: all, or, with a threshold, one for each row."""
        return self.grid.cell_count if self.threshold is None else self.size

    @property
    def expected_deviation(self) -> float:
        """(d r^2 / K) h(m) for r = 1: the paper's bound on the expected error of the K-means objective."""
        order, d, K = self.order, self.order.dimensions, self.order.clusters
        epsilon = float(order.histogram_epsilon)
        return d / K * expected_deviation(self.grid.cells_per_axis, N=self.size, epsilon=epsilon, K=K, d=d)


def make_plan(order: Order, *, max_cells: int, noisy_size: int | None = None) -> Plan:
    """The grid of an order: m by its rule, with at least K cells and at most `max_cells`.

    From THRESHOLDED_DIMENSIONS attributes on a grid may have more cells than that: it is then released with a
    threshold, which leaves out nearly all of its empty cells.

    A declared size is planned as the paper does, and a grid beyond the limit is refused. A size that is estimated comes
    as `noisy_size`, may be anything (below 1 counts as 1), and never leads to a refusal: that would select among draws.
    Noise can make it far too small, so m is at least what gives 4K cells; without that floor a noisy size costs up to
    2.4 times the deviation, with it 1.2 times at most.
    """
    d, K = order.dimensions, order.clusters
    allowed = MAX_THRESHOLDED_CELLS if d >= THRESHOLDED_DIMENSIONS else max_cells
    most = min(_floor_root(allowed, d), MAX_CELLS_PER_AXIS)
    if most**d < K:
        raise TooManyCells(wanted=K, allowed=most**d)
    match order.size:
        case DeclaredSize(size=N):
            if noisy_size is not None:
                raise InvalidOrder("A declared size takes no estimate.")
            m = wanted = _wanted(order, N)
            m = max(m, _ceil_root(K, d))
            if m > most:
                raise TooManyCells(wanted=m**d, allowed=most**d)
        case EstimatedSize():
            if noisy_size is None:
                raise InvalidOrder("The size of this order is bought first.")
            N = min(max(1, noisy_size), MAX_SIZE)
            wanted = _wanted(order, N)
            m = min(max(wanted, _ceil_root(4 * K, d)), most)
        case _:
            assert_never(order.size)
    threshold = least_threshold(m**d, DiscreteLaplace.at(order.histogram_epsilon)) if m**d > max_cells else None
    return Plan(order=order, size=N, wanted=wanted, grid=Grid.uniform(m, d), threshold=threshold)


def _wanted(order: Order, N: int) -> int:
    d, epsilon = order.dimensions, float(order.histogram_epsilon)
    match order.rule:
        case Rule.RUGNIK:
            return cells_per_axis(N=N, epsilon=epsilon, K=order.clusters, d=d)
        case Rule.EUGKM:
            return eugkm_cells_per_axis(N=N, epsilon=epsilon, d=d)
        case _:
            assert_never(order.rule)


def _floor_root(number: int, d: int) -> int:
    """The largest whole m with m^d <= number, exactly."""
    m = round(_power(number, 1 / d))
    while m**d > number:
        m -= 1
    while (m + 1) ** d <= number:
        m += 1
    return m


def _ceil_root(number: int, d: int) -> int:
    """The least whole m with m^d >= number, exactly."""
    m = _floor_root(number, d)
    return m if m**d == number else m + 1
