"""What every command shares: address and key, exit codes, errors as one sentence, tables and JSON.

Nothing heavy is imported before it is needed, so that `rugnik --help` and shell completion stay quick.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Sequence
from enum import IntEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer
from typer.core import TyperGroup

if TYPE_CHECKING:
    from rugnik import Client

URL = "http://127.0.0.1:8000"

Url = Annotated[
    str, typer.Option("--url", envvar="RUGNIK_URL", help="The address of the service.", rich_help_panel="Service")
]
Key = Annotated[
    str | None,
    typer.Option(
        "--key",
        envvar="RUGNIK_KEY",
        show_default=False,
        help="Your key. The variable is safer: other users of a machine can see options.",
        rich_help_panel="Service",
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print the service's JSON instead of a table.")]
Output = Annotated[Path | None, typer.Option("--output", "-o", help="Write to this file instead.", show_default=False)]


class Code(IntEnum):
    """How a command ended, for scripts."""

    OK = 0
    REFUSED = 1
    USAGE = 2
    NOT_REACHED = 3
    NO_BUDGET = 4
    LEDGER_BROKEN = 5
    KEY = 6
    UNFIT_FILE = 7


CODES = """\b
Exit codes, for scripts:
  0  done                              4  not enough epsilon is left
  1  refused, or something to mend     5  the ledger is not valid
  2  wrong usage, or a wrong setting   6  no key, or one that may not
  3  the service is not reached        7  the file does not fit"""


class Sentences(TyperGroup):
    """A group whose commands fail with one clear sentence and a code, where the failure is one that we know."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command."""
        try:
            return super().invoke(ctx)
        except (typer.Exit, typer.Abort, typer.TyperException):
            raise
        except Exception as error:
            known = _explained(error)
            if known is None:
                raise
            fail(*known)


def _explained(error: Exception) -> tuple[str, Code] | None:
    """The sentence and the code of an error; None for one that is a fault of ours."""
    from app.errors import CannotStart
    from rugnik import errors

    match error:
        case CannotStart():
            known = (str(error), Code.USAGE)
        case errors.InsufficientBudget():
            known = (f"Not enough epsilon: {error.requested} is asked for, {error.remaining} is left.", Code.NO_BUDGET)
        case errors.NotAuthenticated():
            known = ("The service does not know this key: check RUGNIK_KEY or --key.", Code.KEY)
        case errors.NotAllowed():
            known = (str(error), Code.KEY)
        case errors.UnfitColumns() | errors.UnreadableUpload() | errors.UnfitSource():
            known = (str(error), Code.UNFIT_FILE)
        case errors.NotReached():
            known = (f"{error} Is the service running, and is --url or RUGNIK_URL right?", Code.NOT_REACHED)
        case errors.RugnikError():
            known = (str(error), Code.REFUSED)
        case OSError():
            known = (f"{error.filename or 'A file'}: {error.strerror or error}.", Code.REFUSED)
        case _:
            return None
    return known


def fail(message: str, code: Code) -> NoReturn:
    """End with a sentence on standard error."""
    typer.echo(message, err=True)
    raise typer.Exit(code=code)


def note(message: str) -> None:
    """Tell something beside the result: on standard error, so that the result can be piped."""
    typer.echo(message, err=True)


def connect(url: str, key: str | None) -> Client:
    """A client for a command; patient for about a second where nothing listens."""
    from rugnik import Client, Retries

    if not key:
        fail("A key is needed: set RUGNIK_KEY, or give --key.", Code.KEY)
    if not url.lower().startswith(("http://", "https://")):
        fail("An address begins with http:// or https://. Check --url or RUGNIK_URL.", Code.NOT_REACHED)
    return Client(url, key, retries=Retries(attempts=3, first_wait=0.3))


def show_json(raw: Any, output: Path | None = None) -> None:
    """Indented JSON on standard output, or in a file."""
    text = json.dumps(raw, indent=2, ensure_ascii=False)
    if output is None:
        typer.echo(text)
    else:
        output.write_text(text + "\n", encoding="utf-8")
        note(f"Written to {output}.")


def show_table(columns: Sequence[str], rows: Iterable[Sequence[Any]], *, title: str | None = None) -> None:
    """A table; numbers to the right. What comes from a service is text and never markup."""
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, title=title, title_justify="left", pad_edge=False)
    listed = [list(row) for row in rows]
    for position, name in enumerate(columns):
        numeric = bool(listed) and all(isinstance(row[position], int | float | None) for row in listed)
        table.add_column(Text(name), justify="right" if numeric else "left", overflow="fold")
    for row in listed:
        table.add_row(*(Text(_shown(value)) for value in row))
    wide = sys.stdout.isatty() or "COLUMNS" in os.environ
    Console(width=None if wide else 160).print(table)


def show_fields(fields: Iterable[tuple[str, Any]]) -> None:
    """Names and values, one a line."""
    listed = [(name, _shown(value)) for name, value in fields]
    width = max(len(name) for name, _ in listed)
    for name, value in listed:
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
