"""The paper's WCSS table (Table II) for RUGNIK, EUGkM and no privacy, beside the printed values.

`python -m bench.paper [--cells quick|all] [--out DIR]`; all cells with FULL=1.

Each entry is an average over 50 datasets, drawn with
the paper's seeds, and DRAWS draws of the noise; its standard error is one between datasets. Three ways to choose among
runs of k-means:

- `published`: best of ten by the WCSS of the private points, on signed counts. The paper's rule, and NOT private: the
  points are read a second time, and no epsilon pays for it. bench.published has the other details of the simulation.
- `noisy`: the same ten runs, the best by the noisy objective. What the published method gives as an epsilon-DP release.
- `ours`: core.clustering.kmeans on counts clipped at zero, chosen by the noisy objective: 20 + 4 K starts.

The service clusters better than that: bench.methods has the rows of its own three methods, and of N bought.
"""

from __future__ import annotations

import argparse
import csv
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from multiprocessing import Pool
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from rich.progress import track

from bench.published import SEEDS, Cell, Floats, Runs, Setting, dataset, noisy_counts, printed, published_kmeans
from bench.report import OUT, Section, chosen, publish, save
from core.clustering.kmeans import kmeans, nearest

DRAWS = 4
CELLS = chosen("quick", "all")
RULES = ("published", "noisy", "ours")
METHODS = ("RUGNIK", "EUGkM")
_LABELS = {
    "published": "best by the private points (not private)",
    "noisy": "same runs, best by the noisy objective",
    "ours": "clipped counts, best by the noisy objective",
}
_BARE_LABELS = {"published": "best of ten packed starts", "ours": "core.clustering.kmeans on the points"}
Values = tuple[float, ...]  # one for each rule


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry of the table beside the printed one: (datasets, rules) values of one Cell or of a Setting's bare row."""

    key: Cell | Setting
    printed: float
    values: Floats

    def ratio(self, rule: str) -> float:
        """Measured / printed."""
        return float(self.values[:, RULES.index(rule)].mean() / self.printed)

    def error(self, rule: str) -> float:
        """Standard error of the ratio, clustered by dataset: draws on one dataset are not independent."""
        values = self.values[:, RULES.index(rule)]
        return float(values.std(ddof=1) / np.sqrt(len(values)) / self.printed)


def measure(task: tuple[Setting, int, Sequence[Cell]]) -> dict[Cell | Setting, Values]:
    """One dataset under every rule, without privacy and in each cell; independent of what else is measured."""
    setting, seed, cells = task
    points = dataset(setting, seed)
    values: dict[Cell | Setting, Values] = {setting: _without_privacy(setting, points, seed)}
    for cell in cells:
        values[cell] = _with_privacy(cell, points, seed)
    return values


def _without_privacy(setting: Setting, points: Floats, seed: int) -> Values:
    rng = np.random.default_rng([seed, *setting])
    ones = np.ones(len(points))
    runs = published_kmeans(points, points, ones[None], setting.K, rng)
    return runs.best_by_points(), runs.best_by_objective(), _ours(points, points, ones, setting.K, rng)


def _with_privacy(cell: Cell, points: Floats, seed: int) -> Values:
    rng = _generator(cell, seed)
    counts, runs = _published(cell, points, rng)
    ours = np.mean([_ours(points, cell.grid.centres(), draw, cell.setting.K, rng) for draw in counts])
    return runs.best_by_points(), runs.best_by_objective(), float(ours)


def published_value(cell: Cell, seed: int) -> float:
    """One dataset in one cell under the rule `published` alone: the same number as `measure` gives, in less time."""
    _counts, runs = _published(cell, dataset(cell.setting, seed), _generator(cell, seed))
    return runs.best_by_points()


def _published(cell: Cell, points: Floats, rng: np.random.Generator) -> tuple[Floats, Runs]:
    counts = noisy_counts(points, cell.grid, cell.epsilon, DRAWS, rng)
    return counts, published_kmeans(points, cell.grid.centres(), counts, cell.setting.K, rng)


