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
being whole numbers. mu runs over 65 points within a cell of the centre, sigma over 32 from 1/20 of a cell to 1. Where
cells differ in width, mu goes by the widest cell of its axis, and sigma by the axis whose widest cell is narrowest: all
axes have the same sigma, since they share a prior.

*Prior.* Uniform in mu. The prior over sigma is empirical Bayes: the nonparametric maximum-likelihood mixing
distribution of all clusters and axes together, by 20 steps of EM (Laird 1978), plus a uniform part. It helps where a
cluster lies at a bound and can spill to one side only.

*Estimate.* If s_i is the centre of slab i, the shift mu - sum of P_i s_i is what a pair adds to a mean over slabs. The
new centre is the mean over slabs plus the posterior mean of the shift. Where nothing spills, all mu in the cell explain
the slabs alike, and the shift is about zero.

Of a thresholded histogram, cells that are not listed count as empty. They hold less than the threshold, which is little
beside a cluster; to model what they may hold was tried, and gained nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import log, prod, sqrt

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from core.arrays import Floats
from core.cells import Cells, DenseCells, ThresholdedCells
from core.clustering.axis_cells import AxisCells, axes_of
from core.mechanisms.law import NoiseLaw
from core.mechanisms.threshold import least_threshold
from core.noisy_histogram import NoisyHistogram

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


@dataclass(frozen=True, slots=True, eq=False)
class _View:
    """Cells with the law of their noise, the ordered axes, centres, and the number of the centre nearest to each cell.

    `places` are those of the listed cells of a thresholded histogram on the ordered axes.
    """

    cells: Cells
    law: NoiseLaw
    axes: tuple[AxisCells, ...]
    centres: Floats
    labels: NDArray[np.int64]
    places: NDArray[np.int64]

    def cell_of(self, i: int) -> NDArray[np.int64]:
        """The index on every axis of the cell that centre i lies in."""
        return np.array(
            [
                np.clip(axis.cell_at(place), 0, axis.cells - 1)
                for axis, place in zip(self.axes, self.centres[i], strict=True)
            ]
        )


def within_cells(histogram: NoisyHistogram, centres: Floats, labels: NDArray[np.int64]) -> Floats:
    """Centres in [-1, 1]^d, moved by a cell at most; `labels` has the number of the centre nearest to each cell.

    A coordinate stays where it is if there are too few rows to move it, and all do on axes of more than 64 cells.
    Centres and labels are those of `core.clustering.methods`, and so are the histograms that it serves.
    """
    axes, cells = axes_of(histogram.grid), histogram.cells
    coarse = [x for x, axis in enumerate(axes) if axis.cells <= _MOST_SLABS]
    if not coarse:
        return centres
    if isinstance(cells, DenseCells) and len(centres) * sum(_near(axes, x) for x in coarse) > _MOST_WORK:
        cells = cells.reaching(least_threshold(cells.grid.cell_count, histogram.law))
        labels = labels[cells.numbers]  # the whole grid would take too long
    profile_of = _listed if isinstance(cells, ThresholdedCells) else _profile
    listed = np.empty(0, dtype=np.int64) if cells.listed is None else cells.listed
    places = cells.grid.places(listed)[:, cells.grid.ordered_axes]
    view = _View(cells, histogram.law, axes, centres, labels, places)
    coordinates = [(i, x) for i in range(len(centres)) for x in coarse]
    profiles = {which: profile for which in coordinates if (profile := profile_of(view, *which)) is not None}
    sigma = np.geomspace(min(axes[x].widest for x in coarse) / 20.0, 1.0, _DEVIATIONS)
    # The rows of a single value lie at its cell's centre: on an axis of such cells the mean over slabs is right.
    fits = {(i, x): _fit(profile, axes[x], sigma) for (i, x), profile in profiles.items() if not axes[x].single.all()}
    prior = _sigma_prior([fit.likelihood.sum(axis=0) for fit in fits.values()])
    moved = centres.copy()
    for which, profile in profiles.items():
        mean, width = profile.mean, axes[which[1]].widest
        if which in fits:
            posterior = fits[which].likelihood * prior
            mean += float((posterior * fits[which].shift).sum() / posterior.sum())
        moved[which] = np.clip(mean, max(-1.0, profile.centre - width), min(1.0, profile.centre + width))
    return moved


def _near(axes: tuple[AxisCells, ...], x: int) -> int:
    """How many cells are visited for a centre and axis x: all along the axis, three at most along every other."""
    return prod(axis.cells if y == x else min(3, axis.cells) for y, axis in enumerate(axes))


