"""The rule for attributes of all kinds: against brute force, against the paper's where it speaks, and its limits."""

from __future__ import annotations

import math
from itertools import pairwise, product

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from core.domain.attribute import Attribute, Missing
from core.domain.category import Category
from core.domain.integer import Integer
from core.domain.number import Number
from core.rule import cells_per_axis, eugkm_cells_per_axis, expected_deviation
from core.sharing import Shape, deviation, eugkm_shared_cells, least, shared_cells

MOST = {1: 300, 2: 50, 3: 22}  # the cells per axis that brute force tries, by d
SETTINGS = [
    {"N": N, "epsilon": epsilon, "K": K} for N in (40, 3000, 10**5) for epsilon in (0.02, 0.3, 2.0) for K in (1, 5, 20)
]
CAPS = [(None,), (7,), (None, 7), (3, 7), (None, None, 4), (None, 2, 9), (1, None, 30), (5, 5, 5)]
SIZES = st.integers(1, 10**6)
RATES = st.floats(1e-3, 20)
CLUSTERS = st.integers(1, 50)
SHAPES = st.builds(
    lambda caps, categories: Shape(tuple(caps), (0,) * len(caps), categories),
    st.lists(st.none() | st.integers(1, 40), min_size=1, max_size=6),
    st.integers(1, 500),
)


def shape(caps: tuple[int | None, ...], categories: int = 1) -> Shape:
    """No cell of missing values."""
    return Shape(caps, (0,) * len(caps), categories)


@pytest.mark.parametrize("categories", [1, 3, 40])
@pytest.mark.parametrize("caps", CAPS)
def test_no_cells_of_any_axes_have_a_much_smaller_h(caps: tuple[int | None, ...], categories: int) -> None:
    """Brute force over all m_x: with a single m for all axes h is the least, up to what rounding to whole m costs."""
    d, cut = len(caps), shape(caps, categories)
    for setting in SETTINGS:
        m = shared_cells(cut, **setting)
        if m > MOST[d] - 2:
            continue
        ranges = [range(1, min(cap or MOST[d], MOST[d]) + 1) for cap in caps]
        best = min(deviation(cells, **setting, C=categories) for cells in product(*ranges))
        chosen = deviation(cut.ordered_cells(m), **setting, C=categories)
        assert best * (1 - 1e-12) <= chosen <= best * (1.06 if d > 1 else 1 + 1e-12)


@given(SHAPES, SIZES, RATES, CLUSTERS)
def test_no_other_m_has_a_smaller_h(cut: Shape, N: int, epsilon: float, K: int) -> None:
    """Brute force over m, with caps and categories: the binary search ends at the minimum of all m."""
    setting = {"N": N, "epsilon": epsilon, "K": K}
    m = shared_cells(cut, **setting)
    assume(m < 390)
    values = [deviation(cut.ordered_cells(other), **setting, C=cut.categories) for other in range(1, 400)]
    assert values[m - 1] <= min(values) * (1 + 1e-12)
    assert None in cut.caps or m <= max(cap for cap in cut.caps if cap is not None)


@given(SHAPES, SIZES, RATES, CLUSTERS)
def test_h_falls_and_then_rises(cut: Shape, N: int, epsilon: float, K: int) -> None:
    """Along m_x = min(m, cap_x) the slope of h changes its sign once, which the binary search depends on."""
    values = [deviation(cut.ordered_cells(m), N=N, epsilon=epsilon, K=K, C=cut.categories) for m in range(1, 200)]
    rises = [right > left * (1 + 1e-12) for left, right in pairwise(values)]
    falls = [right < left * (1 - 1e-12) for left, right in pairwise(values)]
    assert True not in rises or not any(falls[rises.index(True) :])


@given(st.integers(1, 16), SIZES, RATES, CLUSTERS)
def test_with_numbers_alone_the_rules_are_the_papers(d: int, N: int, epsilon: float, K: int) -> None:
    """Neither a missing cap nor one that is not reached changes m; the search gives the paper's m by itself."""
    m = cells_per_axis(N=N, epsilon=epsilon, K=K, d=d)
    assert shared_cells(shape((None,) * d), N=N, epsilon=epsilon, K=K) == m
    assert shared_cells(shape((m + 1,) * d), N=N, epsilon=epsilon, K=K) == m
    assert shared_cells(shape((m, *(None,) * (d - 1))), N=N, epsilon=epsilon, K=K) >= m
    eugkm = eugkm_cells_per_axis(N=N, epsilon=epsilon, d=d)
    assert eugkm_shared_cells(shape((None,) * d), N=N, epsilon=epsilon) == eugkm
    assert eugkm_shared_cells(shape((eugkm + 1,) * d), N=N, epsilon=epsilon) == eugkm


