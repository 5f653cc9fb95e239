"""Clusters on real data (bench.realsets) beside plain clipped RUGNIK; the rows are used for scoring only.

`python -m bench.realdata [--draws 2]`; 8 with FULL=1.

Plain clipped RUGNIK is the paper's grid, counts clipped at zero, and the best
of 20 + 4 K runs of k-means by the noisy objective. Both get the same releases, N declared. The row `adaptive` is
`posterior` on a release of the adaptive rule at the same epsilon; below N epsilon / K = 100 that is the paper's grid
too, with noise of its own. An entry is one set of rows, K and epsilon, its value the mean WCSS over draws of the noise
relative to the plain one's. The standard error of a median comes from drawing sets anew with all their entries: those
of one set are not independent.
"""

from __future__ import annotations

import argparse
import csv
import os
from collections.abc import Sequence
from multiprocessing import Pool
from pathlib import Path
from typing import NamedTuple

import numpy as np
from matplotlib.figure import Figure
from rich.progress import track

from bench.published import Floats
from bench.realsets import real_sets
from bench.report import OUT, Section, chosen, publish, save
from bench.synopses import released
from core.adaptive.cuts import LEAST_SIGNAL
from core.clustering.kmeans import kmeans, nearest
from core.clustering.methods import Method, place
from core.plan import Rule
from core.randomness import seeded
from core.synopsis import Synopsis

EPSILONS = ("0.1", "0.25", "0.5", "1")
ROWS = ("clipped", "lloyd", "projected", "posterior", "adaptive")
DRAWS = chosen(2, 8)
_BOOTSTRAPS = 2000


class Entry(NamedTuple):
    """A set of rows by name, K and epsilon."""

    name: str
    K: int
    epsilon: str


def entries() -> list[Entry]:
    """Every set with each of its K at each epsilon."""
    return [Entry(real.name, K, epsilon) for real in real_sets() for K in real.clusters for epsilon in EPSILONS]


def measure(task: tuple[Entry, int]) -> Floats:
    """The WCSS of each row, and without privacy, for one draw of the noise."""
    entry, draw = task
    points = next(real.points for real in real_sets() if real.name == entry.name)
    rng = np.random.default_rng([draw, *entry.name.encode(), entry.K, round(1000 * float(entry.epsilon))])
    synopsis = released(points, epsilon=entry.epsilon, clusters=entry.K, declared=True, rng=rng)
    centres = [_clipped(synopsis, entry.K, draw)]
    centres += [place(synopsis, entry.K, Method(row), seed=draw).centres for row in ROWS[1:-1]]
    layered = released(points, epsilon=entry.epsilon, clusters=entry.K, declared=True, rng=rng, rule=Rule.ADAPTIVE)
    centres.append(place(layered, entry.K, Method.POSTERIOR, seed=draw).centres)
    scores = nearest(points, np.stack(centres))[1].sum(axis=1)
    bare = kmeans(points, np.ones(len(points)), entry.K, restarts=4, rng=seeded(0)).inertia if draw == 0 else np.nan
    return np.append(scores, bare)


def _clipped(synopsis: Synopsis, K: int, seed: int) -> Floats:
    weights = np.maximum(synopsis.counts, 0).astype(np.float64)
    weights = weights if weights.any() else np.ones(len(weights))
    return kmeans(synopsis.grid.centres(), weights, K, restarts=20 + 4 * K, rng=seeded(seed)).centres


def simulate(chosen: Sequence[Entry], draws: int, processes: int) -> Floats:
    """(entries, rows + 1) mean WCSS, the last without privacy."""
    tasks = [(entry, draw) for entry in chosen for draw in range(draws)]
    with Pool(processes) as pool:
        measured = list(track(pool.imap(measure, tasks, chunksize=2), "real data", total=len(tasks)))
    means: Floats = np.nanmean(np.array(measured).reshape(len(chosen), draws, -1), axis=1)
    return means


