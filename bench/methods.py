"""The service's other clusterings in the paper's WCSS table (Table II), beside the printed RUGNIK row.

`python -m bench.methods [--cells quick|all] [--datasets 10] [--processes 1]`; FULL=1: all cells, 50 datasets.

The paper's data and grids, one release
of each dataset in each of the 108 cells with the service's discrete noise, clustered by core.clustering.methods. The
default, `posterior` with N declared, is a row of bench.paper. Here are:

- `lloyd`, `projected`: N declared, as in the paper; two other methods of `clusters?method=…`.
- `bought`: `posterior` with N bought at 5 % of epsilon, on every fourth dataset. The printed row knew N at no cost.
- `adaptive`: `posterior` on a release of the adaptive rule, N declared, where N epsilon / K >= 100 and it cuts cells;
  the default is measured beside it there.

None of them sees the private points, which are used for scoring only. The printed row chose its best run by the private
points, which no epsilon had paid for. A ratio below 1 is a lower WCSS than even that choice gave.
"""

from __future__ import annotations

import argparse
import csv
import os
from collections.abc import Iterator, Sequence
from multiprocessing import Pool
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from rich.progress import track

from bench.published import SEEDS, Cell, Floats, dataset, printed
from bench.report import OUT, Section, chosen, publish, save
from bench.synopses import released
from core.adaptive.cuts import LEAST_SIGNAL
from core.clustering.kmeans import kmeans, nearest
from core.clustering.methods import Method, place
from core.plan import Rule
from core.randomness import seeded

ROWS = ("lloyd", "projected", "bought", "adaptive")
DEFAULT = "posterior"
CELLS, DATASETS = chosen("quick", "all"), chosen(10, len(SEEDS))
_BOUGHT_EVERY = 4
_STREAMS = {"bought": 1, "adaptive": 2}  # rows with releases of their own, and what their seeds differ in
_BOOTSTRAPS = 2000
Measured = dict[tuple[Cell, int, str], float]  # average WCSS by cell, seed and row; "none" is without privacy


def measure(task: tuple[Cell, int]) -> list[tuple[Cell, int, str, float]]:
    """The WCSS of one dataset in one cell for every row. No number depends on which others are measured."""
    cell, seed = task
    K = cell.setting.K
    points = dataset(cell.setting, seed)
    bare = kmeans(points, np.ones(len(points)), K, restarts=20, rng=seeded(seed)).inertia / K
    measured = [(cell, seed, "none", bare)]
    cut = cell.setting.N * cell.epsilon >= LEAST_SIGNAL * K
    for row in (*ROWS, DEFAULT):
        if row == "bought" and seed % _BOUGHT_EVERY:
            continue
        if row in ("adaptive", DEFAULT) and not cut:
            continue
        measured.append((cell, seed, row, wcss(cell, points, row, seed)))
    return measured


def wcss(cell: Cell, points: Floats, row: str, seed: int) -> float:
    """The average WCSS of the rows around the centres of one release."""
    K = cell.setting.K
    rng = np.random.default_rng([seed, *cell.setting, round(1000 * cell.epsilon), _STREAMS.get(row, 0)])
    rule = Rule.ADAPTIVE if row == "adaptive" else Rule.RUGNIK
    synopsis = released(points, epsilon=f"{cell.epsilon:g}", clusters=K, declared=row != "bought", rng=rng, rule=rule)
    method = Method.POSTERIOR if row in _STREAMS else Method(row)
    centres = place(synopsis, K, method, seed=seed).centres
    return float(nearest(points, centres[None])[1].sum() / K)


def selected(cells: str) -> list[Cell]:
    """All 108 cells of the RUGNIK row, or the 18 quick ones."""
    entries = [cell for cell in printed()[0] if cell.method == "RUGNIK"]
    if cells == "all":
        return entries
    return [e for e in entries if e.setting.N == 50 * e.setting.K and e.epsilon in {0.1, 0.4, 1.0}]


def simulate(cells: Sequence[Cell], seeds: Sequence[int], processes: int, out: Path) -> Measured:
    """Every cell on every dataset, dataset by dataset; each result is written to disk immediately."""
    tasks = [(cell, seed) for seed in seeds for cell in cells]
    measured: Measured = {}
    out.mkdir(parents=True, exist_ok=True)
    with Pool(processes) as pool, (out / "methods.csv").open("w", newline="", encoding="utf-8") as file:
        lines = csv.writer(file)
        lines.writerow(["K", "N", "d", "epsilon", "seed", "row", "wcss"])
        for batch in track(pool.imap(measure, tasks, chunksize=4), "clusters in the paper's table", total=len(tasks)):
            for cell, seed, row, value in batch:
                measured[cell, seed, row] = value
                lines.writerow([*cell.setting, cell.epsilon, seed, row, f"{value:.6g}"])
            file.flush()
    return measured


def ratios(measured: Measured, row: str, against: str = "printed") -> tuple[list[Cell], Floats]:
    """(cells, datasets) WCSS of a row over the printed value, or over that without privacy on the same datasets."""
    cells = list(dict.fromkeys(cell for cell, _seed, name in measured if name == row))
    seeds = sorted({seed for _cell, seed, name in measured if name == row})
    values = np.array([[measured[cell, seed, row] for seed in seeds] for cell in cells])
    if against == "printed":
        return cells, values / np.array([[printed()[0][cell]] for cell in cells])
    bare = np.array([[measured[cell, seed, "none"] for seed in seeds] for cell in cells])
    return cells, values / bare.mean(axis=1, keepdims=True)


