"""A server that dies at a chosen step: `python -m tests.support.mortal STEP PORT`, settings from its environment.

The process sends itself SIGKILL, as a power cut would: no handler runs, nothing is flushed.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from functools import wraps
from typing import Any, NoReturn

import uvicorn

from app import releases
from app.config import Settings
from app.ledger import OpenBook
from app.main import create_app
from app.witness import Witness
from core.chain import Kind

STEPS = [
    "before the rows are counted",
    "once the rows are counted",
    "once the noise is drawn",
    "before the entry is appended",
    "once the entry is appended",
    "once it is committed",
    "once it is witnessed",
]


def die(*_: object, **__: object) -> NoReturn:
    """Gone."""
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError("unreachable")


def before(holder: Any, name: str) -> None:
    """Die where a function would begin."""
    setattr(holder, name, die)


def after(holder: Any, name: str) -> None:
    """Die where a function has ended."""
    real: Callable[..., Any] = getattr(holder, name)

    @wraps(real)
    def mortal(*args: Any, **kwargs: Any) -> NoReturn:
        real(*args, **kwargs)
        die()

    setattr(holder, name, mortal)


def around_publish(moment: str) -> None:
    """Die before or after the `publish` entry is appended, inside its transaction."""
    real = OpenBook.append

    def append(self: OpenBook, kind: Kind, **fields: Any) -> Any:
        if kind is not Kind.PUBLISH:
            return real(self, kind, **fields)
        if moment == "after":
            real(self, kind, **fields)
        return die()

    OpenBook.append = append  # type: ignore[method-assign]


def arm(step: str) -> None:
    """Set the trap; for the two steps past the commit, only once something is to be published."""
    match STEPS.index(step):
        case 0:
            before(releases, "count_upload")
        case 1:
            after(releases, "count_upload")
        case 2:
            after(releases, "make_synopsis")
        case 3:
            around_publish("before")
        case 4:
            around_publish("after")
        case late:
            real = releases.make_synopsis

            def armed(*args: Any, **kwargs: Any) -> Any:
                (before if late == 5 else after)(Witness, "advance")
                return real(*args, **kwargs)

            releases.make_synopsis = armed


if __name__ == "__main__":
    arm(sys.argv[1])
    uvicorn.run(create_app(Settings()), port=int(sys.argv[2]), log_config=None)
