"""Plans, forecasts and releases of attributes of all kinds, for records and for persons."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from fractions import Fraction
from math import prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.budget import Epsilon
from core.domain.attribute import Attribute, Missing
from core.domain.axis import MAX_CELLS_PER_AXIS
from core.domain.category import Category
from core.domain.dates import Date
from core.domain.domain import Domain
from core.domain.integer import Integer
from core.domain.number import Number
from core.errors import InvalidOrder, TooManyCells
from core.forecast import forecast
from core.histogram import Counts
from core.mechanisms.discrete_laplace import DiscreteLaplace
from core.plan import DeclaredSize, EstimatedSize, Order, Rule, make_plan
from core.randomness import NoiseSource
from core.records import OutOfRange
from core.release import noisy_size, release
from core.sharing import Shape, shared_cells
from core.synopsis import Synopsis
from core.unit import Unit
from tests.core.rows import numbers

INCOME = Number("income", 0, 250_000)
AGE = Integer("age", 0, 110, Missing.KEEP)
HOUR = Integer("hour", 0, 23)
SEX = Category("sex", ("f", "m"), other=True)
CARRIER = Category("carrier", tuple(f"c{i}" for i in range(16)), missing=Missing.KEEP)
ARRIVED = Date("arrived", date(2026, 1, 1), date(2026, 12, 31))
PERSON = Unit("patient", 3)

ATTRIBUTES = st.lists(
    st.sampled_from([INCOME, AGE, HOUR, SEX, CARRIER, ARRIVED]), min_size=1, max_size=6, unique=True
).map(tuple)
EPSILONS = st.integers(2, 100 * 10**9).map(Epsilon)
UNITS = st.sampled_from([Unit(), PERSON, Unit("patient", 1000)])
SIZES = st.integers(0, 12).flatmap(lambda n: st.integers(10**n, 10 ** min(n + 1, 12)))
CAPS = st.integers(0, 7).flatmap(lambda n: st.integers(10**n, 10 ** (n + 1)))


def order(*attributes: Attribute, epsilon: str = "1", K: int = 4, size: int | None = 10**5, **rest: object) -> Order:
    """An order with a declared size; with None for it, one whose size is bought."""
    asked = EstimatedSize() if size is None else DeclaredSize(size)
    return Order(attributes=attributes, epsilon=Epsilon.parse(epsilon), clusters=K, size=asked, **rest)


def test_every_kind_has_its_axis() -> None:
    """m cells for those that can have them, one for each value for the others, and missing values where they are kept.

    The grid is the product of all.
    """
    plan = make_plan(order(INCOME, HOUR, SEX), max_cells=10**6)
    m = shared_cells(Shape((None, 24), (0, 0), 3), N=10**5, epsilon=1.0, K=4)
    assert m > 24
    assert (plan.wanted, plan.grid.shape) == (m, (m, 24, 3))
    assert plan.grid == Domain((INCOME, HOUR, SEX)).grid([m, 24, 3])
    kept = make_plan(order(AGE, CARRIER), max_cells=10**6)
    assert kept.grid.shape == (kept.ordered_cells[0] + 1, 17)
    assert kept.grid.cells_per_axis is None


def test_categories_alone_leave_nothing_to_plan() -> None:
    """Every combination is a cell, whatever the size and the clusters; there is no distance to predict errors of."""
    for size, noisy in ((10, None), (None, -5), (None, 10**30)):
        plan = make_plan(order(SEX, CARRIER, K=10**6, size=size), max_cells=51, noisy_size=noisy)
        assert plan.grid.shape == (3, 17)
        assert plan.expected_deviation is None
    expected = forecast(order(SEX, CARRIER, epsilon="0.001", size=10), max_cells=51)
    assert expected is not None
    assert (expected.expected_deviation, expected.theorem_range, expected.inside_theorem) == (None, None, None)
    assert expected.warnings == ()


@given(ATTRIBUTES, EPSILONS, st.integers(1, 500), SIZES, UNITS, st.sampled_from([Rule.RUGNIK, Rule.EUGKM]), CAPS)
def test_a_declared_size_is_planned_within_the_limit_or_refused_with_both_numbers(
    attributes: tuple[Attribute, ...], epsilon: Epsilon, K: int, N: int, unit: Unit, rule: Rule, max_cells: int
) -> None:
    """K cells of ordered values or all there can be; beyond the limit a refusal that names every attribute."""
    asked = Order(attributes=attributes, epsilon=epsilon, clusters=K, size=DeclaredSize(N), rule=rule, unit=unit)
    allowed = max_cells if len(attributes) < 4 else 10**18
    refusal = None
    try:
        plan = make_plan(asked, max_cells=max_cells)
    except TooManyCells as error:
        refusal = error
    if refusal is not None:
        assert refusal.wanted > refusal.allowed
        assert refusal.allowed <= allowed
        assert asked.is_numbers_only or all(each.name in str(refusal) for each in attributes)
        return
    assert plan.grid.cell_count <= allowed
    assert prod(plan.ordered_cells) >= asked.shape.attainable(K)
    assert (plan.threshold is None) == (plan.grid.cell_count <= max_cells)
    assert plan.ordered_cells == asked.shape.ordered_cells(max(plan.ordered_cells, default=1))


@given(
    ATTRIBUTES, EPSILONS, st.integers(1, 500), UNITS, st.sampled_from([Rule.RUGNIK, Rule.EUGKM]), CAPS, st.integers()
)
def test_a_bought_size_never_leads_to_a_refusal(
    attributes: tuple[Attribute, ...], epsilon: Epsilon, K: int, unit: Unit, rule: Rule, max_cells: int, noisy: int
) -> None:
    """An order that is planned for one noisy size is planned for every other: an error would select among draws."""
    asked = Order(attributes=attributes, epsilon=epsilon, clusters=K, size=EstimatedSize(), rule=rule, unit=unit)
    try:
        forecast(asked, max_cells=max_cells)
    except TooManyCells:
        with pytest.raises(TooManyCells):
            make_plan(asked, max_cells=max_cells, noisy_size=noisy)
        return
    plan = make_plan(asked, max_cells=max_cells, noisy_size=noisy)
    assert plan.grid.cell_count <= (max_cells if len(attributes) < 4 else 10**18)
    assert prod(plan.ordered_cells) >= asked.shape.attainable(K)


def test_more_noise_means_fewer_cells() -> None:
    """With categories, more rows per person or less epsilon the rule wants fewer cells; with more rows, more."""
    usual = make_plan(order(INCOME, HOUR), max_cells=10**7).wanted
    assert make_plan(order(INCOME, HOUR, SEX), max_cells=10**7).wanted < usual
    assert make_plan(order(INCOME, HOUR, unit=PERSON), max_cells=10**7).wanted < usual
    assert make_plan(order(INCOME, HOUR, epsilon="0.5"), max_cells=10**7).wanted < usual
    assert make_plan(order(INCOME, HOUR, size=10**6), max_cells=10**7).wanted > usual


def test_a_person_with_c_rows_is_planned_like_records_at_a_cth_of_epsilon() -> None:
    """The rate of the noise is epsilon / c, exactly, for the cells and for the size."""
    people = order(INCOME, HOUR, epsilon="0.9", unit=PERSON)
    records = order(INCOME, HOUR, epsilon="0.3")
    assert make_plan(people, max_cells=10**6).grid == make_plan(records, max_cells=10**6).grid
    assert people.law.exact_rate == records.law.exact_rate == Fraction(3, 10)
    bought = replace(people, size=EstimatedSize(share=Fraction(1, 3)))
    assert (bought.law.exact_rate, bought.size_law.exact_rate) == (Fraction(2, 10), Fraction(1, 10))
    assert people.size_law is None


@pytest.mark.parametrize(
    ("asked", "max_cells", "sentence"),
    [
        (order(SEX, CARRIER), 50, "sex multiplies cells by 3; carrier multiplies cells by 17."),
        (order(HOUR, CARRIER, K=24), 100, "hour has 24 cells, one for each value; carrier multiplies cells by 17."),
        (order(AGE, K=30, epsilon="0.01"), 30, "age has 30 cells and one for missing values."),
        (order(AGE, K=200), 30, "age has 111 cells, one for each value and one for missing values."),
        (order(INCOME, SEX, size=10), 2, "income has 1 cell; sex multiplies cells by 3."),
    ],
)
def test_a_refusal_says_what_each_attribute_costs(asked: Order, max_cells: int, sentence: str) -> None:
    """Whoever reads it sees which attribute to leave out."""
    with pytest.raises(TooManyCells) as refusal:
        make_plan(asked, max_cells=max_cells)
    assert sentence in str(refusal.value)
    assert f"{refusal.value.wanted:,} cells; {refusal.value.allowed:,} are allowed" in str(refusal.value)


def test_a_refusal_of_numbers_alone_says_what_it_always_said() -> None:
    """All axes are equal there."""
    with pytest.raises(TooManyCells) as refusal:
        make_plan(order(*numbers(2)), max_cells=100)
    assert "x0" not in str(refusal.value)


def test_from_four_attributes_of_any_kind_on_a_grid_may_be_larger() -> None:
    """Three attributes are refused beyond the limit; a fourth makes the grid a thresholded one."""
    with pytest.raises(TooManyCells):
        make_plan(order(INCOME, HOUR, CARRIER), max_cells=1000)
    plan = make_plan(order(INCOME, HOUR, CARRIER, SEX, unit=PERSON), max_cells=1000)
    assert plan.grid.cell_count > 1000
    assert plan.threshold is not None
    records = make_plan(order(INCOME, HOUR, CARRIER, SEX, epsilon="1"), max_cells=1000)
    assert plan.threshold > records.threshold  # more noise for a person


def test_no_axis_has_more_cells_than_can_be_numbered() -> None:
    """An integer with billions of values stops where a number does."""
    wide = Integer("id", 0, 10**12)
    plan = make_plan(order(wide, epsilon="100", size=None), max_cells=10**9, noisy_size=10**12)
    assert plan.grid.shape == (MAX_CELLS_PER_AXIS,)
    with pytest.raises(TooManyCells):
        make_plan(order(wide, epsilon="100", K=70_000), max_cells=10**9)


def test_a_forecast_shows_what_attributes_cost_and_says_nothing_of_theorem_2() -> None:
    """Theorem 2 is about numbers on equal axes; for other grids its range is left open."""
    expected = forecast(order(INCOME, HOUR, SEX), max_cells=10**6)
    assert expected is not None
    m = expected.plan.grid.shape[0]
    assert [(cost.name, cost.cells, cost.note) for cost in expected.costs] == [
        ("income", m, f"income has {m} cells"),
        ("hour", 24, "hour has 24 cells, one for each value"),
        ("sex", 3, "sex multiplies cells by 3"),
    ]
    assert (expected.theorem_range, expected.inside_theorem, expected.people) == (None, None, ())
    assert expected.expected_deviation == expected.plan.expected_deviation > 0
    plain = forecast(order(INCOME), max_cells=10**6)
    assert plain is not None
    assert plain.costs == ()
    assert plain.inside_theorem


def test_warnings_know_about_axes_that_differ() -> None:
    """The limit on cells, too few values for the clusters, and a signal that categories weaken."""
    coarse = forecast(order(INCOME, SEX, size=None), max_cells=60)
    assert coarse is None  # no guess
    guessed = replace(order(INCOME, SEX, size=None), size=EstimatedSize(guess=10**6))
    coarse = forecast(guessed, max_cells=60)
    assert coarse is not None
    assert any("allows 20 per axis that has as many values" in warning for warning in coarse.warnings)
    few = forecast(order(Integer("grade", 1, 3), K=5), max_cells=60)
    assert few is not None
    assert any("3 cells for 5 clusters" in warning for warning in few.warnings)
    for attributes, weak in (((INCOME,), False), ((INCOME, CARRIER), True)):
        expected = forecast(order(*attributes, size=100, K=4), max_cells=10**4)
        assert expected is not None
        assert any("weak" in warning for warning in expected.warnings) == weak


def test_a_forecast_for_persons_compares_numbers_of_rows() -> None:
    """For c of 1, 2, 5, 10 and its own: noise of a cell, and the error of a count on the grid that c would have."""
    expected = forecast(order(INCOME, HOUR, epsilon="2", unit=PERSON), max_cells=10**6)
    assert expected is not None
    assert [cost.max_rows for cost in expected.people] == [1, 2, 3, 5, 10]
    for cost in expected.people:
        alone = forecast(order(INCOME, HOUR, epsilon="2", unit=Unit("patient", cost.max_rows)), max_cells=10**6)
        assert alone is not None
        assert (cost.cell_sd, cost.count_error) == (alone.cell_sd, alone.count_error)
        law = DiscreteLaplace.at(Epsilon.parse("2"), rows_per_unit=cost.max_rows)
        assert cost.cell_sd == law.standard_deviation
    narrow = forecast(order(INCOME, epsilon="2", unit=Unit("patient", 10)), max_cells=expected_cells("2", 10))
    assert narrow is not None
    assert [cost.count_error is None for cost in narrow.people] == [True, True, True, False]


def test_layered_plans_for_persons_compare_the_noise_of_leaves() -> None:
    """Beside the plan's own noise stands that of the same kind of cell, whatever the number of rows of a person."""
    planned = replace(order(INCOME, HOUR, epsilon="2", unit=PERSON), rule=Rule.ADAPTIVE, size=DeclaredSize(10**6))
    expected = forecast(planned, max_cells=10**6)
    assert expected is not None
    for cost in expected.people:
        law = DiscreteLaplace.at(Epsilon.parse("1.4"), rows_per_unit=cost.max_rows)  # 0.7 of epsilon
        assert cost.cell_sd == law.standard_deviation


