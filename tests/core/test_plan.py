"""Planning: the root of xi, the whole number that minimises h, the limits, and the shares of epsilon.

Table I and Table III of the paper are known answers in tests/paper; here is what holds for every order.
"""

from __future__ import annotations

import inspect
import math
from fractions import Fraction
from itertools import count

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from core.budget import Epsilon
from core.domain.axis import MAX_CELLS_PER_AXIS
from core.domain.grid import Grid
from core.errors import InvalidOrder, TooManyCells
from core.mechanisms.discrete_laplace import DiscreteLaplace
from core.mechanisms.threshold import least_threshold
from core.plan import (
    DEFAULT_SHARE,
    MAX_SIZE,
    DeclaredSize,
    EstimatedSize,
    Order,
    Plan,
    Rule,
    make_plan,
)
from core.rule import (
    cell_bounds,
    cells_per_axis,
    epsilon_range,
    eugkm_cells_per_axis,
    expected_deviation,
    xi,
    xi_root,
)
from tests.core.rows import numbers
from tests.core.strategies import epsilons

BRUTE_FORCE = range(1, 201)


def magnitudes(most: int) -> st.SearchStrategy[int]:
    """Whole numbers from 1 to `most`, as often small as large."""
    return st.integers(0, len(str(most)) - 1).flatmap(lambda n: st.integers(10**n, min(most, 10 ** (n + 1))))


SIZES = magnitudes(MAX_SIZE)
CLUSTERS = magnitudes(10**6)
RATES = epsilons().map(float)
DIMENSIONS = st.integers(1, 16)
NUMBERS = st.fixed_dictionaries({"N": SIZES, "epsilon": RATES, "K": CLUSTERS, "d": DIMENSIONS})
LARGER = st.fixed_dictionaries({"N": SIZES, "epsilon": RATES, "K": CLUSTERS, "d": st.integers(1, 200)})
SHARES = st.fractions(Fraction(1, 10**6), Fraction(10**6 - 1, 10**6), max_denominator=10**6)
CAPS = magnitudes(10**7)
NOISY = st.one_of(
    st.integers(-(10**6), 10**7), st.integers(), st.sampled_from([0, 1, -1, -(10**30), 10**30, MAX_SIZE, MAX_SIZE + 1])
)


def order(*, d: int = 2, epsilon: str = "1", K: int = 4, size: DeclaredSize | EstimatedSize, **rest: Rule) -> Order:
    """An order with the usual numbers where none are given."""
    return Order(attributes=numbers(d), epsilon=Epsilon.parse(epsilon), clusters=K, size=size, **rest)


def least_root(number: int, d: int) -> int:
    """The least m with m^d >= number, by counting up."""
    return number if d == 1 else next(m for m in count(1) if m**d >= number)


def largest_axis(max_cells: int, d: int) -> int:
    """The most cells on an axis of a grid of at most `max_cells`, or of a thresholded one, by counting up."""
    allowed = max_cells if d < 4 else 10**18
    m = least_root(allowed, d)
    return min(m if m**d == allowed else m - 1, MAX_CELLS_PER_AXIS)


def expected_threshold(plan: Plan, max_cells: int) -> int | None:
    """None on a grid that keeps every cell."""
    cells = plan.grid.cell_count
    return None if cells <= max_cells else least_threshold(cells, DiscreteLaplace.at(plan.order.histogram_epsilon))


@given(LARGER)
def test_the_root_solves_xi(numbers: dict) -> None:
    """m^(d/2 + 2) = rho K^(1/d) m + rho sqrt(N/3) K^(2/d) at the root, to nine digits (Proposition 1)."""
    root = xi_root(**numbers)
    N, epsilon, K, d = (numbers[letter] for letter in ("N", "epsilon", "K", "d"))
    assert 0 < root < math.inf
    rho = epsilon / d * math.sqrt(8 * N / 3)
    log_left = (d / 2 + 2) * math.log(root)
    right = rho * K ** (1 / d) * root + rho * math.sqrt(N / 3) * K ** (2 / d)
    assert log_left == pytest.approx(math.log(right), abs=1e-9)


