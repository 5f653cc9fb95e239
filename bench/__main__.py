"""`python -m bench`: every figure of the README, from noise to clusters and the dashboard, in one report.

Writes bench/out/report.md with its plots, and CSV files beside it. An hour or so on two idle cores, most of it for the
clusters of 50 datasets in the paper's 108 cells; `python -m bench.methods --cells quick --datasets 10` takes a minute.
"""

from __future__ import annotations

from bench import (
    answers,
    counting,
    coverage,
    dashboard,
    dimensions,
    fairness,
    kmeans,
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
from bench.report import publish


def main() -> None:
    """Run all benchmarks, one after the other, so that they do not disturb each other's timings."""
    modules = (
        noise,
        kmeans,
        counting,
        uploads,
        people,
        answers,
        fairness,
        dashboard,
        orders,
        paper,
        methods,
        realdata,
        ranges,
        tables,
        coverage,
        dimensions,
    )
    publish([section for module in modules for section in module.run()], "report")


if __name__ == "__main__":
    main()
