"""A curator at work while a service is tortured: what was acknowledged, and that all of it is there afterwards."""

from __future__ import annotations

import random
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import httpx

from tests.support.processes.server import Server
from torture.model import Broken, Model
from torture.services import ATTRIBUTES, ROWS, Place

ORDER: dict[str, Any] = {"epsilon": "0.0001", "clusters": 4, "size": {"declared": 500}}
CSV = {"Content-Type": "text/csv"}


@dataclass(frozen=True, slots=True)
class Job:
    """What the curator orders and uploads."""

    order: dict[str, Any] = field(default_factory=lambda: ORDER)
    rows: bytes = ROWS
    media_type: str = "text/csv"


SMALL = Job()


@dataclass(slots=True)
class Acknowledged:
    """What the curator was acknowledged."""

    charged: set[str] = field(default_factory=set)
    digests: dict[str, str] = field(default_factory=dict)
    voided: set[str] = field(default_factory=set)
    lost: dict[str, dict[str, Any]] = field(default_factory=dict)  # orders without a reply, by idempotency key
    refused: Counter[str] = field(default_factory=Counter)  # types of problems

    def add(self, other: Acknowledged) -> None:
        """Count what was acknowledged at another place as well; for the table."""
        self.charged |= other.charged
        self.digests |= other.digests
        self.voided |= other.voided
        self.refused += other.refused

    def __str__(self) -> str:
        refused = "".join(f"; {count:,} x {name}" for name, count in sorted(self.refused.items()))
        return f"{len(self.charged):,} charges, {len(self.digests):,} published, {len(self.voided):,} void{refused}"


def register(here: Place, server: Server) -> None:
    """The dataset that the curator works on."""
    with here.client(server) as curator:
        body = {"name": "city", "attributes": ATTRIBUTES, "budget": "9"}
        assert curator.post("/v1/datasets", json=body).status_code == httpx.codes.CREATED


def ordered(curator: httpx.Client, acknowledged: Acknowledged, chance: random.Random, job: Job = SMALL) -> str | None:
    """A new order; None where it was refused. One whose reply is lost is remembered, to be repeated with its key."""
    key = f"k{chance.getrandbits(64):016x}"
    acknowledged.lost[key] = job.order
    reply = curator.post("/v1/datasets/city/releases", json=job.order, headers={"Idempotency-Key": key})
    if not done(reply, acknowledged):
        return None
    del acknowledged.lost[key]
    release = str(reply.json()["id"])
    acknowledged.charged.add(release)
    return release


def uploaded(curator: httpx.Client, acknowledged: Acknowledged, release: str, job: Job = SMALL) -> bool:
    """Whether the rows of an order were published."""
    headers = {"Content-Type": job.media_type}
    reply = curator.put(f"/v1/releases/{release}/records", content=job.rows, headers=headers)
    if done(reply, acknowledged):
        acknowledged.digests[release] = reply.json()["synopsis"]["digest"]
    return reply.is_success


def work(curator: httpx.Client, acknowledged: Acknowledged, chance: random.Random, job: Job = SMALL) -> None:
    """One order, which is uploaded, made void, or left open. A 503 says nothing of whether it was done."""
    release = ordered(curator, acknowledged, chance, job)
    choice = chance.random()
    if release is None:
        time.sleep(0.01)
    elif choice < 0.6:
        uploaded(curator, acknowledged, release, job)
    elif choice < 0.8:
        if done(curator.delete(f"/v1/releases/{release}"), acknowledged):
            acknowledged.voided.add(release)
    else:
        time.sleep(chance.uniform(0, 0.02))


def done(reply: httpx.Response, acknowledged: Acknowledged) -> bool:
    """Whether it was acknowledged; Broken for anything but that or a documented "not now"."""
    if reply.is_success:
        return True
    is_problem = reply.headers.get("Content-Type") == "application/problem+json"
    if reply.status_code != httpx.codes.SERVICE_UNAVAILABLE or not is_problem:
        raise Broken(f"A request ended with {reply.status_code}: {reply.text[:150]}")
    acknowledged.refused[str(reply.json()["type"]).rpartition(":")[2]] += 1
    return False


def require_all(here: Place, server: Server, acknowledged: Acknowledged) -> Model:
    """The service has everything that was acknowledged, once; the ledger by the model."""
    model = here.checked(server)
    _compare(model, acknowledged)
    _serves(here, server, acknowledged)
    if acknowledged.lost:
        _repeat_lost_orders(here, server, acknowledged)
        model = here.checked(server)
    if model.epsilons.keys() != acknowledged.charged:
        raise Broken("There are other charges than those that were ordered.")
    return model


def _compare(model: Model, acknowledged: Acknowledged) -> None:
    if not acknowledged.charged <= model.epsilons.keys():
        raise Broken("An acknowledged charge is missing.")
    if any(model.digests.get(release) != digest for release, digest in acknowledged.digests.items()):
        raise Broken("An acknowledged synopsis is missing, or another one is published.")
    if any(model.states[release] != "void" for release in acknowledged.voided):
        raise Broken("An acknowledged void is missing.")
    if any(count > 1 for count in model.draws.values()):
        raise Broken("Noise was drawn twice for one charge.")


def _serves(here: Place, server: Server, acknowledged: Acknowledged) -> None:
    """The newest published synopsis is served with its digest."""
    with here.client(server) as curator:
        for release, digest in list(acknowledged.digests.items())[-1:]:
            reply = curator.get(f"/v1/releases/{release}")
            if reply.json()["synopsis"]["digest"] != digest:
                raise Broken(f"{release} is served with another digest.")
            count = curator.get(f"/v1/releases/{release}/count")
            if count.status_code != httpx.codes.OK or count.json()["synopsis_digest"] != digest:
                raise Broken(f"{release} does not answer.")


def _repeat_lost_orders(here: Place, server: Server, acknowledged: Acknowledged) -> None:
    """An order whose reply was lost is repeated with its key: it was charged once or is charged now, never twice."""
    with here.client(server) as curator:
        for key, order in list(acknowledged.lost.items()):
            replies = [
                curator.post("/v1/datasets/city/releases", json=order, headers={"Idempotency-Key": key})
                for _ in range(2)
            ]
            if len({reply.json().get("id") for reply in replies}) != 1 or not replies[0].is_success:
                raise Broken("An order that was repeated with its key was charged twice, or refused.")
            acknowledged.charged.add(replies[0].json()["id"])
            del acknowledged.lost[key]
