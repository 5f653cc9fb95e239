"""Clustering in four and more dimensions: the service's default method beside diffprivlib's KMeans and no privacy.

`python -m bench.dimensions`; FULL=1: ten datasets, and d = 10.

The paper's generator (bench/published.py) with 100,000 rows and K = 8; the WCSS of the
rows themselves, over that of scikit-learn's KMeans on the rows (best of ten starts).
The rows are used for scoring only: every centre was chosen from a released synopsis. diffprivlib needs an older
scikit-learn, so it has an environment of its own (bench/peers), which the first run creates.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray
from rich.progress import track
from sklearn.cluster import KMeans

from bench.peers import environments
from bench.published import Setting, dataset
from bench.report import Section, chosen, cpu_seconds, publish, save
from core.budget import Epsilon
from core.clustering.kmeans import kmeans, nearest
from core.clustering.methods import Method, weights_of
from core.domain.domain import Domain
from core.domain.grid import Grid
from core.domain.number import Number
from core.histogram import OccupiedCounts, empty_counts
from core.mechanisms.discrete_laplace import DiscreteLaplace
from core.mechanisms.threshold import least_threshold
from core.offsets import OFFSET_DIMENSIONS, takes_offsets
from core.plan import DeclaredSize, Order, Plan, make_plan
from core.queries.clusters import find_clusters
from core.randomness import NoiseSource, seeded
from core.records import OutOfRange, take_in
from core.release import release
from core.synopsis import Synopsis

CLUSTERS = 8
ROWS = 100_000
DIMENSIONS = chosen((4, 6, 8), (4, 6, 8, 10))
EPSILONS = ("1", "0.1")
SEEDS = chosen(range(400, 402), range(400, 410))  # nothing was chosen by these datasets
MAX_CELLS = 4_000_000  # the service's default

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Outcome:
    """One dimension and epsilon: WCSS over the best known, ours dense, ours thresholded, the peer's; and our time."""

    dimensions: int
    epsilon: str
    cells: int
    dense: list[float]
    thresholded: list[float]
    peer: list[float]
    release_seconds: float
    cluster_seconds: float


def wcss(rows: Floats, centres: Floats) -> float:
    """Within-cluster sum of squares of the rows. It uses private rows, so it is for scoring only."""
    return float(nearest(rows, centres[None])[1].sum())


def released(rows: Floats, epsilon: str, *, max_cells: int, offsets: bool | None = None) -> Synopsis:
    """The synopsis that the service would publish; without `offsets`, as for an order that does not mention them."""
    d = rows.shape[1]
    domain = Domain(tuple(Number(f"x{i}", -1, 1) for i in range(d)))
    order = Order(
        attributes=domain.attributes,
        epsilon=Epsilon.parse(epsilon),
        clusters=CLUSTERS,
        size=DeclaredSize(len(rows)),
        offsets=takes_offsets(domain.attributes) if offsets is None else offsets,
    )
    plan = make_plan(order, max_cells=max_cells)
    counts = empty_counts(plan)
    counts.add(take_in(tuple(rows.T), domain, OutOfRange.CLIP).records)
    return release(
        counts, plan, NoiseSource(), domain=domain, out_of_range=OutOfRange.CLIP, dataset="bench", release_id="bench"
    )


def our_wcss(rows: Floats, synopsis: Synopsis) -> float:
    """WCSS of the service's default method."""
    clustering = find_clusters(synopsis, CLUSTERS, level=0.95, seed=0)
    return wcss(rows, np.array([cluster.centre for cluster in clustering.clusters]))


def best_known(rows: Floats, seed: int) -> float:
    """WCSS of scikit-learn's KMeans on the rows, without privacy."""
    return float(KMeans(CLUSTERS, n_init=10, random_state=seed).fit(rows).inertia_)


def peer_wcss(rows: Floats, epsilon: str) -> float:
    """diffprivlib's KMeans at the same epsilon, bounds given: the mean of three runs."""
    options = {"clusters": CLUSTERS, "epsilon": float(epsilon), "seeds": [0, 1, 2]}
    made = environments.run("diffprivlib", "diffprivlib_kmeans.py", {"rows": rows}, **options)
    return float(np.mean([wcss(rows, centres) for centres in made["centres"]]))


