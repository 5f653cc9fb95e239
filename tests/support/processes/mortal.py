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

from app.http import uploads
from app.ingest import upload
from app.ledger.appending import OpenBook
from app.ledger.witness import Witness
from app.log.signing import Log
from app.main import create_app
from app.releases import uploading
from app.settings.settings import Settings
from core.ledger.kinds import Kind


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


def when_stored(trap: Callable[[], None]) -> None:
    """Set a trap only once something is to be published."""
    real = uploading.store

    def armed(*args: Any, **kwargs: Any) -> Any:
        trap()
        return real(*args, **kwargs)

    uploading.store = armed


# In the order of an upload. Traps past the draw are set once something is to be published, else they close too early.
TRAPS: dict[str, Callable[[], None]] = {
    "before the rows are read": lambda: before(uploading, "read_upload"),
    "once rows are parsed": lambda: before(upload, "judge"),
    "once the rows are counted": lambda: before(uploading, "record_draw"),
    "before the draw is committed": lambda: around_append(Kind.DRAW, "after"),
    "once the draw is committed": lambda: before(uploading, "draw_synopsis"),
    "once the noise is drawn": lambda: after(uploading, "draw_synopsis"),
    "once the transaction begins": lambda: when_stored(lambda: after(OpenBook, "__init__")),
    "once the synopsis is inserted": lambda: around_append(Kind.PUBLISH, "before"),
    "once its ledger entry is inserted": lambda: around_append(Kind.PUBLISH, "after"),
    "once it is committed": lambda: when_stored(lambda: before(Log, "signed")),
    "once the checkpoint is signed": lambda: when_stored(lambda: before(Witness, "_replace")),
    "once it is witnessed": lambda: when_stored(lambda: after(Witness, "_replace")),
    "before the reply": lambda: after(uploads, "upload"),
}
STEPS = list(TRAPS)


if __name__ == "__main__":
    if "DRAWN_FILE" in os.environ:
        keep_draw()
    TRAPS[sys.argv[1]]()
    uvicorn.run(create_app(Settings()), port=int(sys.argv[2]), log_config=None)
