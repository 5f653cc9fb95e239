"""Deaths at the named steps of an upload: the service sends itself SIGKILL there, in a test build alone."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

import httpx

from tests.support.processes.mortal import STEPS
from tests.support.processes.server import Server
from torture.console import Result, progressing
from torture.curator import CSV, Acknowledged, ordered, register, require_all, uploaded
from torture.model import Broken
from torture.receipts import require_receipt
from torture.services import Place, times

_DRAWN = STEPS.index("once the draw is committed")
_PUBLISHED = STEPS.index("once it is committed")


def deaths_at_steps(database: str, fresh: Callable[[], Place]) -> Iterator[Result]:
    """Each step with a place of its own."""
    deaths = times(10)
    for step in progressing(f"each step on {database}", STEPS):
        trial, state = f"SIGKILL {step}, {database}", state_after(step)
        try:
            _die(fresh(), step, deaths, state)
        except (Broken, AssertionError) as reason:
            yield Result(trial, deaths, 1, str(reason)[:200])
        else:
            yield Result(trial, deaths, 0, _LEFT[state])


def state_after(step: str) -> str:
    """The state of a release whose upload died at this step."""
    number = STEPS.index(step)
    return "published" if number >= _PUBLISHED else "burnt" if number >= _DRAWN else "ordered"


_LEFT = {
    "ordered": "each order was open, and published once afterwards",
    "burnt": "each charge was spent, and nothing was drawn again",
    "published": "each release was published, once",
}


def _die(here: Place, step: str, deaths: int, state: str) -> None:
    """So many lives, each of which ends in an upload; Broken unless every release is in this state afterwards."""
    acknowledged, chance = Acknowledged(), random.Random(step)
    mortal = here.start(module=["tests.support.processes.mortal", step])
    register(here, mortal)
    try:
        for left in reversed(range(deaths)):
            _upload_to_death(here, mortal, acknowledged, chance)
            mortal = here.start(module=["tests.support.processes.mortal", step] if left else None)
            model = require_all(here, mortal, acknowledged)
            if {model.states[release] for release in acknowledged.charged} != {state}:
                raise Broken(f"After a death {step} the releases are {model.states}.")
        _require_final(here, mortal, acknowledged, state)
        require_receipt(here, mortal, acknowledged)
    finally:
        mortal.kill()


def _upload_to_death(here: Place, mortal: Server, acknowledged: Acknowledged, chance: random.Random) -> None:
    with here.client(mortal) as curator:
        release = ordered(curator, acknowledged, chance)
        try:
            if release is None or uploaded(curator, acknowledged, release):
                raise Broken("The service lives.")
        except httpx.TransportError:
            mortal.process.wait(timeout=60)


def _require_final(here: Place, server: Server, acknowledged: Acknowledged, state: str) -> None:
    """An open order takes its rows; what is spent is not given back, and not drawn for again."""
    with here.client(server) as curator:
        for release in sorted(acknowledged.charged):
            if state == "ordered":
                uploaded(curator, acknowledged, release)
                continue
            again = curator.put(f"/v1/releases/{release}/records", content=b"age,income\n1,2\n", headers=CSV)
            if {again.status_code, curator.delete(f"/v1/releases/{release}").status_code} != {httpx.codes.CONFLICT}:
                raise Broken(f"{release} is {state}, and takes rows or is made void.")
    model = require_all(here, server, acknowledged)
    if state == "ordered" and model.digests.keys() != acknowledged.charged:
        raise Broken("An open order was not published.")
