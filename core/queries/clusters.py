"""Clusters of a synopsis: weighted k-means on cell centres, with what the noise leaves certain about each centre.

Everything is chosen by the noisy counts alone, never by a second look at rows: there are none.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from core.budget import Epsilon
from core.errors import InvalidQuery
from core.kmeans import kmeans, lloyd, nearest
from core.queries.denoise import nonnegative
from core.queries.moments import ratio_interval
from core.queries.uncertainty import Floats, Interval, around, equal_radius
from core.randomness import seeded
from core.synopsis import Synopsis

MAX_CLUSTERS = 256
_WORK = 2 * 10**7  # cells x clusters x restarts: what one answer may cost
_REDRAWS = 8


@dataclass(frozen=True, slots=True)
class Cluster:
    """A centre in the attributes' own units, the noisy number of rows nearest to it, and what noise leaves certain.

    The intervals are for the mean and the number of the gridded rows in this centre's region: the cells nearest to it.
    """

    centre: tuple[float, ...]
    centre_intervals: tuple[Interval, ...]
    size: float
    size_interval: Interval


@dataclass(frozen=True, slots=True)
class Clusters:
    """k clusters, the largest first; `inertia` is the weighted sum of squares in [-1, 1]^d on non-negative counts.

    `stability` is the share of rows that stay in their cluster when noise of the same size is added once more: 1 where
    the clusters are those of the data, about 1/k where they are those of the noise.
    """

    clusters: tuple[Cluster, ...]
    inertia: float
    stability: float
    seed: int
    warnings: tuple[str, ...]


def find_clusters(synopsis: Synopsis, k: int, *, level: float, seed: int) -> Clusters:
    """The best of several runs of k-means, by the noisy objective; the same again for the same seed."""
    _require(synopsis, k)
    cells = synopsis.grid.centres()
    weights = _weights(synopsis.counts)
    found = kmeans(cells, weights, k, restarts=_restarts(weights, k), rng=seeded(seed))
    labels = nearest(cells, found.centres[None])[0][0]
    order = np.argsort(-found.sizes, kind="stable")
    clusters = tuple(
        _describe(synopsis, cells, np.flatnonzero(labels == i), found.centres[i], level) for i in order.tolist()
    )
    return Clusters(
        clusters=clusters,
        inertia=found.inertia,
        stability=_stability(synopsis, cells, weights, found.centres, seed),
        seed=seed,
        warnings=tuple(_warnings(synopsis, clusters)),
    )


@dataclass(frozen=True, slots=True)
class ScanLine:
    """Inertia and stability of one k."""

    k: int
    inertia: float
    stability: float


def scan(synopsis: Synopsis, ks: range, *, seed: int) -> tuple[ScanLine, ...]:
    """Inertia and stability for several k: look for the last k that is stable."""
    cells = synopsis.grid.centres()
    weights = _weights(synopsis.counts)
    lines = []
    for k in ks:
        _require(synopsis, k)
        found = kmeans(cells, weights, k, restarts=_restarts(weights, k), rng=seeded(seed))
        stability = _stability(synopsis, cells, weights, found.centres, seed)
        lines.append(ScanLine(k=k, inertia=found.inertia, stability=stability))
    return tuple(lines)


def assign(synopsis: Synopsis, clusters: Clusters, points: Floats) -> NDArray[np.int64]:
    """The number of the cluster nearest to each of the caller's own points, in the attributes' own units."""
    centres = np.array([cluster.centre for cluster in clusters.clusters])
    domain = synopsis.domain
    labels, _distances = nearest(domain.to_unit(points), domain.to_unit(centres)[None])
    numbers: NDArray[np.int64] = labels[0]
    return numbers


def _require(synopsis: Synopsis, k: int) -> None:
    most = min(MAX_CLUSTERS, synopsis.grid.cell_count)
    if not 1 <= k <= most:
        raise InvalidQuery(f"k lies between 1 and {most} for this release.")


def _weights(counts: NDArray[np.int64]) -> Floats:
    weights = nonnegative(counts)
    return weights if weights.any() else np.ones(len(weights))


def _restarts(weights: Floats, k: int) -> int:
    """10 + 2k: four times as many lower the inertia by less than 2 % on the paper's grids; fewer on large ones."""
    return int(np.clip(_WORK // (np.count_nonzero(weights) * k), 1, 10 + 2 * k))


def _describe(synopsis: Synopsis, cells: Floats, region: NDArray[np.int64], centre: Floats, level: float) -> Cluster:
    domain, epsilon = synopsis.domain, synopsis.histogram_epsilon
    counts = synopsis.counts[region].astype(np.float64)
    own = domain.from_unit(centre[None])[0]
    places = domain.from_unit(cells[region])
    intervals = tuple(
        _with_centre(ratio_interval(epsilon, counts, places[:, x], level, bounds=(a.lower, a.upper)), float(own[x]))
        for x, a in enumerate(domain.attributes)
    )
    size = float(counts.sum())
    reach = equal_radius(epsilon, level, len(region))
    return Cluster(
        centre=tuple(own.tolist()),
        centre_intervals=intervals,
        size=size,
        size_interval=around(size, reach, level),
    )


def _with_centre(interval: Interval, centre: float) -> Interval:
    """The interval, widened where the centre (of non-negative counts) lies outside that of the raw counts."""
    return Interval(level=interval.level, low=min(interval.low, centre), high=max(interval.high, centre))


def _stability(synopsis: Synopsis, cells: Floats, weights: Floats, centres: Floats, seed: int) -> float:
    labels = nearest(cells, centres[None])[0]
    rng = seeded(seed)
    noises = (_public_noise(synopsis.histogram_epsilon, len(cells), rng) for _ in range(_REDRAWS))
    shaken = np.stack([_weights(synopsis.counts + noise) for noise in noises])
    moved = lloyd(cells, shaken, np.repeat(centres[None], _REDRAWS, axis=0))
    again, _distances = nearest(cells, moved)
    return float(((again == labels) * weights).sum() / (_REDRAWS * weights.sum()))


def _public_noise(epsilon: Epsilon, size: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Noise of the released law from a public seed: it protects nobody, it only shows what noise can do."""
    p = -np.expm1(-float(epsilon))
    noise: NDArray[np.int64] = rng.geometric(p, size) - rng.geometric(p, size)
    return noise


def _warnings(synopsis: Synopsis, clusters: tuple[Cluster, ...]) -> list[str]:
    k, planned = len(clusters), synopsis.clusters
    found = []
    if not planned / 2 <= k <= 2 * planned:
        found.append(f"The grid was planned for {planned} clusters; {k} may be too few or too many for its cells.")
    lost = sum(cluster.size_interval.low <= 0.0 for cluster in clusters)
    if lost:
        found.append(f"{lost} of {k} clusters cannot be told from noise: their size may be zero.")
    return found
