"""`python -m bench`: the figures of docs/figures.md, from noise to clusters and the dashboard, in one report.

Writes bench/out/report.md with its plots, and CSV files beside it, with the time of each module. By default each module
measures less than it could, so that all of them take under 15 minutes on two idle cores. With FULL=1 in the environment
they measure all they can: 50 datasets in the paper's 108 cells, 100,000 releases, 10^7 rows. That takes more than an
hour. Some modules run by their own commands alone: scan, engines, predictions, adaptive_noise, count_coverage,
offsets.
"""

from __future__ import annotations

import sys
import time
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path

from rich.console import Console

from bench import (
    answers,
    clusters,
    counting,
    coverage,
    dashboard,
    dimensions,
    fairness,
    files,
    kmeans,
    log,
    log_service,
    methods,
    noise,
    orders,
    paper,
    people,
    ranges,
    realdata,
    tables,
    uploads,
)
from bench.report import OUT, Section, chosen, publish

MODULES = (
    noise,
    kmeans,
    counting,
    files,
    uploads,
    people,
    answers,
    fairness,
    dashboard,
    orders,
    log,
    log_service,
    paper,
    methods,
    realdata,
    ranges,
    tables,
    coverage,
    dimensions,
    clusters,
)


def measure(runs: Mapping[str, Callable[[], list[Section]]], out: Path = OUT) -> list[str]:
    """Run modules one after the other, so that they do not disturb each other's timings; the names of those that fail.

    The report is written after each of them, so an interrupted run keeps what it has.
    """
    console = Console(stderr=True)
    sections: list[Section] = []
    times: list[list[str]] = []
    failed: list[str] = []
    began = time.perf_counter()
    for number, (name, run) in enumerate(runs.items(), start=1):
        console.print(f"{number}/{len(runs)} bench.{name}", highlight=False)
        started = time.perf_counter()
        note = ""
        try:
            sections += run()
        except Exception:
            traceback.print_exc()
            failed.append(name)
            note = "failed"
        times.append([f"bench.{name}", f"{time.perf_counter() - started:.0f} s", note])
        total = ["together", f"{time.perf_counter() - began:.0f} s", ""]
        remark = f"A run with {chosen('the default sizes', 'FULL=1: all sizes')}, one module after the other."
        about_times = Section("Times of this run", [remark], ["module", "time", ""], [*times, total])
        publish([*sections, about_times], "report", out=out, show=number == len(runs))
    return failed


def main() -> None:
    """Run all benchmarks. The exit status is 1 if one of them fails; the others are in the report."""
    failed = measure({module.__name__.removeprefix("bench."): module.run for module in MODULES})
    sys.exit(f"Failed: {', '.join(failed)}" if failed else 0)


if __name__ == "__main__":
    main()
