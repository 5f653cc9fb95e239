"""The mixture's posterior: its likelihood is the sum it should be, its sampler keeps the prior, its mean is near."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import poisson

from core.cells import DenseCells
from core.clustering.fine_grid import FineGrid
from core.clustering.layout import GridLayout
from core.clustering.likelihood import CellLikelihood, between, cell_likelihood
from core.clustering.mixture import axis_masses, products
from core.clustering.posterior import posterior
from core.clustering.relocation import GridRelocation
from core.clustering.sampler import Tempering
from core.domain.axis import RunAxis
from core.domain.grid import Grid
from core.mechanisms.discrete_laplace import DiscreteLaplace
from core.queries.denoise import nonnegative
from core.randomness import seeded
from tests.core.queries.worlds import shaken, synopsis_of


@pytest.mark.parametrize(("y", "epsilon"), [(-7, 0.4), (0, 0.4), (3, 1.0), (40, 0.1), (40, 50.0)])
@pytest.mark.parametrize("expected", [0.0, 0.25, 4.0, 36.0])
def test_the_table_is_the_sum_over_true_counts(y: int, epsilon: float, expected: float) -> None:
    """Likelihood up to a constant, mean and variance agree with adding up every count, at an entry of the table."""
    table = cell_likelihood(np.array([y, 40]), DiscreteLaplace(round(epsilon * 10**9)))
    t = np.arange(40 + int(np.ceil(14 / epsilon)) + 11)
    slab = 1 / (t + 1) / (1 / (t + 1)).sum()
    weights = (0.998 * poisson.pmf(t, expected) + 0.002 * slab) * np.exp(-epsilon * np.abs(max(y, 0) - t))
    place = table.at(np.full((1, 2), expected))
    mean = (weights * t).sum() / weights.sum()
    assert between(table.log, place)[0, 0] == pytest.approx(np.log(weights.sum()))
    assert between(table.mean, place)[0, 0] == pytest.approx(mean)
    assert between(table.variance, place)[0, 0] == pytest.approx((weights * (t - mean) ** 2).sum() / weights.sum())


def test_large_counts_make_no_large_tables() -> None:
    """A cell of a billion rows, or hardly any epsilon, is worked out in coarser units and bounded memory."""
    for counts, epsilon in ((np.array([10**9, 5]), 1.0), (np.array([100, 5]), 1e-9)):
        table = cell_likelihood(counts, DiscreteLaplace(round(epsilon * 10**9)))
        assert table.unit > 1
        assert table.log.size < 1000
        assert np.isfinite(table.log).all()


def test_a_component_has_its_mass_in_the_cells_around_it() -> None:
    """Products of the axes' masses add up to one and have the mean of the normal law where it is well inside."""
    grid = Grid.uniform(40, 2)
    masses = products(
        axis_masses(np.array([[0.1, -0.3]]), np.array([[0.1, 0.15]]), [axis.edges() for axis in grid.axes])
    )[0]
    assert masses.sum() == pytest.approx(1)
    assert masses @ grid.centres() == pytest.approx([0.1, -0.3], abs=1e-4)


@pytest.mark.parametrize("grid", [Grid.uniform(3, 2), Grid((RunAxis((0, 1, 9, 20)), RunAxis((0, 12, 14, 15))))])
def test_without_data_the_sampler_gives_back_its_prior(grid: Grid) -> None:
    """A likelihood that says nothing leaves Gamma amounts, an exponential background, centres clear of the faces."""
    size, k = 300.0, 3
    nothing = np.zeros((9, 5))
    flat = CellLikelihood(unit=1, log=nothing, mean=nothing, variance=nothing)
    counts = np.arange(9.0)  # relocation prefers the last cells, and its Hastings factor takes that back
    relocation = GridRelocation(counts, grid, size)
    chains = Tempering(flat, GridLayout.of(grid), relocation, size=size, k=k, replicas=48, rng=seeded(3))
    kept = [mixtures for mixtures, _expected in chains.run(400, burn_in=80, every=8)]
    amounts = np.concatenate([mixtures.a for mixtures in kept])
    background = np.concatenate([mixtures.a0 for mixtures in kept])
    mu, s = (np.concatenate([getattr(mixtures, name) for mixtures in kept]) for name in ("mu", "s"))
    assert amounts.mean() == pytest.approx(size / k, rel=0.05)
    assert amounts.var() == pytest.approx((size / k) ** 2 / 2, rel=0.15)
    assert background.mean() == pytest.approx(0.05 * size, rel=0.1)
    assert (np.abs(mu) <= 1 - 2 * s).all()
    assert np.abs(mu.mean(axis=(0, 1))).max() < 0.03
    # Uniform between its margins: the square of the relative place has the mean 1/3.
    assert ((mu / (1 - 2 * s)) ** 2).mean() == pytest.approx(1 / 3, rel=0.04)


