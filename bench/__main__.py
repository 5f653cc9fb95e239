"""`python -m bench`: noise, k-means, counting, uploads, answers, dashboard and the paper's whole table, in one report.

Writes bench/out/report.md with its plots, and bench/out/paper.csv. Ten minutes or so on two idle cores, most of it for
the paper's 216 entries; `python -m bench.paper --cells quick` does 36 of them.
"""

from __future__ import annotations

from bench import answers, counting, dashboard, kmeans, noise, paper, uploads
from bench.report import publish


def main() -> None:
    """Everything, one after the other: timings share the machine with nothing of ours."""
    modules = (noise, kmeans, counting, uploads, answers, dashboard, paper)
    publish([section for module in modules for section in module.run()], "report")


if __name__ == "__main__":
    main()
