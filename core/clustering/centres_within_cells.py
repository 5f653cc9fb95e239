"""Centres within cells: the posterior mean of a centre over a (mu, sigma) grid, where cells are wider than clusters.

In four and more dimensions a grid has few cells on an axis, and a cluster may lie in one of them and spill a little
into the next. Its mean, taken at cell centres, is then off by up to half a cell. But how much spills to either side
shows where in the cell it lies.

*Data.* For each cluster and axis, the raw counts (unbiased, with noise of a known law) are summed over slabs across the
axis: Y_i is the sum in slab i, v_i the variance of its noise, n = sum of Y_i. Two sets of cells serve. "Around" are all
cells next to the centre on the other axes. "Clear" are only those columns of cells, along the axis, that stand out from
the noise: they hold nearly all rows of a narrow cluster and hardly any noise, so that a spill of few rows shows. A
column is chosen by its count in the heaviest slab alone, so the noise of the other slabs is not selected.

*Likelihood.* The rows of the cluster are normal along the axis, with mean mu and deviation sigma. With P_i(mu, sigma)
the normal probability of slab i,

    log L(mu, sigma) = -1/2 sum over i of [(Y_i - n P_i)^2 / V_i + log V_i],
    V_i = v_i + n P_i + (.3 n P_i (1 - P_i))^2 + (.001 n)^2 + 1/4.

n P_i is the Poisson variance of the rows; the squares forgive clusters that are not quite normal; 1/4 stands for counts
being whole numbers. mu runs over 65 points within a cell of the centre, sigma over 32 from 1/20 of a cell to 1.

*Prior.* Uniform in mu. The prior over sigma is empirical Bayes: the nonparametric maximum-likelihood mixing
distribution of all clusters and axes together, by 20 steps of EM (Laird 1978), plus a uniform part. It helps where a
cluster lies at a bound and can spill to one side only.

*Estimate.* If s_i is the centre of slab i, the shift mu - sum of P_i s_i is what a pair adds to a mean over slabs. The
new centre is the mean over slabs plus the posterior mean of the shift. Where nothing spills, all mu in the cell explain
the slabs alike, and the shift is about zero.

Of a thresholded synopsis, cells that are not listed count as empty. They hold less than the threshold, which is little
beside a cluster; to model what they may hold was tried, and gained nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import log, sqrt

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from core.arrays import Floats
from core.cells import DenseCells
from core.domain.grid import Grid
from core.intervals.listed import ListedCells
from core.mechanisms.threshold import least_threshold
from core.synopsis import Synopsis

_MOST_SLABS = 64  # on finer axes cells are narrow enough
_MOST_WORK = 10**8  # cells that are visited, for all centres and axes: about a second
_MEANS, _DEVIATIONS = 65, 32  # points of the (mu, sigma) grid
_EM_STEPS = 20
_FALSE_COLUMNS = 0.1  # empty columns of a cluster that stand out, on average
# No cluster is quite normal: deviations allowed in a slab, as shares of n P (1 - P) and of n.
_SHAPE_TOLERANCE, _FLAT_TOLERANCE = 0.3, 0.001
_CONTRADICTION = 2.0  # standard deviations from which the mean of all cells overrules that of the clear columns


@dataclass(frozen=True, slots=True, eq=False)
class _Slabs:
    """Y_i and v_i: sums of noisy counts over slabs across an axis, and the variances of their noise."""

    sums: Floats
    noise: Floats

    @property
    def significant(self) -> bool:
        """Whether n is more than four standard deviations of its noise."""
        return float(self.sums.sum()) > 4.0 * sqrt(float(self.noise.sum()))

    def mean(self, middles: Floats) -> float:
        """The mean of the rows along the axis, as if each lay in the middle of its slab."""
        return float((self.sums * middles).sum() / self.sums.sum())


@dataclass(frozen=True, slots=True, eq=False)
class _Profile:
    """A cluster along an axis: its centre, the mean over slabs to which a shift is added, and the slabs to fit."""

    centre: float
    mean: float
    slabs: _Slabs


@dataclass(frozen=True, slots=True, eq=False)
class _Fit:
    """On the (mu, sigma) grid: the likelihood of the slabs up to a factor, and the shift mu - sum of P_i s_i."""

    likelihood: Floats
    shift: Floats


def within_cells(synopsis: Synopsis, centres: Floats, labels: NDArray[np.int64]) -> Floats:
    """Centres in [-1, 1]^d, moved by a cell at most; `labels` has the number of the centre nearest to each cell.

    A coordinate stays where it is if there are too few rows to move it, and all do on axes of more than 64 cells.
    """
    grid = synopsis.grid
    if grid.cells_per_axis > _MOST_SLABS:
        return centres
    near = grid.cells_per_axis * min(3, grid.cells_per_axis) ** (grid.dimensions - 1)
    if isinstance(synopsis.cells, DenseCells) and centres.size * near > _MOST_WORK:
        listed = synopsis.cells.reaching(least_threshold(grid.cell_count, synopsis.law))
        synopsis, labels = replace(synopsis, cells=listed), labels[listed.numbers]  # its whole grid would take too long
    profile_of = partial(_profile, synopsis) if synopsis.cells.complete else partial(_listed, ListedCells(synopsis))
    coordinates = [(i, axis) for i in range(len(centres)) for axis in range(grid.dimensions)]
    profiles = {which: profile for which in coordinates if (profile := profile_of(centres, labels, *which)) is not None}
    fits = {which: _fit(profile, grid) for which, profile in profiles.items()}
    prior = _sigma_prior([fit.likelihood.sum(axis=0) for fit in fits.values()])
    moved, width = centres.copy(), 2.0 / grid.cells_per_axis
    for which, profile in profiles.items():
        posterior = fits[which].likelihood * prior
        mean = profile.mean + float((posterior * fits[which].shift).sum() / posterior.sum())
        moved[which] = np.clip(mean, max(-1.0, profile.centre - width), min(1.0, profile.centre + width))
    return moved


def _profile(synopsis: Synopsis, centres: Floats, labels: NDArray[np.int64], i: int, axis: int) -> _Profile | None:
    """Cluster i along an axis of a dense synopsis; None where it has too few rows."""
    grid = synopsis.grid
    m, d = grid.cells_per_axis, grid.dimensions
    at = _cell(centres[i], grid)
    near = tuple(slice(None) if x == axis else slice(max(0, at[x] - 1), at[x] + 2) for x in range(d))
    own = np.moveaxis(labels.reshape((m,) * d)[near] == i, axis, 0).reshape(m, -1)
    counts = np.where(own, np.moveaxis(synopsis.counts.reshape((m,) * d)[near], axis, 0).reshape(m, -1), 0)

    around = _slabs(counts, own, synopsis)
    heaviest = counts[int(np.argmax(around.sums))]
    # Of all empty columns, half of those with |Z| > r have Z > r.
    stand_out = heaviest > synopsis.law.rough_radius(log(len(heaviest) / (2.0 * _FALSE_COLUMNS)))
    clear = _slabs(counts[:, stand_out], own[:, stand_out], synopsis)
    slabs = clear if clear.significant else around
    if not slabs.significant:
        return None

    middles, centre = grid.axes[0].centres(), float(centres[i, axis])
    mean = clear.mean(middles) if clear.significant else centre
    return _Profile(centre=centre, mean=_corrected(mean, around, middles) if around.significant else mean, slabs=slabs)


def _listed(listed: ListedCells, centres: Floats, labels: NDArray[np.int64], i: int, axis: int) -> _Profile | None:
    """The same for a thresholded synopsis, whose listed cells all stand out."""
    synopsis, grid = listed.synopsis, listed.synopsis.grid
    own = np.flatnonzero(labels[: len(listed.places)] == i)
    near = np.abs(listed.places[own] - _cell(centres[i], grid)) <= 1
    near[:, axis] = True
    own = own[near.all(axis=1)]
    if not len(own):
        return None
    _others, column = np.unique(np.delete(listed.places[own], axis, axis=1), axis=0, return_inverse=True)
    counts = np.zeros((grid.cells_per_axis, int(column.max()) + 1), dtype=np.int64)
    counts[listed.places[own, axis], column] = synopsis.counts[own]
    counts = counts[:, counts[int(np.argmax(counts.sum(axis=1)))] > 0]
    slabs = _slabs(counts, np.ones_like(counts, dtype=np.bool_), synopsis)
    centre = float(centres[i, axis])  # the mean of all listed cells of the cluster, near or far
    return _Profile(centre=centre, mean=centre, slabs=slabs) if slabs.significant else None


def _cell(centre: Floats, grid: Grid) -> NDArray[np.int64]:
    """The index on every axis of the cell that a centre lies in."""
    m = grid.cells_per_axis
    return np.clip(((centre + 1.0) / 2.0 * m).astype(np.int64), 0, m - 1)


def _slabs(counts: NDArray[np.int64], own: NDArray[np.bool_], synopsis: Synopsis) -> _Slabs:
    """Sums over (slab, column) counts, where `own` marks the cells of the cluster."""
    noise = own.sum(axis=1) * synopsis.law.variance
    return _Slabs(sums=counts.sum(axis=1).astype(np.float64), noise=noise)


def _corrected(mean: float, around: _Slabs, middles: Floats) -> float:
    """A mean of low noise (clear columns), moved towards an unselected one (all cells) as far as they contradict.

    With D the difference and u the variance of its noise, the step is D (1 - 4 u / D^2) if D^2 > 4 u, else 0: a
    positive-part shrinkage as of James and Stein (1961).
    """
    all_cells = around.mean(middles)
    apart = (all_cells - mean) ** 2
    noise = float((around.noise * (middles - all_cells) ** 2).sum()) / float(around.sums.sum()) ** 2
    explained = _CONTRADICTION**2 * noise
    return mean + (all_cells - mean) * (1.0 - explained / apart) if apart > explained else mean


def _fit(profile: _Profile, grid: Grid) -> _Fit:
    """Likelihood and shift on the (mu, sigma) grid, shape (_MEANS, _DEVIATIONS).

    Pairs with much of their mass out of bounds get no weight: |mu| <= max(1 - 2 sigma, .1).
    """
    width = 2.0 / grid.cells_per_axis
    mu = profile.centre + np.linspace(-width, width, _MEANS)
    sigma = np.geomspace(width / 20.0, 1.0, _DEVIATIONS)
    outer = np.concatenate([[-np.inf], grid.axes[0].edges()[1:-1], [np.inf]])  # clipped rows lie in the outermost slabs
    shares = np.diff(ndtr((outer - mu[:, None, None]) / sigma[:, None]), axis=2)  # P_i(mu, sigma)
    inside = np.abs(mu)[:, None] <= np.maximum(1.0 - 2.0 * sigma, 0.1)

    slabs, total = profile.slabs, float(profile.slabs.sums.sum())
    spread = slabs.noise + total * shares + (_SHAPE_TOLERANCE * total * shares * (1.0 - shares)) ** 2
    spread += (_FLAT_TOLERANCE * total) ** 2 + 0.25  # V_i
    logs = -((slabs.sums - total * shares) ** 2 / spread + np.log(spread)).sum(axis=2) / 2.0
    likelihood = np.exp(logs - logs.max()) * inside + 1e-300
    return _Fit(likelihood=likelihood, shift=mu[:, None] - (shares * grid.axes[0].centres()).sum(axis=2))


def _sigma_prior(likelihoods: Sequence[Floats]) -> Floats:
    """Empirical-Bayes prior over sigma by EM, from the likelihood of sigma in each profile; smoothed with a uniform.

    An EM step replaces the prior by the mean of the posteriors that it gives.
    """
    prior = np.full(_DEVIATIONS, 1.0 / _DEVIATIONS)
    for _ in range(_EM_STEPS if likelihoods else 0):
        prior = np.mean([likely * prior / (likely * prior).sum() for likely in likelihoods], axis=0)
    return prior + 0.1 / _DEVIATIONS
