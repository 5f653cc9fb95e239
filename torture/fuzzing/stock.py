"""What requests can hit: real names and ids for the parameters of an address, and requests that succeed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qs

from app.access.keys import issue_key
from app.access.permissions import Role
from rugnik.wire.base import dumped
from tests.support.service.api import ATTRIBUTES, CSV
from tests.support.service.counting import COUNTS, counts_body
from tests.support.service.questions import EXAMPLES
from tests.support.service.world import World
from torture.fuzzing.damage import CANARY, Chance

# The column that is not read is private as well: its text is in no reply.
_ROWS = b"age,income,note\n" + f"20,500,{CANARY}\n".encode() * 200
_ORDER = {"epsilon": "0.001", "clusters": 2, "size": {"declared": 100}}
_BODIES: Mapping[str, Mapping[str, Any]] = {
    "POST /v1/datasets": {"name": "new", "attributes": ATTRIBUTES, "budget": "1", "description": "more"},
    "POST /v1/datasets/{name}/grants": {"epsilon": "0.001", "reason": "more"},
    "POST /v1/datasets/{name}/plans": _ORDER,
    "POST /v1/datasets/{name}/releases": _ORDER | {"label": "first"},
    "POST /v1/datasets/{name}/rule": {"above": "0.5"},
    "POST /v1/keys": {"name": "x", "role": "analyst", "datasets": ["city"]},
    "POST /v1/releases/{release_id}/size": {"rows": 5},
    "POST /v1/requests/{request_id}/refuse": {"reason": "no"},
}
_QUERIES: Mapping[str, Mapping[str, Any]] = {
    "GET /v1/ledger": {"after": 1, "limit": 5, "kind": "grant", "dataset": "city"},
    "GET /v1/ledger/consistency": {"old": 1, "new": 3},
    "GET /v1/ledger/export": {"after": 1},
    "GET /v1/requests": {"state": "waiting", "limit": 5},
    "GET /v1/datasets": {"after": "city", "limit": 2},
    "GET /v1/datasets/{name}/releases": {"after": 1, "limit": 2},
    "GET /v1/releases/{release_id}/card": {"format": "markdown"},
}
_PLACES: Mapping[str, tuple[str, ...]] = {
    "level": ("0", "0", "1"),
    "place": ("000.p/1", "000.p/2", "000"),
    "rest": ("moments", "count", "counts", "clusters/assign"),
}


class Stock:
    """Real things, made anew when a request has used them up."""

    def __init__(self, world: World, label: str) -> None:
        self._world = world
        self._label = label
        self._method, self._path = label.split(" ")
        self._made: dict[str, str] = {}
        self._asking: tuple[str, str] | None = None  # a dataset with a two-person rule, and a key that asks
        self._questions = [each for each in EXAMPLES if " ".join(each.route) == label]

    def use_up(self) -> None:
        """A request has succeeded that changes something: the next ones get another thing to change."""
        if self._method != "GET":
            self._made.clear()

    def parameter(self, name: str, chance: Chance) -> str | None:
        """A real value for a parameter of the address; None for a name that is not known here."""
        world = self._world
        match name:
            case "name":
                open_ones = [] if self._path.endswith("/close") else ["city", "city", "other"]
                return chance.choice([*open_ones, "shut", self._fresh(name)])
            case "release_id" if not self._changes or chance.random() < 0.2:
                return chance.choice([*[world.published] * 5, world.void, world.shut_order, world.ordered])
            case "release_id" | "request_id" | "key_id":
                return self._fresh(name)
        return chance.choice(_PLACES[name]) if name in _PLACES else None

    @property
    def _changes(self) -> bool:
        """Whether the operation changes a release."""
        return self._method in {"DELETE", "PUT"} or self._path.endswith("/size")

    def _fresh(self, name: str) -> str:
        if name not in self._made:
            self._made[name] = self._make(name)
        return self._made[name]

    def _make(self, name: str) -> str:
        world = self._world
        match name:
            case "name":
                return world.fresh() if self._path.endswith(("/close", "/rule")) else "city"
            case "release_id" if self._path.endswith("/size"):
                return str(world.api.order("other", epsilon="0.001", size={"estimate": "0.5"}).json()["id"])
            case "release_id":
                return str(world.api.order("other", epsilon="0.001", size={"declared": 100}).json()["id"])
            case "request_id":
                return self._request()
            case _:
                return issue_key(world.api.service, name="short", role=Role.ANALYST, datasets=None)[0].principal.id

    def _request(self) -> str:
        """An order that waits for a second person."""
        api = self._world.api
        if self._asking is None:
            name = self._world.fresh("900")
            assert api.curator("POST", f"/v1/datasets/{name}/rule", json={"above": "0.1"}).is_success
            key = issue_key(api.service, name="third", role=Role.CURATOR, datasets=None)[1]
            self._asking = name, key
        name, key = self._asking
        asked = api.call_with(key, "POST", f"/v1/datasets/{name}/releases", json=_ORDER | {"epsilon": "0.2"})
        return str(asked.json()["id"])

    def query(self, chance: Chance) -> Mapping[str, Any]:
        """A query that succeeds."""
        if self._questions:
            return parse_qs(chance.choice(self._questions).query)
        return _QUERIES.get(self._label, {})

    def body(self, chance: Chance) -> Any:
        """A JSON body that succeeds; None where there is none."""
        if self._questions and self._method == "POST":
            body = chance.choice(self._questions).body
            return json.loads(dumped(body)) if body is not None else None
        return _BODIES.get(self._label)

    def file(self, release: str) -> tuple[bytes, Mapping[str, str]] | None:
        """A file that is taken, where the operation takes one."""
        if self._method != "PUT":
            return None
        if self._path.endswith("/records"):
            return _ROWS, CSV
        reply = self._world.api.curator("GET", f"/v1/releases/{release}/counts")
        return (counts_body(self._world.api, release), COUNTS) if reply.is_success else (b"", COUNTS)
