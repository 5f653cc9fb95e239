"""Clusters beside every peer: WCSS of the rows over that of k-means without privacy.

`python -m bench.clusters [--processes 2] [--only rugnik]`; FULL=1: all dimensions, numbers of rows and tables.

Eight centres for rows in [-1, 1]^d of `bench.clustersets`, each dataset with a draw of noise of its own. The rows score
all centres and choose none.

- `rugnik`: the rule rugnik, with offsets from four attributes on, as a plan recommends for clusters. Pure epsilon-DP, N
  declared; the centres are read off a synopsis, which answers other questions and other K too. `posterior` to three
  attributes, `thresholded` from four. That offsets serve from four attributes on was found on made-up rows of other
  kinds (docs/methods/offsets.md), never on the rows of this module.
- `FastLloyd`, `PE-means`, `coreset` (Google's): our own code in `bench/peers`, (epsilon, delta)-DP with the delta of
  their authors' experiments, 1 / (N ln N) and 1 / N^1.1, and for the coreset 1 / N^2, which repeats rugnik's
  paper. Each is given N and makes centres for one K, nothing else.
- `diffprivlib`: IBM's KMeans, pure epsilon-DP, in an environment of its own.

All protect one record. Without privacy: Lloyd's algorithm from the best of ten starts on 20,000 rows.
"""

from __future__ import annotations

import argparse
import csv
import os
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import partial
from multiprocessing import Pool
from pathlib import Path
from typing import NamedTuple

import numpy as np
from matplotlib.figure import Figure
from rich.progress import track
from scipy.stats import t
from sklearn.cluster import KMeans
from threadpoolctl import threadpool_limits

from bench.clustersets import CLUSTERS, REAL, mixture
from bench.dimensions import MAX_CELLS, released, wcss
from bench.peers import environments, fast_lloyd, pe_means
from bench.peers.coreset import coreset_centres
from bench.published import Floats
from bench.report import OUT, Section, chosen, publish, save
from core.offsets import CHOICE_DIMENSIONS
from core.queries.clusters import find_clusters

DIMENSIONS = chosen((2, 4, 8, 16), (2, 4, 6, 8, 12, 16))
SEEDS = chosen({10**4: range(3)}, {10**4: range(8), 10**5: range(5), 10**6: range(2)})
EPSILONS = chosen(("0.1", "1"), ("0.1", "0.5", "1"))
TABLES = chosen(REAL[-3:], REAL)
DRAWS = chosen(2, 5)
_SAMPLE = 20_000


class Task(NamedTuple):
    """A mixture, or a table with its name: then n and d are 0."""

    name: str
    n: int
    d: int
    seeds: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Score:
    """WCSS over that without privacy, and seconds, of one method on one dataset with one draw of noise."""

    name: str
    n: int
    d: int
    epsilon: str
    method: str
    seed: int
    ratio: float
    seconds: float


Method = Callable[[Floats, str, int], Floats]


def _rugnik(rows: Floats, epsilon: str, seed: int) -> Floats:
    synopsis = released(rows, epsilon, max_cells=MAX_CELLS, offsets=rows.shape[1] >= CHOICE_DIMENSIONS)
    clusters = find_clusters(synopsis, CLUSTERS, level=0.95, seed=seed).clusters
    return np.array([cluster.centre for cluster in clusters])


def _fast_lloyd(rows: Floats, epsilon: str, seed: int) -> Floats:
    delta, rng = fast_lloyd.delta_for(len(rows)), np.random.default_rng(seed)
    return fast_lloyd.fast_lloyd_centres(rows, CLUSTERS, float(epsilon), delta, rng)


def _pe_means(rows: Floats, epsilon: str, seed: int) -> Floats:
    delta, rng = pe_means.delta_for(len(rows)), np.random.default_rng(seed)
    return pe_means.pe_means_centres(rows, CLUSTERS, float(epsilon), delta, rng)


def _coreset(rows: Floats, epsilon: str, seed: int) -> Floats:
    return coreset_centres(rows, CLUSTERS, float(epsilon), len(rows) ** -2.0, np.random.default_rng(seed))


def _diffprivlib(rows: Floats, epsilon: str, seed: int) -> Floats:
    options = {"clusters": CLUSTERS, "epsilon": float(epsilon), "seeds": [seed]}
    centres: Floats = environments.run("diffprivlib", "diffprivlib_kmeans.py", {"rows": rows}, **options)["centres"][0]
    return centres


