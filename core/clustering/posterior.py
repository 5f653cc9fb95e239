"""The posterior mean of the counts under the mixture model, given the noisy counts. Post-processing.

The within-cluster sum of squares is linear in the counts. So k-means on the posterior mean of the counts minimises the
posterior expectation of it: the Bayes action is to denoise first, then to cluster.

*Model and priors*: `core.clustering.mixture`; the law of a noisy count given its expectation: `.likelihood`; samples of
the posterior: `.sampler`. N is the estimate of `core.queries.size`. No constant was fitted to anybody's rows.

*Density.* Divide every cell j into parts i. With lambda_i the expectation of a part, lambda_j that of its cell, and
E_j(lambda) the posterior mean of the count of cell j given its expectation, the weight of part i is the average over
samples of

    W_i = E_j(lambda_j) lambda_i / lambda_j.

*Low signal.* Nothing else is done where N epsilon / K is small. Averaging the density with the projected counts was
tried there; it costs 5 % in WCSS on the paper's data and 7 % on real data.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from core.arrays import Floats
from core.checkpoint import Checkpoint, carry_on
from core.clustering.likelihood import CellLikelihood, between, cell_likelihood
from core.clustering.mixture import Mixtures, expected_by_component
from core.clustering.sampler import Tempering
from core.domain.grid import Grid
from core.queries.size import expected_rows
from core.synopsis import Synopsis

_EVERY = 5
_DRAWS = 64  # samples kept for intervals and stability
_FINE, _MOST_FINE = 12, 2**14  # parts wanted along an axis; parts of the whole grid at most
_REPLICAS, _AT_ONCE = (8, 32), 4096  # few for large grids, many for small ones, where they are as cheap as one
_SWEEPS = (64, 120)
_WORK = 1.2e6  # components x cells x sweeps, a sweep of eight replicas costing about 0.6 microseconds for each of them


@dataclass(frozen=True, slots=True, eq=False)
class Draws:
    """Posterior samples of the rows: (samples, cells) counts, (samples, cells, d) mean places of the rows of each cell,
    and (samples, K, d) means of the components.
    """

    counts: Floats
    places: Floats
    mu: Floats


@dataclass(frozen=True, slots=True, eq=False)
class Posterior:
    """The weights W_i on the `fine` grid, which divides the cells of the synopsis; and posterior samples."""

    fine: Grid
    weights: Floats
    draws: Draws


def posterior(synopsis: Synopsis, k: int, *, rng: np.random.Generator, checkpoint: Checkpoint = carry_on) -> Posterior:
    """The posterior under a mixture of k components; equal generators give equal results."""
    grid, size = synopsis.grid, expected_rows(synopsis)
    fine = fine_grid(grid)
    likelihood = cell_likelihood(synopsis.counts, synopsis.law)
    counts = synopsis.counts.astype(np.float64)
    replicas, sweeps = effort(grid, k)
    chains = Tempering(likelihood, counts, grid, size=size, k=k, replicas=replicas, rng=rng)
    burn_in = sweeps // 4
    kept = -(-(sweeps - burn_in) // _EVERY)
    stride = max(1, kept * replicas // _DRAWS)
    weights, draws = np.zeros(fine.cell_count), []
    for number, (mixtures, expected) in enumerate(
        chains.run(sweeps, burn_in=burn_in, every=_EVERY, checkpoint=checkpoint)
    ):
        spread = _spread(mixtures, fine)
        place = likelihood.at(expected)
        mean = between(likelihood.mean, place)
        shares = by_cell(spread, grid) / expected[:, :, None]
        weights += _by_axis(shares * mean[:, :, None], grid).sum(axis=0)
        if number % stride == 0:
            draws.append(_draw(mixtures, shares, mean, between(likelihood.variance, place), grid, rng))
    weights *= likelihood.unit / (kept * replicas)
    return Posterior(fine=fine, weights=weights, draws=_join(draws, likelihood))


def fine_grid(grid: Grid) -> Grid:
    """Each cell in 2^d parts; in more where cells are few and large, so that an axis has 12 parts or so."""
    parts = max(2, -(-_FINE // grid.cells_per_axis))
    while parts > 2 and (parts * grid.cells_per_axis) ** grid.dimensions > _MOST_FINE:
        parts -= 1
    return Grid.uniform(parts * grid.cells_per_axis, grid.dimensions)


def effort(grid: Grid, k: int) -> tuple[int, int]:
    """(replicas, sweeps) of the sampler: as many as a bounded time allows."""
    replicas = int(np.clip(_AT_ONCE // grid.cell_count, *_REPLICAS))
    return replicas, int(np.clip(_WORK / (k * grid.cell_count * replicas / 8), *_SWEEPS))


def _spread(mixtures: Mixtures, fine: Grid) -> Floats:
    """lambda_i: (samples, fine cells) expected counts."""
    mu, s, a, edges = mixtures.mu, mixtures.s, mixtures.a, fine.axes[0].edges()
    spread = np.repeat(mixtures.a0[:, None] / fine.cell_count, fine.cell_count, axis=1)
    for i in range(mu.shape[1]):
        spread += expected_by_component(mu[:, i], s[:, i], a[:, i], edges)
    return spread


def by_cell(values: Floats, grid: Grid) -> Floats:
    """(samples, fine cells) -> (samples, cells, parts): the parts of each cell together, the last axis fastest."""
    m, d = grid.cells_per_axis, grid.dimensions
    parts = fine_grid(grid).cells_per_axis // m
    split = values.reshape(len(values), *(m, parts) * d)
    order = (0, *range(1, 2 * d, 2), *range(2, 2 * d + 1, 2))
    return split.transpose(order).reshape(len(values), grid.cell_count, parts**d)


def _by_axis(parts: Floats, grid: Grid) -> Floats:
    """The inverse of `by_cell`."""
    m, d = grid.cells_per_axis, grid.dimensions
    split = parts.reshape(len(parts), *(m,) * d, *(fine_grid(grid).cells_per_axis // m,) * d)
    order = (0, *(axis for x in range(d) for axis in (1 + x, 1 + d + x)))
    return split.transpose(order).reshape(len(parts), -1)


def _draw(
    mixtures: Mixtures, shares: Floats, mean: Floats, variance: Floats, grid: Grid, rng: np.random.Generator
) -> Draws:
    """Counts from the normal law of their mean and variance, at least 0, and the mean place of the rows of a cell."""
    counts = np.maximum(mean + np.sqrt(variance) * rng.standard_normal(mean.shape), 0.0)
    d = grid.dimensions
    parts = Grid.uniform(fine_grid(grid).cells_per_axis // grid.cells_per_axis, d)
    corners = parts.centres() / grid.cells_per_axis
    offsets = np.stack([(shares * corners[:, x]).sum(axis=2) for x in range(d)], axis=-1)
    return Draws(counts=counts, places=grid.centres() + offsets, mu=mixtures.mu)


def _join(draws: list[Draws], likelihood: CellLikelihood) -> Draws:
    unit = likelihood.unit
    return Draws(
        counts=np.concatenate([draw.counts for draw in draws]) * unit,
        places=np.concatenate([draw.places for draw in draws]),
        mu=np.concatenate([draw.mu for draw in draws]),
    )