def summary(chosen: Sequence[Entry], values: Floats, draws: int, plot: str) -> Section:
    """Relative to plain clipped RUGNIK: median with its error, range, entries below 1."""
    names = [entry.name for entry in chosen]
    rng = np.random.default_rng(0)
    rows = []
    for i, row in enumerate((*ROWS, "no privacy")):
        ratios = values[:, i] / values[:, 0]
        groups = [ratios[[name == dataset for name in names]] for dataset in dict.fromkeys(names)]
        drawn = rng.integers(len(groups), size=(_BOOTSTRAPS, len(groups)))
        spread = np.std([np.median(np.concatenate([groups[g] for g in resample])) for resample in drawn])
        figures = [f"{np.median(ratios):.3f} ± {spread:.3f}", f"{ratios.min():.3f} … {ratios.max():.3f}"]
        rows.append([row, *figures, f"{(ratios < 1).sum()} of {len(ratios)}"])
    remarks = [
        f"{len(set(names))} sets of rows, {len(chosen)} entries, {draws} draws of noise each; s.e. clustered by set.",
        "Targets for `posterior`: never above 1.15, median at most 0.90.",
    ]
    header = ["row", "median / clipped", "range", "below 1"]
    return Section("Real data: WCSS relative to plain clipped RUGNIK", remarks, header, rows, plot)


def detail(chosen: Sequence[Entry], values: Floats) -> Section:
    """`posterior` for every set, K and epsilon."""
    ratios = dict(zip(chosen, values[:, ROWS.index("posterior")] / values[:, 0], strict=True))
    lines = dict.fromkeys((entry.name, entry.K) for entry in chosen)
    rows = [[name, str(K), *(f"{ratios[Entry(name, K, e)]:.3f}" for e in EPSILONS)] for name, K in lines]
    return Section("Real data: `posterior` / clipped", [], ["rows", "K", *(f"eps {e}" for e in EPSILONS)], rows)


def adaptive(chosen: Sequence[Entry], values: Floats) -> Section:
    """The adaptive rule beside the default, where it cuts cells."""
    sizes = {real.name: len(real.points) for real in real_sets()}
    rows, ratios = [], []
    for entry, line in zip(chosen, values, strict=True):
        signal = sizes[entry.name] * float(entry.epsilon) / entry.K
        if signal < LEAST_SIGNAL:
            continue
        default = line[ROWS.index("posterior")]
        ratios.append([line[ROWS.index("adaptive")] / default, line[-1] / default])
        rows.append([entry.name, str(entry.K), entry.epsilon, f"{signal:.0f}", *(f"{each:.3f}" for each in ratios[-1])])
    means = np.exp(np.log(ratios).mean(axis=0))
    remarks = [
        f"Geometric mean over {len(rows)} entries: adaptive {means[0]:.3f}, no privacy {means[1]:.3f} of the default."
    ]
    header = ["rows", "K", "epsilon", "N eps / K", "adaptive / default", "no privacy / default"]
    return Section("Real data: the adaptive rule / the default", remarks, header, rows)


def _plot(chosen: Sequence[Entry], values: Floats, out: Path) -> str:
    figure = Figure(figsize=(8, 3.5), layout="constrained")
    panels = figure.subplots(1, 2, sharey=True)
    places = [float(entry.epsilon) for entry in chosen]
    for panel, row in zip(panels, ("projected", "posterior"), strict=True):
        panel.plot(places, values[:, ROWS.index(row)] / values[:, 0], "o", markersize=3)
        panel.axhline(1, color="black", linewidth=0.8)
        panel.set(xscale="log", xlabel="epsilon", title=row)
    panels[0].set_ylabel("WCSS / plain clipped")
    return save(figure, "realdata", out=out)


def run(draws: int = DRAWS, processes: int | None = None, out: Path = OUT) -> list[Section]:
    """The summary and every entry."""
    chosen = entries()
    values = simulate(chosen, draws, processes or os.cpu_count() or 1)
    plot = _plot(chosen, values, out)
    with (out / "realdata.csv").open("w", newline="", encoding="utf-8") as file:
        lines = csv.writer(file)
        lines.writerow(["rows", "K", "epsilon", *ROWS, "none"])
        lines.writerows(
            [*entry, *(f"{value:.6g}" for value in line)] for entry, line in zip(chosen, values, strict=True)
        )
    return [summary(chosen, values, draws, plot), detail(chosen, values), adaptive(chosen, values)]


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description="Clusters on real data beside plain clipped RUGNIK.")
    parser.add_argument("--draws", type=int, default=DRAWS, help="draws of the noise for each entry")
    parser.add_argument("--processes", type=int, default=None, help="at once; all cores by default")
    options = parser.parse_args()
    publish(run(options.draws, options.processes), "realdata")


if __name__ == "__main__":
    main()