@given(NUMBERS, st.floats(1e-9, 1e3))
def test_the_root_is_the_only_one(numbers: dict, distance: float) -> None:
    """xi is negative everywhere below the root and positive everywhere above (Proposition 1)."""
    root = xi_root(**numbers)
    assert xi(root / (1 + distance), **numbers) < 0
    assert xi(root * (1 + distance), **numbers) > 0


@given(LARGER, st.integers(1, 10**6))
def test_no_function_of_the_paper_overflows_or_loses_its_value(numbers: dict, m: int) -> None:
    """h, xi, the root, both rules and both bounds are numbers for all public numbers, beyond 16 dimensions too."""
    N, epsilon, K, d = (numbers[letter] for letter in ("N", "epsilon", "K", "d"))
    assert expected_deviation(m, **numbers) > 0
    assert not math.isnan(xi(m, **numbers))
    assert cells_per_axis(**numbers) >= 1
    assert eugkm_cells_per_axis(N=N, epsilon=epsilon, d=d) >= 1
    low, high = cell_bounds(**numbers)
    assert low >= 0
    assert high >= 1
    eps0, eps1 = epsilon_range(N=N, K=K, d=d)
    assert eps0 > 0
    assert eps1 > 0


@given(NUMBERS)
def test_the_chosen_number_minimises_h_among_all_whole_numbers(numbers: dict) -> None:
    """No m from 1 to 200 has a smaller h(m), for every grid whose best m is there, d = 1 (not convex) included."""
    assume(xi_root(**numbers) < BRUTE_FORCE[-1] - 1)
    values = [expected_deviation(m, **numbers) for m in BRUTE_FORCE]
    chosen = cells_per_axis(**numbers)
    assert values[chosen - 1] <= min(values) * (1 + 1e-12)


@pytest.mark.parametrize("d", range(1, 17))
def test_the_whole_minimiser_is_not_the_rounded_root(d: int) -> None:
    """Brute force over fixed numbers in every dimension, where rounding the root to the nearest would often fail."""
    for N in (50, 1000, 10**4, 10**5):
        for K in (1, 2, 5, 20):
            for epsilon in (0.05, 0.3, 1.0, 4.0):
                numbers = {"N": N, "epsilon": epsilon, "K": K, "d": d}
                if xi_root(**numbers) < BRUTE_FORCE[-1] - 1:
                    best = min(BRUTE_FORCE, key=lambda m: expected_deviation(m, **numbers))
                    assert cells_per_axis(**numbers) == best


def test_h_has_known_answers() -> None:
    """Three terms by hand: d = 2, K = 4, N = 300, epsilon = 1/2 and m = 5, then the same with d = 1 and K = 1."""
    noise, cross, quantisation = math.sqrt(2) * 5 / (0.5 * 4), 2 * 10 / (5 * 2), 300 / 75
    assert expected_deviation(5, N=300, epsilon=0.5, K=4, d=2) == pytest.approx(noise + cross + quantisation, rel=1e-14)
    assert expected_deviation(4, N=300, epsilon=0.5, K=1, d=1) == pytest.approx(
        math.sqrt(2) * 2 / 0.5 + 2 * 10 / 4 + 300 / 48, rel=1e-14
    )


@given(NUMBERS, st.floats(1.0, 1e4))
def test_xi_is_the_slope_of_h(numbers: dict, m: float) -> None:
    """h'(m) = d / (sqrt(2) eps K^(2/d)) m^-3 xi(m): the two functions belong together (Sec. III)."""
    N, epsilon, K, d = (numbers[letter] for letter in ("N", "epsilon", "K", "d"))
    noise = d / 2 * math.sqrt(2) * m ** (d / 2 - 1) / (epsilon * K ** (2 / d))
    cross = 2 * math.sqrt(N / 3) / (m**2 * K ** (1 / d))
    quantisation = 2 * N / (3 * m**3)
    slope = d / (math.sqrt(2) * epsilon * K ** (2 / d)) * m**-3 * xi(m, **numbers)
    assert slope == pytest.approx(noise - cross - quantisation, abs=1e-9 * (noise + cross + quantisation))


