"""Crash: a real service is killed with SIGKILL while a curator works, and started again, on SQLite and PostgreSQL.

Ten times at each named step of an upload, and at 200 random moments. Each time every charge, publication and void that
was acknowledged has to be there, none of them twice; the chain, the signed checkpoint that the service shows, the one
in its witness file and everything that the log ever signed have to verify; the budgets have to be those of an
independent model. At the end of each place a receipt has to verify by `docs/verify_receipt.py`. Every 25 deaths a new,
empty place begins, so that a start does not have to walk a long ledger.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterable, Iterator

import httpx

from tests.support.processes.server import Server
from torture.console import Result
from torture.crash_steps import deaths_at_steps
from torture.curator import Acknowledged, ordered, register, require_all, uploaded, work
from torture.place_by_place import at_places, result_of
from torture.receipts import require_receipt
from torture.services import DATABASES, Place, places, times

_LONGEST_LIFE = 0.8  # seconds that a service may work before it is killed


def run() -> Iterator[Result]:
    """Deaths at every step and at random moments, on each database."""
    for database in DATABASES:
        with places(database) as fresh:
            yield from deaths_at_steps(database, fresh)
            yield _deaths_at_random(database, fresh)


def _deaths_at_random(database: str, fresh: Callable[[], Place]) -> Result:
    deaths = times(200)
    acknowledged, failures = at_places(
        f"SIGKILL on {database}", database, deaths, lambda lives, chance: _lived(fresh(), lives, chance)
    )
    return result_of(f"SIGKILL at a random moment, {database}", deaths, acknowledged, failures)


def _lived(here: Place, lives: Iterable[int], chance: random.Random) -> Acknowledged:
    """What was acknowledged in some lives of a service, each of which is judged in the next one."""
    acknowledged, server = Acknowledged(), here.start()
    try:
        register(here, server)
        for _ in lives:
            _work_until_killed(here, server, acknowledged, chance)
            server = here.start()
            require_all(here, server, acknowledged)
        require_receipt(here, server, acknowledged)
    finally:
        server.kill()
    return acknowledged


def _work_until_killed(here: Place, server: Server, acknowledged: Acknowledged, chance: random.Random) -> None:
    killer = threading.Timer(chance.uniform(0, _LONGEST_LIFE), server.kill)
    with here.client(server) as curator:
        uploaded(
            curator, acknowledged, str(ordered(curator, acknowledged, chance))
        )  # the first upload imports what the others have
        killer.start()
        try:
            while True:
                work(curator, acknowledged, chance)
        except httpx.TransportError:
            pass
        finally:
            killer.join()
