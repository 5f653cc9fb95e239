"""Where within their cells the rows of a cluster lie, where cells are wider than clusters: four and more dimensions.

There a grid has few cells on an axis, so that a cluster may lie in one of them and spill a little into the next. Its
mean, taken at cell centres, is off by up to half a cell. But how much spills to either side tells where it lies.

For each cluster and axis, the raw counts (unbiased, of known noise) are summed over slabs across the axis, in the cells
next to the centre on all other axes. The rows are taken for normal, with a mean and a deviation that nobody knows: each
pair of the two explains the slabs more or less well, and adds something to the slabs' mean. What is added is the
average over all pairs, by how well they explain. How likely a deviation is beforehand is learnt from all clusters and
axes together, which helps where a cluster lies at a bound and can spill to one side only. Where nothing spills, all
places in the cell explain it alike, and nothing is added.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from core.noise import variance
from core.queries.uncertainty import Floats
from core.synopsis import Synopsis

_MEANS, _DEVIATIONS = 65, 24


@dataclass(frozen=True, slots=True, eq=False)
class _Slabs:
    """One cluster on one axis: where it is taken to be, the sums over slabs, and the variance of their noise."""

    centre: float
    sums: Floats
    noise: Floats

    @property
    def tells(self) -> bool:
        """Whether there are rows enough to tell anything."""
        return float(self.sums.sum()) > 4.0 * float(np.sqrt(self.noise.sum()))


def within_cells(synopsis: Synopsis, centres: Floats, labels: NDArray[np.int64]) -> Floats:
    """Centres in [-1, 1]^d, moved by a cell at most; `labels` has the number of the centre nearest to each cell."""
    edges = synopsis.grid.edges()
    found = [
        [_slabs(synopsis, centres, labels, i, axis) for axis in range(centres.shape[1])] for i in range(len(centres))
    ]
    explained = [_explained(slabs, edges) for row in found for slabs in row if slabs.tells]
    if not explained:
        return centres
    # The average over clusters and axes of how likely each deviation is, given its slabs; a little for any other.
    beforehand = np.mean([likely.sum(axis=0) / likely.sum() for likely in explained], axis=0) + 0.1 / _DEVIATIONS
    moved = centres.copy()
    each = iter(explained)
    for i, row in enumerate(found):
        for axis, slabs in enumerate(row):
            if slabs.tells:
                moved[i, axis] = _mean(slabs, edges, next(each) * beforehand)
    return moved


def _slabs(synopsis: Synopsis, centres: Floats, labels: NDArray[np.int64], i: int, axis: int) -> _Slabs:
    grid = synopsis.grid
    shape = (grid.cells_per_axis,) * grid.dimensions
    at = np.clip(((centres[i] + 1.0) / 2.0 * grid.cells_per_axis).astype(np.int64), 0, grid.cells_per_axis - 1)
    others = tuple(x for x in range(grid.dimensions) if x != axis)
    near = tuple(slice(max(0, at[x] - 1), at[x] + 2) if x in others else slice(None) for x in range(grid.dimensions))
    own = labels.reshape(shape)[near] == i
    sums = np.where(own, synopsis.counts.reshape(shape)[near], 0).sum(axis=others).astype(np.float64)
    noise = own.sum(axis=others) * variance(synopsis.histogram_epsilon)
    return _Slabs(centre=float(centres[i, axis]), sums=sums, noise=noise)


def _pairs(slabs: _Slabs, edges: Floats) -> tuple[Floats, Floats, Floats]:
    """Means, deviations, and for each pair the share of rows in every slab; what was clipped lies in the outermost."""
    width = float(edges[1] - edges[0])
    means = slabs.centre + np.linspace(-width, width, _MEANS)
    deviations = np.geomspace(width / 20.0, 1.0, _DEVIATIONS)
    outer = np.concatenate([[-np.inf], edges[1:-1], [np.inf]])
    shares: Floats = np.diff(ndtr((outer - means[:, None, None]) / deviations[:, None]), axis=2)
    return means, deviations, shares


def _explained(slabs: _Slabs, edges: Floats) -> Floats:
    """How well each pair of mean and deviation explains the slabs; none that has much of its rows out of bounds."""
    means, deviations, shares = _pairs(slabs, edges)
    total = slabs.sums.sum()
    # Counts of rows scatter by themselves, and no cluster is quite normal: a hundredth of all rows is forgiven.
    spread = slabs.noise + np.maximum(slabs.sums, 0.0) + (0.01 * total) ** 2
    misfit = ((slabs.sums - total * shares) ** 2 / spread).sum(axis=2) / 2.0
    inside = np.abs(means)[:, None] <= np.maximum(1.0 - 2.0 * deviations, 0.1)
    likely: Floats = np.exp(misfit.min() - misfit) * inside + 1e-300
    return likely


def _mean(slabs: _Slabs, edges: Floats, likely: Floats) -> float:
    """The mean of the rows: of the slabs at their middles, and what the pairs add to it on average."""
    means, _deviations, shares = _pairs(slabs, edges)
    middles, width = (edges[1:] + edges[:-1]) / 2.0, float(edges[1] - edges[0])
    added = float((likely * (means[:, None] - shares @ middles)).sum() / likely.sum())
    mean = float(slabs.sums @ middles / slabs.sums.sum()) + added
    return float(np.clip(mean, max(-1.0, slabs.centre - width), min(1.0, slabs.centre + width)))