@given(NUMBERS)
def test_the_bounds_of_theorem_2_hold_for_the_real_root(numbers: dict) -> None:
    """floor(m_l^d) <= m^d <= ceil(m_u^d) in the ranges of epsilon that the theorem names, and no claim outside them."""
    N, epsilon, K, d = (numbers[letter] for letter in ("N", "epsilon", "K", "d"))
    M = xi_root(**numbers) ** d
    low, high = cell_bounds(**numbers)
    eps0, eps1 = epsilon_range(N=N, K=K, d=d)
    assert low <= M * (1 + 1e-9)
    assert high >= M * (1 - 1e-9)
    assert low == 0 or epsilon >= eps0
    assert (high == math.inf) == (epsilon > eps1)


@given(NUMBERS)
def test_the_bounds_of_theorem_2_say_something(numbers: dict) -> None:
    """Inside the range of epsilon they are a factor (gamma sqrt(3N))^(2d / (4 + d)) apart and no further."""
    N, epsilon, K, d = (numbers[letter] for letter in ("N", "epsilon", "K", "d"))
    eps0, eps1 = epsilon_range(N=N, K=K, d=d)
    assume(eps0 <= epsilon <= eps1)
    low, high = cell_bounds(**numbers)
    apart = (math.sqrt(3 * N) / (1 + math.sqrt(N / 3))) ** (2 * d / (4 + d))
    assert high - 1 <= (low + 1) * apart * (1 + 1e-9)


@pytest.mark.parametrize(
    ("N", "epsilon", "d", "m"),
    [(1000, 1.0, 2, 10), (10**4, 0.1, 2, 10), (300, 1.0, 2, 5), (310, 1.0, 2, 6), (10, 0.5, 3, 1), (1, 1e-9, 1, 1)],
)
def test_the_eugkm_rule_has_known_answers(N: int, epsilon: float, d: int, m: int) -> None:
    """m = (N eps / 10)^(2 / (2 + d)) to the nearest, and at least one (Eq. 3)."""
    assert eugkm_cells_per_axis(N=N, epsilon=epsilon, d=d) == m


def test_planning_takes_no_records() -> None:
    """The signature carries the privacy argument: an order, a limit and a noisy number are all a plan can see."""
    parameters = inspect.signature(make_plan, eval_str=True).parameters
    assert {name: parameter.annotation for name, parameter in parameters.items()} == {
        "order": Order,
        "max_cells": int,
        "noisy_size": int | None,
    }
    fields = inspect.signature(Order, eval_str=True).parameters
    assert list(fields) == ["attributes", "epsilon", "clusters", "size", "rule", "unit", "offsets"]


@given(DIMENSIONS, epsilons(), CLUSTERS, SIZES, st.sampled_from([Rule.RUGNIK, Rule.EUGKM]), CAPS)
def test_a_declared_size_gives_the_grid_of_its_rule_or_says_how_many_cells_it_wants(
    d: int, epsilon: Epsilon, K: int, N: int, rule: Rule, max_cells: int
) -> None:
    """The rule's m, raised only to hold K cells; beyond the limit the refusal has both numbers and nothing is cut."""
    asked = Order(attributes=numbers(d), epsilon=epsilon, clusters=K, size=DeclaredSize(N), rule=rule)
    wanted = (
        cells_per_axis(N=N, epsilon=float(epsilon), K=K, d=d)
        if rule is Rule.RUGNIK
        else eugkm_cells_per_axis(N=N, epsilon=float(epsilon), d=d)
    )
    m, most = max(wanted, least_root(K, d)), largest_axis(max_cells, d)
    if most**d < K or m > most:
        with pytest.raises(TooManyCells) as refusal:
            make_plan(asked, max_cells=max_cells)
        assert refusal.value.wanted == (K if most**d < K else m**d)
        assert refusal.value.allowed == most**d
    else:
        plan = make_plan(asked, max_cells=max_cells)
        threshold = expected_threshold(plan, max_cells)
        assert plan == Plan(order=asked, size=N, wanted=wanted, grid=Grid.uniform(m, d), threshold=threshold)
        assert K <= plan.grid.cell_count <= max(max_cells, 10**18 * (d >= 4))