def _release_into(kept: list[Synopsis], rows: Floats, epsilon: str) -> None:
    kept.append(released(rows, epsilon, max_cells=8))


def contest(d: int, epsilon: str) -> Outcome:
    """Every seed, with the whole grid and with a threshold."""
    dense, thresholded, peer = [], [], []
    cells, release_seconds, cluster_seconds = 0, [], []
    for seed in SEEDS:
        rows = dataset(Setting(CLUSTERS, ROWS, d), seed)
        best = best_known(rows, seed)
        kept: list[Synopsis] = []
        release_seconds.append(cpu_seconds(partial(_release_into, kept, rows, epsilon)))
        cluster_seconds.append(cpu_seconds(partial(our_wcss, rows, kept[0])))
        whole = released(rows, epsilon, max_cells=MAX_CELLS)
        cells = whole.grid.cell_count
        dense.append(our_wcss(rows, whole) / best)
        thresholded.append(our_wcss(rows, kept[0]) / best)
        peer.append(peer_wcss(rows, epsilon) / best)
    return Outcome(
        d,
        epsilon,
        cells,
        dense,
        thresholded,
        peer,
        float(np.median(release_seconds)),
        float(np.median(cluster_seconds)),
    )


def _mean(ratios: list[float]) -> str:
    error = np.std(ratios, ddof=1) / np.sqrt(len(ratios))
    return f"{np.mean(ratios):.3f} ± {error:.3f} (worst {max(ratios):.2f})"


def run() -> list[Section]:
    """WCSS over the best known, by dimension and epsilon, and a release of 10^12 cells."""
    cases = [(d, epsilon) for epsilon in EPSILONS for d in DIMENSIONS]
    outcomes = [contest(d, epsilon) for d, epsilon in track(cases, "four and more dimensions")]
    rows = [
        (
            o.epsilon,
            str(o.dimensions),
            f"{o.cells:,}",
            _mean(o.dense),
            _mean(o.thresholded),
            _mean(o.peer),
            f"{o.release_seconds:.2f}",
            f"{o.cluster_seconds:.2f}",
        )
        for o in outcomes
    ]
    header = (
        "epsilon",
        "d",
        "cells",
        "rugnik, every cell",
        "rugnik, thresholded",
        "diffprivlib",
        "release s",
        "clusters s",
    )
    remarks = (
        f"WCSS of the rows over the best known, N = {ROWS:,}, K = {CLUSTERS}, {len(SEEDS)} datasets.",
        "The rows judge only; all centres were chosen from the noisy counts.",
        f"From d = {OFFSET_DIMENSIONS} on these releases have a threshold and offsets: both columns are of that kind.",
        _vast(),
    )
    return [Section("Four and more dimensions", remarks, header, rows, _plot(outcomes)), other_kinds()]


def _rows_of(kind: str, d: int, rng: np.random.Generator) -> Floats:
    """Rows around eight centres that are not normally distributed."""
    middles = rng.uniform(-0.7, 0.7, (CLUSTERS, d))
    label = rng.integers(CLUSTERS, size=ROWS)
    match kind:
        case "boxes":
            offsets = rng.uniform(-0.15, 0.15, (ROWS, d))
        case "skewed":
            offsets = 0.08 * (np.exp(0.6 * rng.normal(size=(ROWS, d))) - 1.2)
        case "heavy tails":
            offsets = rng.laplace(0, 0.06, (ROWS, d))
        case "correlated":
            offsets = 0.08 * rng.normal(size=(ROWS, d)) @ np.linalg.cholesky(0.4 * np.eye(d) + 0.6).T
        case _:  # of different widths
            offsets = 0.08 * np.exp(0.6 * rng.normal(size=(CLUSTERS, d)))[label] * rng.normal(size=(ROWS, d))
    return np.clip(middles[label] + offsets, -1, 1)


