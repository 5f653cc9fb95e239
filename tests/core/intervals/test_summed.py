"""Intervals where each cell has a sum of draws: those of as many cells with a draw each, and they hold."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import InvalidQuery
from core.intervals.listed import ListedCells
from core.intervals.radius import equal_radii, equal_radius, radius
from core.intervals.ratios import Ratio, ratio_intervals
from core.queries.boxes import Range
from core.queries.range_count import SummedArea, count_boxes
from core.queries.size import Part, noisy_size, size_interval, sum_radius
from tests.core.queries.worlds import LEVEL, least_hits, rows, synopsis_of
from tests.core.summed import DRAWS, law_at, summed_release

RATES = [0.01, 0.05, 0.3, 1.0, 5.0]
ALPHAS = [0.3, 0.05, 1e-4, 1e-12]
BOUNDS = (-5.0, 9.0)


@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize("draws", [2, 3, 7, 50])
def test_a_plain_sum_has_the_radius_of_all_its_draws(rate: float, draws: int) -> None:
    """Equal to the last bit, by whichever method; and for one cell about the tail radius of its law."""
    single = law_at(rate)
    law, cells = single.summed(draws), np.array([1, 2, 9, 400])
    for alpha in ALPHAS:
        assert np.array_equal(equal_radii(law, cells, alpha=alpha), equal_radii(single, draws * cells, alpha=alpha))
        least, reach = law.tail_radius(probability=alpha), equal_radius(law, 1, alpha=alpha)
        assert least <= reach * (1 + 1e-9) + 1e-9
        assert reach <= 1.25 * least + 1 / rate


@given(
    st.lists(st.integers(-120, 120), min_size=1, max_size=40),
    st.sampled_from(RATES),
    st.integers(2, 12),
    st.sampled_from(ALPHAS),
)
def test_a_weighted_sum_has_the_radius_of_all_its_draws(
    weights: list[int], rate: float, draws: int, alpha: float
) -> None:
    """Each weight as often as its cell has draws."""
    single, each = law_at(rate), np.array(weights) / 120
    repeated = radius(single, np.tile(each, draws), alpha=alpha)
    assert radius(single.summed(draws), each, alpha=alpha) == pytest.approx(repeated, rel=1e-9)


@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize("draws", [2, 7])
def test_ratios_have_the_intervals_of_all_their_draws(rate: float, draws: int) -> None:
    """Fieller intervals where a weight stands for as many cells as there are draws."""
    rng, single = np.random.default_rng(0), law_at(rate)
    ratios = [
        Ratio(rng.poisson(mean, cells) + 0.0, np.full(cells, 2.0), rng.uniform(*BOUNDS, cells), BOUNDS)
        for cells in (2, 8, 60)
        for mean in (5, 200, 5000)
    ]
    repeated = [replace(ratio, times=draws * ratio.times) for ratio in ratios]
    alphas = (0.3, 0.01)
    of_sums = np.array(ratio_intervals(single.summed(draws), ratios, alphas))
    assert of_sums == pytest.approx(np.array(ratio_intervals(single, repeated, alphas)), abs=1e-6)


@pytest.mark.parametrize(("rate", "draws"), [(0.2, 4), (1.0, 2), (3.0, 30)])
def test_intervals_of_sums_cover_at_their_level(rate: float, draws: int) -> None:
    """2,000 sums of a public seed: plain, weighted and as a ratio, no less than nine in ten, nor nearly all."""
    law, tries, alpha = law_at(rate).summed(draws), 2000, 0.1
    noise = law_at(rate).simulate((draws, tries, 5), np.random.default_rng(1)).sum(axis=0)
    exact, weights = 40.0 / rate * np.array([3.0, 1.0, 2.0, 0.0, 1.0]), np.array([-4.0, -1.0, 0.5, 3.0, 8.0])
    theta = float(exact @ weights / exact.sum())
    ratios = [Ratio(exact + row, np.ones(5), weights, BOUNDS) for row in noise]
    hits = {
        "plain": (np.abs(noise.sum(axis=1)) <= equal_radius(law, 5, alpha=alpha)).sum(),
        "weighted": (np.abs(noise @ weights) <= radius(law, weights, alpha=alpha)).sum(),
        "ratio": sum(low <= theta <= high for low, high in ratio_intervals(law, ratios, [alpha])[0]),
    }
    for name, number in hits.items():
        assert least_hits(tries, 1 - alpha) <= number <= 0.94 * tries, (name, hits)


def test_the_size_of_a_summed_synopsis_has_the_noise_of_all_draws() -> None:
    """Declared: the radius of all draws. Bought: the same law of two kinds of noise, however the draws are counted."""
    release = summed_release(synopsis_of(rows(600), 6), "0.5", seed=0)
    single, cells = law_at(0.5), release.grid.cell_count
    interval = size_interval(release, 0.95, alpha=0.05)
    reach = equal_radius(single, DRAWS * cells, alpha=0.05)
    assert interval.high - noisy_size(release).rows == pytest.approx(reach, rel=1e-9)
    assert noisy_size(release).noise_sd == pytest.approx(single.standard_deviation * (DRAWS * cells) ** 0.5)
    size = Part(law_at(0.1), 0.3, 1)
    of_sums, of_draws = (
        sum_radius((size, part), 0.05)
        for part in (Part(single.summed(DRAWS), 0.7, cells), Part(single, 0.7, DRAWS * cells))
    )
    assert of_sums == pytest.approx(of_draws, rel=1e-9)


def test_counts_of_a_summed_synopsis_cover() -> None:
    """Ranges that cut cells and ranges that do not, over 400 releases of public seeds."""
    exact = synopsis_of(rows(600), 8)
    boxes = ((Range("a", 2.3, 5.1),), (), (Range("a", 2.0, 2.05), Range("b", -1, 1)))
    truth = count_boxes(SummedArea(exact), boxes, level=LEVEL, simultaneous=False).count
    hits = np.zeros(len(boxes))
    for seed in range(400):
        release = summed_release(exact, "0.4", seed)
        counts = count_boxes(SummedArea(release), boxes, level=LEVEL, simultaneous=False)
        hits += (counts.noise_low <= truth) & (truth <= counts.noise_high)
    assert hits.min() >= least_hits(400)


def test_listed_cells_of_sums_have_no_bounds() -> None:
    """Their proof is for a single draw: nothing is stated that was not proved."""
    release = summed_release(synopsis_of(rows(600), 6), "0.5", seed=0)
    listed = ListedCells(replace(release, cells=release.cells.reaching(5)))  # type: ignore[attr-defined]
    with pytest.raises(InvalidQuery, match="one draw of noise"):
        listed.fewest_rows(0.05)
