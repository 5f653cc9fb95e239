"""Coverage of the intervals of cluster centres, on data that fit the model and on others, of moments and of counts.

`python -m bench.coverage [--draws 4]`, 20 with FULL=1, or `--only counts` for `bench.count_coverage` alone.

Moments: misses at three levels of 100 times as many releases, from few rows on; `given` are correlations with a value.

Centres: level 95 %, three targets: the mean of the gridded rows in the centre's cells (`gridded`), that of the rows
nearest to the centre (`rows`), and the centre that Lloyd on the rows reaches from the answer's (`Lloyd`). `box` is the
region against `rows`; `sizes` the numbers of rows in a centre's cells; `noise` the mean probability that a cluster is
only noise, beside the share that are.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from dataclasses import replace
from math import sqrt
from multiprocessing import Pool
from multiprocessing.pool import Pool as PoolOf
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from rich.progress import track

from bench import count_coverage
from bench.published import Floats, Setting, dataset
from bench.realsets import real_sets
from bench.report import Section, chosen, publish
from bench.synopses import released
from core.budget import NOTHING, Epsilon
from core.cells import DenseCells
from core.clustering.certainty import noise_floor
from core.clustering.kmeans import lloyd, nearest
from core.clustering.methods import labels_of
from core.histogram import count
from core.intervals.levels import Interval
from core.queries.clusters import Clusters, find_clusters
from core.queries.estimates import Estimate, Moments
from core.queries.moments import moments
from core.records import OutOfRange, take_in
from core.synopsis import Synopsis

LEVEL = 0.95
DRAWS = chosen(4, 20)
EPSILONS = ("0.1", "0.3", "1")


class World(NamedTuple):
    """A dataset by name, and the number of clusters to ask for."""

    name: str
    on_model: bool
    K: int


class Hits(NamedTuple):
    """Of one release: shares of intervals that hold, by target; noise as stated and as it is; median width."""

    gridded: float
    rows: float
    lloyd: float
    box: float
    size: float
    noise_stated: float
    noise_measured: float
    width: float


WORLDS = (
    World("packed Gaussians, d = 2", True, 4),
    World("packed Gaussians, d = 3", True, 8),
    World("overlapping Gaussians", True, 5),
    World("heavy tails", False, 5),
    World("boxes", False, 4),
    World("one skewed heap", False, 4),
    World("ring", False, 6),
    World("iris petals", False, 3),
    World("tumours, radius and texture", False, 4),
    World("digits, 2 components", False, 10),
)


def rows_of(world: World, seed: int) -> Floats:
    """The rows of a world: drawn from the seed, or a real dataset, which is always the same."""
    real = [dataset.points for dataset in real_sets() if dataset.name == world.name]
    if real:
        return real[0]
    if world.name.startswith("packed"):
        return dataset(Setting(world.K, 800, int(world.name[-1])), 1000 + seed)
    return np.clip(_drawn(world, np.random.default_rng([seed, world.K]), 1500), -1, 1)


def _drawn(world: World, rng: np.random.Generator, n: int) -> Floats:
    K = world.K
    middles, own = rng.uniform(-0.8, 0.8, (K, 2)), rng.integers(K, size=n)
    match world.name:
        case "overlapping Gaussians":
            return middles[own] + 0.15 * rng.normal(size=(n, 2))
        case "heavy tails":
            return middles[own] + 0.06 * rng.standard_t(2.5, size=(n, 2))
        case "boxes":
            return middles[own] + rng.uniform(0.05, 0.3, (K, 2))[own] * rng.uniform(-1, 1, (n, 2))
        case "one skewed heap":
            return rng.gamma(1.2, 0.25, size=(n, 2)) - 1
        case _:  # a ring
            angles = rng.uniform(0, 2 * np.pi, n)
            return 0.7 * np.stack([np.cos(angles), np.sin(angles)], axis=1) + 0.05 * rng.normal(size=(n, 2))


def holds(interval: Interval, truth: float) -> bool:
    """Whether the interval contains the value, up to rounding."""
    return interval.low - 1e-9 <= truth <= interval.high + 1e-9


def measure(task: tuple[World, str, int]) -> Hits:
    """One release of one world."""
    world, epsilon, seed = task
    points = rows_of(world, seed)
    rng = np.random.default_rng([seed, WORLDS.index(world), round(1000 * float(epsilon))])
    synopsis = released(points, epsilon=epsilon, clusters=world.K, declared=True, rng=rng)
    return judge(synopsis, points, find_clusters(synopsis, world.K, level=LEVEL, seed=seed))


def judge(synopsis: Synopsis, points: Floats, clustering: Clusters) -> Hits:
    """Compare an answer with the rows, which are within [-1, 1]^d."""
    centres = np.array([cluster.centre for cluster in clustering.clusters])
    k, cells = len(centres), synopsis.grid.centres()
    counts = count(take_in(tuple(points.T), synopsis.domain, OutOfRange.CLIP).records, synopsis.grid).cells.astype(
        np.float64
    )
    labels = labels_of(cells, centres)
    sizes = np.bincount(labels, weights=counts, minlength=k)
    floor = noise_floor(synopsis, k, np.bincount(labels, minlength=k))
    own = nearest(points, centres[None])[0][0]
    rows = _means(points, np.ones(len(points)), own, centres)
    intervals = [cluster.centre_intervals for cluster in clustering.clusters]
    regions = [cluster.region for cluster in clustering.clusters]
    return Hits(
        gridded=float(_held(intervals, _means(cells, counts, labels, centres)).mean()),
        rows=float(_held(intervals, rows).mean()),
        lloyd=float(_held(intervals, lloyd(points, np.ones(len(points)), centres[None])[0]).mean()),
        box=float(_held(regions, rows).all(axis=1).mean()),
        size=float(np.mean([holds(c.size_interval, sizes[i]) for i, c in enumerate(clustering.clusters)])),
        noise_stated=float(np.mean([c.noise_probability or 0.0 for c in clustering.clusters])),
        noise_measured=float((sizes < floor).mean()),
        width=float(np.median([interval.high - interval.low for several in intervals for interval in several])),
    )


def _held(intervals: Sequence[Sequence[Interval]], truth: Floats) -> NDArray[np.bool_]:
    return np.array(
        [[holds(interval, t) for interval, t in zip(*pair, strict=True)] for pair in zip(intervals, truth, strict=True)]
    )


def _means(points: Floats, weights: Floats, labels: NDArray[np.int64], centres: Floats) -> Floats:
    """The weighted mean of the points of each label; the centre itself where there are none."""
    masses = [weights * (labels == i) for i in range(len(centres))]
    return np.array([m @ points / m.sum() if m.any() else c for m, c in zip(masses, centres, strict=True)])


class Tied(NamedTuple):
    """Rows of two attributes whose correlation is `tie` / sqrt(1 + tie^2), for a release that buys their number."""

    size: int
    epsilon: str
    tie: float


LEVELS = (0.95, 0.99, 0.999)
TIED = (Tied(120, "0.5", 2.0), Tied(120, "2", 5.0), Tied(600, "0.3", 1.0), Tied(600, "1", 0.5), Tied(5000, "1", 5.0))


def moment_misses(task: tuple[Tied, int]) -> NDArray[np.int64]:
    """For each level, of one release: misses of every moment, whether a correlation is given, and whether it misses."""
    world, seed = task
    rng = np.random.default_rng(world.size)  # the same rows for every seed
    x = 0.25 * rng.normal(size=world.size)
    y = (world.tie * x + 0.25 * rng.normal(size=world.size)) / sqrt(1 + world.tie**2)
    values = np.clip(np.stack([x, y], axis=1), -1, 1)
    noise = np.random.default_rng(seed)
    release = released(values, epsilon=world.epsilon, clusters=4, declared=False, rng=noise)
    counts = count(take_in(tuple(values.T), release.domain, OutOfRange.CLIP).records, release.grid).cells
    exact = replace(release, cells=DenseCells(release.grid, counts), epsilon=Epsilon.parse("100"), size_epsilon=NOTHING)
    return np.array([_missed(moments(exact, level=level), moments(release, level=level)) for level in LEVELS])


def _missed(truth: Moments, released: Moments) -> list[int]:
    def parts(of: Moments) -> list[Estimate]:
        attribute, pair = of.attributes[1], of.pairs[0]
        return [of.size, attribute.mean, attribute.variance, pair.covariance, pair.correlation]

    missed = [
        int(not holds(ours.interval, other.value or 0.0))
        for ours, other in zip(parts(released), parts(truth), strict=True)
    ]
    given = int(released.pairs[0].correlation.value is not None)
    return [*missed, given, given * missed[-1]]


def moments_section(releases: int, pool: PoolOf) -> Section:
    """How often the intervals of moments miss, beside what their level allows."""
    rows = []
    for world in track(TIED, "coverage of moments"):
        counted = sum(pool.imap_unordered(moment_misses, [(world, seed) for seed in range(releases)], chunksize=16))
        for level, line in zip(LEVELS, np.asarray(counted).tolist(), strict=True):
            rows.append(
                [
                    f"{world.size}, tie {world.tie}",
                    world.epsilon,
                    str(level),
                    f"{releases * (1 - level):.0f}",
                    *map(str, line),
                ]
            )
    header = ["rows", "eps", "level", "allowed", "size", "mean", "variance", "covariance", "correlation"]
    remarks = [f"{releases} releases a line of the same rows; allowed on average."]
    return Section("Misses of moments", remarks, [*header, "given", "given and missed"], rows)


def run(draws: int = DRAWS, processes: int | None = None) -> list[Section]:
    """Coverage of every world at every epsilon, with new data and new noise for each release."""
    tasks = [(world, epsilon, seed) for world in WORLDS for epsilon in EPSILONS for seed in range(draws)]
    with Pool(processes or os.cpu_count()) as pool:
        about_counts = count_coverage.section(pool)
        about_moments = moments_section(100 * draws, pool)
        hits = list(track(pool.imap(measure, tasks, chunksize=4), "coverage of centres", total=len(tasks)))
    rows = []
    for start in range(0, len(tasks), draws):
        world, epsilon, _seed = tasks[start]
        each = np.array(hits[start : start + draws])
        mean, error = each.mean(axis=0), each.std(axis=0, ddof=1) / np.sqrt(draws)
        shares = [f"{100 * mean[i]:.1f} ± {100 * error[i]:.1f}" for i in range(5)]
        kind = "model" if world.on_model else "other"
        rows.append([world.name, kind, epsilon, *shares, f"{mean[5]:.2f} / {mean[6]:.2f}", f"{mean[7]:.2f}"])
    remarks = [f"{draws} releases a line, each of other rows where rows are simulated; s.e. between releases."]
    header = ["rows", "kind", "eps", "gridded", "rows", "Lloyd", "box", "sizes", "noise stated / measured", "width"]
    about_centres = Section(f"Coverage of centres at {100 * LEVEL:.0f} %, in %", remarks, header, rows)
    return [about_counts, about_centres, about_moments]


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description="Coverage of the intervals of cluster centres.")
    parser.add_argument("--draws", type=int, default=DRAWS, help="releases for each line")
    parser.add_argument("--processes", type=int, default=None, help="at once; all cores by default")
    parser.add_argument("--only", choices=["counts"], help="this section alone")
    options = parser.parse_args()
    if options.only == "counts":
        with Pool(options.processes or os.cpu_count()) as pool:
            publish([count_coverage.section(pool)], "count_coverage")
        return
    publish(run(options.draws, options.processes), "coverage")


if __name__ == "__main__":
    main()
