"""Planning the grid of an order from public numbers. The rules are in `core.rule` and `core.sharing`.

The paper's letters: N size, K clusters, d ordered attributes, m cells per axis, C cells of all categories together.
Nothing in this module takes records, so no grid can depend on a row.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from math import prod
from typing import assert_never

from core.adaptive.cuts import LEAST_SIGNAL, MAX_ORDERED, MOST_ALONG_AN_AXIS, MOST_BASE_CELLS
from core.adaptive.shares import LayerLaws
from core.budget import NOTHING, Epsilon
from core.charged import Charged
from core.domain.attribute import Attribute
from core.domain.axis import MAX_CELLS_PER_AXIS
from core.domain.domain import Domain
from core.domain.grid import MAX_DIMENSIONS, Grid
from core.domain.number import Number
from core.errors import InvalidOrder, TooManyCells
from core.mechanisms.threshold import least_threshold
from core.offsets import OFFSET_SHARE
from core.sharing import Shape, deviation, eugkm_shared_cells, least, shared_cells
from core.unit import RECORD, Unit

MAX_EPSILON = Epsilon.parse("100")
MAX_SIZE = 10**12
DEFAULT_SHARE = Fraction(5, 100)
# With fewer attributes, whoever asks wants counts of any range, which a threshold would bias; there a grid is dense.
THRESHOLDED_DIMENSIONS = 4
MAX_THRESHOLDED_CELLS = 10**18  # a cell's number is a 64-bit integer


class Rule(StrEnum):
    """How the number of cells follows from the public numbers."""

    RUGNIK = "rugnik"
    EUGKM = "eugkm"
    ADAPTIVE = "adaptive"


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
class Order(Charged):
    """What a grid follows from, all of it public: the attributes, the privacy unit, and what the curator asked for.

    With `offsets`, a part of epsilon buys noisy sums of offsets for each listed cell (`core.offsets`).
    """

    attributes: tuple[Attribute, ...]
    epsilon: Epsilon
    clusters: int
    size: DeclaredSize | EstimatedSize
    rule: Rule = Rule.RUGNIK
    unit: Unit = RECORD
    offsets: bool = False

    def __post_init__(self) -> None:
        if not 1 <= len(self.attributes) <= MAX_DIMENSIONS:
            raise InvalidOrder(f"An order has 1 to {MAX_DIMENSIONS} attributes.")
        if not NOTHING < self.epsilon <= MAX_EPSILON:
            raise InvalidOrder(f"The epsilon of an order is above 0 and at most {MAX_EPSILON}.")
        if self.clusters < 1:
            raise InvalidOrder("An order plans for at least one cluster.")
        if isinstance(self.size, EstimatedSize) and self.size_epsilon >= self.epsilon:
            raise InvalidOrder("The epsilon is too small to be shared between the size and the histogram.")
        if self.rule is Rule.ADAPTIVE:
            LayerLaws.of(self.histogram_epsilon, self.unit)
            if not 1 <= len(self.shape.caps) <= MAX_ORDERED:
                raise InvalidOrder(
                    f"The adaptive rule takes 1 to {MAX_ORDERED} attributes that are no categories, and any categories "
                    "beside them. Name other attributes, or choose the rule rugnik."
                )
        if self.offsets:
            self._require_cells_for_offsets()
        if self.offsets and self.size_epsilon + self.offset_epsilon >= self.epsilon:
            raise InvalidOrder("The epsilon is too small to be shared between the size, the counts and the offsets.")

    def _require_cells_for_offsets(self) -> None:
        if self.rule is Rule.ADAPTIVE:
            raise InvalidOrder(
                "The adaptive rule has no offsets: its cells are small where rows are many. Leave offsets out, or "
                "choose the rule rugnik."
            )
        if len(self.attributes) < THRESHOLDED_DIMENSIONS or not self.shape.caps:
            raise InvalidOrder(
                f"Offsets are bought for {THRESHOLDED_DIMENSIONS} and more attributes, of which one or more are no "
                "categories. Leave offsets out, or name other attributes."
            )

    @property
    def size_epsilon(self) -> Epsilon:  # type: ignore[override]  # a field of a synopsis
        """What the noisy size is bought with; nothing for a declared one."""
        match self.size:
            case DeclaredSize():
                return NOTHING
            case EstimatedSize(share=share):
                return self.epsilon.part(share)
            case _:
                assert_never(self.size)

    @property
    def offset_epsilon(self) -> Epsilon:  # type: ignore[override]  # a field of a synopsis
        """What the sums of offsets are bought with: half of what the size leaves, rounded down, where there are any."""
        return (self.epsilon - self.size_epsilon).part(OFFSET_SHARE) if self.offsets else NOTHING

    @property
    def shape(self) -> Shape:
        """What all grids of its attributes have in common."""
        return Shape.of(self.attributes)

    @property
    def is_numbers_only(self) -> bool:
        """Whether every attribute is a number whose missing values are dropped: the setting of the paper."""
        return all(isinstance(each, Number) and not each.keeps_missing for each in self.attributes)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The grid chosen for an Order: `size` is the N it was chosen for, `wanted` the m of the rule before any limit.

    An ordered attribute has m cells, or one for each value where it has fewer values. With a `threshold` only cells
    whose noisy count reaches it are released (`core.mechanisms.survivors`). Where it `is_layered`, the grid is that of
    the base, and its cells are cut as their noisy counts say (`core.adaptive`).
    """

    order: Order
    size: int
    wanted: int
    grid: Grid
    threshold: int | None = None
    is_layered: bool = False

    @property
    def counted_cells(self) -> int:
        """How many cells are counted at most: all or, with a threshold, no more than one for each row."""
        return self.grid.cell_count if self.threshold is None else min(self.grid.cell_count, self.size)

    @property
    def ordered_cells(self) -> tuple[int, ...]:
        """m_x: how many cells the values of each ordered attribute have."""
        return tuple(self.grid.axes[x].value_cells for x in self.grid.ordered_axes)

    @property
    def expected_deviation(self) -> float | None:
        """(d r^2 / K) h for r = 1: the paper's bound on the expected error of the K-means objective.

        None where no attribute is ordered: then there is no distance.
        """
        order, cells, K = self.order, self.ordered_cells, self.order.clusters
        if not cells:
            return None
        C = order.shape.categories
        return len(cells) / K * deviation(cells, N=self.size, epsilon=order.law.rate, K=K, C=C)


