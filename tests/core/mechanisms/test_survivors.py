"""Survivors: gaps that are exact to the last bit, and a threshold from public numbers."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.budget import Epsilon
from core.domain.grid import Grid
from core.mechanisms.discrete_laplace import DiscreteLaplace
from core.mechanisms.survivors import draw_gap, survivors
from core.mechanisms.threshold import EXPECTED_FALSE_CELLS, least_threshold
from core.randomness import NoiseSource
from tests.core.exact import NANO, exp_bounds
from tests.core.strategies import epsilons

FAR = 10**40
BITS = 1024


def law_at(text: str) -> DiscreteLaplace:
    """The law at epsilon, or at epsilon / c."""
    epsilon, _, rows = text.partition("/")
    return DiscreteLaplace.at(Epsilon.parse(epsilon), rows_per_unit=int(rows or 1))


def passing(threshold: int, law: DiscreteLaplace) -> tuple[Fraction, Fraction]:
    """Bounds on 1 - q = 1 - p^T / (1 + p), from the alternating series."""
    x_low, x_high = exp_bounds(law.exact_rate * threshold, BITS)
    p_low, p_high = exp_bounds(law.exact_rate, BITS)
    one = 1 << BITS
    return 1 - Fraction(x_high, one + p_low), 1 - Fraction(x_low, one + p_high)


class Bits(NoiseSource):
    """The bits of one U, first those of `u`, then zeros or ones for ever; counts what was asked."""

    def __init__(self, u: int, *, then: int = 0) -> None:
        self.first: int | None = u
        self.then = then
        self.asked = 0

    def integer(self, bits: int) -> int:
        """The next bits."""
        self.asked += 1
        if self.first is None:
            return self.then * ((1 << bits) - 1)
        first, self.first = self.first, None
        return first


@given(st.integers(1, 2**192 - 1), st.sampled_from(["0.1", "0.7", "1", "2.5", "1/3"]), st.integers(1, 4))
def test_a_gap_is_the_one_that_its_bits_stand_for(u: int, text: str, threshold: int) -> None:
    """(1 - q)^(gap + 1) < U <= (1 - q)^gap, in exact arithmetic, for every U that begins with these bits."""
    law = law_at(text)
    gap = draw_gap(threshold, law, Bits(u), most=FAR)
    low, high = passing(threshold, law)
    if gap < 300:  # beyond, the fractions grow too long
        assert high ** (gap + 1) < Fraction(u + 1, 2**192)
        assert Fraction(u, 2**192) <= low**gap


@pytest.mark.parametrize("k", [1, 2, 5, 40])
@pytest.mark.parametrize(("text", "threshold"), [("1", 2), ("0.3", 5), ("4", 1), ("1/3", 4)])
def test_bits_on_a_threshold_decide_nothing_and_more_are_asked(text: str, threshold: int, k: int) -> None:
    """Where U begins like (1 - q)^k, bits that follow put the gap on one side or the other."""
    law = law_at(text)
    low, _high = passing(threshold, law)
    on_it = int(low**k * 2**192)
    below, above = Bits(on_it, then=0), Bits(on_it, then=1)
    assert draw_gap(threshold, law, below, most=FAR) == k
    assert draw_gap(threshold, law, above, most=FAR) == k - 1
    assert min(below.asked, above.asked) >= 2


def test_bits_that_are_all_zero_lie_beyond_the_grid() -> None:
    """U below any number of zeros: the gap ends the grid, after as many bits as its size takes."""
    source = Bits(0)
    assert draw_gap(40, law_at("1"), source, most=10**18) == 10**18
    assert source.asked >= 1


@pytest.mark.parametrize(("text", "threshold"), [("0.000000001", 40 * 10**9), ("100", 1), ("100", 3), ("0.01", 4000)])
def test_gaps_are_drawn_at_any_epsilon(text: str, threshold: int) -> None:
    """From a billionth to a hundred: numbers, none negative, and the end of the grid where q is next to nothing."""
    gaps = [draw_gap(threshold, law_at(text), NoiseSource(), most=10**18) for _ in range(5)]
    assert all(0 <= gap <= 10**18 for gap in gaps)


@given(epsilons(most=20 * NANO), st.integers(10**4, 10**18))
def test_the_threshold_is_the_least_that_few_empty_cells_reach(epsilon: Epsilon, cells: int) -> None:
    """On average EXPECTED_FALSE_CELLS empty cells reach it at most, and more would reach one less."""
    threshold, e = least_threshold(cells, DiscreteLaplace.at(epsilon)), float(epsilon)

    def false_cells(t: int) -> float:
        return cells * np.exp(-e * t) / (1 + np.exp(-e))

    assert false_cells(threshold) <= EXPECTED_FALSE_CELLS * (1 + 1e-6)
    needed = 2 / np.expm1(e) + 1  # for small grids the bounds on counts ask for more
    assert threshold == 1 or threshold <= needed + 1 or false_cells(threshold - 1) > EXPECTED_FALSE_CELLS * (1 - 1e-6)


@pytest.mark.parametrize(("epsilon", "cells", "threshold"), [("100", 10**7, 1), ("14", 10**7, 2), ("5", 10**6, 3)])
def test_with_hardly_any_noise_the_threshold_is_low(epsilon: str, cells: int, threshold: int) -> None:
    """Where even a count of one is no noise, cells with one row are listed."""
    assert least_threshold(cells, law_at(epsilon)) == threshold


def test_survivors_ascend_and_reach_the_threshold() -> None:
    """Occupied and empty cells come in one order, each once, none below the threshold; a full cell is always there."""
    law, cells = law_at("0.5"), 3000
    occupied, counts = np.array([7, 100, 2999]), np.array([10**6, 1, 10**6])
    kept, noisy = survivors(occupied, counts, cell_count=cells, threshold=6, law=law, noise=NoiseSource())
    assert (np.diff(kept) > 0).all()
    assert noisy.min() >= 6
    assert {7, 2999} <= set(kept.tolist())
    assert abs(noisy[kept == 7][0] - 10**6) < 200


def test_places_and_cells_name_each_other() -> None:
    """The number of a cell on each axis and its number in the grid agree, up to 10^18 cells."""
    grid = Grid.uniform(1000, 6)
    cells = np.array([0, 1, 999, 1000, 10**18 - 1, 123456789012345678])
    places = grid.places(cells)
    assert (places @ (1000 ** np.arange(5, -1, -1)) == cells).all()
    assert places[-1].tolist() == [123, 456, 789, 12, 345, 678]
