"""How often cells are halved: whole numbers, checked against fractions that never round."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from core.adaptive.cuts import COARSE_CONSTANT, LEAF_CONSTANT, MOST_HALVINGS, halvings
from core.mechanisms.discrete_laplace import DiscreteLaplace
from tests.core.strategies import COUNTS, epsilons

DIMENSIONS = st.integers(1, 3)
CONSTANTS = st.sampled_from([COARSE_CONSTANT, LEAF_CONSTANT, 1, 7])
RATES = st.builds(
    lambda epsilon, c: DiscreteLaplace.at(epsilon, rows_per_unit=c).exact_rate, epsilons(), st.integers(1, 1000)
)


def is_enough(h: int, y: int, rate: Fraction, constant: int, d: int) -> bool:
    """2^(h (2 + d)) >= (e y / c)^(2d), as it stands."""
    return 2 ** (h * (2 + d)) >= (rate * max(y, 0) / constant) ** (2 * d)


def brute_force(y: int, rate: Fraction, constant: int, d: int) -> int:
    """The least number of halvings that is enough, one after the other; no more than the most."""
    return next((h for h in range(MOST_HALVINGS) if is_enough(h, y, rate, constant, d)), MOST_HALVINGS)


def halved(y: int, rate: Fraction, constant: int, d: int) -> int:
    """The halvings of a single cell."""
    return int(halvings(np.array([y]), rate=rate, constant=constant, ordered=d)[0])


@given(counts=st.lists(st.one_of(COUNTS, st.integers(-5, 10**7)), max_size=20), rate=RATES, c=CONSTANTS, d=DIMENSIONS)
def test_halvings_are_the_least_that_are_enough(counts: list[int], rate: Fraction, c: int, d: int) -> None:
    """For any 64-bit counts and any rate."""
    expected = [brute_force(y, rate, c, d) for y in counts]
    assert halvings(np.array(counts, dtype=np.int64), rate=rate, constant=c, ordered=d).tolist() == expected


@given(h=st.integers(0, MOST_HALVINGS - 1), rate=RATES, c=CONSTANTS, d=DIMENSIONS)
def test_the_step_from_one_number_to_the_next_is_exact(h: int, rate: Fraction, c: int, d: int) -> None:
    """The largest count for which h are enough, found by doubling and bisection, and the count after it."""
    low, high = 0, 1
    while is_enough(h, high, rate, c, d):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if is_enough(h, middle, rate, c, d) else (low, middle)
    if high < 2**63:
        assert halved(low, rate, c, d) <= h < halved(high, rate, c, d)


def test_counts_without_signal_are_never_halved() -> None:
    """Nothing and less than nothing, however large the epsilon is."""
    for d in (1, 2, 3):
        assert halvings(np.array([0, -1, -(2**63)]), rate=Fraction(10**9), constant=1, ordered=d).tolist() == [0, 0, 0]


def test_exact_powers_fall_on_the_step() -> None:
    """For two attributes 2^h parts serve e y / c = 2^h exactly; one row more takes a halving more."""
    for h in range(20):
        assert halved(5 * 2**h, Fraction(1), 5, 2) == h
        assert halved(5 * 2**h + 1, Fraction(1), 5, 2) == h + 1


@given(y=st.integers(1, 10**6), d=DIMENSIONS)
def test_parts_are_about_those_of_the_formula(y: int, d: int) -> None:
    """2^h lies between x^(2d / (2 + d)) and twice that, where this is 1 or more."""
    wanted = max((0.9 * y / LEAF_CONSTANT) ** (2 * d / (2 + d)), 1.0)
    parts = 2 ** halved(y, Fraction(9, 10), LEAF_CONSTANT, d)
    assert wanted * (1 - 1e-9) <= parts < 2 * wanted * (1 + 1e-9) or math.isclose(wanted, 1.0)


def test_without_an_ordered_axis_nothing_is_halved() -> None:
    """Categories have no halves."""
    assert halvings(np.array([10**9]), rate=Fraction(1), constant=5, ordered=0).tolist() == [0]