def make_plan(order: Order, *, max_cells: int, noisy_size: int | None = None) -> Plan:
    """The grid of an order: m by its rule, with at least K cells of ordered values and at most `max_cells` in all.

    Where attributes have too few values for K cells, all values have their own. Where no attribute is ordered, nothing
    is planned: every combination of categories is a cell. From THRESHOLDED_DIMENSIONS attributes on a grid may have
    more cells than `max_cells`: it is then released with a threshold, which leaves out nearly all of its empty cells.
    An order with offsets always has a threshold, since sums are released for listed cells alone; its m follows from the
    noise of the counts, as everywhere.

    A declared size is planned as the paper does, and a grid beyond the limit is refused. A size that is estimated comes
    as `noisy_size`, may be anything (below 1 counts as 1), and never leads to a refusal: that would select among draws.
    Noise can make it far too small, so m is at least what gives 4K cells; without that floor a noisy size costs up to
    2.4 times the deviation, with it 1.2 times at most.
    """
    K, shape = order.clusters, order.shape
    most = _most(order, shape, max_cells)
    match order.size:
        case DeclaredSize(size=N):
            if noisy_size is not None:
                raise InvalidOrder("A declared size takes no estimate.")
            wanted = _wanted(order, shape, N)
            m = _base(order, wanted, most) if _is_layered(order, N) else max(wanted, shape.least_for(K))
            if m > most:
                raise _too_many(order, m, wanted=shape.cell_count(m), allowed=shape.cell_count(most))
        case EstimatedSize():
            if noisy_size is None:
                raise InvalidOrder("The size of this order is bought first.")
            N = planned_size(noisy_size)
            wanted = _wanted(order, shape, N)
            m = _base(order, wanted, most) if _is_layered(order, N) else min(max(wanted, shape.least_for(4 * K)), most)
        case _:
            assert_never(order.size)
    grid = Domain(order.attributes).grid([min(m, each.most_cells or m) for each in order.attributes])
    has_threshold = order.offsets or grid.cell_count > max_cells
    threshold = least_threshold(grid.cell_count, order.law) if has_threshold else None
    layered = _is_layered(order, N)
    return Plan(order=order, size=N, wanted=wanted, grid=grid, threshold=threshold, is_layered=layered)


