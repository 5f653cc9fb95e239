"""Radii of weighted sums of noise hold at their level, and are not much wider than they must be."""

from __future__ import annotations

from collections import Counter
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

from core.arrays import Floats
from core.budget import Epsilon
from core.errors import InvalidQuery
from core.intervals.exact import tail_of_sum
from core.intervals.levels import MAX_LEVEL, alpha_of
from core.intervals.radius import equal_radius, radii, radius
from core.intervals.weighted_sums import STEPS, Sums, by_steps
from core.mechanisms.discrete_laplace import DiscreteLaplace


def law_at(epsilon: str | float) -> DiscreteLaplace:
    """The law at this epsilon."""
    return DiscreteLaplace.at(Epsilon.parse(str(epsilon)))


def probabilities(epsilon: float, reach: int) -> np.ndarray:
    """P(Z = z) for z = -reach … reach, straight from the formula."""
    p = np.exp(-epsilon)
    return (1 - p) / (1 + p) * p ** np.abs(np.arange(-reach, reach + 1))


@pytest.mark.parametrize("epsilon", ["0.3", "1", "5", "40"])
@pytest.mark.parametrize("n", [1, 2, 3, 7])
def test_the_tail_of_a_sum_is_that_of_its_convolution(epsilon: str, n: int) -> None:
    """The Fourier transform gives what convolving the law n times gives."""
    single = probabilities(float(epsilon), 300)
    whole = single
    for _ in range(n - 1):
        whole = np.convolve(whole, single)
    middle = len(whole) // 2
    tail = tail_of_sum(law_at(epsilon), n)
    for r in range(min(40, len(tail))):
        expected = 1 - whole[middle - r : middle + r + 1].sum()
        assert tail[r] == pytest.approx(expected, abs=1e-10)


@pytest.mark.parametrize("epsilon", ["0.05", "0.7", "3", "90"])
def test_one_cell_has_the_radius_of_the_noise_itself(epsilon: str) -> None:
    """For a single cell the radius is the one that the noise's own tail gives."""
    law = law_at(epsilon)
    for level in (0.5, 0.9, 0.95, 0.999):
        expected = law.tail_radius(probability=1 - level)
        assert equal_radius(law, 1, alpha=1 - level) == pytest.approx(expected, rel=1e-8)


EPSILONS = [0.06, 0.1, 0.3, 0.7, 1.0, 1.7, 2.5, 4.0, 7.0]
FINE = 120  # the weights of the tests below are multiples of 1/120, which is not what the radius rounds to


@st.composite
def weighings(draw: st.DrawFn) -> tuple[list[int], float, float]:
    """A few dozen cells of few or many different weights, an epsilon and a level."""
    different = draw(st.lists(st.integers(1, FINE), min_size=1, max_size=12))
    times = draw(st.integers(1, 12))
    return different * times, draw(st.sampled_from(EPSILONS)), draw(st.sampled_from([0.8, 0.9, 0.95, 0.99, 0.999]))


