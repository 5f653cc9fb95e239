"""Weighted k-means++ and Lloyd, all restarts at once; has never heard of privacy.

Our own and not scikit-learn's: on the few hundred cells of a synopsis it is faster on one thread (bench/kmeans.py),
it takes no second to import, and it cannot start a thread. Every operation is elementwise or a bincount, none is a
BLAS call, so neither the number of cores nor the BLAS build changes a bit of the result.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
_MAX_ITERATIONS = 300
_SCREENING_STEPS, _FINISHED = 3, 3
_MOST_WORK = 5 * 10**8  # distances along an axis
_IN_CACHE = 2**13  # distances at once: many points are taken in parts, several times as fast


@dataclass(frozen=True, slots=True, eq=False)
class Clustering:
    """k centres, the weight nearest to each, and the weighted sum of squared distances to them."""

    centres: Floats
    sizes: Floats
    inertia: float


def kmeans(points: Floats, weights: Floats, k: int, *, restarts: int, rng: np.random.Generator) -> Clustering:
    """The best of `restarts` runs of Lloyd from k-means++ starts, by the weighted objective.

    All runs take three steps, which tell well enough which of them lead far: the best three are finished. Finishing all
    of them takes half as long again and lowers the inertia by 0.1 % on average. `points` is (n, d); `weights` (n,),
    none negative, some positive. With fewer than k points of positive weight some centres coincide.
    """
    heavy = weights > 0
    points, weights = np.asfortranarray(points[heavy]), weights[heavy]  # one coordinate after the other
    starts = plus_plus(points, weights, k, restarts=restarts, rng=rng)
    begun = lloyd(points, weights, starts, iterations=_SCREENING_STEPS)
    inertias = (nearest(points, begun)[1] * weights).sum(axis=1)
    centres = lloyd(points, weights, begun[np.argsort(inertias, kind="stable")[:_FINISHED]])
    labels, distances = nearest(points, centres)
    inertias = (distances * weights).sum(axis=1)
    best = int(np.argmin(inertias))
    sizes: Floats = np.bincount(labels[best], weights=weights, minlength=k).astype(np.float64)
    return Clustering(centres=centres[best], sizes=sizes, inertia=float(inertias[best]))


def plus_plus(points: Floats, weights: Floats, k: int, *, restarts: int, rng: np.random.Generator) -> Floats:
    """Greedy k-means++ (Arthur and Vassilvitskii 2007), weighted: (restarts, k, d) starting centres.

    Each further centre is the best of 2 + floor(ln k) points drawn in proportion to weight x squared distance.
    """
    n, d = points.shape
    trials = 2 + int(log(k))
    centres = np.empty((restarts, k, d))
    centres[:, 0] = points[_draw(np.broadcast_to(weights, (restarts, n)), 1, rng)[:, 0]]
    distances = _squared_distances(points, centres[:, 0])
    rows = np.arange(restarts)
    for i in range(1, k):
        candidates = _draw(distances * weights, trials, rng)
        offered = _squared_distances(points, points[candidates].reshape(-1, d)).reshape(restarts, trials, n)
        np.minimum(offered, distances[:, None], out=offered)
        best = np.argmin((offered * weights).sum(axis=2), axis=1)
        centres[:, i] = points[candidates[rows, best]]
        distances = offered[rows, best]
    return centres


def lloyd(points: Floats, weights: Floats, centres: Floats, *, iterations: int = _MAX_ITERATIONS) -> Floats:
    """Lloyd's algorithm on (restarts, k, d) centres, each restart until its assignment stands still.

    On large inputs it ends after as many steps as take some seconds, if not before.
    Points (n, d) and weights (n,) are those of all restarts; with one more axis in front, each restart has its own.
    A centre that attracts no weight stays where it is.
    """
    centres = centres.copy()
    n, shared = points.shape[-2], points.ndim == 2
    iterations = min(iterations, 3 + _MOST_WORK // (n * max(1, centres.size)))
    weights = np.broadcast_to(weights, (len(centres), n))
    active = np.arange(len(centres))
    previous = np.full((len(centres), n), -1, dtype=np.int64)
    for _ in range(iterations):
        labels, _distances = nearest(points if shared else points[active], centres[active])
        moved = (labels != previous).any(axis=1)
        active, labels = active[moved], labels[moved]
        if not len(active):
            break
        centres[active] = _means(points if shared else points[active], weights[active], labels, centres[active])
        previous = labels
    return centres


def nearest(points: Floats, centres: Floats) -> tuple[NDArray[np.int64], Floats]:
    """For each restart and point: the number of the nearest centre (the first of equals) and the squared distance."""
    step = max(1, _IN_CACHE // len(centres))
    parts = [_nearest(points[..., i : i + step, :], centres) for i in range(0, max(1, points.shape[-2]), step)]
    if len(parts) == 1:
        return parts[0]
    labels, distances = zip(*parts, strict=True)
    return np.concatenate(labels, axis=1), np.concatenate(distances, axis=1)


def _nearest(points: Floats, centres: Floats) -> tuple[NDArray[np.int64], Floats]:
    best = _squared_distances(points, centres[:, 0])
    labels = np.zeros(best.shape, dtype=np.int64)
    for i in range(1, centres.shape[1]):
        distance = _squared_distances(points, centres[:, i])
        np.maximum(labels, i * (distance < best), out=labels)  # no label is above i yet; faster than a mask
        np.minimum(best, distance, out=best)
    return labels, best


def _means(points: Floats, weights: Floats, labels: NDArray[np.int64], centres: Floats) -> Floats:
    """The weighted mean of the points of each label; the old centre where their weight is not positive."""
    restarts, k, d = centres.shape
    keys = (labels + k * np.arange(restarts)[:, None]).ravel()

    def total(values: Floats) -> Floats:
        totals = np.bincount(keys, weights=values.ravel(), minlength=restarts * k)
        return totals.astype(np.float64, copy=False).reshape(restarts, k)

    weight = total(weights)
    sums = np.stack([total(weights * points[..., axis]) for axis in range(d)], axis=-1)
    held = weight > 0
    return np.where(held[..., None], sums / np.where(held, weight, 1.0)[..., None], centres)


def _squared_distances(points: Floats, centre: Floats) -> Floats:
    """(restarts, n) squared distances of all points to one centre per restart."""
    total = np.square(points[..., 0] - centre[:, 0, None])
    for axis in range(1, points.shape[-1]):
        total += np.square(points[..., axis] - centre[:, axis, None])
    return total


def _draw(masses: Floats, draws: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """`draws` column numbers for each row, in proportion to its masses; any column where all masses are zero."""
    rows, n = masses.shape
    cumulative = np.cumsum(masses)  # over all rows, so that one search serves them all
    ends = cumulative[n - 1 :: n]
    starts = np.concatenate([[0.0], ends[:-1]])
    targets = starts[:, None] + rng.random((rows, draws)) * (ends - starts)[:, None]
    found = np.searchsorted(cumulative, targets.ravel(), side="right").reshape(rows, draws)
    columns: NDArray[np.int64] = np.clip(found - n * np.arange(rows)[:, None], 0, n - 1)
    return columns
