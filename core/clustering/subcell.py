"""Where within their cells the rows of a cluster lie, where cells are wider than clusters: four and more dimensions.

There a grid has few cells on an axis, so that a cluster may lie in one of them and spill a little into the next. Its
mean, taken at cell centres, is off by up to half a cell. But how much spills to either side tells where it lies.

For each cluster and axis, the raw counts (unbiased, of known noise) are summed over slabs across the axis: once over
all cells next to the centre on the other axes, and once over those columns of cells only, along the axis, that stand
out from the noise. These hold nearly all rows of a narrow cluster and hardly any noise, so that a spill of few rows
shows. A column is chosen by its count in the heaviest slab alone: the noise of the other slabs stays as it was.

The rows are taken for normal, with a mean and a deviation that nobody knows: each pair of the two explains the slabs
more or less well, and adds something to the slabs' mean. What is added is the average over all pairs, by how well they
explain. How likely a deviation is beforehand is learnt from all clusters and axes together, which helps where a cluster
lies at a bound and can spill to one side only. Where nothing spills, all places in the cell explain it alike, and
nothing is added.

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
from core.domain.grid import Grid
from core.intervals.listed import ListedCells
from core.mechanisms.threshold import least_threshold
from core.synopsis import Synopsis

_MOST_SLABS = 64  # on finer axes cells are narrow enough
_MOST_WORK = 10**8  # cells that are looked at, for all centres and axes: a second or so
_MEANS, _DEVIATIONS = 65, 32
_LEARNING_STEPS = 20
_FALSE_COLUMNS = 0.1  # how many empty columns of a cluster may stand out, on average
# No cluster is quite normal: of a slab's share p so much of p (1 - p) is forgiven, and so much of all rows.
_FORGIVEN, _FORGIVEN_OF_ALL = 0.3, 0.001
_CONTRADICTION = 2.0  # standard deviations from which the mean of all cells overrules that of the clear columns


@dataclass(frozen=True, slots=True, eq=False)
class _Slabs:
    """Sums of noisy counts over slabs across an axis, and the variance of their noise."""

    sums: Floats
    noise: Floats

    @property
    def tell(self) -> bool:
        """Whether there are rows enough to tell anything."""
        return float(self.sums.sum()) > 4.0 * sqrt(float(self.noise.sum()))

    def mean(self, middles: Floats) -> float:
        """Of the rows, as if each lay in the middle of its slab."""
        return float((self.sums * middles).sum() / self.sums.sum())


@dataclass(frozen=True, slots=True, eq=False)
class _Cluster:
    """One cluster on one axis: its mean as far as cells tell, and the slabs that may tell more."""

    centre: float
    mean: float
    slabs: _Slabs


@dataclass(frozen=True, slots=True, eq=False)
class _Pairs:
    """For each pair of mean and deviation: how well it explains a cluster's slabs, and what it adds to their mean."""

    likely: Floats
    added: Floats


def within_cells(synopsis: Synopsis, centres: Floats, labels: NDArray[np.int64]) -> Floats:
    """Centres in [-1, 1]^d, moved by a cell at most; `labels` has the number of the centre nearest to each cell."""
    grid = synopsis.grid
    if grid.cells_per_axis > _MOST_SLABS:
        return centres
    near = grid.cells_per_axis * min(3, grid.cells_per_axis) ** (grid.dimensions - 1)
    if synopsis.cells is None and centres.size * near > _MOST_WORK:
        synopsis, labels = _listing(synopsis, labels)
    seen = partial(_seen, synopsis) if synopsis.cells is None else partial(_listed, ListedCells(synopsis))
    each = [(i, axis) for i in range(len(centres)) for axis in range(grid.dimensions)]
    found = {which: cluster for which in each if (cluster := seen(centres, labels, *which)) is not None}
    pairs = {which: _explained(cluster, grid) for which, cluster in found.items()}
    beforehand = _learnt([pair.likely.sum(axis=0) for pair in pairs.values()])
    moved, width = centres.copy(), 2.0 / grid.cells_per_axis
    for which, cluster in found.items():
        likely = pairs[which].likely * beforehand
        mean = cluster.mean + float((likely * pairs[which].added).sum() / likely.sum())
        moved[which] = np.clip(mean, max(-1.0, cluster.centre - width), min(1.0, cluster.centre + width))
    return moved


def _listing(synopsis: Synopsis, labels: NDArray[np.int64]) -> tuple[Synopsis, NDArray[np.int64]]:
    """What a threshold would have left of a synopsis, for when its whole grid would take too long."""
    threshold = least_threshold(synopsis.grid.cell_count, synopsis.law)
    cells = np.flatnonzero(synopsis.counts >= threshold)
    return replace(synopsis, cells=cells, counts=synopsis.counts[cells], threshold=threshold), labels[cells]


