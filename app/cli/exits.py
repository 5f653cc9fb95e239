"""How a command ends: exit codes, and errors as a single sentence instead of a traceback.

Nothing heavy is imported at the top of the modules in `app.cli`, so that `rugnik --help` and shell completion are fast.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any, NoReturn

import typer
from typer.core import TyperGroup


class Code(IntEnum):
    """Exit codes, for scripts."""

    OK = 0
    REFUSED = 1
    USAGE = 2
    NOT_REACHED = 3
    NO_BUDGET = 4
    LEDGER_BROKEN = 5
    KEY = 6
    UNFIT_FILE = 7
    WAITING = 8


CODES = """\b
Exit codes, for scripts:
  0  done                              4  not enough epsilon is left
  1  refused, or something to mend     5  ledger or receipt is not valid
  2  wrong usage, or a wrong setting   6  no key, or one that may not
  3  the service is not reached        7  the file does not fit
                                       8  it waits for a second person"""


_QUIET = "--quiet"


class ExplainingGroup(TyperGroup):
    """A command group that prints an expected error as one sentence and ends with its code.

    Unexpected errors are bugs: they keep their traceback.
    """

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """The arguments, with `--quiet` first wherever it was typed."""
        own = args[: args.index("--")] if "--" in args else args
        if _QUIET in own:
            args = [_QUIET, *(each for each in own if each != _QUIET), *args[len(own) :]]
        return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        """Run the command."""
        try:
            return super().invoke(ctx)
        except (typer.Exit, typer.Abort, typer.TyperException, BrokenPipeError):
            raise  # after `| head`, typer ends quietly
        except Exception as error:
            explanation = _explain(error)
            if explanation is None:
                raise
            fail(*explanation)


def _explain(error: Exception) -> tuple[str, Code] | None:
    """The sentence and the exit code for an expected error; None for a bug."""
    from app.errors import CannotStart
    from rugnik import errors

    match error:
        case CannotStart():
            explanation = (str(error), Code.USAGE)
        case errors.InsufficientBudget():
            sentence = f"Not enough epsilon: {error.requested} is asked for, {error.remaining} is left."
            explanation = (sentence, Code.NO_BUDGET)
        case errors.NeedsApproval():
            explanation = (str(error), Code.WAITING)
        case errors.NotAuthenticated():
            explanation = ("The service does not know this key: check RUGNIK_KEY or --key.", Code.KEY)
        case errors.NotAllowed() | errors.OwnRequest():
            explanation = (str(error), Code.KEY)
        case errors.UnfitColumns() | errors.UnreadableUpload() | errors.UnfitSource() | errors.UnfitBundle():
            explanation = (str(error), Code.UNFIT_FILE)
        case errors.NotReached():
            explanation = (f"{error} The address is that of --url or RUGNIK_URL.", Code.NOT_REACHED)
        case errors.RugnikError():
            explanation = (str(error), Code.REFUSED)
        case OSError():
            explanation = (f"{error.filename or 'A file'}: {error.strerror or error}.", Code.REFUSED)
        case _:
            return None
    return explanation


def fail(message: str, code: Code) -> NoReturn:
    """Print a sentence to standard error and end the command with `code`."""
    typer.echo(message, err=True)
    raise typer.Exit(code=code)