def _step_on(kind: str, d: int, epsilon: str) -> float:
    """WCSS with centres placed within cells over k-means on the middles of these cells: the mean of three datasets."""
    ratios = []
    for seed in SEEDS[:3]:
        rng = np.random.default_rng(seed)
        rows = _rows_of(kind, d, rng)
        synopsis = released(rows, epsilon, max_cells=MAX_CELLS)
        cells, counts = synopsis.cells.centres(), synopsis.counts.astype(np.float64)
        weights = weights_of(synopsis, Method.THRESHOLDED, counts)
        plain = kmeans(cells, weights, CLUSTERS, restarts=20, rng=seeded(0)).centres
        ratios.append(our_wcss(rows, synopsis) / wcss(rows, plain))
    return float(np.mean(ratios))


def other_kinds() -> Section:
    """The effect of placing centres within cells on rows that are not normal, although the method assumes it."""
    kinds = ("boxes", "skewed", "heavy tails", "correlated", "of different widths")
    cases = [(epsilon, d) for epsilon in EPSILONS for d in DIMENSIONS]
    rows = [
        [kind, *(f"{_step_on(kind, d, epsilon):.3f}" for epsilon, d in cases)] for kind in track(kinds, "other kinds")
    ]
    header = ["clusters", *(f"eps {epsilon}, d = {d}" for epsilon, d in cases)]
    remark = "WCSS with centres placed within cells over WCSS of k-means on the same cells, three datasets each."
    return Section("Clusters that are not normal", [remark], header, rows)


def _vast() -> str:
    """A release of a grid of 10^12 cells, in a sentence."""
    rng = np.random.default_rng(0)
    d, m, n = 12, 10, 100_000
    middles = rng.uniform(-0.8, 0.8, (CLUSTERS, d))
    rows = np.clip(middles[rng.integers(CLUSTERS, size=n)] + 0.03 * rng.normal(size=(n, d)), -1, 1)
    domain = Domain(tuple(Number(f"x{i}", -1, 1) for i in range(d)))
    order = Order(attributes=domain.attributes, epsilon=Epsilon.parse("1"), clusters=CLUSTERS, size=DeclaredSize(n))
    grid = Grid.uniform(m, d)
    threshold = least_threshold(grid.cell_count, DiscreteLaplace.at(order.histogram_epsilon))
    plan = Plan(order=order, size=n, wanted=m, grid=grid, threshold=threshold)
    counts = OccupiedCounts(grid)
    counts.add(take_in(tuple(rows.T), domain, OutOfRange.CLIP).records)
    synopses: list[Synopsis] = []

    def publish_it() -> None:
        synopses.append(
            release(
                counts, plan, NoiseSource(), domain=domain, out_of_range=OutOfRange.CLIP, dataset="b", release_id="b"
            )
        )

    seconds = cpu_seconds(publish_it)
    ratio = our_wcss(rows, synopses[0]) / wcss(rows, middles)
    return (
        f"A grid of {grid.cell_count:,} cells (d = {d}) is released in {seconds:.2f} s: "
        f"{len(synopses[0].counts):,} cells reach the threshold of {threshold}; "
        f"WCSS {ratio:.3f} of that of the true centres."
    )


def _plot(outcomes: list[Outcome]) -> str:
    figure = Figure(figsize=(8, 3.5), layout="constrained")
    axes = figure.subplots(1, len(EPSILONS), sharey=True)
    for axis, epsilon in zip(axes, EPSILONS, strict=True):
        chosen = [o for o in outcomes if o.epsilon == epsilon]
        d = [o.dimensions for o in chosen]
        for name, pick in (("every cell", "dense"), ("thresholded", "thresholded"), ("diffprivlib", "peer")):
            axis.plot(d, [np.mean(getattr(o, pick)) for o in chosen], marker="o", label=name)
        axis.set(title=f"epsilon {epsilon}", xlabel="dimensions", xticks=d)
        axis.axhline(1, color="grey", linewidth=0.8)
    axes[0].set_ylabel("WCSS / best known")
    axes[0].legend()
    return save(figure, "dimensions")


if __name__ == "__main__":
    publish(run(), "dimensions")
