"""The k that a scan recommends: near the number of clusters that there are, and honest where there are none."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from core.queries.cluster_scan import scan
from tests.core.queries.worlds import shaken, synopsis_of


def test_the_recommended_k_is_near_the_number_of_clusters() -> None:
    """Clusters apart from one another, at a modest epsilon: within one of their number."""
    places = np.array([[2, -3], [8, -3], [2, 3], [8, 3], [5, 0]], dtype=float)
    for clusters in (2, 3, 4, 5):
        rng = np.random.default_rng(clusters)
        rows = places[rng.integers(0, clusters, 5000)] + rng.normal(0, 0.5, (5000, 2))
        answer = scan(shaken(synopsis_of(np.clip(rows, [0, -5], [10, 5]), 20), "1"), range(2, 9), seed=0)
        assert answer.recommended is not None
        assert abs(answer.recommended.k - clusters) <= 1, (clusters, answer)
        assert answer.recommended.reason.startswith("The largest k")


def test_clusters_of_noise_alone_are_not_recommended() -> None:
    """Few rows and much noise: k-means finds stable heaps of noise, whose sizes may be zero."""
    rng = np.random.default_rng(0)
    rows = np.clip(rng.normal([5, 0], 1.5, (150, 2)), [0, -5], [10, 5])
    for seed in range(10):
        answer = scan(shaken(synopsis_of(rows, 5), "0.1", seed), range(2, 9), seed=0)
        assert answer.recommended is None or answer.recommended.k <= 3, (seed, answer)


def test_where_nothing_stands_out_no_k_is_recommended() -> None:
    """Rows that are spread evenly have no number of clusters."""
    rng = np.random.default_rng(0)
    even = np.stack([rng.uniform(0, 10, 5000), rng.uniform(-5, 5, 5000)], axis=1)
    answer = scan(shaken(synopsis_of(even, 20), "1"), range(2, 9), seed=0)
    assert answer.recommended is None


def _strip(rng: np.random.Generator) -> np.ndarray:
    return np.stack([rng.uniform(0, 10, 3000), rng.normal(0, 0.2, 3000)], axis=1)


def _box(rng: np.random.Generator) -> np.ndarray:
    return np.stack([rng.uniform(0, 10, 3000), rng.uniform(-1.7, 1.7, 3000)], axis=1)


def _diagonal(rng: np.random.Generator) -> np.ndarray:
    along = rng.normal(0, 1.5, 3000)
    return np.stack([along + 5, along + rng.normal(0, 0.1, 3000)], axis=1)


@pytest.mark.parametrize("shape", [_strip, _box, _diagonal])
def test_of_a_long_shape_without_clusters_no_k_is_recommended(
    shape: Callable[[np.random.Generator], np.ndarray],
) -> None:
    """Its inertia falls as on a line, and faster than that of a square."""
    for seed in range(4):
        exact = synopsis_of(np.clip(shape(np.random.default_rng(seed)), [0, -5], [10, 5]), 16)
        assert scan(shaken(exact, "1", seed), range(2, 9), seed=0).recommended is None


@pytest.mark.parametrize(("clusters", "sd"), [(3, 0.5), (5, 0.4)])
def test_clusters_on_a_line_are_found(clusters: int, sd: float) -> None:
    """They make the rows lie in a long shape themselves."""
    for seed in range(4):
        rng = np.random.default_rng(seed)
        places = np.stack([np.linspace(1, 9, clusters), np.linspace(-4, 4, clusters)], axis=1)
        rows = places[rng.integers(0, clusters, 5000)] + rng.normal(0, sd, (5000, 2))
        answer = scan(shaken(synopsis_of(np.clip(rows, [0, -5], [10, 5]), 20), "1", seed), range(2, 9), seed=0)
        assert answer.recommended is not None
        assert answer.recommended.k == clusters