def gaussian_rows(size: int = 400, seed: int = 0) -> np.ndarray:
    """Three groups in the worlds' domain."""
    rng = np.random.default_rng(seed)
    middles = np.array([[2.5, -2.0], [7.0, 2.5], [7.0, -3.0]])
    return middles[rng.integers(3, size=size)] + rng.normal(0, 0.5, (size, 2))


def test_the_posterior_mean_is_nearer_to_the_rows_than_the_counts_are() -> None:
    """Squared error of the denoised counts: less than 0.6 of that of the projected ones, over ten releases."""
    exact = synopsis_of(gaussian_rows(), 8)
    ours, theirs = 0.0, 0.0
    for seed in range(10):
        release = shaken(exact, "0.2", seed)
        density = posterior(release, 3, rng=seeded(0))
        counts = density.fine.by_cell(density.weights[None])[0].sum(axis=1)
        ours += np.square(counts - exact.counts).sum()
        theirs += np.square(nonnegative(release.counts) - exact.counts).sum()
    assert ours < 0.6 * theirs


def test_the_same_generator_gives_the_same_posterior() -> None:
    """To the last bit; another seed gives another sample of much the same density."""
    release = shaken(synopsis_of(gaussian_rows(), 6), "0.5")
    first, again, other = (posterior(release, 3, rng=seeded(seed)) for seed in (1, 1, 2))
    assert first.weights.tobytes() == again.weights.tobytes()
    assert first.draws.counts.tobytes() == again.draws.counts.tobytes()
    assert 0 < np.abs(first.weights - other.weights).sum() < 0.2 * first.weights.sum()


@pytest.mark.parametrize(("m", "d"), [(2, 1), (2, 2), (3, 3), (13, 2), (5, 4)])
def test_parts_of_cells_lie_in_their_cells(m: int, d: int) -> None:
    """Grouped by cell, the centres of the fine grid are around the centre of their own cell."""
    grid = Grid.uniform(m, d)
    fine = FineGrid.of(grid)
    for axis in range(d):
        places = fine.by_cell(fine.centres()[None, :, axis])[0]
        assert places.mean(axis=1) == pytest.approx(grid.centres()[:, axis])
        assert np.abs(places - grid.centres()[:, axis, None]).max() < 1 / m


def test_samples_scatter_as_much_as_the_noise_leaves_open() -> None:
    """At epsilon 100 every sample has the exact counts; with noise samples differ, and their mean is the density."""
    exact = synopsis_of(gaussian_rows(), 6)
    assert np.allclose(posterior(exact, 3, rng=seeded(0)).draws.counts, exact.counts, atol=1e-6)
    release = shaken(exact, "0.2")
    density = posterior(release, 3, rng=seeded(0))
    assert density.draws.counts.std(axis=0).sum() > 20
    weights = density.fine.by_cell(density.weights[None])[0].sum(axis=1)
    assert np.abs(density.draws.counts.mean(axis=0) - weights).sum() < 0.25 * weights.sum()


def test_hopeless_synopses_are_served() -> None:
    """All counts negative, one component, or more components than rows: finite weights, none negative."""
    exact = synopsis_of(gaussian_rows(10), 4)
    for release in (replace(exact, cells=DenseCells(exact.grid, np.full(16, -5))), shaken(exact, "0.01")):
        for k in (1, 12):
            weights = posterior(release, k, rng=seeded(0)).weights
            assert np.isfinite(weights).all()
            assert (weights >= 0).all()
            assert weights.sum() > 0
