"""What offsets give clusters and cost counts, with four to six attributes. Rows that no other figure is reported on.

`python -m bench.offsets`; FULL=1: also 100,000 rows.

Clusters: made-up rows of the three kinds on which it was decided that a plan recommends offsets for clusters from four
attributes on (`core.alternatives`), drawn anew. *Mixture*: eight equally wide clusters with uneven shares. *Corner*:
the same close together in one corner. *Skewed*: correlated log-normal values. WCSS over that of k-means without
privacy, the mean of two draws of noise.

Counts: random ranges of all attributes and of the first two, on two of these sets for each number of attributes and on
one real table of `bench.clustersets`, which nothing was chosen by. Root mean square error over ranges and draws. N is
declared.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from rich.progress import track

from bench.clusters import without_privacy
from bench.clustersets import CLUSTERS, REAL
from bench.dimensions import MAX_CELLS, released, wcss
from bench.published import Floats
from bench.range_workload import RANGES, exact_counts, ranges_of
from bench.report import Section, chosen, publish
from core.queries.boxes import Range
from core.queries.clusters import find_clusters
from core.queries.range_count import count_boxes, range_table

SIZES = chosen((10**4,), (10**4, 10**5))
DIMENSIONS = (4, 5, 6)
EPSILONS = ("0.1", "1")
CHOICES = (False, True)
DRAWS = range(2)
TABLE = "mothers"


def made_up() -> Iterator[tuple[str, Floats]]:
    """Each set with its name; the same rows in every run of the same sizes."""
    for d in DIMENSIONS:
        for n in SIZES:
            rng = np.random.default_rng([5, d, n])
            label = rng.choice(CLUSTERS, n, p=rng.dirichlet(np.full(CLUSTERS, 2.0)))
            corner, mixed = rng.uniform(-0.9, -0.2, (CLUSTERS, d)), rng.uniform(-0.8, 0.8, (CLUSTERS, d))
            skewed = np.exp(rng.normal(size=(n, d)) @ np.linalg.cholesky(0.5 * np.eye(d) + 0.5))
            yield f"mixture, d = {d}, N = {n:,}", np.clip(mixed[label] + 0.06 * rng.normal(size=(n, d)), -1, 1)
            yield f"corner, d = {d}, N = {n:,}", np.clip(corner[label] + 0.05 * rng.normal(size=(n, d)), -1, 1)
            yield f"skewed, d = {d}, N = {n:,}", skewed / skewed.max(axis=0) * 2 - 1


def cluster_ratio(rows: Floats, best: float, epsilon: str, *, offsets: bool) -> float:
    """WCSS over `best`, the mean over draws."""
    ratios = []
    for seed in DRAWS:
        synopsis = released(rows, epsilon, max_cells=MAX_CELLS, offsets=offsets)
        clustering = find_clusters(synopsis, CLUSTERS, level=0.95, seed=seed)
        ratios.append(wcss(rows, np.array([cluster.centre for cluster in clustering.clusters])) / best)
    return float(np.mean(ratios))


def clusters() -> Section:
    """Without and with offsets, on each made-up set."""
    rows = []
    for name, points in track(list(made_up()), "clusters with offsets"):
        best = without_privacy(points)
        pairs = [[cluster_ratio(points, best, epsilon, offsets=each) for each in CHOICES] for epsilon in EPSILONS]
        rows.append([name, *(f"{plain:.3f} -> {offsets:.3f}" for plain, offsets in pairs)])
    remark = f"WCSS over no privacy without -> with offsets, K = {CLUSTERS}, mean of {len(DRAWS)} draws."
    return Section("Offsets: clusters", [remark], ["rows", *(f"epsilon {each}" for each in EPSILONS)], rows)


def count_errors(rows: Floats, epsilon: str, axes: int, *, offsets: bool) -> float:
    """The root mean square error of random ranges of the first `axes` attributes."""
    d, unit = rows.shape[1], (rows + 1) / 2
    ranges = ranges_of("random", d, np.random.default_rng(d))
    ranges[:, 0, axes:], ranges[:, 1, axes:] = 0.0, np.inf
    exact = exact_counts(unit, ranges)
    asked = tuple(
        tuple(Range(f"x{x}", 2 * low[x] - 1, 2 * high[x] - 1) for x in range(axes)) for low, high in ranges.tolist()
    )
    errors = []
    for _ in DRAWS:
        synopsis = released(rows, epsilon, max_cells=MAX_CELLS, offsets=offsets)
        errors.append(count_boxes(range_table(synopsis), asked, level=0.95, simultaneous=False).count - exact)
    return float(np.sqrt(np.mean(np.square(errors))))


def counts() -> Section:
    """Without and with offsets, ranges of all attributes and of two."""
    sets = [(name, points) for name, points in made_up() if name.startswith(("mixture", "skewed"))]
    sets += [(f"{each.name}, d = 6, N = {len(each.rows()):,}", each.rows()) for each in REAL if each.name == TABLE]
    rows = []
    for name, points in track(sets, "counts with offsets"):
        fields = []
        for epsilon in EPSILONS:
            for axes in (points.shape[1], 2):
                plain, offsets = (count_errors(points, epsilon, axes, offsets=each) for each in CHOICES)
                fields.append(f"{plain:.0f} -> {offsets:.0f} ({offsets / plain:.2f})")
        rows.append([name, *fields])
    remark = f"RMSE in rows without -> with offsets (ratio), {RANGES} ranges, {len(DRAWS)} draws."
    header = [
        "rows",
        *(f"epsilon {each}, {axes}" for each in EPSILONS for axes in ("all attributes", "two attributes")),
    ]
    return Section("Offsets: counts of ranges", [remark], header, rows)


def run() -> list[Section]:
    """What clusters gain, and what counts lose."""
    return [clusters(), counts()]


if __name__ == "__main__":
    publish(run(), "offsets")