def test_a_grid_beyond_the_limit_is_refused_with_its_fields() -> None:
    """A declared size that calls for 16^2 cells is refused at 255 and planned at 256."""
    asked = order(d=2, epsilon="1", K=4, size=DeclaredSize(10**4))
    m = cells_per_axis(N=10**4, epsilon=1.0, K=4, d=2)
    with pytest.raises(TooManyCells) as refusal:
        make_plan(asked, max_cells=m**2 - 1)
    assert (refusal.value.wanted, refusal.value.allowed) == (m**2, (m - 1) ** 2)
    assert f"{m**2:,}" in str(refusal.value)
    assert make_plan(asked, max_cells=m**2).grid == Grid.uniform(m, 2)


@pytest.mark.parametrize("size", [DeclaredSize(2), EstimatedSize()])
def test_clusters_that_no_allowed_grid_can_hold_are_refused(size: DeclaredSize | EstimatedSize) -> None:
    """K cells must fit under the limit, whichever way the size is known: that depends on public numbers alone."""
    noisy_size = None if isinstance(size, DeclaredSize) else 2
    with pytest.raises(TooManyCells) as refusal:
        make_plan(order(d=2, epsilon="0.001", K=50, size=size), max_cells=49, noisy_size=noisy_size)
    assert (refusal.value.wanted, refusal.value.allowed) == (50, 49)
    with pytest.raises(TooManyCells) as refusal:
        make_plan(order(d=2, epsilon="0.001", K=50, size=size), max_cells=60, noisy_size=noisy_size)
    assert (refusal.value.wanted, refusal.value.allowed) == (50, 49)
    plan = make_plan(order(d=2, epsilon="0.001", K=49, size=size), max_cells=49, noisy_size=noisy_size)
    assert plan.grid.cell_count == 49


@given(DIMENSIONS, epsilons(least=2), magnitudes(1000), SHARES, st.sampled_from([Rule.RUGNIK, Rule.EUGKM]), CAPS, NOISY)
def test_an_estimated_size_never_leads_to_a_refusal(
    d: int, epsilon: Epsilon, K: int, share: Fraction, rule: Rule, max_cells: int, noisy: int
) -> None:
    """Once K cells fit the limit any noisy size is planned: an error would select among draws."""
    asked = Order(attributes=numbers(d), epsilon=epsilon, clusters=K, size=EstimatedSize(share=share), rule=rule)
    most = largest_axis(max_cells, d)
    assume(most**d >= K)
    plan = make_plan(asked, max_cells=max_cells, noisy_size=noisy)
    assert plan.size == min(max(noisy, 1), MAX_SIZE)
    assert K <= plan.grid.cell_count <= max(max_cells, 10**18 * (d >= 4))
    assert plan.threshold == expected_threshold(plan, max_cells)
    rate = float(asked.histogram_epsilon)
    by_rule = (
        cells_per_axis(N=plan.size, epsilon=rate, K=K, d=d)
        if rule is Rule.RUGNIK
        else eugkm_cells_per_axis(N=plan.size, epsilon=rate, d=d)
    )
    assert plan.wanted == by_rule
    assert plan.grid.cells_per_axis == min(max(by_rule, least_root(4 * K, d)), most)