METHODS: dict[str, Method] = {
    "rugnik": _rugnik,
    "FastLloyd": _fast_lloyd,
    "PE-means": _pe_means,
    "coreset": _coreset,
    "diffprivlib": _diffprivlib,
}


def tasks() -> list[Task]:
    """The largest first, so that processes end together."""
    made_up = [Task("", n, d, (seed,)) for n in sorted(SEEDS, reverse=True) for d in DIMENSIONS for seed in SEEDS[n]]
    return [*made_up, *(Task(table.name, 0, 0, tuple(range(DRAWS))) for table in TABLES)]


def measure(task: Task, methods: Collection[str] = tuple(METHODS)) -> list[Score]:
    """These methods at every epsilon on one dataset, on one thread."""
    scores = []
    with threadpool_limits(1):
        tables = {table.name: table for table in REAL}
        rows = tables[task.name].rows() if task.name else mixture(task.n, task.d, task.seeds[0])
        best = without_privacy(rows)
        for epsilon in EPSILONS:
            for seed in task.seeds:
                for method in methods:
                    began = time.perf_counter()
                    centres = METHODS[method](rows, epsilon, seed)
                    seconds = time.perf_counter() - began
                    ratio = wcss(rows, centres) / best
                    scores.append(Score(task.name, len(rows), rows.shape[1], epsilon, method, seed, ratio, seconds))
    return scores


def without_privacy(rows: Floats) -> float:
    """WCSS of k-means on the rows."""
    sample = rows[np.random.default_rng(0).permutation(len(rows))[:_SAMPLE]]
    start = KMeans(CLUSTERS, n_init=10, random_state=0).fit(sample).cluster_centers_
    return float(KMeans(CLUSTERS, init=start, n_init=1).fit(rows).inertia_)


def simulate(processes: int, out: Path, methods: Collection[str]) -> list[Score]:
    """All tasks; each result is written to disk immediately."""
    if "diffprivlib" in methods:
        environments.interpreter("diffprivlib")
    scores: list[Score] = []
    out.mkdir(parents=True, exist_ok=True)
    with Pool(processes) as pool, (out / "clusters.csv").open("w", newline="", encoding="utf-8") as file:
        lines = csv.writer(file)
        lines.writerow(["rows", "N", "d", "epsilon", "method", "seed", "ratio", "seconds"])
        every = tasks()
        for batch in track(
            pool.imap_unordered(partial(measure, methods=methods), every), "clusters beside the peers", total=len(every)
        ):
            scores += batch
            for s in batch:
                numbers = f"{s.ratio:.5g}", f"{s.seconds:.3g}"
                lines.writerow([s.name or "mixture", s.n, s.d, s.epsilon, s.method, s.seed, *numbers])
            file.flush()
    return scores


def text_of(ratios: Sequence[float]) -> str:
    """The mean and its standard error."""
    error = np.std(ratios, ddof=1) / np.sqrt(len(ratios))
    return f"{np.mean(ratios):.3f} ± {error:.3f}"


def each_setting(scores: Sequence[Score], title: str) -> Section:
    """A line for each dataset or size, and epsilon."""
    settings = sorted({(s.d, s.n, s.name, float(s.epsilon)) for s in scores})
    methods, rows = _measured(scores), []
    for d, n, name, epsilon in settings:
        here = [s for s in scores if (s.d, s.n, s.name, float(s.epsilon)) == (d, n, name, epsilon)]
        ratios = {method: [s.ratio for s in here if s.method == method] for method in methods}
        best = min(ratios, key=lambda method: float(np.mean(ratios[method]))) if len(methods) > 1 else None
        texts = (f"**{text_of(ratios[m])}**" if m == best else text_of(ratios[m]) for m in methods)
        rows.append([name or "mixture", str(d), f"{n:,}", f"{epsilon:g}", *texts])
    remarks = [
        f"WCSS over no privacy, K = {CLUSTERS}: mean ± standard error over datasets (tables: draws of noise). "
        "The least mean is bold.",
        "rugnik and diffprivlib: pure epsilon-DP. delta of FastLloyd: 1 / (N ln N); of PE-means: 1 / N^1.1; of the "
        "coreset: 1 / N^2.",
    ]
    return Section(title, remarks, ["rows", "d", "N", "epsilon", *methods], rows)


