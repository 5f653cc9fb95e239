"""Where the rows are likely to be: the posterior of a mixture model, given the noisy counts. Free post-processing.

Within-cluster squares are linear in the counts, so k-means on the posterior mean of the counts is the choice of centres
that is best on average: denoise first, then cluster.

*Model.* M = m^d cells on [-1, 1]^d. The expected count of cell j, whose sides are (l_x, u_x), is

    lambda_j = a_0 / M + sum over k of a_k prod over x of [Phi((u_x - mu_kx) / s_kx) - Phi((l_x - mu_kx) / s_kx)],

the outermost edges at infinity, since rows beyond the bounds were clipped into the outermost cells. What count and
noise make of lambda_j stands in core.clustering.likelihood.

*Priors.* a_k ~ Gamma(shape 2, mean N / K); a_0 ~ Exponential(mean .05 N); log s_kx ~ Normal(log(.25 K^(-1/d)), .6), s
at least .01; mu_k uniform where |mu_kx| <= 1 - 2 s_kx. N is core.queries.size's. Nothing here was fitted to
anybody's rows; the constants are public and the same for every synopsis.

*Density.* Each kept sample of core.clustering.sampler gives every cell its posterior mean count and spreads it
over parts of the cell in proportion to the sample's own lambda there. Averaged, that is the weight of k-means.

*Low signal.* Nothing else is done where N epsilon / K is small. Averaging the density with the projected counts was
tried there and costs 5 % in WCSS on the paper's data and 7 % on real ones.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from core.arrays import Floats
from core.checkpoint import Checkpoint, carry_on
from core.clustering.likelihood import CellLikelihood, between, cell_likelihood
from core.clustering.sampler import Mixtures, Tempering, expected_parts
from core.domain.grid import Grid
from core.queries.size import expected_rows
from core.synopsis import Synopsis

_EVERY = 5
_DRAWS = 64  # samples kept for what the noise leaves uncertain
_FINE, _MOST_FINE = 12, 2**14
_REPLICAS, _AT_ONCE = (8, 32), 4096  # few for large grids, many for small ones, where they are as cheap as one
_SWEEPS = (64, 120)
_WORK = 1.2e6  # components x cells x sweeps, a sweep of eight replicas costing about 0.6 microseconds for each of them


@dataclass(frozen=True, slots=True, eq=False)
class Draws:
    """Samples of what the rows may look like: (samples, cells) counts, the mean place of the rows of each cell
    (samples, cells, d), and the centres of the components behind them (samples, K, d).
    """

    counts: Floats
    places: Floats
    mu: Floats


@dataclass(frozen=True, slots=True, eq=False)
class Posterior:
    """Expected rows in each cell of the `fine` grid, which divides the cells of the synopsis; and samples."""

    fine: Grid
    weights: Floats
    draws: Draws


def posterior(synopsis: Synopsis, k: int, *, rng: np.random.Generator, checkpoint: Checkpoint = carry_on) -> Posterior:
    """The posterior under a mixture of k components; the same again for the same generator."""
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
    return Grid(parts * grid.cells_per_axis, grid.dimensions)


def effort(grid: Grid, k: int) -> tuple[int, int]:
    """Replicas and sweeps: as many as a bounded time allows."""
    replicas = int(np.clip(_AT_ONCE // grid.cell_count, *_REPLICAS))
    return replicas, int(np.clip(_WORK / (k * grid.cell_count * replicas / 8), *_SWEEPS))


def _spread(mixtures: Mixtures, fine: Grid) -> Floats:
    """(samples, fine cells) expected counts."""
    mu, s, a, edges = mixtures.mu, mixtures.s, mixtures.a, fine.edges()
    spread = np.repeat(mixtures.a0[:, None] / fine.cell_count, fine.cell_count, axis=1)
    for i in range(mu.shape[1]):
        spread += expected_parts(mu[:, i], s[:, i], a[:, i], edges)
    return spread


def by_cell(values: Floats, grid: Grid) -> Floats:
    """(samples, fine cells) -> (samples, cells, parts): the parts of each cell together, the last axis fastest."""
    m, d = grid.cells_per_axis, grid.dimensions
    parts = fine_grid(grid).cells_per_axis // m
    split = values.reshape(len(values), *(m, parts) * d)
    order = (0, *range(1, 2 * d, 2), *range(2, 2 * d + 1, 2))
    return split.transpose(order).reshape(len(values), grid.cell_count, parts**d)


def _by_axis(parts: Floats, grid: Grid) -> Floats:
    """The way back from `by_cell`."""
    m, d = grid.cells_per_axis, grid.dimensions
    split = parts.reshape(len(parts), *(m,) * d, *(fine_grid(grid).cells_per_axis // m,) * d)
    order = (0, *(axis for x in range(d) for axis in (1 + x, 1 + d + x)))
    return split.transpose(order).reshape(len(parts), -1)


def _draw(
    mixtures: Mixtures, shares: Floats, mean: Floats, variance: Floats, grid: Grid, rng: np.random.Generator
) -> Draws:
    """Counts drawn around their mean given lambda, and where in its cell each sample has its rows."""
    counts = np.maximum(mean + np.sqrt(variance) * rng.standard_normal(mean.shape), 0.0)
    d = grid.dimensions
    parts = Grid(fine_grid(grid).cells_per_axis // grid.cells_per_axis, d)
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