def _seen(synopsis: Synopsis, centres: Floats, labels: NDArray[np.int64], i: int, axis: int) -> _Cluster | None:
    grid = synopsis.grid
    m, d = grid.cells_per_axis, grid.dimensions
    at = _cell(centres[i], grid)
    near = tuple(slice(None) if x == axis else slice(max(0, at[x] - 1), at[x] + 2) for x in range(d))
    own = np.moveaxis(labels.reshape((m,) * d)[near] == i, axis, 0).reshape(m, -1)
    counts = np.where(own, np.moveaxis(synopsis.counts.reshape((m,) * d)[near], axis, 0).reshape(m, -1), 0)

    around = _summed(counts, own, synopsis)
    heaviest = counts[int(np.argmax(around.sums))]
    stand_out = heaviest > log(len(heaviest) / (2.0 * _FALSE_COLUMNS)) / synopsis.law.rate
    clear = _summed(counts[:, stand_out], own[:, stand_out], synopsis)
    slabs = clear if clear.tell else around
    if not slabs.tell:
        return None

    middles, centre = grid.axis_centres(), float(centres[i, axis])
    mean = clear.mean(middles) if clear.tell else centre
    return _Cluster(centre=centre, mean=_corrected(mean, around, middles) if around.tell else mean, slabs=slabs)


def _listed(listed: ListedCells, centres: Floats, labels: NDArray[np.int64], i: int, axis: int) -> _Cluster | None:
    """The same of a thresholded synopsis, whose listed cells all stand out."""
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
    slabs = _summed(counts, np.ones_like(counts, dtype=np.bool_), synopsis)
    centre = float(centres[i, axis])  # the mean of all listed cells of the cluster, near or far
    return _Cluster(centre=centre, mean=centre, slabs=slabs) if slabs.tell else None


def _cell(centre: Floats, grid: Grid) -> NDArray[np.int64]:
    """The place on every axis of the cell that a centre lies in."""
    m = grid.cells_per_axis
    return np.clip(((centre + 1.0) / 2.0 * m).astype(np.int64), 0, m - 1)


def _summed(counts: NDArray[np.int64], own: NDArray[np.bool_], synopsis: Synopsis) -> _Slabs:
    noise = own.sum(axis=1) * synopsis.law.variance
    return _Slabs(sums=counts.sum(axis=1).astype(np.float64), noise=noise)


def _corrected(mean: float, around: _Slabs, middles: Floats) -> float:
    """A mean of low noise, moved towards that of all cells as far as noise does not explain how they differ."""
    all_cells = around.mean(middles)
    apart = (all_cells - mean) ** 2
    noise = float((around.noise * (middles - all_cells) ** 2).sum()) / float(around.sums.sum()) ** 2
    explained = _CONTRADICTION**2 * noise
    return mean + (all_cells - mean) * (1.0 - explained / apart) if apart > explained else mean


def _explained(cluster: _Cluster, grid: Grid) -> _Pairs:
    """Means next to the centre, deviations up to the whole domain; no pair that has much of its rows out of bounds."""
    width = 2.0 / grid.cells_per_axis
    means = cluster.centre + np.linspace(-width, width, _MEANS)
    deviations = np.geomspace(width / 20.0, 1.0, _DEVIATIONS)
    outer = np.concatenate([[-np.inf], grid.edges()[1:-1], [np.inf]])  # what was clipped lies in the outermost slabs
    shares = np.diff(ndtr((outer - means[:, None, None]) / deviations[:, None]), axis=2)
    inside = np.abs(means)[:, None] <= np.maximum(1.0 - 2.0 * deviations, 0.1)

    slabs, total = cluster.slabs, float(cluster.slabs.sums.sum())
    # Counts of rows scatter by themselves; a quarter stands for their being whole.
    spread = slabs.noise + total * shares + (_FORGIVEN * total * shares * (1.0 - shares)) ** 2
    spread += (_FORGIVEN_OF_ALL * total) ** 2 + 0.25
    logs = -((slabs.sums - total * shares) ** 2 / spread + np.log(spread)).sum(axis=2) / 2.0
    likely = np.exp(logs - logs.max()) * inside + 1e-300
    return _Pairs(likely=likely, added=means[:, None] - (shares * grid.axis_centres()).sum(axis=2))


def _learnt(likely: Sequence[Floats]) -> Floats:
    """How likely each deviation is beforehand, from how likely every cluster finds it; a little for any other."""
    beforehand = np.full(_DEVIATIONS, 1.0 / _DEVIATIONS)
    for _ in range(_LEARNING_STEPS if likely else 0):
        beforehand = np.mean([one * beforehand / (one * beforehand).sum() for one in likely], axis=0)
    return beforehand + 0.1 / _DEVIATIONS
