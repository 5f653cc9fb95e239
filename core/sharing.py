"""How many cells each ordered attribute gets where attributes have kinds: the paper's rule (`core.rule`) in general.

Let d be the number of ordered attributes, m_x the cells of the values of attribute x, cap_x the
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

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import exp, floor, inf, log, prod, sqrt

from core.domain.attribute import Attribute
from core.rule import cells_per_axis, eugkm_cells_per_axis, expected_deviation


@dataclass(frozen=True, slots=True)
class Shape:
    """What a grid of attributes has in common for every m.

    `caps` has the number of values of each ordered attribute (None for any number), `missing` its cells of missing
    values (0 or 1), and `categories` is C, the product of the cells of all categories.
    """

    caps: tuple[int | None, ...]
    missing: tuple[int, ...]
    categories: int

    @classmethod
    def of(cls, attributes: Iterable[Attribute]) -> Shape:
        """The shape of grids over these attributes."""
        listed = list(attributes)
        ordered = [each for each in listed if each.is_ordered]
        return cls(
            caps=tuple(each.most_cells for each in ordered),
            missing=tuple(int(each.keeps_missing) for each in ordered),
            categories=prod(each.axis(1).cells for each in listed if not each.is_ordered),
        )

    @property
    def least_cap(self) -> float:
        """The least of the caps; infinite where there are none."""
        return min((cap for cap in self.caps if cap is not None), default=inf)

    def ordered_cells(self, m: int) -> tuple[int, ...]:
        """m_x = min(m, cap_x): m cells for the values of each ordered attribute, or one for each value."""
        return tuple(m if cap is None else min(m, cap) for cap in self.caps)

    def cell_count(self, m: int) -> int:
        """All cells of the grid for m, those of missing values included."""
        pairs = zip(self.ordered_cells(m), self.missing, strict=True)
        return self.categories * prod(cells + missing for cells, missing in pairs)

    def attainable(self, number: int) -> int:
        """So many cells of ordered values, or as many as there can be where that is less."""
        return number if None in self.caps else min(number, prod(cap for cap in self.caps if cap is not None))

    def least_for(self, number: int) -> int:
        """The least m with so many cells of ordered values, or with as many as there can be."""
        wanted = self.attainable(number)
        return least(lambda m: prod(self.ordered_cells(m)) >= wanted)


def deviation(cells: Sequence[int], *, N: int, epsilon: float, K: int, C: int) -> float:
    """h for m_x = cells[x] on each of d >= 1 ordered axes and C cells of categories (the module's docstring)."""
    d = len(cells)
    if len(set(cells)) == 1:
        return expected_deviation(cells[0], N=N, epsilon=epsilon / sqrt(C), K=K, d=d)
    mean = sum(1 / m**2 for m in cells) / d
    noise: float = sqrt(2 * C * prod(cells)) / (epsilon * K ** (2 / d))
    cross: float = 2 * sqrt(N / 3 * mean) / K ** (1 / d)
    return noise + cross + N / 3 * mean


def shared_cells(shape: Shape, *, N: int, epsilon: float, K: int) -> int:
    """The whole m for which m_x = min(m, cap_x) minimises h. Without caps below it, the paper's for eps / sqrt(C)."""
    C = shape.categories
    m = cells_per_axis(N=N, epsilon=epsilon / sqrt(C), K=K, d=len(shape.caps))
    if m < shape.least_cap:
        return m

    def h(m: int) -> float:
        return deviation(shape.ordered_cells(m), N=N, epsilon=epsilon, K=K, C=C)

    return least(lambda m: h(m + 1) >= h(m))


def eugkm_shared_cells(shape: Shape, *, N: int, epsilon: float) -> int:
    """The EUGkM rule for eps' = eps / sqrt(C): m_x = min(m, cap_x) with a product of (N eps' / 10)^(2d / (2 + d)).

    The m that the uncapped axes share is rounded to the nearest whole number.
    """
    d, rate = len(shape.caps), epsilon / sqrt(shape.categories)
    caps = sorted(cap for cap in shape.caps if cap is not None)
    log_M, free = 2 * d / (2 + d) * log(N * rate / 10), d
    for cap in caps:
        if free * log(cap) >= log_M:
            break
        log_M, free = log_M - log(cap), free - 1
    if free == d:
        return eugkm_cells_per_axis(N=N, epsilon=rate, d=d)
    return max(1, floor(exp(log_M / free) + 0.5)) if free else caps[-1]


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
