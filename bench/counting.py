"""Counting rows per cell: core.histogram beside np.histogramdd, and the batch size from which bincount is fastest.

`python -m bench.counting`. Counts.add has two ways to count a batch: bincount, which clears and adds a whole grid, and
np.add.at, which touches only the cells that rows fall into but takes longer for each row. The second table measures
the number of rows in a batch from which bincount is the faster one, for the rule inside Counts.add.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from bench.report import Section, chosen, compare, publish, save
from core.domain.grid import Grid
from core.histogram import cell_indices, count
from core.records import Records

DIMENSIONS = 2
CELLS_PER_AXIS = (10, 100, 1000, 3162)  # 10^2, 10^4, 10^6 and 10^7 cells
ROWS = chosen((10**6,), (10**6, 10**7))
HISTOGRAMDD_ROWS = 10**6
BATCH_SHARES = tuple(2.0**power for power in range(-8, 4))  # rows of a batch, as a share of the cells
BATCH_LIMITS = (16, chosen(4 * 10**6, 2 * 10**7))
SHOWN = (1 / 16, 1 / 4, 1, 2)  # of these shares the table shows the ratio, the plot shows all
REPEATS = 5


def uniform_records(rows: int) -> Records:
    """Rows spread over the whole domain: the worst order for the processor's caches."""
    rng = np.random.default_rng(1)
    return Records(tuple(rng.integers(0, 2**32, rows, dtype=np.uint32) for _ in range(DIMENSIONS)))


def whole() -> Section:
    """Rows per second from records in memory to counts, for each grid."""
    rows = []
    for n in ROWS:
        records = uniform_records(n)
        rows += [_whole_row(records, Grid.uniform(m, DIMENSIONS)) for m in CELLS_PER_AXIS]
    remarks = [
        "Millions of rows a second on one thread, in one batch; the last column is histogramdd's time over ours.",
        "cell_indices is the part that any method needs; bincount and add.at include it.",
    ]
    header = ["rows", "cells", "count", "cell_indices", "bincount", "add.at", "histogramdd", "ratio"]
    return Section("Counting: rows in memory to counts", remarks, header, rows)


def _whole_row(records: Records, grid: Grid) -> list[str]:
    n, cells = len(records), grid.cell_count
    counts = np.zeros(cells, dtype=np.int64)
    calls: dict[str, Callable[[], object]] = {
        "count": lambda: count(records, grid),
        "cell_indices": lambda: cell_indices(records, grid),
        "bincount": lambda: np.bincount(cell_indices(records, grid), minlength=cells),
        "add.at": lambda: np.add.at(counts, cell_indices(records, grid), 1),
    }
    if n <= HISTOGRAMDD_ROWS:
        floats = np.stack([column.astype(np.float64) for column in records.columns], axis=1) / 2.0**32
        bounds = [(0.0, 1.0)] * DIMENSIONS
        calls["histogramdd"] = lambda: np.histogramdd(floats, bins=grid.shape, range=bounds)
    seconds = compare(calls, repeats=3)
    speeds = [f"{n / value / 1e6:,.1f}" for value in seconds.values()]
    peer = [f"{seconds['histogramdd'] / seconds['count']:.1f}x"] if "histogramdd" in seconds else ["-", "-"]
    return [f"{n:,}", f"{cells:,}", *speeds, *peer]


def batch_ratios(cells: int) -> dict[int, float]:
    """Rows of a batch -> time of np.add.at over that of bincount, both adding to counts that exist."""
    rng = np.random.default_rng(1)
    totals = np.zeros(cells, dtype=np.int64)
    low, high = BATCH_LIMITS
    ratios = {}
    for n in sorted({int(np.clip(cells * share, low, high)) for share in BATCH_SHARES}):
        indices = rng.integers(0, cells, n)
        inner = max(1, 200_000 // max(n, cells))  # short batches are timed in bulk
        seconds = compare(
            {
                "bincount": partial(_by_bincount, totals, indices, inner),
                "add.at": partial(_by_add_at, totals, indices, inner),
            },
            repeats=REPEATS,
        )
        ratios[n] = seconds["add.at"] / seconds["bincount"]
    return ratios


def _by_bincount(totals: NDArray[np.int64], indices: NDArray[np.int64], times: int) -> None:
    for _ in range(times):
        totals += np.bincount(indices, minlength=len(totals))


def _by_add_at(totals: NDArray[np.int64], indices: NDArray[np.int64], times: int) -> None:
    for _ in range(times):
        np.add.at(totals, indices, 1)


def crossover(ratios: dict[int, float]) -> float:
    """The number of rows where the ratio passes 1; 0 if it never does."""
    n = np.array(list(ratios))
    value = np.log(list(ratios.values()))
    below = np.flatnonzero(value < 0)
    if not len(below):
        return 0.0
    last = int(below[-1])
    if last + 1 == len(n):
        return float("inf")
    share = -value[last] / (value[last + 1] - value[last])
    return float(n[last] * (n[last + 1] / n[last]) ** share)


def switch() -> Section:
    """Where bincount overtakes np.add.at, for each grid."""
    measured = {m**DIMENSIONS: batch_ratios(m**DIMENSIONS) for m in CELLS_PER_AXIS}
    rows = []
    for cells, ratios in measured.items():
        at = crossover(ratios)
        shown = [
            f"{np.interp(np.log(share * cells), np.log(list(ratios)), list(ratios.values())):.2f}" for share in SHOWN
        ]
        rows.append([f"{cells:,}", f"{at:,.0f}", f"{at / cells:.2g}", *shown])
    remarks = ["bincount is the faster one for batches of more rows than the crossover."]
    header = ["cells", "crossover (rows)", "rows per cell", *(f"add.at/bincount at {share:g}" for share in SHOWN)]
    return Section("Counting: bincount or add.at", remarks, header, rows, _plot(measured))


def _plot(measured: dict[int, dict[int, float]]) -> str:
    figure = Figure(figsize=(6, 3.5), layout="constrained")
    axes = figure.subplots()
    for cells, ratios in measured.items():
        axes.plot([n / cells for n in ratios], list(ratios.values()), marker="o", label=f"{cells:,} cells")
    axes.axhline(1, color="black", linewidth=0.8)
    axes.set(xscale="log", yscale="log", xlabel="rows of the batch per cell", ylabel="time of add.at / bincount")
    axes.legend()
    return save(figure, "counting")


def run() -> list[Section]:
    """Speed, and the crossover."""
    return [whole(), switch()]


if __name__ == "__main__":
    publish(run(), "counting")
