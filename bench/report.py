"""Shared by all benchmarks: timing, sections of the report, and the output folder."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median
from typing import TypeVar

from matplotlib.figure import Figure
from rich.console import Console
from rich.table import Table

OUT = Path(__file__).with_name("out")

_Choice = TypeVar("_Choice")


def chosen(default: _Choice, complete: _Choice) -> _Choice:
    """How much to measure: `complete` with FULL=1 in the environment, else `default`, which takes minutes."""
    return complete if os.environ.get("FULL") == "1" else default


@dataclass(frozen=True, slots=True)
class Section:
    """A section of the report: a table, remarks about it, and its plot."""

    title: str
    remarks: Sequence[str]
    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    plot: str | None = None

    def markdown(self) -> str:
        """The section as Markdown; the plot is a file in the same folder."""
        lines = [f"## {self.title}", "", *(f"- {remark}" for remark in self.remarks), ""]
        lines += [_line(self.header), _line(["---"] * len(self.header)), *(_line(row) for row in self.rows), ""]
        if self.plot is not None:
            lines += [f"![{self.title}]({self.plot})", ""]
        return "\n".join(lines)

    def show(self, console: Console) -> None:
        """The section on a terminal."""
        table = Table(*self.header, title=self.title, title_justify="left")
        for row in self.rows:
            table.add_row(*row)
        console.print(table)
        for remark in self.remarks:
            console.print(f"  {remark}", highlight=False, markup=False)


def _line(fields: Sequence[str]) -> str:
    return f"| {' | '.join(fields)} |"


def publish(sections: Sequence[Section], name: str, *, out: Path = OUT, show: bool = True) -> None:
    """Write the sections to `name`.md, then print them; in this order, so that a closed pipe loses no result."""
    out.mkdir(parents=True, exist_ok=True)
    path = out / f"{name}.md"
    path.write_text("\n".join(section.markdown() for section in sections), "utf-8")
    if not show:
        return
    console = Console(width=None if sys.stdout.isatty() else 130)
    for section in sections:
        section.show(console)
    console.print(f"Written to {path}", highlight=False)


def save(figure: Figure, name: str, *, out: Path = OUT) -> str:
    """Write a plot; its file name, for a Section."""
    out.mkdir(parents=True, exist_ok=True)
    figure.savefig(out / f"{name}.png", dpi=150)
    return f"{name}.png"


def cpu_seconds(call: Callable[[], object], clock: Callable[[], float] = time.process_time) -> float:
    """CPU time of one call, system calls (such as those for entropy) included; with another clock, its seconds."""
    start = clock()
    call()
    return clock() - start


def compare(
    calls: Mapping[str, Callable[[], object]], *, repeats: int, clock: Callable[[], float] = time.process_time
) -> dict[str, float]:
    """Median CPU time of each call. They take turns, after one round that is not counted and warms the caches."""
    return take_turns({name: partial(cpu_seconds, call, clock) for name, call in calls.items()}, repeats=repeats)


def take_turns(timers: Mapping[str, Callable[[], float]], *, repeats: int) -> dict[str, float]:
    """`compare` for calls that give their own seconds, such as those of a peer in its own process."""
    times: dict[str, list[float]] = {name: [] for name in timers}
    for round_number in range(repeats + 1):
        for name, timer in timers.items():
            seconds = timer()
            if round_number:
                times[name].append(seconds)
    return {name: median(values) for name, values in times.items()}