@given(st.integers(1, 8), SIZES, RATES, CLUSTERS, st.integers(1, 10**4))
def test_categories_are_noise(d: int, N: int, epsilon: float, K: int, C: int) -> None:
    """A sum over C cells has the noise of one cell at epsilon / sqrt(C): fewer cells, by the paper's own h."""
    m = shared_cells(shape((None,) * d, C), N=N, epsilon=epsilon, K=K)
    assert m == cells_per_axis(N=N, epsilon=epsilon / math.sqrt(C), K=K, d=d)
    assert m <= shared_cells(shape((None,) * d), N=N, epsilon=epsilon, K=K)
    assert deviation((m,) * d, N=N, epsilon=epsilon, K=K, C=C) == pytest.approx(
        expected_deviation(m, N=N, epsilon=epsilon / math.sqrt(C), K=K, d=d), rel=1e-12
    )


def test_h_of_axes_that_differ_has_a_known_answer() -> None:
    """Three terms by hand: N = 300, K = 4, epsilon = 1/2, C = 2 and cells (4, 8): the mean of 1/m^2 is 5/128."""
    noise, cross, quantisation = math.sqrt(2 * 2 * 32) / (0.5 * 4), 2 * 10 * math.sqrt(5 / 128) / 2, 100 * 5 / 128
    h = deviation((4, 8), N=300, epsilon=0.5, K=4, C=2)
    assert h == pytest.approx(noise + cross + quantisation, rel=1e-14)


def test_cells_that_an_axis_does_not_need_go_to_the_others() -> None:
    """Beside a column of two values a number gets more cells than beside another number, and fewer than alone."""
    setting = {"N": 10**5, "epsilon": 0.5, "K": 4}
    both = shared_cells(shape((None, None)), **setting)
    beside = shared_cells(shape((2, None)), **setting)
    assert shape((2, None)).ordered_cells(beside) == (2, beside)
    assert both < beside < both**2
    eugkm = {"N": 10**5, "epsilon": 0.5}
    assert eugkm_shared_cells(shape((None, None)), **eugkm) == 71  # 5000^(1/2)
    assert eugkm_shared_cells(shape((2, None)), **eugkm) == 2500  # 5000 / 2
    assert eugkm_shared_cells(shape((2, 30)), **eugkm) == 30
    assert eugkm_shared_cells(shape((2, None), 100), **eugkm) == 250  # an epsilon of 0.05


@given(SHAPES, SIZES, RATES)
def test_the_eugkm_product_is_met_where_values_allow_it(cut: Shape, N: int, epsilon: float) -> None:
    """With the real m the product is (N eps' / 10)^(2d / (2 + d)); m is at most half a cell from it."""
    d = len(cut.caps)
    product_wanted = max(N * epsilon / math.sqrt(cut.categories) / 10, 1e-12) ** (2 * d / (2 + d))
    m = eugkm_shared_cells(cut, N=N, epsilon=epsilon)

    def cells_for(real: float) -> float:
        return math.prod(real if cap is None else min(real, cap) for cap in cut.caps)

    assert m == 1 or cells_for(m - 0.5) <= product_wanted * (1 + 1e-9)
    if None in cut.caps:
        assert cells_for(m + 0.5) >= product_wanted * (1 - 1e-9)


@pytest.mark.parametrize("first", [1, 2, 3, 7, 8, 9, 1000, 2**20 + 1])
def test_the_search_gives_the_least_number(first: int) -> None:
    """For a condition that holds from `first` on."""
    assert least(lambda m: m >= first) == first


def test_a_shape_counts_every_cell() -> None:
    """A category multiplies by all its cells; an ordered attribute that keeps missing values has one cell more."""
    attributes: list[Attribute] = [
        Number("income", 0, 1, Missing.KEEP),
        Integer("hour", 0, 23),
        Category("sex", ("f", "m"), other=True, missing=Missing.KEEP),
    ]
    cut = Shape.of(attributes)
    assert (cut.caps, cut.missing, cut.categories) == ((None, 24), (1, 0), 4)
    assert cut.ordered_cells(30) == (30, 24)
    assert cut.cell_count(30) == 31 * 24 * 4
    assert cut.least_for(24 * 30) == 30
    assert Shape.of(attributes[1:]).least_for(1000) == 24  # all there are
    assert Shape.of(attributes[2:]).cell_count(5) == 4