def expected_cells(epsilon: str, max_rows: int) -> int:
    """The cells of an order of one number for persons."""
    asked = order(INCOME, epsilon=epsilon, unit=Unit("patient", max_rows))
    return make_plan(asked, max_cells=10**6).grid.cell_count


def test_a_release_for_persons_has_their_noise_and_says_so() -> None:
    """Cells at epsilon / c and a size at its share / c; the synopsis names the unit and survives its bytes."""
    people = order(HOUR, SEX, epsilon="1.5", size=None, unit=Unit("patient", 50))
    plan = make_plan(people, max_cells=10**6, noisy_size=1000)
    domain = Domain(people.attributes)
    names = {"domain": domain, "out_of_range": OutOfRange.CLIP, "dataset": "clinic", "release_id": "r1"}
    synopses = [release(Counts.zero(plan.grid), plan, NoiseSource(), **names) for _ in range(200)]
    noise = np.concatenate([synopsis.counts for synopsis in synopses])
    assert np.std(noise) == pytest.approx(people.law.standard_deviation, rel=0.15)
    assert synopses[0].unit == Unit("patient", 50)
    assert synopses[0].law == people.law
    assert synopses[0].size_law == people.size_law
    assert Synopsis.from_bytes(synopses[0].to_bytes()).digest == synopses[0].digest
    source = NoiseSource()
    sizes = [noisy_size(1000, people, source) for _ in range(3000)]
    assert np.std(sizes) == pytest.approx(people.size_law.standard_deviation, rel=0.15)


def test_an_order_needs_an_attribute() -> None:
    """Of any kind."""
    assert order(SEX)
    with pytest.raises(InvalidOrder):
        order()
