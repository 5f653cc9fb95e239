"""One fault, tried many times: it comes in the middle of work, and afterwards everything is as it should be."""

from __future__ import annotations

import random
import shutil
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from functools import partial

import httpx

from tests.support.processes.server import Server
from torture.console import OUT, Result
from torture.curator import SMALL, Acknowledged, Job, ordered, register, require_all, uploaded, work
from torture.model import Broken
from torture.place_by_place import at_places, result_of
from torture.services import Place, times

_SECONDS_BEFORE = 0.3  # at most, of work before the fault
_UNTIL_READY = 60.0  # seconds for the service to be ready again
_ENOUGH = 10  # tries in which a fault must have been felt at least once


@dataclass(frozen=True, slots=True)
class Scene:
    """Where a fault comes: a service at a place, what its curator was acknowledged, and chance."""

    here: Place
    server: Server
    acknowledged: Acknowledged
    chance: random.Random


Strike = Callable[[Scene], None]  # the fault comes, lasts and goes


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault and where it can come.

    opened      a new, empty place and what strikes there
    is_felt     whether the curator is refused something while it lasts; else everything has to be acknowledged
    job         what the curator does meanwhile
    module      what runs there in place of `rugnik serve`, in a test build
    """

    name: str
    opened: Callable[[], AbstractContextManager[tuple[Place, Strike]]]
    is_felt: bool = True
    needs_root: bool = False
    job: Callable[[], Job] = lambda: SMALL
    module: tuple[str, ...] = ()


def tried(fault: Fault) -> Result:
    """50 times, a new place every 25. Where something does not hold, the log of the server is kept."""
    runs = times(50)
    acknowledged, failures = at_places(fault.name, fault.name, runs, partial(_tried_at_a_place, fault))
    if fault.is_felt and runs >= _ENOUGH and not failures and not acknowledged.refused:
        return Result(fault.name, runs, 1, "The fault was never felt.")
    return result_of(fault.name, runs, acknowledged, failures)


def _tried_at_a_place(fault: Fault, tries: Iterable[int], chance: random.Random) -> Acknowledged:
    acknowledged = Acknowledged()
    with fault.opened() as (here, strike):
        server = here.start(module=list(fault.module) or None)
        try:
            register(here, server)
            for _ in tries:
                scene = Scene(here, server, acknowledged, chance)
                _work_through(fault, scene, strike)
                _until_ready(server)
                _serves_on(scene)
                require_all(here, server, acknowledged)
                _require_documented(fault, acknowledged)
        except (Broken, AssertionError):
            OUT.mkdir(exist_ok=True)
            shutil.copy(here.folder / "server.log", OUT / f"{fault.name}.log")
            raise
        finally:
            server.kill()
    return acknowledged


def _work_through(fault: Fault, scene: Scene, strike: Strike) -> None:
    """A curator at work while the fault comes and goes."""

    def struck() -> None:
        time.sleep(scene.chance.uniform(0, _SECONDS_BEFORE))
        strike(scene)

    with ThreadPoolExecutor(1) as pool, scene.here.client(scene.server) as curator:
        over = pool.submit(struck)
        while not over.done():
            try:
                work(curator, scene.acknowledged, scene.chance, fault.job())
            except httpx.TransportError:
                scene.acknowledged.refused["lost"] += 1
        over.result()


def _until_ready(server: Server) -> None:
    deadline = time.monotonic() + _UNTIL_READY
    while time.monotonic() < deadline:
        if server.process.poll() is not None:
            raise Broken("The service is gone.")
        with suppress(httpx.TransportError):
            if httpx.get(f"{server.url}/readyz", timeout=30).status_code == httpx.codes.OK:
                return
        time.sleep(0.05)
    raise Broken("The service is not ready again after a minute.")


def _serves_on(scene: Scene) -> None:
    """The same process takes an order and its rows. What waits to be stored may take it a moment."""
    deadline = time.monotonic() + _UNTIL_READY
    with scene.here.client(scene.server) as curator:
        while True:
            release = ordered(curator, scene.acknowledged, scene.chance)
            if release is not None and uploaded(curator, scene.acknowledged, release):
                return
            if time.monotonic() > deadline:
                raise Broken("The service takes no order, or no rows, any more.")
            time.sleep(0.1)


def _require_documented(fault: Fault, acknowledged: Acknowledged) -> None:
    """Where a fault concerns nobody else, nobody else is refused."""
    if not fault.is_felt and acknowledged.refused:
        raise Broken(f"Others were refused meanwhile: {dict(acknowledged.refused)}")
