"""Races: many clients at once through several worker processes order, upload, void, grant, approve, refuse and close.

16 worker processes on SQLite, 40 clients on PostgreSQL. What is above a threshold takes two persons: several ask, and
several approve and refuse the same request. Some orders all clients send at once under one Idempotency-Key.

What was acknowledged and what was refused has to be one sequence of the ledger, judged by an independent model: no
dataset overdrawn, one draw for a charge at most, nothing after a close, one charge for a key, no request approved by
who made it or decided twice, every acknowledgement on record and nothing on record that was refused.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

from tests.support.processes.server import Server
from torture.console import Result, progressing
from torture.model import Broken
from torture.racers import ABOVE, Race, Racer, Reply
from torture.services import ADMIN_KEY, ATTRIBUTES, ROWS, Place, place, times
from torture.verdict import judge

_KINDS = ("SQLite", 16, 16), ("PostgreSQL", 4, 40)  # database, worker processes, clients
_PERSONS = 3  # keys of each role: several clients act with the same one


def run() -> Iterator[Result]:
    """Rounds on each database."""
    for database, workers, clients in _KINDS:
        rounds, broken, said = times(10), 0, ""
        totals: Counter[str] = Counter()
        with place(database) as here:
            server = here.start(workers)
            try:
                persons = issued(server)
                for number in progressing(f"{clients} clients on {database}", range(rounds)):
                    replies = raced(here, server, persons, f"city-{number}", clients)
                    totals.update(reply.action if reply.status < 300 else "refused" for reply in replies)
                    try:
                        judge(here.checked(server), f"city-{number}", replies)
                    except Broken as reason:
                        broken, said = broken + 1, str(reason)
            finally:
                server.stop()
        seen = ", ".join(f"{count:,} {action}" for action, count in sorted(totals.items()))
        yield Result(f"{clients} clients, {workers} workers, {database}", rounds, broken, said or seen)


def issued(server: Server) -> dict[str, tuple[str, ...]]:
    """Keys of several persons, by their role."""
    return {role: tuple(server.issue_key(role, ADMIN_KEY) for _ in range(_PERSONS)) for role in ("curator", "admin")}


def raced(here: Place, server: Server, persons: dict[str, tuple[str, ...]], dataset: str, clients: int) -> list[Reply]:
    """Everybody works on one dataset, and on each other's releases and requests; what they were told."""
    with here.client(server) as curator:
        body = {"name": dataset, "attributes": ATTRIBUTES, "budget": "0.05", "two_persons_above": ABOVE}
        assert curator.post("/v1/datasets", json=body).status_code == 201
    race = Race(dataset, persons["curator"], persons["admin"], Barrier(clients), ROWS)
    with ThreadPoolExecutor(clients) as pool:
        racers = [pool.submit(Racer(race, number, server.url).run) for number in range(clients)]
        return [reply for racer in racers for reply in racer.result()]