def _profile(view: _View, i: int, x: int) -> _Profile | None:
    """Cluster i along axis x where every cell has a count; None where it has too few rows."""
    shape, at, m = [axis.cells for axis in view.axes], view.cell_of(i), view.axes[x].cells
    near = tuple(slice(None) if y == x else slice(max(0, at[y] - 1), at[y] + 2) for y in range(len(shape)))
    own = np.moveaxis(view.labels.reshape(shape)[near] == i, x, 0).reshape(m, -1)
    counts = np.where(own, np.moveaxis(view.cells.counts.reshape(shape)[near], x, 0).reshape(m, -1), 0)

    around = _slabs(counts, own, view.law)
    heaviest = counts[int(np.argmax(around.sums))]
    # Of all empty columns, half of those with |Z| > r have Z > r.
    stand_out = heaviest > view.law.rough_radius(log(len(heaviest) / (2.0 * _FALSE_COLUMNS)))
    clear = _slabs(counts[:, stand_out], own[:, stand_out], view.law)
    slabs = clear if clear.significant else around
    if not slabs.significant:
        return None

    middles, centre = view.axes[x].centres, float(view.centres[i, x])
    mean = clear.mean(middles) if clear.significant else centre
    return _Profile(centre=centre, mean=_corrected(mean, around, middles) if around.significant else mean, slabs=slabs)


def _listed(view: _View, i: int, x: int) -> _Profile | None:
    """The same for a thresholded histogram, whose listed cells all stand out.

    Cells that differ in their categories alone have the same place, and are summed.
    """
    places = view.places
    own = np.flatnonzero(view.labels[: len(places)] == i)
    near = np.abs(places[own] - view.cell_of(i)) <= 1
    near[:, x] = True
    own = own[near.all(axis=1)]
    if not len(own):
        return None
    _others, column = np.unique(np.delete(places[own], x, axis=1), axis=0, return_inverse=True)
    counts = np.zeros((view.axes[x].cells, int(column.max()) + 1), dtype=np.int64)
    listed = np.zeros_like(counts)
    np.add.at(counts, (places[own, x], column), view.cells.counts[own])
    np.add.at(listed, (places[own, x], column), 1)
    clear = counts[int(np.argmax(counts.sum(axis=1)))] > 0
    slabs = _slabs(counts[:, clear], np.maximum(listed[:, clear], 1), view.law)
    centre = float(view.centres[i, x])  # the mean of all listed cells of the cluster, near or far
    return _Profile(centre=centre, mean=centre, slabs=slabs) if slabs.significant else None


def _slabs(counts: NDArray[np.int64], draws: NDArray[np.int64] | NDArray[np.bool_], law: NoiseLaw) -> _Slabs:
    """Sums over (slab, column) counts, where `draws` says how many draws of noise each of them has."""
    return _Slabs(sums=counts.sum(axis=1).astype(np.float64), noise=draws.sum(axis=1) * law.variance)


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


def _fit(profile: _Profile, axis: AxisCells, sigma: Floats) -> _Fit:
    """Likelihood and shift on the (mu, sigma) grid, shape (_MEANS, _DEVIATIONS).

    Pairs with much of their mass out of bounds get no weight: |mu| <= max(1 - 2 sigma, .1).
    """
    mu = profile.centre + np.linspace(-axis.widest, axis.widest, _MEANS)
    outer = np.concatenate([[-np.inf], axis.edges[1:-1], [np.inf]])  # clipped rows lie in the outermost slabs
    shares = np.diff(ndtr((outer - mu[:, None, None]) / sigma[:, None]), axis=2)  # P_i(mu, sigma)
    inside = np.abs(mu)[:, None] <= np.maximum(1.0 - 2.0 * sigma, 0.1)

    slabs, total = profile.slabs, float(profile.slabs.sums.sum())
    spread = slabs.noise + total * shares + (_SHAPE_TOLERANCE * total * shares * (1.0 - shares)) ** 2
    spread += (_FLAT_TOLERANCE * total) ** 2 + 0.25  # V_i
    logs = -((slabs.sums - total * shares) ** 2 / spread + np.log(spread)).sum(axis=2) / 2.0
    likelihood = np.exp(logs - logs.max()) * inside + 1e-300
    return _Fit(likelihood=likelihood, shift=mu[:, None] - (shares * axis.centres).sum(axis=2))


def _sigma_prior(likelihoods: Sequence[Floats]) -> Floats:
    """Empirical-Bayes prior over sigma by EM, from the likelihood of sigma in each profile; smoothed with a uniform.

    An EM step replaces the prior by the mean of the posteriors that it gives.
    """
    prior = np.full(_DEVIATIONS, 1.0 / _DEVIATIONS)
    for _ in range(_EM_STEPS if likelihoods else 0):
        prior = np.mean([likely * prior / (likely * prior).sum() for likely in likelihoods], axis=0)
    return prior + 0.1 / _DEVIATIONS
