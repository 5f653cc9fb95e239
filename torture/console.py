"""What each part reports: results, a progress bar while they come about, and one table of them at the end."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table

_Item = TypeVar("_Item")
console = Console(stderr=True)
ROOT = Path(__file__).parents[1]
OUT = Path(__file__).parent / "out"  # what is kept of a failure; git ignores it


@dataclass(frozen=True, slots=True)
class Result:
    """One thing that was tried: how often, how often it did not hold, and in a few words what was seen."""

    trial: str
    times: int
    failures: int
    remark: str = ""


def progressing(title: str, items: Sequence[_Item]) -> Iterator[_Item]:
    """The items one by one, with a bar that counts them."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console) as progress:
        task = progress.add_task(title, total=len(items))
        for item in items:
            yield item
            progress.advance(task)


def show(title: str, results: Iterable[Result]) -> int:
    """Print the table of a part, as far as it came; the number of failures in it."""
    table = Table("trial", "times", "failed", "seen", title=title)
    failures = 0
    try:
        for result in results:
            failures += result.failures
            style = "red" if result.failures else None
            table.add_row(result.trial, f"{result.times:,}", f"{result.failures:,}", result.remark, style=style)
    finally:
        console.print(table)
    return failures