def _generator(cell: Cell, seed: int) -> np.random.Generator:
    """A stream for each cell and dataset, so that no entry depends on which others are measured."""
    return np.random.default_rng([seed, *cell.setting, round(1000 * cell.epsilon), METHODS.index(cell.method)])


def _ours(points: Floats, cells: Floats, counts: Floats, K: int, rng: np.random.Generator) -> float:
    weights = np.maximum(counts, 0.0)
    if not weights.any():
        weights = np.ones(len(weights))
    clustering = kmeans(cells, weights, K, restarts=20 + 4 * K, rng=rng)
    return float(nearest(points, clustering.centres[None])[1].sum() / K)


def selected(cells: str) -> list[Cell]:
    """All 216 entries, or the 36 quick ones: the least N of each K and d, at three epsilons."""
    entries = list(printed()[0])
    if cells == "all":
        return entries
    return [e for e in entries if e.setting.N == 50 * e.setting.K and e.epsilon in {0.1, 0.4, 1.0}]


def simulate(cells: Sequence[Cell]) -> list[Entry]:
    """Every dataset of every setting, on all cores."""
    settings = dict.fromkeys(cell.setting for cell in cells)
    # The largest tasks first, so that no core is idle at the end.
    order = sorted(settings, key=lambda setting: setting.K * setting.N * setting.d, reverse=True)
    tasks = [(setting, seed, [c for c in cells if c.setting == setting]) for setting in order for seed in SEEDS]
    with Pool(os.cpu_count()) as pool:
        measured = list(track(pool.imap(measure, tasks), "the paper's table", total=len(tasks)))
    values: dict[Cell | Setting, list[Values]] = {}
    for entries in measured:
        for key, value in entries.items():
            values.setdefault(key, []).append(value)
    private, bare = printed()
    expected: dict[Cell | Setting, float] = {**bare, **private}
    return [Entry(key, expected[key], np.array(values[key])) for key in [*settings, *cells]]


def summary(entries: Sequence[Entry], plot: str) -> Section:
    """Median and range of measured / printed, by method and rule."""
    rows = []
    for method in (*METHODS, "no privacy"):
        chosen = _of(entries, method)
        for rule in RULES if method != "no privacy" else _BARE_LABELS:
            ratios = np.array([entry.ratio(rule) for entry in chosen])
            error = np.median([entry.error(rule) for entry in chosen])
            low, high = ratios.min(), ratios.max()
            figures = [f"{np.median(ratios):.3f}", f"{low:.3f} … {high:.3f}", f"{error:.3f}", _at_most(chosen, rule)]
            label = _LABELS[rule] if method != "no privacy" else _BARE_LABELS[rule]
            rows.append([method, rule, label, str(len(chosen)), *figures])
    remarks = [
        "The rule `published` reads the private points to choose among its runs: its rows are NOT private.",
        "Target: median 1.00 ± 0.01 for RUGNIK under `published`, whose details were fitted to this table.",
        f"{len(SEEDS)} datasets, {DRAWS} draws of the noise on each; s.e. is the median standard error of an entry.",
    ]
    header = ["method", "rule", "choice among runs", "entries", "median", "range", "s.e.", "median, eps <= 0.25"]
    return Section("The paper's table: measured / printed WCSS", remarks, header, rows, plot)


def _of(entries: Iterable[Entry], method: str) -> list[Entry]:
    return [e for e in entries if (e.key.method if isinstance(e.key, Cell) else "no privacy") == method]


def _at_most(entries: Sequence[Entry], rule: str) -> str:
    low = [e.ratio(rule) for e in entries if isinstance(e.key, Cell) and e.key.epsilon <= 0.25]
    return f"{np.median(low):.3f}" if low else "-"


