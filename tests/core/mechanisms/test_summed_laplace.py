"""The law of a sum of draws: moments, tails, transforms and kernels, each against a convolution of probabilities."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.budget import NANO
from core.mechanisms.discrete_laplace import DiscreteLaplace
from core.mechanisms.law import NoiseLaw
from core.mechanisms.summed_laplace import SummedLaplace
from core.mechanisms.threshold import EXPECTED_FALSE_CELLS, least_threshold
from tests.core.summed import convolved, law_at

CASES = [(rate, draws) for rate in (0.05, 0.3, 1.0, 5.0) for draws in (2, 3, 7, 50)]
PROBABILITIES = (0.9, 0.3, 0.05, 1e-3, 1e-6, 1e-9, 1e-12)


def law_of(rate: float, draws: int) -> SummedLaplace:
    """The sum of two draws or more."""
    law = law_at(rate).summed(draws)
    assert isinstance(law, SummedLaplace)
    return law


def test_a_sum_of_sums_is_a_sum_of_all_draws() -> None:
    """One draw is the law itself, and sums of sums are equal laws, which share their tables."""
    single = law_at(0.3)
    assert single.summed(1) is single
    assert single.summed(6) == single.summed(2).summed(3)
    assert hash(single.summed(6)) == hash(single.summed(3).summed(2))
    assert single.summed(2).summed(1) == single.summed(2)
    for law, draws in ((single, 1), (single.summed(2), 2), (single.summed(2).summed(3), 6)):
        whole: NoiseLaw = law
        assert (whole.single, whole.draws, whole.rate, whole.mechanism) == (single, draws, 0.3, single.mechanism)
    for times in (0, -1):
        for law in (single, single.summed(2)):
            with pytest.raises(ValueError, match="two draws"):
                law.summed(times)


@pytest.mark.parametrize(("rate", "draws"), CASES)
def test_moments_and_transforms_are_those_of_the_convolution(rate: float, draws: int) -> None:
    """Variance, excess kurtosis, log E exp(t S) and the characteristic function."""
    law, (z, chances) = law_of(rate, draws), convolved(rate, draws)
    assert law.variance == pytest.approx(z**2.0 @ chances, rel=1e-9)
    assert law.standard_deviation == pytest.approx((z**2.0 @ chances) ** 0.5, rel=1e-9)
    assert law.kurtosis == pytest.approx((z**4.0 @ chances) / (z**2.0 @ chances) ** 2 - 3, rel=1e-6)
    t = rate * np.array([-0.4, -0.1, 0.0, 0.3])
    assert law.log_mgf(t) == pytest.approx(np.log(np.exp(np.outer(t, z)) @ chances), rel=1e-8, abs=1e-12)
    angles = np.array([0.0, 0.01, 0.1])
    transform = np.cos(np.outer(angles, z)) @ chances
    assert np.exp(-law.characteristic_exponent(angles)) == pytest.approx(transform, abs=1e-12)


@pytest.mark.parametrize(("rate", "draws"), CASES)
def test_probabilities_and_tails_are_those_of_the_convolution(rate: float, draws: int) -> None:
    """P(S = z) and P(S >= T) keep nine digits from the middle to tails of 10^-15."""
    law, (_z, chances) = law_of(rate, draws), convolved(rate, draws)
    middle = len(chances) // 2
    beyond = np.cumsum(chances[::-1])[::-1][middle:]
    last = int(np.argmax(beyond < 1e-15))
    for value in np.unique(np.linspace(0, last, 25).astype(int)).tolist():
        assert law.probability(value) == pytest.approx(chances[middle + value], rel=1e-9)
        assert law.probability(-value) == law.probability(value)
        assert law.probability_at_least(value) == pytest.approx(beyond[value], rel=1e-9)


@pytest.mark.parametrize(("rate", "draws"), CASES)
def test_radii_and_thresholds_are_the_least_that_hold(rate: float, draws: int) -> None:
    """P(|S| > r) <= probability and P(S >= T) <= probability, and not for one less."""
    law, (_z, chances) = law_of(rate, draws), convolved(rate, draws)
    beyond = np.cumsum(chances[::-1])[::-1][len(chances) // 2 :]  # P(S >= T)
    for probability in PROBABILITIES:
        radius, threshold = law.tail_radius(probability=probability), law.upper_threshold(-np.log(probability))
        assert radius == int(np.argmax(2 * beyond[1:] <= probability))
        assert threshold == int(np.argmax(beyond <= probability))
        assert law.rough_radius(-np.log(probability)) == radius


@given(
    st.integers(1, 100 * NANO), st.sampled_from([2, 5, 40, 1000]), st.sampled_from([0.5, 1e-3, 1e-12, 1e-100, 1e-290])
)
def test_the_tail_radius_is_the_least_at_every_rate(nano: int, draws: int, probability: float) -> None:
    """By the tail itself, at rates from 10^-9 to 100 and for tails that no transform resolves."""
    law = SummedLaplace(DiscreteLaplace(nano), draws)
    r = law.tail_radius(probability=probability)
    assert 2 * law.probability_at_least(r + 1) <= probability
    if r:
        assert 2 * law.probability_at_least(r) > probability
    assert law.probability_at_least(0) - law.probability_at_least(1) == pytest.approx(law.probability(0), abs=1e-9)


def test_small_rates_have_the_tail_of_sums_of_laplace_draws() -> None:
    """Of two draws: P(S > x / e) = (1 + x / 2) exp(-x) / 2, for the continuous law."""
    law = SummedLaplace(DiscreteLaplace(1), 2)
    for x in (0.5, 3.0, 12.0, 60.0):
        assert law.probability_at_least(round(x * NANO)) == pytest.approx((1 + x / 2) * np.exp(-x) / 2, rel=1e-6)


@pytest.mark.parametrize(("rate", "draws"), CASES)
def test_no_threshold_leaves_more_excess_than_the_mean_excess(rate: float, draws: int) -> None:
    """E[S - T | S >= T] has its largest value at T = 0, and falls to that of a single draw."""
    law, (z, chances) = law_of(rate, draws), convolved(rate, draws)
    thresholds = np.arange(0, 1 + law.tail_radius(probability=1e-6))
    excess = [
        float((np.maximum(z - T, 0) @ chances) / chances[z >= T].sum())
        for T in thresholds[:: 1 + len(thresholds) // 40]
    ]
    assert law.mean_excess == pytest.approx(excess[0], rel=1e-9)
    assert max(excess) == excess[0]
    assert min(excess) >= law.single.mean_excess * (1 - 1e-6)


@pytest.mark.parametrize(("rate", "draws"), CASES)
@pytest.mark.parametrize("cells", [2, 400, 10**6])
def test_few_empty_cells_reach_the_threshold_of_a_sum(rate: float, draws: int, cells: int) -> None:
    """About five of any number of cells; and no less than the bounds of small grids ask for."""
    law, (z, chances) = law_of(rate, draws), convolved(rate, draws)
    threshold = least_threshold(cells, law)
    assert cells * chances[z >= threshold].sum() <= EXPECTED_FALSE_CELLS * (1 + 1e-9)
    assert threshold == 1 or threshold - 1 >= 2 * law.mean_excess


@pytest.mark.parametrize(("rate", "draws"), CASES)
def test_beyond_the_kernels_reach_probabilities_are_negligible(rate: float, draws: int) -> None:
    """P(S = z) / P(S = 0) is below 10^-6 from there on, and not before."""
    law, (z, chances) = law_of(rate, draws), convolved(rate, draws)
    relative = chances / chances[z == 0]
    assert relative[z == law.kernel_reach] < 1e-6
    assert relative[z == law.kernel_reach - 1] >= 1e-6
    assert law.negative_reach == law.kernel_reach


@pytest.mark.parametrize(("rate", "draws"), CASES)
@pytest.mark.parametrize("unit", [1, 2, 7, 60, 500])
def test_kernel_sums_are_those_of_counts_in_units(rate: float, draws: int, unit: int) -> None:
    """P(noisy count in unit y | true count anywhere in unit t), by going through every pair of whole numbers."""
    law, (z, chances) = law_of(rate, draws), convolved(rate, draws)
    length = 30
    kernel = np.zeros(length)
    for k in range(length):
        for start in range(unit):  # the place of the true count in its unit
            noise = np.arange(unit) - start + k * unit
            noise = noise[np.abs(noise) <= z[-1]]
            kernel[k] += chances[noise + len(z) // 2].sum() / unit
    terms = np.random.default_rng(3).random((length, 2, 3))
    lags = np.abs(np.arange(length)[:, None] - np.arange(length))
    expected = np.einsum("yt,tml->yml", kernel[lags] / kernel[0], terms)
    assert law.kernel_sums(terms, unit=unit) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("nano", [1, 10**3, 5 * 10**4])
@pytest.mark.parametrize("draws", [2, 50])
def test_kernels_of_wide_noise_are_averages_of_its_probabilities(nano: int, draws: int) -> None:
    """At tiny rates units have parts of many whole numbers each. By the exact probabilities at 64 points of a unit."""
    law = SummedLaplace(DiscreteLaplace(nano), draws)
    unit = -(-law.kernel_reach // 1000)
    assert unit > 64
    single_terms = np.zeros((400, 1))
    single_terms[0] = 1.0
    places = np.arange(-63, 64)
    for k in (1, 20, 150, 390):
        kernel = [
            sum((1 - abs(i) / 64) * law.probability(unit * y + round(i * unit / 64)) for i in places) for y in (0, k)
        ]
        assert law.kernel_sums(single_terms, unit=unit)[k, 0] == pytest.approx(kernel[1] / kernel[0], rel=1e-3)


@pytest.mark.parametrize(("rate", "draws"), [(0.05, 50), (1.0, 2), (5.0, 7)])
def test_simulated_noise_has_the_law_of_the_sum(rate: float, draws: int) -> None:
    """200,000 draws of a public seed: the same again, and as many up to each quantile as the law says."""
    law, (z, chances) = law_of(rate, draws), convolved(rate, draws)
    first, again = (law.simulate((2, 10**5), np.random.default_rng(7)) for _ in range(2))
    assert first.dtype == np.int64
    assert np.array_equal(first, again)
    cumulated = np.cumsum(chances)
    observed = (first.ravel()[:, None] <= z[None, np.searchsorted(cumulated, np.linspace(0.02, 0.98, 25))]).mean(axis=0)
    stated = cumulated[np.searchsorted(cumulated, np.linspace(0.02, 0.98, 25))]
    assert np.abs(observed - stated).max() < 5 * 0.5 / np.sqrt(first.size)


def test_a_larger_rate_keeps_the_number_of_draws() -> None:
    """A law that has the rate is returned as it is."""
    law = law_of(0.3, 5)
    assert law.with_rate_at_least(Fraction(1, 4)) is law
    assert law.with_rate_at_least(Fraction(1, 2)) == law_at(0.5).summed(5)


def test_many_draws_keep_their_digits() -> None:
    """100,000 draws: hardly anything tells the sum from a normal law, and the weights neither overflow nor vanish."""
    law = law_of(1.0, 10**5)
    assert law.probability(0) * law.standard_deviation == pytest.approx(1 / np.sqrt(2 * np.pi), rel=1e-4)
    assert law.tail_radius(probability=0.05) / law.standard_deviation == pytest.approx(1.96, rel=2e-3)
    assert law.probability_at_least(0) == pytest.approx(0.5, abs=1e-3)