@pytest.mark.parametrize("noisy", [-(10**30), -1, 0, 1])
def test_a_noisy_size_below_one_counts_as_one_and_still_gives_four_cells_a_cluster(noisy: int) -> None:
    """The floor m >= (4K)^(1/d) keeps a draw that came out far too small from costing the release."""
    for d, K, m in ((1, 3, 12), (2, 4, 4), (2, 5, 5), (3, 2, 2), (3, 17, 5)):
        plan = make_plan(order(d=d, epsilon="0.01", K=K, size=EstimatedSize()), max_cells=10**6, noisy_size=noisy)
        assert plan.size == 1
        assert plan.wanted < m
        assert plan.grid.cells_per_axis == m


def test_a_declared_size_has_no_floor_but_its_clusters() -> None:
    """With a declared size the grid is the paper's, down to the K cells that K clusters need."""
    plan = make_plan(order(d=2, epsilon="0.01", K=9, size=DeclaredSize(1)), max_cells=10**6)
    assert plan.grid.cells_per_axis == 3
    assert plan.wanted < 3


def test_an_enormous_estimate_fills_the_limit_and_no_more() -> None:
    """10^30 counts as the largest size there is, and the grid stops at the limit."""
    asked = order(d=2, epsilon="100", size=EstimatedSize())
    plan = make_plan(asked, max_cells=10_000, noisy_size=10**30)
    assert plan.size == MAX_SIZE
    assert plan.grid == Grid.uniform(100, 2)
    assert plan == make_plan(asked, max_cells=10_000, noisy_size=MAX_SIZE)


def test_a_size_is_declared_or_bought_and_never_both() -> None:
    """A declared size takes no estimate, and an estimated one cannot be planned before it is bought."""
    with pytest.raises(InvalidOrder):
        make_plan(order(size=DeclaredSize(100)), max_cells=1000, noisy_size=100)
    with pytest.raises(InvalidOrder):
        make_plan(order(size=EstimatedSize()), max_cells=1000)


@given(st.integers(1, MAX_SIZE), NOISY)
def test_the_guess_never_reaches_the_grid(guess: int, noisy: int) -> None:
    """Two orders that differ in their guess alone have the same plan for the same noisy size."""
    without = make_plan(order(size=EstimatedSize()), max_cells=10**5, noisy_size=noisy)
    guessed = make_plan(order(size=EstimatedSize(guess=guess)), max_cells=10**5, noisy_size=noisy)
    assert (guessed.size, guessed.wanted, guessed.grid) == (without.size, without.wanted, without.grid)


@given(epsilons(least=2), SHARES, DIMENSIONS)
def test_the_two_shares_are_the_whole_epsilon(epsilon: Epsilon, share: Fraction, d: int) -> None:
    """size_epsilon + histogram_epsilon = epsilon in whole billionths, both above zero; the size gets its floor."""
    asked = Order(attributes=numbers(d), epsilon=epsilon, clusters=2, size=EstimatedSize(share=share))
    assert asked.size_epsilon.nano + asked.histogram_epsilon.nano == epsilon.nano
    assert asked.size_epsilon.nano == max(1, math.floor(share * epsilon.nano))
    assert asked.histogram_epsilon.nano >= 1


@given(epsilons())
def test_a_declared_size_costs_nothing(epsilon: Epsilon) -> None:
    """All of the epsilon goes to the cells."""
    asked = Order(attributes=numbers(2), epsilon=epsilon, clusters=2, size=DeclaredSize(10))
    assert asked.size_epsilon == Epsilon(0)
    assert asked.histogram_epsilon == epsilon


def test_one_billionth_cannot_be_shared() -> None:
    """An estimate needs two billionths at least; the default share of 0.05 leaves 95 % to the cells."""
    with pytest.raises(InvalidOrder):
        Order(attributes=numbers(2), epsilon=Epsilon(1), clusters=2, size=EstimatedSize())
    least = Order(attributes=numbers(2), epsilon=Epsilon(2), clusters=2, size=EstimatedSize())
    assert (least.size_epsilon, least.histogram_epsilon) == (Epsilon(1), Epsilon(1))
    assert Fraction(1, 20) == DEFAULT_SHARE
    assert str(order(epsilon="1", size=EstimatedSize()).histogram_epsilon) == "0.95"