def detail(entries: Sequence[Entry], method: str, rule: str) -> Section:
    """Measured / printed with its standard error, one line for each setting."""
    chosen = {e.key: e for e in _of(entries, method)}
    epsilons = sorted({key.epsilon for key in chosen if isinstance(key, Cell)})
    rows = []
    for setting in dict.fromkeys(key.setting for key in chosen if isinstance(key, Cell)):
        line = [chosen[Cell(method, setting, epsilon)] for epsilon in epsilons]
        rows.append([str(number) for number in setting] + [f"{e.ratio(rule):.3f} ± {e.error(rule):.3f}" for e in line])
    header = ["K", "N", "d", *(f"eps {epsilon}" for epsilon in epsilons)]
    return Section(f"{method}: {_LABELS[rule]}", ["Measured / printed."], header, rows)


def bare_detail(entries: Sequence[Entry]) -> Section:
    """The row without privacy."""
    rows = [
        [*(str(n) for n in e.key), f"{e.printed:.3f}"] + [f"{e.ratio(r):.3f} ± {e.error(r):.3f}" for r in _BARE_LABELS]
        for e in _of(entries, "no privacy")
    ]
    remarks = ["Ten packed starts can miss the optimum at K = 8, where core.clustering.kmeans gives the lower value."]
    return Section("No privacy", remarks, ["K", "N", "d", "printed", *_BARE_LABELS.values()], rows)


def _plot(entries: Sequence[Entry], out: Path) -> str:
    figure = Figure(figsize=(9, 6), layout="constrained")
    axes = figure.subplots(2, 2, sharey=True)
    epsilons = sorted({entry.key.epsilon for entry in entries if isinstance(entry.key, Cell)})
    for row, method in zip(axes, METHODS, strict=True):
        for panel, rule in zip(row, ("published", "ours"), strict=True):
            for shift, K in enumerate((2, 4, 8)):
                chosen = [e for e in _of(entries, method) if e.key.setting.K == K]
                panel.errorbar(
                    [e.key.epsilon * 1.04 ** (shift - 1) for e in chosen],
                    [e.ratio(rule) for e in chosen],
                    [e.error(rule) for e in chosen],
                    fmt="o",
                    markersize=3,
                    linewidth=0.8,
                    label=f"K = {K}",
                )
            panel.axhline(1, color="black", linewidth=0.8)
            panel.set_title(f"{method}: {_LABELS[rule]}", fontsize="small")
            panel.set(xscale="log")
            panel.set_xticks(epsilons, [f"{epsilon:g}" for epsilon in epsilons], minor=False)
            panel.minorticks_off()
    figure.supxlabel("epsilon")
    figure.supylabel("measured / printed WCSS")
    axes[0, 0].legend()
    return save(figure, "paper", out=out)


def _write_csv(entries: Sequence[Entry], path: Path) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        lines = csv.writer(file)
        lines.writerow(["method", "K", "N", "d", "epsilon", "rule", "printed", "measured", "ratio", "standard_error"])
        for e in entries:
            key = [e.key.method, *e.key.setting, e.key.epsilon] if isinstance(e.key, Cell) else ["none", *e.key, ""]
            for rule in RULES:
                ratio, error = e.ratio(rule), e.error(rule)
                lines.writerow([*key, rule, e.printed, f"{ratio * e.printed:.4f}", f"{ratio:.4f}", f"{error:.4f}"])


def run(cells: str = CELLS, out: Path = OUT) -> list[Section]:
    """The summary, then every entry under the published rule and ours."""
    entries = simulate(selected(cells))
    plot = _plot(entries, out)
    _write_csv(entries, out / "paper.csv")
    details = [detail(entries, method, rule) for method in METHODS for rule in ("published", "ours")]
    return [summary(entries, plot), *details, bare_detail(entries)]


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description="The paper's WCSS table, measured and printed.")
    parser.add_argument("--cells", choices=("quick", "all"), default=CELLS, help="36 entries, or all 216")
    parser.add_argument("--out", type=Path, default=OUT, help="folder for the table and the plot")
    options = parser.parse_args()
    publish(run(options.cells, options.out), "paper", out=options.out)


if __name__ == "__main__":
    main()
