"""scikit-learn's KMeans of weighted points, to be measured: see bench/peers/stopwatch.py."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count

import numpy as np
from sklearn.cluster import KMeans


def prepare(path: str, clusters: int) -> Callable[[], float]:
    """A call that clusters with ten starts and returns the inertia.

    The .npz file has pairs of arrays, points0 and weights0, points1 and weights1, …: each call takes the next one, from
    the start again after the last, and the next seed. No measured call is the first of the process.
    """
    with np.load(path) as file:
        pairs = [(file[f"points{number}"], file[f"weights{number}"]) for number in range(len(file.files) // 2)]
    seeds = count()

    def fit(seed: int) -> float:
        points, weights = pairs[seed % len(pairs)]
        return float(KMeans(clusters, n_init=10, random_state=seed).fit(points, sample_weight=weights).inertia_)

    fit(0)
    return lambda: fit(next(seeds))