@pytest.mark.parametrize(
    "wrong",
    [
        {"attributes": ()},
        {"attributes": numbers(33)},
        {"epsilon": Epsilon(0)},
        {"epsilon": Epsilon.parse("100.000000001")},
        {"clusters": 0},
        {"clusters": -1},
    ],
)
def test_an_order_that_no_grid_can_serve_is_refused(wrong: dict) -> None:
    """1 to 32 attributes, an epsilon above 0 and up to 100, at least one cluster."""
    right = {"attributes": numbers(2), "epsilon": Epsilon.parse("1"), "clusters": 4, "size": DeclaredSize(100)}
    assert Order(**right)
    with pytest.raises(InvalidOrder):
        Order(**{**right, **wrong})


@pytest.mark.parametrize("size", [0, -1, MAX_SIZE + 1])
def test_a_size_or_guess_out_of_range_is_refused(size: int) -> None:
    """Sizes run from 1 to 10^12."""
    with pytest.raises(InvalidOrder):
        DeclaredSize(size)
    with pytest.raises(InvalidOrder):
        EstimatedSize(guess=size)


@pytest.mark.parametrize("share", [Fraction(0), Fraction(1), Fraction(-1, 2), Fraction(3, 2)])
def test_a_share_lies_strictly_between_nothing_and_everything(share: Fraction) -> None:
    """Neither the size nor the histogram can be bought for nothing."""
    with pytest.raises(InvalidOrder):
        EstimatedSize(share=share)


def test_the_predicted_deviation_is_the_bound_of_the_paper() -> None:
    """(d / K) h(m) at the planned m and at the epsilon that the cells really get."""
    plan = make_plan(order(d=3, epsilon="0.8", K=5, size=EstimatedSize()), max_cells=10**5, noisy_size=5000)
    h = expected_deviation(plan.grid.cells_per_axis, N=5000, epsilon=0.76, K=5, d=3)
    assert plan.expected_deviation == pytest.approx(3 / 5 * h, rel=1e-12)


@pytest.mark.parametrize("d", [1, 2, 3])
def test_limits_that_are_perfect_powers_are_met_exactly(d: int) -> None:
    """m^d cells are allowed under a limit of m^d, and not under one less."""
    m = {1: 60_000, 2: 3_000, 3: 215}[d]
    asked = order(d=d, epsilon="100", K=1, size=EstimatedSize())
    assert make_plan(asked, max_cells=m**d, noisy_size=MAX_SIZE).grid.cells_per_axis == m
    assert make_plan(asked, max_cells=m**d - 1, noisy_size=MAX_SIZE).grid.cells_per_axis == m - 1


@pytest.mark.parametrize("d", range(4, 17))
def test_a_grid_is_thresholded_from_one_cell_beyond_the_limit_on(d: int) -> None:
    """From four attributes on the rule's grid is kept: whole up to the limit, and with a threshold beyond."""
    asked = order(d=d, epsilon="1", K=20, size=DeclaredSize(10**7))
    cells = make_plan(asked, max_cells=2**28).grid.cell_count
    whole, thresholded = make_plan(asked, max_cells=cells), make_plan(asked, max_cells=cells - 1)
    assert whole.grid == thresholded.grid
    assert whole.threshold is None
    assert thresholded.threshold == least_threshold(cells, DiscreteLaplace.at(asked.histogram_epsilon))


def test_no_grid_has_more_cells_than_can_be_numbered() -> None:
    """The largest size in 16 dimensions stays below 10^18 cells."""
    for d in range(4, 17):
        asked = order(d=d, epsilon="100", K=1, size=EstimatedSize())
        assert make_plan(asked, max_cells=10**6, noisy_size=MAX_SIZE).grid.cell_count <= 10**18