def exceeded(weights: list[int], epsilon: float, reach: float) -> float:
    """P(|S| > reach) by the characteristic function of exactly these weights."""
    p = np.exp(-epsilon)
    spread = np.sqrt(2 * p) / (1 - p) * np.sqrt(np.square(weights).sum())
    length = 1 << int(2 * (20 * spread + 40 / epsilon * max(weights))).bit_length()
    angles = 2 * np.pi * np.arange(length // 2 + 1) / length
    factor = 4 * p / (1 - p) ** 2
    exponent = sum(n * np.log1p(factor * np.sin(w * angles / 2) ** 2) for w, n in Counter(weights).items())
    probabilities = np.fft.irfft(np.exp(-exponent), n=length)[: length // 2]
    last = int(np.floor(reach * FINE + 1e-6))
    return float(1 - probabilities[0] - 2 * probabilities[1 : last + 1].sum())


@given(weighings())
def test_any_weighted_sum_stays_within_its_radius(case: tuple[list[int], float, float]) -> None:
    """Whatever the weights and the epsilon, the radius holds at its level, to a part in two thousand."""
    weights, epsilon, level = case
    reach = radius(law_at(epsilon), np.array(weights) / FINE, alpha=1 - level)
    assert exceeded(weights, epsilon, reach) <= 1 - level + 5e-4


@pytest.mark.parametrize("epsilon", [0.3, 0.7, 1.0, 1.7, 2.5])
def test_a_few_whole_cells_and_many_slivers_stay_within_their_radius(epsilon: float) -> None:
    """Such a sum keeps close to whole numbers. Rounding slivers up alone would spread it, and leave radii too short."""
    for large, small, slivers in product((1, 3, 6, 30, 150), (1, 10, 40, 70), (1, 10, 300)):
        weights = [FINE] * large + [small] * slivers
        for level in (0.8, 0.9, 0.95, 0.99, 0.999):
            reach = radius(law_at(epsilon), np.array(weights) / FINE, alpha=1 - level)
            assert exceeded(weights, epsilon, reach) <= 1 - level + 1e-9, (weights, level)


@pytest.mark.parametrize("sliver", [1e-12, 1e-9, 1e-7, 9e-7, 1e-5, 1e-3])
def test_the_thinnest_sliver_has_noise_too(sliver: float) -> None:
    """At epsilon 1, 3 % of |Z| are above 3, but for a little: a sliver's noise must not push out what lies at 3."""
    reach = radius(law_at("1"), np.array([1.0, sliver]), alpha=0.03)
    assert reach >= 3 + 3 * sliver
    assert reach <= 3.3


@pytest.mark.parametrize(("heavy", "light"), [(1, 20_000), (2, 14_393), (4, 28_785)])
def test_few_heavy_cells_among_many_light_ones_are_not_normal_far_out(heavy: int, light: int) -> None:
    """The radius of a level near one is that of the heavy cells' tail, which is no normal one."""
    weights = [100] * heavy + [2] * light
    for level in (0.99, 0.999, 0.9999, 0.99999, 0.9999999):
        reach = radius(law_at("0.3"), np.array(weights) / FINE, alpha=1 - level)
        assert exceeded(weights, 0.3, reach) <= 1 - level


@given(weighings())
def test_no_radius_is_much_wider_than_it_must_be(case: tuple[list[int], float, float]) -> None:
    """A tenth and a step less would not hold: rounding and corrections cost little."""
    weights, epsilon, level = case
    reach = radius(law_at(epsilon), np.array(weights) / FINE, alpha=1 - level)
    jump = max(weights) / FINE
    if epsilon <= 1 and reach > 4 * jump:  # else the law jumps by more than a tenth of the radius
        assert exceeded(weights, epsilon, 0.85 * reach - jump) > 1 - level


def test_many_cells_are_normal() -> None:
    """A thousand cells have the normal radius, but for half a jump."""
    for level in (0.5, 0.95, 0.999):
        spread = law_at("0.3").standard_deviation * 1000**0.5
        reach = equal_radius(law_at("0.3"), 1000, alpha=1 - level)
        assert reach == pytest.approx(spread * norm.ppf(0.5 + level / 2) + 0.5, rel=2e-3)


@pytest.mark.parametrize("n", [40, 200])
def test_many_cells_of_hardly_any_noise_are_not_normal(n: int) -> None:
    """At epsilon 8 most cells have no noise at all: the radius is that of the exact law, where a normal one fails."""
    law = law_at("8")
    tail = tail_of_sum(law, n)
    reach = equal_radius(law, n, alpha=0.05)
    assert tail[int(reach)] <= 0.05
    assert reach == 0 or tail[int(reach) - 1] > 0.05


def sums_of(weights: list[Floats]) -> Sums:
    """Many sums, from the weights of each."""
    largest = np.array([w.max() for w in weights])
    return Sums(
        largest=largest,
        squares=np.array([(w**2).sum() for w in weights]),
        fourths=np.array([(w**4).sum() for w in weights]),
        equal=np.array([bool((w == w.max()).all()) for w in weights]),
        steps=lambda rows, rounding: by_steps(
            np.concatenate([rounding(weights[i] / largest[i] * STEPS) for i in rows]),
            np.ones(sum(len(weights[i]) for i in rows)),
            np.repeat(np.arange(len(rows)), [len(weights[i]) for i in rows]),
            len(rows),
        ),
    )


def test_many_sums_at_once_are_those_one_by_one() -> None:
    """`radii` is `radius`, from no cell at all to thousands."""
    rng = np.random.default_rng(0)
    weights = [rng.uniform(0, 1, n) for n in (1, 2, 10, 31, 900, 5000)] + [np.zeros(3), np.ones(4)]
    law = law_at("0.4")
    together = radii(law, sums_of(weights), alpha=0.1)
    assert together == pytest.approx([radius(law, w, alpha=0.1) for w in weights], rel=1e-8)
    assert together[-2] == 0.0


def test_levels_beyond_the_precision_of_a_transform_are_bounded() -> None:
    """Within 10^-9 of one the radius is a bound that still grows with the level and holds for a single cell."""
    law = law_at("0.5")
    reaches = [equal_radius(law, 1, alpha=tail) for tail in (1e-8, 1e-10, 1e-12)]
    assert reaches == sorted(reaches)
    assert reaches[-1] >= law.tail_radius(probability=1e-12)


def test_small_epsilons_follow_the_limit() -> None:
    """Below the finest table the radius scales with the standard deviation, and a jump is added."""
    coarse, fine = law_at("0.05"), law_at("0.0001")
    ratio = equal_radius(fine, 3, alpha=0.05) / equal_radius(coarse, 3, alpha=0.05)
    assert 500 <= ratio <= 510


@pytest.mark.parametrize("alpha", [1e-6, 1e-7, 3e-9])
@pytest.mark.parametrize("epsilon", [0.3, 1.0, 2.5, 7.0])
def test_radii_hold_at_the_surest_level_split_among_many_statements(epsilon: float, alpha: float) -> None:
    """At MAX_LEVEL, and with a few hundredths of its error, P(|S| > r) is no more than alpha by the exact law."""
    rng = np.random.default_rng(0)
    for number in (1, 10, 120):
        for weights in ([FINE] * number, rng.integers(1, FINE + 1, number).tolist()):
            reach = radius(law_at(epsilon), np.array(weights) / FINE, alpha=alpha)
            assert exceeded(weights, epsilon, reach) <= 1.001 * alpha
    assert alpha <= alpha_of(MAX_LEVEL) * (1 + 1e-9)
    with pytest.raises(InvalidQuery):
        alpha_of(1.0 - alpha / 2)
