"""core.clustering.kmeans beside scikit-learn's KMeans, one thread each, on the noisy grids that a synopsis is made of.

`python -m bench.kmeans`. Both get the same cells with the same weights, max(noisy count, 0); scikit-learn runs its
usual ten starts, ours RESTARTS. It is in a process of its own (`bench.peers.timed`). Inertia is the objective both
minimise, so a ratio below 1 means better clusters.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray
from rich.progress import track
from threadpoolctl import threadpool_limits

from bench.peers.timed import timed_kmeans
from bench.report import Section, chosen, cpu_seconds, publish, save
from core.clustering.kmeans import kmeans
from core.domain.grid import Grid
from core.randomness import seeded

GRIDS = (
    Grid.uniform(10, 2),
    Grid.uniform(17, 2),
    Grid.uniform(31, 2),
    Grid.uniform(100, 2),
    Grid.uniform(5, 3),
    Grid.uniform(7, 3),
    Grid.uniform(10, 3),
    Grid.uniform(21, 3),
)
CLUSTERS = 8
RESTARTS = 16
SEEDS = chosen(range(10), range(50))
ROWS_PER_CELL = 20
EPSILON = 0.25

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Comparison:
    """One grid over all seeds: mean inertia ratio, ours / scikit-learn's, its standard error, and the time of a run."""

    grid: Grid
    inertia: float
    error: float
    ours_ms: float
    theirs_ms: float


def noisy_grid(grid: Grid, seed: int) -> tuple[Floats, Floats]:
    """Cells of positive weight: Gaussian clusters at random places, counted, noised and clipped at zero."""
    rng = np.random.default_rng(seed)
    n = ROWS_PER_CELL * grid.cell_count
    middles = rng.uniform(-0.8, 0.8, (CLUSTERS, grid.dimensions))
    rows = middles[rng.integers(CLUSTERS, size=n)] + 0.12 * rng.normal(size=(n, grid.dimensions))
    m = grid.cells_per_axis
    assert m is not None
    places = np.clip(((rows + 1) / 2 * m).astype(np.int64), 0, m - 1)
    flat = np.ravel_multi_index(tuple(places.T), (m,) * grid.dimensions)
    counts = np.bincount(flat, minlength=grid.cell_count) + rng.laplace(0, 1 / EPSILON, grid.cell_count)
    heavy = counts > 0
    return grid.centres()[heavy], counts[heavy]


def contest(grid: Grid) -> Comparison:
    """Run both on every seed, one after the other."""
    pairs = [noisy_grid(grid, seed) for seed in SEEDS]
    ratios, ours_seconds, theirs_seconds = [], 0.0, 0.0
    with timed_kmeans(pairs, CLUSTERS) as peer:
        for seed, (points, weights) in zip(SEEDS, pairs, strict=True):
            inertias: list[float] = []

            def ours(p: Floats = points, w: Floats = weights, s: int = seed, to: list[float] = inertias) -> None:
                to.append(kmeans(p, w, CLUSTERS, restarts=RESTARTS, rng=seeded(s)).inertia)

            ours_seconds += cpu_seconds(ours)
            theirs_seconds += peer.cpu_seconds()
            ratios.append(inertias[0] / cast(float, peer.result))
    error = float(np.std(ratios, ddof=1) / np.sqrt(len(ratios)))
    per_run = 1000 / len(SEEDS)
    return Comparison(grid, float(np.mean(ratios)), error, ours_seconds * per_run, theirs_seconds * per_run)


def run() -> list[Section]:
    """Inertia and time on each grid."""
    with threadpool_limits(1):
        contests = [contest(grid) for grid in track(GRIDS, "k-means")]
    rows = [
        [
            str(c.grid.dimensions),
            f"{c.grid.cell_count:,}",
            f"{c.inertia:.5f} ± {c.error:.5f}",
            f"{c.ours_ms:.1f}",
            f"{c.theirs_ms:.1f}",
            f"{c.ours_ms / c.theirs_ms:.2f}x",
        ]
        for c in contests
    ]
    small = [c.ours_ms / c.theirs_ms for c in contests if c.grid.cell_count < 1000]
    remarks = [
        f"K = {CLUSTERS}, {len(SEEDS)} seeds; ours {RESTARTS} starts, scikit-learn 10; ratios: ours / theirs.",
        f"Mean inertia ratio {np.mean([c.inertia for c in contests]):.5f}, worst grid "
        f"{max(c.inertia for c in contests):.5f} (target: 1 or less).",
        f"Below 1,000 cells at most {max(small):.2f} times scikit-learn's time (target: 1 or less).",
    ]
    header = ["d", "cells", "inertia ratio", "ours ms", "scikit-learn ms", "time ratio"]
    return [Section("k-means: inertia and time beside scikit-learn", remarks, header, rows, _plot(contests))]


def _plot(contests: list[Comparison]) -> str:
    figure = Figure(figsize=(8, 3.5), layout="constrained")
    left, right = figure.subplots(1, 2)
    for d in (2, 3):
        chosen = [c for c in contests if c.grid.dimensions == d]
        cells = [c.grid.cell_count for c in chosen]
        left.errorbar(cells, [c.inertia for c in chosen], [c.error for c in chosen], marker="o", label=f"d = {d}")
        right.plot(cells, [c.ours_ms / c.theirs_ms for c in chosen], marker="o", label=f"d = {d}")
    for axes, label in ((left, "inertia, ours / scikit-learn"), (right, "time, ours / scikit-learn")):
        axes.axhline(1, color="black", linewidth=0.8)
        axes.set(xscale="log", xlabel="cells", ylabel=label)
        axes.legend()
    return save(figure, "kmeans")


if __name__ == "__main__":
    publish(run(), "kmeans")
