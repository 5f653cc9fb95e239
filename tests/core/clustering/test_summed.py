"""Clusters where each cell has a sum of draws: the likelihood is the sum it should be, and intervals cover."""

from __future__ import annotations

from dataclasses import replace
from math import ceil

import numpy as np
import pytest
from scipy.stats import poisson

from core.cells import DenseCells
from core.clustering.fine_grid import FineGrid
from core.clustering.likelihood import between, cell_likelihood
from core.clustering.methods import Method, _signal, place
from core.clustering.posterior import posterior
from core.domain.domain import Domain
from core.domain.grid import Grid
from core.intervals.levels import Interval
from core.queries.clusters import assign, find_clusters
from core.queries.denoise import nonnegative
from core.randomness import seeded
from tests.core.queries.worlds import DOMAIN, LEVEL, least_hits, rows, synopsis_of
from tests.core.summed import DRAWS, convolved, law_at, summed_release

MIDDLES = np.array([[2.5, -2.0], [7.0, 2.5], [7.0, -3.0]])


def table_weights(most: int, expected: float) -> np.ndarray:
    """p(t | lambda) for t = 0 … most."""
    t = np.arange(most + 1)
    slab = 1 / (t + 1) / (1 / (t + 1)).sum()
    weights: np.ndarray = 0.998 * poisson.pmf(t, expected) + 0.002 * slab
    return weights


