"""A real service that damaged files are sent to: its orders, what it may reply, the memory that its process takes."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from app.engines.sending import target_of
from core.counting import Step, Target
from rugnik.wire import Awaited
from tests.app.ingest.mixed import MIXED
from tests.support.processes.server import Server
from torture.fuzzing.damage import CANARY
from torture.fuzzing.files import COUNTED, Sent
from torture.model import Broken, Model
from torture.services import Place, place

CONNECTIONS = 3
# Small enough that a file of some kilobytes comes to each of them. What one upload may hold is at most a block of Arrow
# or Parquet (64 MiB, app.ingest.limits) twice, as sent and as read; one buffer; and small things.
_LIMITS = {
    "max_upload_bytes": 16 * 2**20,
    "max_inflated_bytes": 32 * 2**20,
    "max_spool_bytes": 16 * 2**20,
    "upload_memory_bytes": 2**20,
    "max_upload_rows": 200_000,
    "max_wide_rows": 50_000,
    "max_cells": 20_000,
    "max_uploads": CONNECTIONS + 1,
    "max_budget": "999",
}
MEMORY_CAP = 256  # megabytes that the process may take at its peak, beyond what it takes after sound uploads
_EPSILON = "0.02"
_ORDER: dict[str, Any] = {"epsilon": _EPSILON, "clusters": 3}
_LAYERED = [name for name in MIXED.names if name != "day"]
# Every way of reading rows: counted as they come, held until the grid is known, held for layers, held by person.
_ROW_ORDERS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("records", {"size": {"declared": 500}, "attributes": ["income", "age"]}),
    ("records", {"size": {"declared": 500}}),
    ("records", {"size": {"estimate": "0.05"}, "attributes": ["income", "sex", "day"]}),
    ("records", {"size": {"declared": 10**6}, "rule": "adaptive", "attributes": _LAYERED}),
    ("people", {"size": {"declared": 500}, "attributes": ["tag", "at", "age"]}),
)
_COUNT_ORDERS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("records", {"size": {"declared": 500}, "attributes": ["income", "age"]}),
    ("wide", {"size": {"declared": 500}}),
    ("records", {"size": {"estimate": "0.05"}, "attributes": ["income", "sex", "day"]}),
    ("records", {"size": {"declared": 10**6}, "rule": "adaptive", "attributes": _LAYERED}),
    ("people", {"size": {"declared": 500}, "attributes": ["tag", "at", "age"]}),
)
_MIXED = [each.declaration() for each in MIXED.attributes]
_PEOPLE = {"kind": "person", "column": "person", "max_rows": 2}
_DATASETS: tuple[dict[str, Any], ...] = (
    {"name": "records", "attributes": _MIXED},
    {"name": "people", "attributes": _MIXED, "unit": _PEOPLE},
    {"name": "wide", "attributes": [{"name": f"x{axis}", "lower": 0, "upper": 1} for axis in range(7)]},  # has offsets
)
_CREATED = 201
_RELEASE_ENDED = 409
_WAITS = {"ordered", "counting"}  # counts of another step than the one that is awaited get 409, and change nothing
_FIELDS = {"type", "title", "status", "detail"}


@dataclass
class Notes:
    """What was acknowledged: orders and the digests of published releases; and how often each reply was had."""

    ordered: list[str] = field(default_factory=list)
    digests: dict[str, str] = field(default_factory=dict)
    replies: dict[int, int] = field(default_factory=dict)
    sentences: set[str] = field(default_factory=set)


@dataclass
class Service:
    """The running service, and what it is judged by."""

    here: Place
    server: Server
    documented: Mapping[str, frozenset[int]]
    notes: Notes
    peak_at_start: int = 0

    @property
    def peak(self) -> int:
        """The most megabytes that the process has had in memory; 0 once it has ended."""
        return _megabytes(self.server.process.pid, "VmHWM")

    def is_alive(self) -> bool:
        """Whether the process that was started still runs; it has one worker, itself."""
        return self.server.process.poll() is None

    def require_sound(self) -> Model:
        """Broken unless the ledger holds what was acknowledged, and no draw of a file that was refused."""
        model = self.here.checked(self.server)
        if model.epsilons.keys() != set(self.notes.ordered):
            raise Broken("The charges are not those of the acknowledged orders.")
        if model.digests != self.notes.digests:
            raise Broken("The published synopses are not the acknowledged ones.")
        if any(count > 1 for count in model.draws.values()):
            raise Broken("Noise was drawn twice for one step of a release.")
        if "burnt" in model.states.values():
            raise Broken("Noise was drawn for a release that is not published.")
        return model


class Sender:
    """One connection with orders of its own, each open until a file is published."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._client = service.here.client(service.server)
        self._open: dict[tuple[str, int], str] = {}

    def close(self) -> None:
        """Close the connection."""
        self._client.close()

    def order(self, name: str, number: int) -> str:
        """An open release for this trial; the number says of which kind."""
        orders = _COUNT_ORDERS if name == COUNTED else _ROW_ORDERS
        kind = ("counts" if name == COUNTED else "records", number % len(orders))
        if kind not in self._open:
            dataset, changes = orders[kind[1]]
            reply = self._ordered(f"/v1/datasets/{dataset}/releases", _ORDER | changes)
            if reply.status_code != _CREATED:
                raise Broken(f"An order ended with {reply.status_code}: {reply.text[:300]}")
            self._open[kind] = str(reply.json()["id"])
            self._service.notes.ordered.append(self._open[kind])
        return self._open[kind]

    def _ordered(self, address: str, body: Mapping[str, Any]) -> httpx.Response:
        """An order; again where the connection was closed, as it is after some refusals."""
        key = {"Idempotency-Key": secrets.token_hex()}
        try:
            return self._client.post(address, json=body, headers=key)
        except httpx.TransportError:
            return self._client.post(address, json=body, headers=key)

    def target(self, release: str) -> Target:
        """What an order for counts waits for; its size is bought here, since that takes no file."""
        while True:
            reply = self._client.get(f"/v1/releases/{release}/counts")
            target = target_of(Awaited.of(reply.json()))
            if target.step is not Step.SIZE:
                return target
            self._client.post(f"/v1/releases/{release}/size", json={"rows": 500})

    def send(self, name: str, release: str, sent: Sent) -> None:
        """Send a file; Broken for anything but an acknowledged publication or a documented refusal."""
        path = "counts" if name == COUNTED else "records"
        address = f"/v1/releases/{release}/{path}"
        try:
            reply = self._client.put(address, content=sent.content, headers=dict(sent.headers))
        except httpx.TransportError as error:
            raise Broken(f"A file had no reply: {type(error).__name__}.") from None
        if reply.is_server_error:
            self._forget(release)
        notes = self._service.notes
        notes.replies[reply.status_code] = notes.replies.get(reply.status_code, 0) + 1
        if CANARY in reply.text:
            raise Broken(f"A reply of status {reply.status_code} quotes the file.")
        if reply.is_success:
            self._publish(release, reply.json())
            return
        _require_refusal(reply, self._service.documented[path])
        notes.sentences.add(reply.json()["detail"])
        state = reply.json().get("state", "")
        if reply.status_code == _RELEASE_ENDED and state not in _WAITS:
            self._forget(release)
            raise Broken(f"A refused file has ended its release: {state}.")

    def _publish(self, release: str, body: Mapping[str, Any]) -> None:
        if body["state"] == "published":
            self._service.notes.digests[release] = body["synopsis"]["digest"]
            self._forget(release)

    def _forget(self, release: str) -> None:
        self._open = {kind: each for kind, each in self._open.items() if each != release}


