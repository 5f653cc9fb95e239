"""Output of the commands: tables, fields and JSON on standard output, remarks on standard error."""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol, TypeVar

import typer


class _HasJson(Protocol):
    """An object of the client, with the JSON that the service sent."""

    @property
    def raw(self) -> Any: ...


_Item = TypeVar("_Item", bound=_HasJson)


class _Remarks:
    """Whether remarks are left out: of one command, like the streams that it prints to."""

    left_out = False


def set_quiet(quiet: bool) -> None:
    """Leave out every remark of this command, or not (`--quiet`)."""
    _Remarks.left_out = quiet


def is_quiet() -> bool:
    """Whether only the result is wanted."""
    return _Remarks.left_out


def note(message: str) -> None:
    """Print a remark to standard error, so that standard output has the result alone and can be piped."""
    if not _Remarks.left_out:
        typer.echo(message, err=True)


def named(release: str, label: str | None) -> str:
    """A release by its id and, where its order has one, its label."""
    return release if label is None else f"{release} ({label})"


def show_json(raw: Any, output: Path | None = None) -> None:
    """Print indented JSON to standard output, or write it to a file."""
    text = json.dumps(raw, indent=2, ensure_ascii=False)
    if output is None:
        typer.echo(text)
    else:
        output.write_text(text + "\n", encoding="utf-8")
        note(f"Written to {output}.")


def show_table(columns: Sequence[str], rows: Iterable[Sequence[Any]], *, title: str | None = None) -> None:
    """Print a table, with columns of numbers right-aligned. Values of the service are plain text and never markup."""
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, title=title, title_justify="left", pad_edge=False)
    cells = [list(row) for row in rows]
    for position, name in enumerate(columns):
        numeric = bool(cells) and all(_is_figure(row[position]) for row in cells)
        table.add_column(Text(name), justify="right" if numeric else "left", overflow="fold")
    for row in cells:
        table.add_row(*(Text(_shown(value)) for value in row))
    wide = sys.stdout.isatty() or "COLUMNS" in os.environ
    Console(width=None if wide else 160).print(table)


def show_list(
    items: Sequence[_Item], columns: Sequence[str], row: Callable[[_Item], Sequence[Any]], *, as_json: bool
) -> None:
    """Print objects of the service: their JSON, or a table with the values that `row` gives for each object."""
    if as_json:
        show_json([item.raw for item in items])
    else:
        show_table(columns, map(row, items))


def show_fields(fields: Iterable[tuple[str, Any]]) -> None:
    """Print names and values, one pair per line, values aligned."""
    texts = [(name, _shown(value)) for name, value in fields]
    width = max(len(name) for name, _ in texts)
    for name, value in texts:
        typer.echo(f"{name:<{width}}  {value}")


@contextmanager
def progress_bar(title: str, *, counted: str | None = None) -> Iterator[Callable[[int, int | None], object] | None]:
    """A progress bar on standard error, of bytes or of what is `counted`; None if that is no terminal.

    Yields a function (done, in total).
    """
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, MofNCompleteColumn, Progress, TextColumn, TransferSpeedColumn

    amount = (
        (DownloadColumn(), TransferSpeedColumn()) if counted is None else (MofNCompleteColumn(), TextColumn(counted))
    )
    columns = (TextColumn(title), BarColumn(), *amount)
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(title, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def figure(value: float | None) -> float | int | None:
    """A predicted error or another number without an interval: three digits, and no fraction from 100 on."""
    return None if value is None else _rounded(value, 2 - _magnitude(value))


def rounded(values: Sequence[Any], low: Any, high: Any, *, digits: int = 2) -> list[Any]:
    """Numbers with the digits that an interval leaves, two of its width: 633.938 (612.4 to 655.5) -> 634.

    Dates are as they are. Without an interval (None), as by `figure`.
    """
    if low is None or high is None:
        return [figure(value) for value in values]
    if isinstance(low, str) or isinstance(high, str):
        return list(values)
    width = high - low
    places = digits - 1 - _magnitude(width) if math.isfinite(width) and width > 0 else 6 - _magnitude(low)
    return [None if value is None else _rounded(value, places) for value in values]


def _rounded(value: float, digits: int) -> float | int:
    if not math.isfinite(value):
        return value
    return round(value, digits) if digits > 0 else round(value)


def _magnitude(value: float) -> int:
    """The power of ten of the first digit."""
    return math.floor(math.log10(abs(value))) if value and math.isfinite(value) else 0


def _is_figure(value: Any) -> bool:
    """Whether a value is a number or missing, or a number with its percentage."""
    return isinstance(value, int | float | None) or (isinstance(value, str) and value.endswith(" %)"))


def _shown(value: Any) -> str:
    match value:
        case None:
            return "-"
        case float():
            return f"{value:,.6g}" if abs(value) < 1e6 else f"{value:,.0f}"
        case int() if not isinstance(value, bool):
            return f"{value:,}"
        case _:
            return str(value)