def rows_in(measured: Measured) -> list[str]:
    """The rows that have a cell: few cells may be too small for the adaptive rule."""
    names = {name for _cell, _seed, name in measured}
    return [row for row in ROWS if row in names]


def summary(measured: Measured, plot: str) -> Section:
    """Median over cells with its error, range, cells won, and the cost of privacy at epsilon 1."""
    rows = [list(_line(measured, row)) for row in rows_in(measured)]
    remarks = [
        "Measured / printed WCSS. s.e.: of the median, by drawing datasets anew (one draw serves all cells); of an "
        "entry, its standard deviation between datasets over the root of their number.",
        "Target for `bought`: median at most 0.80. `python -m bench.paper` has the default with N declared.",
    ]
    header = ["row", "datasets", "median", "range", "below 1", "above 1 by more than 1 s.e.", "eps = 1 / no privacy"]
    return Section("The service's other clusterings in the paper's table", remarks, header, rows, plot)


def _line(measured: Measured, row: str) -> Iterator[str]:
    cells, each = ratios(measured, row)
    means, errors = each.mean(axis=1), each.std(axis=1, ddof=1) / np.sqrt(each.shape[1])
    rng = np.random.default_rng(0)
    drawn = rng.integers(each.shape[1], size=(_BOOTSTRAPS, each.shape[1]))
    spread = np.std([np.median(each[:, resample].mean(axis=1)) for resample in drawn])
    most = [i for i, cell in enumerate(cells) if cell.epsilon == 1.0]
    bare = ratios(measured, row, "none")[1].mean(axis=1)[most]
    yield from (row, str(each.shape[1]), f"{np.median(means):.3f} ± {spread:.3f}")
    yield from (f"{means.min():.3f} … {means.max():.3f}", f"{(means < 1).sum()} of {len(means)}")
    yield from (str(int((means - errors > 1).sum())), f"{np.median(bare):.3f}")


def detail(measured: Measured, row: str) -> Section:
    """Measured / printed with its standard error, one line for each setting."""
    cells, each = ratios(measured, row)
    means, errors = each.mean(axis=1), each.std(axis=1, ddof=1) / np.sqrt(each.shape[1])
    texts = {cell: f"{m:.3f} ± {e:.3f}" for cell, m, e in zip(cells, means, errors, strict=True)}
    epsilons = sorted({cell.epsilon for cell in cells})
    settings = dict.fromkeys(cell.setting for cell in cells)
    rows = [[*map(str, setting), *(texts[Cell("RUGNIK", setting, e)] for e in epsilons)] for setting in settings]
    return Section(f"`{row}`: measured / printed", [], ["K", "N", "d", *(f"eps {e:g}" for e in epsilons)], rows)


def adaptive(measured: Measured) -> Section:
    """The adaptive rule beside the default, and no privacy beside it: mean WCSS over the same datasets."""
    rows = []
    for cell in dict.fromkeys(cell for cell, _seed, row in measured if row == "adaptive"):
        seeds = [seed for each, seed, row in measured if (each, row) == (cell, "adaptive")]
        ours, default, bare = (
            np.array([measured[cell, seed, row] for seed in seeds]) for row in ("adaptive", DEFAULT, "none")
        )
        error = (ours - default).std(ddof=1) / np.sqrt(len(seeds)) / default.mean()
        figures = [f"{ours.mean() / default.mean():.3f} ± {error:.3f}", f"{bare.mean() / default.mean():.3f}"]
        rows.append([*map(str, cell.setting), f"{cell.epsilon:g}", *figures])
    remarks = ["No privacy / default is the least ratio that any release could have."]
    header = ["K", "N", "d", "epsilon", "adaptive / default", "no privacy / default"]
    return Section("The adaptive rule / the default in the paper's table", remarks, header, rows)


def _plot(measured: Measured, out: Path) -> str:
    figure = Figure(figsize=(9, 3.6), layout="constrained")
    rows = rows_in(measured)
    panels = figure.subplots(1, len(rows), sharey=True)
    for panel, row in zip(panels, rows, strict=True):
        cells, each = ratios(measured, row)
        for shift, K in enumerate((2, 4, 8)):
            shown = [i for i, cell in enumerate(cells) if cell.setting.K == K]
            places = [cells[i].epsilon * 1.06 ** (shift - 1) for i in shown]
            panel.plot(places, each.mean(axis=1)[shown], "o", markersize=3, label=f"K = {K}")
        panel.axhline(1, color="black", linewidth=0.8)
        panel.set(xscale="log", title=row, xlabel="epsilon")
    panels[0].set_ylabel("measured / printed WCSS")
    panels[0].legend()
    return save(figure, "methods", out=out)


def run(cells: str = CELLS, datasets: int = DATASETS, processes: int | None = None, out: Path = OUT) -> list[Section]:
    """The summary, then every entry of `bought`, and the adaptive rule beside the default."""
    measured = simulate(selected(cells), SEEDS[:datasets], processes or os.cpu_count() or 1, out)
    return [summary(measured, _plot(measured, out)), detail(measured, "bought"), adaptive(measured)]


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description="The service's other clusterings in the paper's WCSS table.")
    parser.add_argument("--cells", choices=("quick", "all"), default=CELLS, help="18 cells, or all 108")
    parser.add_argument("--datasets", type=int, default=DATASETS, help="how many of the paper's 50 datasets")
    parser.add_argument("--processes", type=int, default=None, help="at once; all cores by default")
    parser.add_argument("--out", type=Path, default=OUT, help="folder for the tables and the plot")
    options = parser.parse_args()
    publish(run(options.cells, options.datasets, options.processes, options.out), "methods", out=options.out)


if __name__ == "__main__":
    main()
