"""The witness: the newest ledger head in a file outside the database, so that an old backup cannot reset a budget."""

from __future__ import annotations

import fcntl
import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from app.errors import CannotStart
from core.canonical import canonical_json
from core.ledger.entry import EMPTY, Head


class Witness:
    """One small file that only ever moves forward: replaced whole, fsynced, under a lock that workers share."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def head(self) -> Head:
        """The newest head that was witnessed; the empty ledger's before the first."""
        try:
            stored = json.loads(self.path.read_bytes())
            return Head(seq=int(stored["seq"]), hash=str(stored["hash"]))
        except FileNotFoundError:
            return EMPTY
        except (KeyError, TypeError, ValueError):
            raise CannotStart(f"The witness file {self.path} is damaged. Bring back a copy of it.") from None

    def advance(self, head: Head) -> None:
        """Remember `head`, unless a later one is remembered already. Called once the head is committed."""
        if head.seq > self.head().seq:  # looked at again under the lock
            with self.moving_to(head) as move:
                move()

    @contextmanager
    def moving_to(self, head: Head) -> Iterator[Callable[[], None]]:
        """Write `head` beside the witness, and yield the function that puts it in place. Holds the lock meanwhile.

        An append enters this before its commit and calls the function after it. So everything that needs room on the
        disk is done while the append can still be refused, and a head that was not committed is never witnessed.
        """
        with self._locked():
            fresh = self.path.with_name(self.path.name + ".new")
            with fresh.open("wb") as file:
                file.write(canonical_json({"hash": head.hash, "seq": head.seq}) + b"\n")
                file.flush()
                os.fsync(file.fileno())
            # Its times would tell when the last entry was made, and only the day of that is public.
            day = int(time.time()) // 86_400 * 86_400
            os.utime(fresh, (day, day))
            yield lambda: self._replace(fresh, head)

    def _replace(self, fresh: Path, head: Head) -> None:
        if head.seq <= self.head().seq:
            return
        fresh.replace(self.path)
        folder = os.open(self.path.parent, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.with_name(self.path.name + ".lock").open("wb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield
