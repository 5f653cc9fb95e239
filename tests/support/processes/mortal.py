"""A server that dies at a chosen step: `python -m tests.support.processes.mortal STEP PORT`, settings by environment.

The process sends itself SIGKILL, as a power cut would: no handler runs, nothing is flushed.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any, NoReturn

import uvicorn

from app.ledger.appending import OpenBook
from app.ledger.witness import Witness
from app.main import create_app
from app.releases import uploading
from app.settings.settings import Settings
from core.ledger.kinds import Kind

STEPS = [
    "before the rows are read",
    "once the rows are read",
    "before the draw is committed",
    "once the draw is committed",
    "once the noise is drawn",
    "before the synopsis is inserted",
    "once the synopsis is published, before the commit",
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


def around_append(kind: Kind, moment: str) -> None:
    """Die before or after an entry of this kind is appended, inside its transaction."""
    real = OpenBook.append

    def append(self: OpenBook, appended: Kind, **fields: Any) -> Any:
        if appended is not kind:
            return real(self, appended, **fields)
        if moment == "after":
            real(self, appended, **fields)
        return die()

    OpenBook.append = append  # type: ignore[method-assign]


def keep_draw() -> None:
    """Leave the drawn bytes where the test can read them: in the file that DRAWN_FILE names."""
    real = uploading.store

    def keeping(service: Any, drawn: Any) -> None:
        Path(os.environ["DRAWN_FILE"]).write_bytes(drawn.statements[0].compile().params["body"])
        real(service, drawn)

    uploading.store = keeping


def arm(step: str) -> None:
    """Set the trap; for the two steps past the commit, only once something is to be published."""
    if "DRAWN_FILE" in os.environ:
        keep_draw()
    match STEPS.index(step):
        case 0:
            before(uploading, "read_upload")
        case 1:
            before(uploading, "record_draw")
        case 2:
            around_append(Kind.DRAW, "after")
        case 3:
            before(uploading, "draw_synopsis")
        case 4:
            after(uploading, "draw_synopsis")
        case 5:
            around_append(Kind.PUBLISH, "before")
        case 6:
            around_append(Kind.PUBLISH, "after")
        case late:
            real = uploading.store

            def armed(*args: Any, **kwargs: Any) -> Any:
                (before if late == 7 else after)(Witness, "_replace")
                return real(*args, **kwargs)

            uploading.store = armed


if __name__ == "__main__":
    arm(sys.argv[1])
    uvicorn.run(create_app(Settings()), port=int(sys.argv[2]), log_config=None)
