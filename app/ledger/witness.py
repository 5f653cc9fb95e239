"""The witness file: the newest signed checkpoint outside the database, so that an old backup cannot reset a budget."""

from __future__ import annotations

import fcntl
import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from app.errors import CannotStart
from app.witnessing.durable_file import sync_folder
from core.log.checkpoint import Checkpoint
from core.log.note import InvalidNote, Note
from core.log.tree import EMPTY_ROOT

_ROOM = 4096  # bytes reserved for a note before the commit


@dataclass(frozen=True, slots=True)
class Seen:
    """What the witness saw: the number of entries, the root of their tree, and the name of the log.

    Version 0.1 wrote the hash of the last entry in place of the root, and no name.
    """

    size: int
    root: bytes | None = None
    hash: str | None = None
    origin: str | None = None


NOTHING_SEEN = Seen(0, root=EMPTY_ROOT)


class Witness:
    """One small file that only ever moves forward: replaced whole, fsynced, under a lock that workers share.

    Nobody's signature is checked here: the root is compared with the tree of the ledger, which says more.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def seen(self) -> Seen:
        """The newest checkpoint that was witnessed; NOTHING_SEEN before the first."""
        try:
            content = self.path.read_text(encoding="utf-8")
            if content.startswith("{"):
                stored = json.loads(content)
                return Seen(int(stored["seq"]), hash=str(stored["hash"]))
            checkpoint = Checkpoint.of(Note.parse(content))
            return Seen(checkpoint.size, root=checkpoint.root, origin=checkpoint.origin)
        except FileNotFoundError:
            return NOTHING_SEEN
        except (InvalidNote, KeyError, TypeError, ValueError):
            raise CannotStart(f"The witness file {self.path} is damaged. Bring back a copy of it.") from None

    def note(self) -> Note | None:
        """The checkpoint as the log signed it; None where there is none that can be read, or one of version 0.1."""
        try:
            note = Note.parse(self.path.read_text(encoding="utf-8"))
            Checkpoint.of(note)
        except (OSError, ValueError):  # InvalidNote is a ValueError
            return None
        return note

    def advance(self, size: int, sign: Callable[[int], Note]) -> None:
        """Remember the checkpoint of so many entries, unless a later one is remembered. Called after their commit."""
        seen = self.seen()  # looked at again under the lock
        if size > seen.size or (size == seen.size and seen.hash is not None):
            with self.moving() as move:
                move(sign(size))

    @contextmanager
    def moving(self) -> Iterator[Callable[[Note], None]]:
        """Reserve room for a note beside the witness, and yield the function that puts a note in place.

        An append enters this before its commit and calls the function after it. So everything that needs room on the
        disk is done while the append can still be refused, and nothing is signed that was not committed. Holds the
        lock of the file meanwhile.
        """
        with self._locked():
            fresh = self.path.with_name(self.path.name + ".new")
            with fresh.open("wb") as file:
                file.write(bytes(_ROOM))
                file.flush()
                os.fsync(file.fileno())
                yield lambda note: self._replace(fresh, note)

    def _replace(self, fresh: Path, note: Note) -> None:
        seen, size = self.seen(), Checkpoint.of(note).size
        if size < seen.size or (size == seen.size and seen.hash is None):
            return
        with fresh.open("r+b") as file:
            file.write(str(note).encode())
            file.truncate()
            file.flush()
            os.fsync(file.fileno())
        # Its times would tell when the last entry was made, and only the day of that is public.
        day = int(time.time()) // 86_400 * 86_400
        os.utime(fresh, (day, day))
        fresh.replace(self.path)
        sync_folder(self.path.parent)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.with_name(self.path.name + ".lock").open("wb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield
