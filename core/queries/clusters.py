"""Clusters of a histogram: k centres on its ordered attributes, with what the noise leaves certain about each.

Everything is chosen by the noisy counts alone, never by a second look at rows: there are none.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod

import numpy as np
from numpy.typing import NDArray

from core.adaptive.cells import AdaptiveCells
from core.arrays import Floats
from core.checkpoint import Checkpoint, carry_on
from core.clustering.axis_cells import ordered_shape
from core.clustering.certainty import Merge, centre_intervals, certainty
from core.clustering.kmeans import nearest
from core.clustering.leaf_regions import Regions
from core.clustering.methods import Choice, Method, Placed, labels_of, place
from core.errors import InvalidQuery
from core.intervals.levels import Interval, alpha_of
from core.intervals.ratios import Ends
from core.noisy_histogram import NoisyHistogram
from core.queries.slices import numeric_part
from core.queries.tables import grid_table

MAX_CLUSTERS = 256


@dataclass(frozen=True, slots=True)
class Cluster:
    """A centre in the attributes' own units, the noisy number of rows nearest to it, and what noise leaves certain.

    Each of `centre_intervals` holds by itself; those of `region` hold all together, so that they are a box for the
    centre. core.clustering.certainty tells what they cover. The size is that of the centre's cells: a raw sum, and
    an interval that is exact for cells chosen beforehand. Among many small clusters the first is also the luckiest.
    `noise_probability` is None for methods that have no model of what is noise. `discretisation` has, for each
    attribute, how far the grid can move the mean of the rows in the centre's cells: see `_shifts`.
    """

    centre: tuple[float, ...]
    centre_intervals: tuple[Interval, ...]
    region: tuple[Interval, ...]
    size: float
    size_interval: Interval
    noise_probability: float | None
    discretisation: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Clusters:
    """k clusters, the largest first; `inertia` is the weighted sum of squares in [-1, 1]^d that the method minimised.

    (With `thresholded`, before centres were moved within their cells.)

    `stability` is the share of rows that stay in their cluster under other counts that the noise allows: 1 where the
    clusters are those of the data, towards 1/k where they are those of the noise.
    """

    clusters: tuple[Cluster, ...]
    choice: Choice
    merges: tuple[Merge, ...]
    inertia: float
    stability: float
    seed: int
    warnings: tuple[str, ...]


def find_clusters(
    histogram: NoisyHistogram,
    k: int,
    *,
    level: float,
    seed: int,
    method: Method = Method.POSTERIOR,
    checkpoint: Checkpoint = carry_on,
) -> Clusters:
    """k clusters by a method, or by the one that serves in its place; the same again for the same seed."""
    require_k(histogram, k)
    alpha, histogram = alpha_of(level), numeric_part(histogram)
    placed, own, labels = _by_size(histogram, place(histogram, k, method, seed=seed, checkpoint=checkpoint))
    confidence = certainty(histogram, placed, seed=seed, checkpoint=checkpoint)
    alphas = alpha, alpha / len(histogram.domain.ordered)  # for boxes a union bound over the attributes
    ends = centre_intervals(histogram, placed, labels, confidence.errors, alphas)
    alone, boxes = (_held(1.0 - each, centres, own) for each, centres in zip(alphas, ends, strict=True))
    sizes = np.bincount(labels, weights=placed.counts, minlength=k).astype(np.float64)
    least, most = size_bounds(histogram, sizes, labels, alpha)
    shifts = _shifts(histogram, labels, k)
    clusters = tuple(
        Cluster(
            centre=tuple(own[i].tolist()),
            centre_intervals=alone[i],
            region=boxes[i],
            size=float(sizes[i]),
            size_interval=Interval(level, float(least[i]), float(most[i])),
            noise_probability=confidence.noise[i],
            discretisation=tuple(shifts[i].tolist()),
        )
        for i in range(k)
    )
    return Clusters(
        clusters=clusters,
        choice=placed.choice,
        merges=confidence.merges,
        inertia=placed.inertia,
        stability=confidence.stability,
        seed=seed,
        warnings=tuple(_warnings(histogram, clusters)),
    )


def _by_size(histogram: NoisyHistogram, placed: Placed) -> tuple[Placed, Floats, NDArray[np.int64]]:
    """The largest region first by its noisy size; its centres in the attributes' own units, and each cell's region.

    Centres are rounded as these units round them, and of centres equally near to a cell the first counts in this very
    order: whoever goes by the centres of an answer finds its regions.
    """
    domain, k = histogram.domain, len(placed.centres)
    own = domain.from_unit(placed.centres)
    labels = labels_of(placed.cells, domain.to_unit(own))
    own = own[np.argsort(-np.bincount(labels, weights=placed.counts, minlength=k), kind="stable")]
    centres = domain.to_unit(own)
    return replace(placed, centres=centres), own, labels_of(placed.cells, centres)


def _held(level: float, ends: list[list[Ends]], own: Floats) -> list[tuple[Interval, ...]]:
    """The intervals of each centre, widened to hold it to the last bit: without noise they are single numbers."""
    return [
        tuple(
            Interval(level, min(low, value), max(high, value)) for (low, high), value in zip(pairs, centre, strict=True)
        )
        for pairs, centre in zip(ends, own.tolist(), strict=True)
    ]


def size_bounds(
    histogram: NoisyHistogram, sizes: Floats, labels: NDArray[np.int64], alpha: float
) -> tuple[Floats, Floats]:
    """(k,) twice: the ends of the intervals of sizes."""
    if isinstance(histogram.cells, AdaptiveCells):
        return Regions.of(histogram.cells, labels, len(sizes)).bounds(alpha)
    return grid_table(histogram).region_bounds(sizes, np.bincount(labels, minlength=len(sizes)), alpha=alpha)


def _shifts(histogram: NoisyHistogram, labels: NDArray[np.int64], k: int) -> Floats:
    """(k, attributes): how far the mean of the rows in each region may lie from that of their cells' centres.

    No row lies farther from its cell's centre than the cell's reach, so no mean of rows does so by more than the
    largest reach of the region's cells. A region of no cell, or of cells that a threshold may have hidden, has that of
    the whole axis.
    """
    if isinstance(histogram.cells, AdaptiveCells):
        return _leaf_shifts(histogram.cells, labels, k) * histogram.domain.width / 2.0
    shape = histogram.grid.shape
    shifts = np.empty((k, len(histogram.domain.ordered)))
    for x, attribute in enumerate(histogram.domain.ordered):
        axis = histogram.grid.axes[histogram.domain.ordered_axes[x]]
        reaches = attribute.reaches(axis)
        shifts[:, x] = reaches.max()
        if not histogram.cells.complete or reaches.min() == reaches.max():
            continue
        m = shape[x]  # every axis is ordered: see `numeric_part`
        slab = np.arange(prod(shape)) // prod(shape[x + 1 :]) % m + m * labels
        held = np.bincount(slab, minlength=k * m).reshape(k, m) > 0
        largest = np.where(held, reaches, 0.0).max(axis=1)
        shifts[:, x] = np.where(held.any(axis=1), largest, shifts[:, x])
    return shifts


def _leaf_shifts(cells: AdaptiveCells, labels: NDArray[np.int64], k: int) -> Floats:
    """The same for leaves, in unit coordinates: the mean half width of the leaves of a region, by their rows.

    Each row is at most half a width of its leaf off, so their mean is at most the mean of that over rows.
    """
    halves, rows = (cells.leaves.high - cells.leaves.low) / 2.0, np.maximum(cells.estimates, 0.0)
    weight = np.bincount(labels, weights=rows, minlength=k)
    sums = [np.bincount(labels, weights=rows * along, minlength=k) for along in halves.T]
    shifts: Floats = np.stack(sums, axis=1) / np.where(weight > 0.0, weight, 1.0)[:, None]
    return np.where(weight[:, None] > 0.0, shifts, 1.0)


def assign(histogram: NoisyHistogram, clusters: Clusters, points: Floats) -> NDArray[np.int64]:
    """The number of the cluster nearest to each of the caller's own points.

    A point has a value for each ordered attribute, in its own unit.
    """
    centres = np.array([cluster.centre for cluster in clusters.clusters])
    domain = histogram.domain
    labels, _distances = nearest(domain.to_unit(points), domain.to_unit(centres)[None])
    numbers: NDArray[np.int64] = labels[0]
    return numbers


def require_k(histogram: NoisyHistogram, k: int) -> None:
    """Refuse a k that this histogram cannot be asked for; and a histogram of categories alone, which has no places."""
    shape = ordered_shape(histogram.grid)
    if not shape:
        raise InvalidQuery("Clusters need at least one attribute that is no category.")
    cells = len(histogram.counts) if isinstance(histogram.cells, AdaptiveCells) else prod(shape)
    most = min(MAX_CLUSTERS, cells)
    if not 1 <= k <= most:
        raise InvalidQuery(f"k lies between 1 and {most} for this release.")


def _warnings(histogram: NoisyHistogram, clusters: tuple[Cluster, ...]) -> list[str]:
    k, planned = len(clusters), histogram.clusters
    warnings = []
    if not planned / 2 <= k <= 2 * planned:
        warnings.append(f"The grid was planned for {planned} clusters; {k} may be too few or too many for its cells.")
    if not histogram.cells.complete:
        warnings.append(
            "Only cells that reach the threshold are listed: centres are those of the listed rows, and their intervals "
            "allow for the others."
        )
        if histogram.size_law is None:
            reason = (
                "The size of this release was declared, not bought"
                if histogram.size_declared
                else "No size was bought for this part of the release"
            )
            warnings.append(
                f"{reason}: nothing but the threshold bounds the rows that are not listed, and the intervals are wide."
            )
    lost = sum(cluster.size_interval.low <= 0.0 for cluster in clusters)
    if lost:
        warnings.append(f"{lost} of {k} clusters cannot be told from noise: their size may be zero.")
    doubtful = sum((cluster.noise_probability or 0.0) > 0.5 for cluster in clusters)
    if doubtful:
        warnings.append(
            f"{doubtful} of {k} clusters are more likely than not only noise: next to no rows may be there."
        )
    return warnings
