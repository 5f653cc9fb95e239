"""Output of the commands: tables, fields and JSON on standard output, remarks on standard error."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Protocol, TypeVar

import typer


class _HasJson(Protocol):
    """An object of the client, with the JSON that the service sent."""

    @property
    def raw(self) -> Any: ...


_Item = TypeVar("_Item", bound=_HasJson)


def note(message: str) -> None:
    """Print a remark to standard error, so that standard output has the result alone and can be piped."""
    typer.echo(message, err=True)


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
        numeric = bool(cells) and all(isinstance(row[position], int | float | None) for row in cells)
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