def geometric_means(scores: Sequence[Score]) -> Section:
    """For each d and epsilon: the geometric mean over sizes and datasets, of one method alone."""
    (method,) = _measured(scores)
    rows = []
    for d, epsilon in sorted({(s.d, float(s.epsilon)) for s in scores}):
        here = [s for s in scores if (s.d, float(s.epsilon)) == (d, epsilon)]
        for n in (None, *sorted({s.n for s in here})):
            mean = np.exp(np.mean([np.log(s.ratio) for s in here if n in (None, s.n)]))
            rows.append([str(d), f"{epsilon:g}", "all" if n is None else f"{n:,}", f"{mean:.3f}"])
    return Section(f"Clusters: {method} alone", [], ["d", "epsilon", "N", method], rows)


def _measured(scores: Sequence[Score]) -> list[str]:
    """The methods that were measured."""
    return [method for method in METHODS if any(s.method == method for s in scores)]


def who_is_best(scores: Sequence[Score], plot: str | None = None) -> Section:
    """For each d and epsilon: geometric means over sizes and datasets, and how far rugnik is from the best peer."""
    rows = []
    for d, epsilon in sorted({(s.d, float(s.epsilon)) for s in scores}):
        here = [s for s in scores if (s.d, float(s.epsilon)) == (d, epsilon)]
        logs = {m: np.log([s.ratio for s in sorted(here, key=_dataset) if s.method == m]) for m in METHODS}
        means = {method: float(np.exp(each.mean())) for method, each in logs.items()}
        peer = min((method for method in METHODS if method != "rugnik"), key=means.__getitem__)
        apart = logs["rugnik"] - logs[peer]
        error = apart.std(ddof=1) / np.sqrt(len(apart))
        level = abs(apart.mean()) <= t.ppf(0.975, len(apart) - 1) * error
        verdict = "level" if level else "rugnik" if apart.mean() < 0 else peer
        against = f"{np.exp(apart.mean()):.3f} ± {np.exp(apart.mean()) * error:.3f}"
        rows.append([str(d), f"{epsilon:g}", *(f"{means[m]:.3f}" for m in METHODS), verdict, f"{against} of {peer}"])
    remarks = [
        "Geometric means over numbers of rows and datasets. Ratio ± standard error dataset by dataset. Level: its 95 % "
        "Student interval holds 1.",
        _seconds(scores),
    ]
    header = ["d", "epsilon", *METHODS, "best", "rugnik / best peer"]
    return Section("Clusters: who is best", remarks, header, rows, plot)


def _dataset(score: Score) -> tuple[str, int, int]:
    return score.name, score.n, score.seed


def _seconds(scores: Sequence[Score]) -> str:
    most = max(s.n for s in scores)
    each = {m: np.median([s.seconds for s in scores if s.method == m and s.n == most]) for m in METHODS}
    named = ", ".join(f"{method} {seconds:.1f} s" for method, seconds in each.items())
    return f"Median time for N = {most:,} on one thread, with other processes beside it: {named}."


def _plot(scores: Sequence[Score]) -> str:
    figure = Figure(figsize=(9, 4), layout="constrained")
    panels = figure.subplots(1, len(EPSILONS), sharey=True)
    for panel, epsilon in zip(panels, EPSILONS, strict=True):
        for method in METHODS:
            here = [s for s in scores if s.method == method and s.epsilon == epsilon]
            dimensions = sorted({s.d for s in here})
            means = [np.exp(np.mean([np.log(s.ratio) for s in here if s.d == d])) for d in dimensions]
            panel.plot(dimensions, means, marker="o", markersize=4, label=method)
        panel.axhline(1, color="grey", linewidth=0.8)
        panel.set(title=f"epsilon {epsilon}", xlabel="dimensions", yscale="log", xticks=DIMENSIONS)
    panels[0].set_ylabel("WCSS / no privacy")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=len(METHODS))
    return save(figure, "clusters")


def run(processes: int | None = None, only: str | None = None) -> list[Section]:
    """Who is best, every size of the mixtures, and the real tables; of `only` one method, where it is named."""
    scores = simulate(processes or os.cpu_count() or 1, OUT, METHODS if only is None else (only,))
    made_up, real = ([s for s in scores if bool(s.name) is named] for named in (False, True))
    return [
        who_is_best(made_up, _plot(made_up)) if only is None else geometric_means(made_up),
        each_setting(made_up, "Clusters of made-up mixtures"),
        each_setting(real, "Clusters of real tables"),
    ]


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description="Clusters beside FastLloyd, PE-means, coreset and diffprivlib.")
    parser.add_argument("--processes", type=int, default=None, help="at once; all cores by default")
    parser.add_argument("--only", choices=METHODS, default=None, help="measure this method alone")
    arguments = parser.parse_args()
    publish(run(arguments.processes, arguments.only), "clusters")


if __name__ == "__main__":
    main()