def planned_size(noisy_size: int) -> int:
    """The size that a grid is planned for where a noisy one was bought: noise may take it below 1."""
    return min(max(1, noisy_size), MAX_SIZE)


def _is_layered(order: Order, N: int) -> bool:
    """Whether the adaptive rule cuts cells: below N epsilon / K = 100 the grid of the paper serves instead."""
    return order.rule is Rule.ADAPTIVE and N * order.law.exact_rate >= LEAST_SIGNAL * order.clusters


def _base(order: Order, wanted: int, most: int) -> int:
    """Cells per axis of the base: 8, 8 or 4 for one to three attributes, or for K cells; no more than `wanted`.

    A power of two, because halving it gives edges that double precision and codes hold exactly.
    """
    d = len(order.shape.caps)
    enough = least(lambda m: m**d >= order.clusters)
    usual = min(MOST_ALONG_AN_AXIS, _power_of_two(least(lambda m: (m + 1) ** d > MOST_BASE_CELLS)))
    m = max(min(_power_of_two(wanted), usual), 2 * _power_of_two(enough - 1) if enough > 1 else 1)
    return min(m, _power_of_two(most))


def _power_of_two(number: int) -> int:
    """The largest that is not above a number of 1 or more."""
    return 1 << (max(number, 1).bit_length() - 1)


def _wanted(order: Order, shape: Shape, N: int) -> int:
    if not shape.caps:
        return 1
    epsilon = order.law.rate
    match order.rule:
        case Rule.RUGNIK | Rule.ADAPTIVE:
            return shared_cells(shape, N=N, epsilon=epsilon, K=order.clusters)
        case Rule.EUGKM:
            return eugkm_shared_cells(shape, N=N, epsilon=epsilon)
        case _:
            assert_never(order.rule)


def _most(order: Order, shape: Shape, max_cells: int) -> int:
    """The largest m of a grid that is allowed. TooManyCells where even that has too few cells for K clusters."""
    thresholded = len(order.attributes) >= THRESHOLDED_DIMENSIONS and order.rule is not Rule.ADAPTIVE
    allowed = MAX_THRESHOLDED_CELLS if thresholded else max_cells
    most = least(lambda m: m > MAX_CELLS_PER_AXIS or shape.cell_count(m) > allowed) - 1
    if most == 0:
        raise _too_many(order, 1, wanted=shape.cell_count(1), allowed=allowed)
    needed = shape.attainable(order.clusters)
    if prod(shape.ordered_cells(most)) < needed:
        most_cells = shape.cell_count(most)
        wanted = max(shape.categories * needed, most_cells + 1)  # cells of missing values come on top
        raise _too_many(order, shape.least_for(needed), wanted=wanted, allowed=most_cells)
    return most


@dataclass(frozen=True, slots=True)
class AttributeCost:
    """What an attribute does to a grid: the number of its cells, and a sentence about it without a full stop."""

    name: str
    cells: int
    note: str


def attribute_costs(order: Order, m: int) -> tuple[AttributeCost, ...]:
    """What each attribute of an order costs on the grid for m."""
    return tuple(_cost(each, m) for each in order.attributes)


def _cost(attribute: Attribute, m: int) -> AttributeCost:
    name, cap = attribute.name, attribute.most_cells
    values = m if cap is None or (attribute.is_ordered and m < cap) else cap
    cells = values + attribute.keeps_missing
    if not attribute.is_ordered:
        return AttributeCost(name, cells, f"{name} multiplies cells by {cells:,}")
    each = ", one for each value" if values == cap else ""
    missing = " and one for missing values" if attribute.keeps_missing else ""
    noun = "cell" if values == 1 else "cells"
    return AttributeCost(name, cells, f"{name} has {values:,} {noun}{each}{missing}")


def _too_many(order: Order, m: int, *, wanted: int, allowed: int) -> TooManyCells:
    """The refusal of the grid for m. With numbers alone all axes are equal, and no attribute costs more than others."""
    costs = () if order.is_numbers_only else attribute_costs(order, m)
    return TooManyCells(wanted=wanted, allowed=allowed, notes=tuple(cost.note for cost in costs))