def averaged(rate: float, draws: int, unit: int, lags: np.ndarray) -> np.ndarray:
    """The probability of each lag in units, the true count being anywhere in its unit."""
    z, chances = convolved(rate, draws)
    total = np.zeros(lags.shape)
    for i in range(-unit + 1, unit):
        at = unit * lags + i
        inside = np.abs(at) <= z[-1]
        total[inside] += (1 - abs(i) / unit) * chances[at[inside] + len(z) // 2]
    return total


@pytest.mark.parametrize(("rate", "draws"), [(0.4, 2), (0.4, 7), (1.0, 3), (0.1, 4), (5.0, 50)])
@pytest.mark.parametrize("y", [-60, -12, -3, 0, 5, 40])
@pytest.mark.parametrize("expected", [0.0, 0.25, 4.0, 36.0])
def test_the_table_of_a_sum_is_the_sum_over_true_counts(rate: float, draws: int, y: int, expected: float) -> None:
    """Likelihood up to a constant, mean and variance; a count below minus the reach has the table of that.

    Kernels are off by 10^-16 of P(0), which shows where rows that are nearly certain meet noise that is nearly
    impossible.
    """
    law = law_at(rate).summed(draws)
    table = cell_likelihood(np.array([y, 40]), law)
    assert table.unit == 1
    most = 40 + law.kernel_reach + 10
    t = np.arange(most + 1)
    kernel = averaged(rate, draws, 1, max(y, -law.kernel_reach) - t) / averaged(rate, draws, 1, np.zeros(1, int))
    weights = table_weights(most, expected) * kernel
    mean = (weights * t).sum() / weights.sum()
    place_of = table.at(np.full((1, 2), expected))
    assert between(table.log, place_of)[0, 0] == pytest.approx(np.log(weights.sum()), abs=1e-6)
    assert between(table.mean, place_of)[0, 0] == pytest.approx(mean, rel=1e-5, abs=1e-9)
    variance = (weights * (t - mean) ** 2).sum() / weights.sum()
    assert between(table.variance, place_of)[0, 0] == pytest.approx(variance, rel=1e-4, abs=1e-9)


@pytest.mark.parametrize(("rate", "draws", "largest"), [(0.05, 50, 3000), (1.0, 7, 9000), (5.0, 2, 40_000)])
@pytest.mark.parametrize("share", [-0.02, 0.0, 0.3])
def test_long_tables_have_the_probabilities_of_whole_units(rate: float, draws: int, largest: int, share: float) -> None:
    """Units wider or narrower than the noise: the table is the sum over true counts in units, noise averaged."""
    law, y = law_at(rate).summed(draws), round(share * largest)
    table = cell_likelihood(np.array([y, largest]), law)
    assert table.unit > 1
    most = (largest + law.kernel_reach) // table.unit + 10
    t, expected = np.arange(most + 1), 256.0
    row = max(round(y / table.unit), -ceil(law.kernel_reach / table.unit))
    kernel = averaged(rate, draws, table.unit, row - t) / averaged(rate, draws, table.unit, np.zeros(1, int))
    weights = table_weights(most, expected) * kernel
    place_of = table.at(np.full((1, 2), expected))
    mean = (weights * t).sum() / weights.sum()
    assert between(table.log, place_of)[0, 0] == pytest.approx(np.log(weights.sum()), abs=1e-6)
    assert between(table.mean, place_of)[0, 0] == pytest.approx(mean, rel=1e-6, abs=1e-6)


def test_a_count_far_below_zero_says_more_than_one_of_zero() -> None:
    """With a sum of draws, fewer rows are expected of a cell the lower its count is; with one draw they are not."""
    counts, expected = np.array([0, -10, -20, -40]), np.full((1, 4), 9.0)
    for draws, falls in ((1, False), (4, True)):
        table = cell_likelihood(counts, law_at(0.4).summed(draws))
        mean = between(table.mean, table.at(expected))[0]
        assert (np.diff(mean) < -1e-3).all() == falls
        assert (np.diff(mean) <= 0).all()


def test_large_sums_make_no_large_tables() -> None:
    """Many draws, hardly any epsilon or large counts: bounded memory, and finite tables below zero as well."""
    for counts, rate, draws in (([10**9, -5], 1.0, 4), ([100, -(10**7)], 1e-6, 50), ([100, -5000], 0.5, 10_000)):
        law = law_at(f"{rate:.9f}").summed(draws)
        table = cell_likelihood(np.array(counts), law)
        assert table.unit > 1 or law.kernel_reach < 1000
        assert table.log.size < 1000
        for values in (table.log, table.mean, table.variance):
            assert np.isfinite(values).all()


def groups(size: int, deviation: float = 0.5, seed: int = 0) -> np.ndarray:
    """Three groups of rows in the domain of the worlds."""
    rng = np.random.default_rng(seed)
    return MIDDLES[rng.integers(3, size=size)] + rng.normal(0, deviation, (size, 2))


def test_the_posterior_mean_of_summed_cells_is_nearer_to_the_rows_than_the_counts_are() -> None:
    """Squared error: less than 0.6 of that of the projected counts, over eight releases."""
    exact = synopsis_of(groups(400), 8)
    ours, theirs = 0.0, 0.0
    for seed in range(8):
        release = summed_release(exact, "0.4", seed)
        weights = posterior(release, 3, rng=seeded(0)).weights
        ours += np.square(FineGrid.of(exact.grid).by_cell(weights[None])[0].sum(axis=1) - exact.counts).sum()
        theirs += np.square(nonnegative(release.counts) - exact.counts).sum()
    assert ours < 0.6 * theirs


def holds(interval: Interval, truth: float) -> bool:
    return interval.low - 1e-9 <= truth <= interval.high + 1e-9


@pytest.mark.parametrize(
    ("method", "epsilon", "m", "releases"), [(Method.POSTERIOR, "0.5", 7, 25), (Method.PROJECTED, "1", 12, 60)]
)
def test_clusters_of_summed_cells_cover(method: Method, epsilon: str, m: int, releases: int) -> None:
    """Centres come near to the groups; the mean and number of rows of a region lie in their intervals."""
    exact = synopsis_of(groups(1200), m)
    cells, counts = DOMAIN.from_unit(exact.grid.centres()), exact.counts.astype(float)
    centre_hits, size_hits, near = 0, 0, 0
    for seed in range(releases):
        release = summed_release(exact, epsilon, seed)
        answer = find_clusters(release, 3, level=LEVEL, seed=0, method=method)
        labels = assign(release, answer, cells)
        centres = np.array([cluster.centre for cluster in answer.clusters])
        near += int((np.abs(MIDDLES[:, None] - centres).max(axis=2).min(axis=1) < 0.6).sum())
        for i, cluster in enumerate(answer.clusters):
            region = labels == i
            size = counts[region].sum()
            mean = counts[region] @ cells[region] / max(size, 1.0)
            size_hits += holds(cluster.size_interval, size)
            centre_hits += sum(holds(interval, mean[x]) for x, interval in enumerate(cluster.centre_intervals))
    assert size_hits >= least_hits(3 * releases)
    assert centre_hits >= least_hits(6 * releases)
    assert near >= 0.95 * 3 * releases


def test_fresh_noise_of_a_sum_shakes_clusters_as_the_release_was_shaken() -> None:
    """The stability of summed cells is less than that of the same counts with one draw each."""
    release = summed_release(synopsis_of(rows(300), 8), "0.3", seed=1)
    alone = replace(synopsis_of(rows(300), 8), epsilon=release.epsilon, cells=release.cells)
    of_sum, of_one = (find_clusters(r, 4, level=LEVEL, seed=0, method=Method.PROJECTED) for r in (release, alone))
    assert of_sum.stability < of_one.stability


def test_counts_overrule_the_model_by_the_noise_of_their_cells() -> None:
    """Four draws have twice the deviation of one: the same rows are half the signal."""
    release = summed_release(synopsis_of(rows(300), 8), "0.3", seed=1)
    alone = replace(synopsis_of(rows(300), 8), epsilon=release.epsilon, cells=release.cells)
    assert _signal(release, 4) == pytest.approx(_signal(alone, 4) / 2)


def test_four_dimensional_centres_of_summed_cells_are_moved_within_their_cells() -> None:
    """Groups off the middle of their cells: centres come nearer than the cells' own, over ten releases."""
    rng = np.random.default_rng(0)
    middles = np.array([[0.27, 0.33, 0.72, 0.5], [0.8, 0.66, 0.33, 0.46], [0.5, 0.87, 0.74, 0.13]])
    values = np.clip(middles[rng.integers(3, size=6000)] + rng.normal(0, 0.06, (6000, 4)), 0, 0.999)
    grid = Grid.uniform(5, 4)
    cells = np.ravel_multi_index(tuple((values * 5).astype(int).T), grid.shape)
    counts = np.bincount(cells, minlength=grid.cell_count)
    domain = Domain(tuple(replace(DOMAIN.attributes[0], name=name, lower=0, upper=1) for name in "abcd"))
    exact = replace(synopsis_of(rows(100), 3), domain=domain, cells=DenseCells(grid, counts), size=6000)
    errors = []
    for seed in range(10):
        placed = place(summed_release(exact, "0.5", seed), 3, Method.THRESHOLDED, seed=0)
        centres = domain.from_unit(placed.centres)
        errors.append(np.abs(middles[:, None] - centres).max(axis=2).min(axis=1))
    assert np.max(errors) < 0.05


def test_a_summed_cell_has_as_many_draws_as_it_says() -> None:
    """The synopses of these tests carry the law of their noise."""
    exact = synopsis_of(rows(50), 12)
    noise = np.stack([summed_release(exact, "0.7", seed).counts - exact.counts for seed in range(100)])
    law = summed_release(exact, "0.7", 0).law
    assert law.draws == DRAWS
    assert noise.std() == pytest.approx(law.standard_deviation, rel=0.03)
