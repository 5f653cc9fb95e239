"""A clock that is set back and forth: sessions that have ended stay ended, and an order is charged once.

`torture.signed_tree` sees to the log: no checkpoint is smaller than one that was shown before.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import httpx

from torture.curator import ORDER
from torture.faults.trial import Fault, Scene, Strike
from torture.model import Broken
from torture.services import Place, folder, settings

_DAY = 86_400
_SESSION_MINUTES = 10
_MOVES = 5


@dataclass(slots=True)
class _Clock:
    """By how many seconds the service's clock is ahead, and was at most: a service keeps to the latest."""

    file: Path
    latest: int = 0

    def set(self, seconds: int) -> None:
        """Replaced whole, as the service may read it just then."""
        fresh = self.file.with_suffix(".new")
        fresh.write_text(str(seconds))
        fresh.replace(self.file)
        self.latest = max(self.latest, seconds)


@contextmanager
def moved() -> Iterator[tuple[Place, Strike]]:
    """A clock that goes forward by minutes at a time, and is set back by up to three days."""
    with folder() as made:
        clock = _Clock(made / "ahead")
        clock.set(0)
        os.environ["CLOCK_FILE"] = str(clock.file)
        try:
            yield Place(settings(made, session_minutes=_SESSION_MINUTES), made), partial(_strike, clock)
        finally:
            del os.environ["CLOCK_FILE"]


def _strike(clock: _Clock, scene: Scene) -> None:
    """Sign in, order, move the clock forward and back: what ended has ended, what was ordered is ordered."""
    cookie, key = _signed_in(scene), f"c{scene.chance.getrandbits(64):016x}"
    first = _ordered(scene, key)
    if not _opens(scene, cookie):
        raise Broken("A session ended before its time.")
    clock.set(clock.latest + 60 * _SESSION_MINUTES + 60)
    if _opens(scene, cookie):
        raise Broken("A session did not end.")
    for _ in range(_MOVES):
        clock.set(clock.latest - scene.chance.randint(1, 3 * _DAY))
        if _opens(scene, cookie):
            raise Broken("A session that had ended was revived by a clock that was set back.")
        if _ordered(scene, key) != first:
            raise Broken("An order that was repeated after the clock was set back was charged twice.")
        if not _opens(scene, _signed_in(scene)):
            raise Broken("Nobody can sign in after the clock was set back.")


def _signed_in(scene: Scene) -> str:
    """The cookie of a new session."""
    reply = httpx.post(f"{scene.server.url}/sign-in", data={"key": scene.here.curator})
    cookie = re.match(r"[^=]+=[^;]+", reply.headers.get("Set-Cookie", ""))
    if cookie is None:
        raise Broken(f"Signing in ended with {reply.status_code}.")
    return cookie[0]


def _opens(scene: Scene, cookie: str) -> bool:
    """Whether a session is taken for its key."""
    reply = httpx.get(f"{scene.server.url}/v1/datasets", headers={"Cookie": cookie})
    if reply.status_code not in (httpx.codes.OK, httpx.codes.UNAUTHORIZED):
        raise Broken(f"A session gets {reply.status_code}.")
    return reply.is_success


def _ordered(scene: Scene, key: str) -> str:
    """The release of an order with this key."""
    with scene.here.client(scene.server) as curator:
        reply = curator.post("/v1/datasets/city/releases", json=ORDER, headers={"Idempotency-Key": key})
        if not reply.is_success:
            raise Broken(f"An order gets {reply.status_code}.")
        scene.acknowledged.charged.add(str(reply.json()["id"]))
        return str(reply.json()["id"])


FAULTS = (Fault("clock set back", moved, is_felt=False, module=("tests.support.processes.clocked",)),)
