"""What a plan promises before any epsilon is spent: noise, errors and warnings, from public numbers alone."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from math import ceil, prod, sqrt

from core.adaptive.shares import LayerLaws
from core.adaptive_picture import adaptive_picture
from core.budget import Epsilon
from core.errors import InvalidOrder, TooManyCells
from core.mechanisms.discrete_laplace import DiscreteLaplace
from core.plan import (
    MAX_EPSILON,
    AttributeCost,
    DeclaredSize,
    EstimatedSize,
    Order,
    Plan,
    attribute_costs,
    make_plan,
)
from core.predictions import variance_of
from core.rule import epsilon_range
from core.unit import Unit

TYPICAL_SHARE = 0.25  # of the cells: the "typical" range count, half of the range of two attributes
_Z95 = 1.959963984540054
_WEAK_SIGNAL = (
    8  # N epsilon / K below this: centres from the noisy counts are mostly noise (measured on the paper's data)
)
_BYTES_PER_CELL = 16  # exact and noisy count, 64 bits each; with offsets as much for each sum
COMPARED_ROWS = (1, 2, 5, 10)  # numbers of rows per person whose cost is shown side by side


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonCost:
    """The noise if `max_rows` rows of each person were counted. `count_error` is None where no grid keeps all cells."""

    max_rows: int
    cell_sd: float
    count_error: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """A plan and what will come of it. Errors are at 95 % and those of the noise; cells cut by a range come on top.

    `theorem_range` has the epsilons for which both bounds of Theorem 2 hold. It is None where the grid is not the
    paper's: numbers with equally many cells. `costs` is empty there, because all attributes cost the same. `people`
    compares numbers of rows per person; it is empty where the unit is a record.
    """

    plan: Plan
    cell_sd: float
    cell_error: int
    count_error: float | None
    size_sd: float | None
    expected_deviation: float | None
    theorem_range: tuple[float, float] | None
    memory_bytes: int
    warnings: tuple[str, ...]
    costs: tuple[AttributeCost, ...] = ()
    people: tuple[PersonCost, ...] = ()

    @property
    def inside_theorem(self) -> bool | None:
        """Whether both bounds of Theorem 2 hold for the epsilon of the histogram; None where it says nothing."""
        return None if self.theorem_range is None else _inside(self.plan.order, self.theorem_range)


def forecast(order: Order, *, max_cells: int) -> Forecast | None:
    """What to expect of an order; None where its size is estimated and no guess was given."""
    match order.size:
        case DeclaredSize():
            plan = make_plan(order, max_cells=max_cells)
        case EstimatedSize(guess=None):
            # No rows are needed to see that K fits: refuse before the charge what no noisy size could serve.
            make_plan(order, max_cells=max_cells, noisy_size=1)
            return None
        case EstimatedSize(guess=guess):
            plan = make_plan(order, max_cells=max_cells, noisy_size=guess)
    size_law = order.size_law
    law = cell_law(plan)
    theorem_range = _theorem_range(plan)
    return Forecast(
        plan=plan,
        cell_sd=law.standard_deviation,
        cell_error=law.tail_radius(probability=0.05),
        count_error=_count_error(plan, max_cells),
        size_sd=size_law.standard_deviation if size_law else None,
        expected_deviation=_deviation(plan, max_cells),
        theorem_range=theorem_range,
        memory_bytes=_BYTES_PER_CELL * _counted_cells(plan, max_cells) * (1 + order.offsets * len(order.shape.caps)),
        warnings=tuple(_warnings(plan, theorem_range)),
        costs=() if order.is_numbers_only else attribute_costs(order, max(plan.ordered_cells, default=1)),
        people=tuple(_people(order, max_cells)),
    )


def cell_law(plan: Plan) -> DiscreteLaplace:
    """The noise of a cell; of a layered plan that of a leaf below a base cell that was cut, the wider of the two."""
    order = plan.order
    return LayerLaws.of(order.histogram_epsilon, order.unit).leaf_cut if plan.is_layered else order.law


def _count_error(plan: Plan, max_cells: int) -> float | None:
    """95 % of typical range counts are off by at most this, by noise: a sum over a quarter of the cells, normal.

    With a threshold it depends on how many cells survive, which nobody knows before. For layers it is that of rows
    which fill the space evenly.
    """
    if plan.threshold is not None:
        return None
    if plan.is_layered:
        return _Z95 * adaptive_picture(plan, 1.0, max_cells=max_cells).count_error(TYPICAL_SHARE, variance_of).noise
    cells = ceil(TYPICAL_SHARE * plan.grid.cell_count)
    return _Z95 * plan.order.law.standard_deviation * sqrt(cells)


def _deviation(plan: Plan, max_cells: int) -> float | None:
    """The bound on the error of the K-means objective; for layers, if the rows fill the space evenly."""
    if plan.is_layered:
        return adaptive_picture(plan, 1.0, max_cells=max_cells).deviation(plan.order.clusters)
    return plan.expected_deviation


def _counted_cells(plan: Plan, max_cells: int) -> int:
    return adaptive_picture(plan, 1.0, max_cells=max_cells).cells if plan.is_layered else plan.counted_cells


def _theorem_range(plan: Plan) -> tuple[float, float] | None:
    """The epsilons of Theorem 2, which speaks of the rate of the noise: epsilon divided by the rows of a unit."""
    order = plan.order
    if not order.is_numbers_only or plan.is_layered:
        return None
    low, high = epsilon_range(N=plan.size, K=order.clusters, d=len(order.attributes))
    return low * order.unit.max_rows, high * order.unit.max_rows


def _inside(order: Order, theorem_range: tuple[float, float]) -> bool:
    return theorem_range[0] <= float(order.histogram_epsilon) <= theorem_range[1]


def _people(order: Order, max_cells: int) -> Iterator[PersonCost]:
    """The same order with other numbers of rows per person, each on the grid that would be planned for it."""
    if not order.unit.is_person:
        return
    for max_rows in COMPARED_ROWS:
        other = replace(order, unit=Unit(order.unit.column, max_rows))
        law, count_error = other.law, None
        with suppress(TooManyCells):  # less noise calls for more cells
            noisy_size = other.size.guess if isinstance(other.size, EstimatedSize) else None
            plan = make_plan(other, max_cells=max_cells, noisy_size=noisy_size)
            law, count_error = cell_law(plan), _count_error(plan, max_cells)
        yield PersonCost(max_rows=max_rows, cell_sd=law.standard_deviation, count_error=count_error)


def _warnings(plan: Plan, theorem_range: tuple[float, float] | None) -> Iterator[str]:
    order = plan.order
    if order.offsets:
        yield (
            "Offsets: half of the epsilon of the cells buys the mean place of the rows of each listed cell, and only "
            f"cells with a noisy count of at least {plan.threshold} are listed. Clusters and means gain by it, but "
            "cells have twice the noise, and a count over a small range may miss rows. Order without offsets, or fewer "
            "attributes, for counts of every cell."
        )
    elif plan.threshold is not None:
        yield (
            f"The grid has {plan.grid.cell_count:,} cells, more than can be kept: only cells with a noisy count "
            f"of at least {plan.threshold} are released. Clusters, rows and marginals keep their use, but a count over "
            "a small range may miss rows. Choose fewer attributes, or raise the limit on cells, for every cell."
        )
    if plan.threshold is not None and isinstance(order.size, DeclaredSize):
        yield (
            "A declared size bounds nothing, and cells that are not listed may hold rows: intervals will be very "
            "wide. Estimate the size, and the noisy count that it buys makes them narrow."
        )
    if plan.ordered_cells:
        yield from _warnings_about_clusters(plan)
    if theorem_range is not None and not _inside(order, theorem_range):
        low, high = theorem_range
        yield f"Epsilon lies outside {low:.3g} to {high:.3g}, where Theorem 2 bounds the best number of cells."


def _warnings_about_clusters(plan: Plan) -> Iterator[str]:
    """Warnings about the ordered axes, which clusters are placed on."""
    order, clusters, m = plan.order, plan.order.clusters, max(plan.ordered_cells)
    axis = "axis" if order.is_numbers_only else "axis that has as many values"
    if plan.is_layered:
        yield (
            f"The grid is that of the base, {m} cells per {axis} at most. Each of its cells is cut as its noisy count "
            "says, so the cells are small where the rows are, and their number is known after the upload."
        )
    elif m < plan.wanted:
        yield f"The limit on cells allows {m} per {axis} where the rule wants {plan.wanted}: answers will be coarser."
    elif m > plan.wanted:
        yield f"The rule wants {plan.wanted} cells per {axis}; {m} are used to tell {clusters} clusters apart."
    if prod(plan.ordered_cells) < clusters:
        yield f"The attributes have {prod(plan.ordered_cells)} cells for {clusters} clusters: plan for fewer clusters."
    rate = order.law.rate / sqrt(order.shape.categories)  # of the noise of a cell of ordered values, by its variance
    if plan.size * rate / clusters < _WEAK_SIGNAL:
        yield (
            f"The signal is weak for {clusters} clusters (size x epsilon / clusters is below {_WEAK_SIGNAL}): "
            "centres may be mostly noise. Spend more epsilon or plan for fewer clusters."
        )


def size_warning(order: Order) -> str | None:
    """What a declared size gives away."""
    if isinstance(order.size, EstimatedSize):
        return None
    return (
        "A declared size is public and outside the guarantee: declare a number that is public anyway, not the exact "
        "count of the file. An estimate buys a noisy count inside the guarantee instead."
    )


def epsilon_for_count_error(order: Order, *, count_error: float, max_cells: int) -> Epsilon:
    """An epsilon, close to the least, for which a typical range count is off by at most `count_error`.

    Doubling, then bisection over whole billionths: the upper end always meets the target, so what is returned does.
    (More epsilon can add cells and so raise the error by a step; the answer is the least up to such steps.)
    """
    if isinstance(order.size, EstimatedSize) and order.size.guess is None:
        raise InvalidOrder("To solve for epsilon, declare the size or add a guess to its estimate.")

    def enough(nano: int) -> bool:
        try:
            expected = forecast(replace(order, epsilon=Epsilon(nano)), max_cells=max_cells)
        except TooManyCells:
            return True  # more epsilon than the limit on cells allows; checked again at the end
        except InvalidOrder:
            return False  # too few billionths to be shared between layers
        return expected is not None and expected.count_error is not None and expected.count_error <= count_error

    low, high = 1, 2  # not 1: an estimate could not share a single billionth
    while not enough(high):
        if high == MAX_EPSILON.nano:
            raise InvalidOrder(
                f"No epsilon up to {MAX_EPSILON} brings the error of a typical count down to that on a grid that keeps "
                "every cell."
            )
        low, high = high, min(2 * high, MAX_EPSILON.nano)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    forecast(replace(order, epsilon=Epsilon(high)), max_cells=max_cells)
    return Epsilon(high)