def _require_refusal(reply: httpx.Response, documented: frozenset[int]) -> None:
    """A 4xx of the OpenAPI document, as a problem with a sentence."""
    status = reply.status_code
    if status >= 500 or status not in documented:
        raise Broken(f"A file ended with {status}: {reply.text[:300]}")
    try:
        problem = reply.json()
    except json.JSONDecodeError:
        raise Broken(f"A refusal ({status}) has no JSON.") from None
    is_problem = reply.headers["content-type"] == "application/problem+json" and problem.keys() >= _FIELDS
    if not is_problem or problem["status"] != status or not problem["detail"].endswith("."):
        raise Broken(f"A refusal ({status}) is no problem with a sentence: {reply.text[:300]}")


@contextmanager
def running_service() -> Iterator[Service]:
    """A service with two datasets of every kind of attribute: of records, and of people."""
    with place("SQLite") as here:
        here.settings = here.settings.model_copy(update=_LIMITS)
        server = here.start()
        try:
            with here.client(server) as curator:
                for dataset in _DATASETS:
                    reply = curator.post("/v1/datasets", json=dataset | {"budget": "999"})
                    if reply.status_code != _CREATED:
                        raise Broken(f"A registration ended with {reply.status_code}: {reply.text[:300]}")
                document = curator.get("/openapi.json").json()["paths"]
            documented = {
                path: frozenset(map(int, document[f"/v1/releases/{{release_id}}/{path}"]["put"]["responses"]))
                for path in ("records", "counts")
            }
            yield Service(here, server, documented, Notes())
        finally:
            server.stop()


def _megabytes(pid: int, name: str) -> int:
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in status.splitlines() if line.startswith(name)), 0) // 1024
