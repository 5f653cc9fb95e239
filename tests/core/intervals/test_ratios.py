"""Fieller intervals: the batch equals the scalar reference, and both are the set that Fieller's inequality defines."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.budget import NANO
from core.intervals.ratios import Ratio, ratio_intervals
from core.mechanisms.discrete_laplace import DiscreteLaplace
from tests.core.intervals.fieller import factor, fieller_interval

BOUNDS = (-5.0, 9.0)
LAWS = [DiscreteLaplace(NANO // 10), DiscreteLaplace(NANO), DiscreteLaplace(NANO, rows_per_unit=3)]


def ratio_of(seed: int, cells: int, rows: float) -> Ratio:
    """Random weights, each of up to six cells, and noisy counts of so many rows on average."""
    rng = np.random.default_rng(seed)
    counts = rng.poisson(rows, cells) + rng.normal(0, 3, cells).round()
    return Ratio(counts, rng.integers(1, 7, cells).astype(float), rng.uniform(*BOUNDS, cells), BOUNDS)


@pytest.mark.parametrize("law", LAWS)
def test_the_batch_is_the_scalar_reference(law: DiscreteLaplace) -> None:
    """Many ratios at once, from none to a hundred cells and from no rows to thousands, at four levels."""
    ratios = [ratio_of(n, cells, rows) for n, cells in enumerate((0, 1, 2, 5, 20, 100)) for rows in (0, 4, 50, 3000)]
    alphas = (0.3, 0.05, 0.001, 1e-11)
    for alpha, intervals in zip(alphas, ratio_intervals(law, ratios, alphas), strict=True):
        for ratio, ends in zip(ratios, intervals, strict=True):
            assert ends == pytest.approx(fieller_interval(law, ratio, alpha), abs=1e-6)


@given(st.integers(0, 10**6), st.integers(2, 12), st.sampled_from([20.0, 400.0]))
def test_the_ends_are_where_the_test_statistic_meets_its_radius(seed: int, cells: int, rows: float) -> None:
    """|sum of y (a - theta)| is the radius of sum of Z (a - theta) at both ends, to a hundredth, and less within."""
    law, alpha, ratio = LAWS[1], 0.05, ratio_of(seed, cells, rows)
    low, high = ratio_intervals(law, [ratio], [alpha])[0][0]
    a = np.repeat(ratio.weights, ratio.times.astype(np.int64))
    assert low <= ratio.value <= high
    f = max(factor(law, a, theta, alpha) for theta in (ratio.value, low, high))

    def statistic(theta: float) -> float:
        return abs(float(ratio.counts @ (ratio.weights - theta))) / np.sqrt(f * float(((a - theta) ** 2).sum()))

    for theta in (low, high):
        if theta not in BOUNDS:
            assert statistic(theta) == pytest.approx(1.0, abs=0.05)
    if ratio.value not in BOUNDS and (low, high) != BOUNDS:
        assert statistic(low + 0.1 * (high - low)) < 1.0


def test_a_sum_that_may_be_zero_leaves_the_whole_range() -> None:
    """Three rows in noise of deviation 14: nothing is certain about their mean."""
    ratio = Ratio(np.array([2.0, 1.0]), np.ones(2), np.array([0.0, 4.0]), BOUNDS)
    assert ratio_intervals(LAWS[0], [ratio], [0.05]) == [[BOUNDS]]


def test_the_interval_covers_the_ratio_at_its_level() -> None:
    """400 noisy versions of the same counts: the ratio of the exact ones is inside at least as often as the level."""
    rng, law = np.random.default_rng(0), LAWS[1]
    exact, weights = np.array([30.0, 5.0, 12.0, 0.0, 8.0]), np.array([-4.0, -1.0, 0.0, 3.0, 8.0])
    theta = float(exact @ weights / exact.sum())
    noise = law.simulate((400, 5), rng)
    ratios = [Ratio(exact + row, np.ones(5), weights, BOUNDS) for row in noise]
    hits = sum(low <= theta <= high for low, high in ratio_intervals(law, ratios, [0.1])[0])
    assert 0.87 * 400 <= hits <= 0.95 * 400
