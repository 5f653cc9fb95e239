"""Requests made from the OpenAPI document, sent as everybody: fitting, breaking, and nearly right.

Each request that schemathesis generates is sent three times. As generated, by a caller who may call the operation; with
most of it replaced by what succeeds, by such a caller; and by one who may not. All replies conform to the document,
none is a fault, none holds anything private, and whoever may not call an operation gets 401, 403 or 404 for anything.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import cycle, islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import urlsplit

import schemathesis
from httpx import InvalidURL, Response
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from app.access.permissions import Role
from app.ingest.counts_stream import MEDIA_TYPE
from tests.support.service.workers import end_workers
from tests.support.service.world import World, opened_world
from torture.console import Result, progressing
from torture.fuzzing.damage import CANARY, Chance
from torture.fuzzing.stock import Stock
from torture.model import Broken, Model

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]
FITTING, BREAKING = schemathesis.GenerationMode.POSITIVE, schemathesis.GenerationMode.NEGATIVE
schemathesis.serializer.alias(MEDIA_TYPE, "application/octet-stream")  # any bytes
_REFUSED = {401, 403, 404}
_CREATED = 201
_PROBLEM = {"type", "title", "status", "detail"}
_INSIDE = ("Traceback", 'File "', "sqlalchemy", "sqlite3", "SELECT ", "psycopg", CANARY)
_SENT_EACH = 3
# What a world of many requests needs more of.
ROOM: dict[str, Any] = {
    "max_budget": "900",
    "max_open_orders": 10_000,
    "max_keys": 10_000,
    "max_synthetic_rows": 20_000,
    "max_answer_seconds": 1.0,
    "long_answers_per_minute": 10**6,  # its clock stands still
}
_ELSEWHERE = {"X-Note": CANARY, "User-Agent": CANARY, "Referer": f"http://{CANARY}/"}


@dataclass(frozen=True, slots=True)
class Caller:
    """Somebody with a key, or nobody."""

    name: str
    key: str | None
    role: Role | None
    is_limited: bool = False  # to the dataset `other`


@dataclass
class Sent:
    """What was sent to one operation, and what did not hold."""

    label: str
    times: int = 0
    statuses: Counter[int] = field(default_factory=Counter)
    broken: list[str] = field(default_factory=list)


def operations_of(world: World) -> dict[str, Any]:
    """The operations as schemathesis reads them; keys are ours to add, so it is not told of them."""
    document = deepcopy(world.api.app.openapi())
    for item in document["paths"].values():
        for operation in item.values():
            operation.pop("security", None)
    schema = schemathesis.openapi.from_dict(document)
    operations: list[Any] = [result.ok() for result in schema.get_all_operations()]  # type: ignore[union-attr]
    return {operation.label: operation for operation in operations}


def callers_of(world: World) -> list[Caller]:
    """Each role, each role limited to a dataset that most requests are not about, a revoked key, and nobody."""
    unlimited = [Caller(str(role), world.api.keys[role], role) for role in Role]
    limited = [Caller(f"limited {role}", key, role, is_limited=True) for role, key in world.limited.items()]
    return [*unlimited, *limited, Caller("revoked", world.revoked, None), Caller("nobody", None, None)]


def fire(world: World, operation: Any, cases: int) -> Sent:
    """So many requests to one operation; which ones depends on nothing but the operation and the document."""
    firing = _Firing(world, operation)
    has_fields = bool(operation.definition.raw.get("parameters") or operation.definition.raw.get("requestBody"))
    modes = [FITTING, BREAKING] if has_fields else [FITTING]
    generated: list[Any] = []
    for mode in modes:
        rounds = -(-cases // (_SENT_EACH * len(modes)))
        generated += firing.generate(mode, rounds)
    # Of an operation without parameters there is only one request.
    missing = -(-(cases - firing.sent.times) // _SENT_EACH)
    for case in islice(cycle(generated), max(0, missing)):
        firing.round(case)
    return firing.sent


class _Firing:
    """Requests to one operation."""

    def __init__(self, world: World, operation: Any) -> None:
        self._world = world
        self._operation = operation
        self._chance = Chance(operation.label)
        self._stock = Stock(world, operation.label)
        roles = operation.definition.raw.get("x-roles")
        callers = callers_of(world)
        may = [each for each in callers if roles is None or each.role in roles]
        self._may_not = [each for each in callers if each not in may]
        self._may = [*may, *(each for each in may * 2 if not each.is_limited)]  # a limited key mostly gets 404
        self._private = [*filter(None, (each.key for each in callers)), str(world.api.service.settings.data_dir)]
        moments = world.api.curator("GET", f"/v1/releases/{world.published}/moments").json()
        self._hidden = [moments["synopsis_digest"]]
        self.sent = Sent(operation.label)

    def generate(self, mode: Any, rounds: int) -> list[Any]:
        """Requests that fit the document, or that break it; some of them are returned."""
        kept: list[Any] = []

        @settings(
            max_examples=rounds,
            database=None,
            derandomize=True,
            deadline=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        @given(case=self._operation.as_strategy(generation_mode=mode))
        def run(case: Any) -> None:
            if len(kept) < 20:
                kept.append(case)
            self.round(case)

        run()
        return kept

    def round(self, case: Any) -> None:
        """One request, three times."""
        chance = self._chance
        if chance.random() < 0.5:
            self._aim(case)
        self._try(case, chance.choice(self._may), None)
        self._aim(case)
        file = self._mix(case)
        self._try(case, chance.choice(self._may), file)
        self._try(case, chance.choice(self._may_not or self._may), file)

    def _aim(self, case: Any) -> None:
        """Real names and ids in the address."""
        for name in case.path_parameters:
            real = self._stock.parameter(name, self._chance)
            if real is not None:
                case.path_parameters[name] = real

    def _mix(self, case: Any) -> tuple[bytes, Mapping[str, str]] | None:
        """Most of the query and the body are what succeeds."""
        case.query = self._mixed(self._stock.query(self._chance), case.query)
        body = self._stock.body(self._chance)
        if body is not None:
            case.body = self._mixed(body, case.body if isinstance(case.body, dict) else {})
            case.media_type = "application/json"
        return self._stock.file(case.path_parameters.get("release_id", "")) if self._chance.random() < 0.7 else None

    def _mixed(self, good: Mapping[str, Any], generated: Any) -> dict[str, Any]:
        chance, generated = self._chance, generated if isinstance(generated, Mapping) else {}
        few = chance.choice([0.0, 0.0, 0.2, 0.5])
        fields = {name: value for name, value in good.items() if chance.random() >= few}
        return fields | {name: value for name, value in generated.items() if chance.random() < few}

    def _try(self, case: Any, caller: Caller, file: tuple[bytes, Mapping[str, str]] | None) -> None:
        """Send, and judge the reply. Nothing is raised: hypothesis would send a request that failed once more."""
        self.sent.times += 1
        try:
            reply = self._send(case, caller, file)
            self.sent.statuses[reply.status_code] += 1
            case.validate_response(reply, checks=CHECKS)
            self._judge(reply, caller)
            if reply.is_success:
                self._stock.use_up()
        except InvalidURL:  # longer than the client sends
            self.sent.times -= 1
        except (Broken, AssertionError, schemathesis.errors.SchemathesisError) as reason:
            self._note(case, caller, reason)
        except BaseExceptionGroup as several:  # of schemathesis: every check that failed
            self._note(case, caller, several.exceptions[0])

    def _note(self, case: Any, caller: Caller, reason: BaseException) -> None:
        sent = f"{case.method} {case.formatted_path} query={case.query!r} headers={case.headers!r} body={case.body!r}"
        self.sent.broken.append(f"{caller.name}: {reason} -- {sent[:1500]}")

    def _send(self, case: Any, caller: Caller, file: tuple[bytes, Mapping[str, str]] | None) -> Response:
        sent = case.as_transport_kwargs()
        options: dict[str, Any] = {"params": sent.get("params")}
        headers = dict(sent["headers"])
        if file is not None:
            options["content"] = file[0]
            headers = {name: value for name, value in headers.items() if name.lower() != "content-type"} | dict(file[1])
        elif "json" in sent:
            options["json"] = sent["json"]
        elif sent.get("data") is not None:
            options["content"] = sent["data"]
        path = urlsplit(sent["url"]).path
        return self._world.api.call_with(caller.key, sent["method"], path, headers=headers | _ELSEWHERE, **options)

    def _judge(self, reply: Response, caller: Caller) -> None:
        if caller in self._may_not and reply.status_code not in _REFUSED:
            raise Broken(f"Who may not call this gets {reply.status_code}: {reply.text[:200]}")
        text, created = reply.text, reply.request.url.path == "/v1/keys" and reply.status_code == _CREATED
        if any(word in text for word in self._private) and not created:
            raise Broken("A key or a folder of the service is in a reply.")
        if caller.is_limited and any(word in text for word in self._hidden):
            raise Broken("A limited key sees what is hidden from it.")
        if reply.status_code < 400:
            return
        if any(word in text for word in _INSIDE):
            raise Broken(f"A refusal tells of the inside, or repeats what was sent: {text[:300]}")
        problem = reply.json()
        is_problem = reply.headers["content-type"] == "application/problem+json" and problem.keys() >= _PROBLEM
        if not is_problem or problem["status"] != reply.status_code or not problem["detail"]:
            raise Broken(f"A refusal is no problem of RFC 9457: {text[:300]}")


def require_sound(world: World) -> Model:
    """The ledger by the independent model and by the service itself; Broken where they find a fault."""
    verification = world.api.auditor("GET", "/v1/ledger/verify").json()
    if not verification["valid"]:
        raise Broken(f"The service finds its ledger invalid: {verification}")
    model = Model.of(world.api.auditor("GET", "/v1/ledger/export").text.splitlines())
    for name, granted in islice(model.granted.items(), 50):
        spent = world.api.budget(name)["spent"]
        if Decimal(spent) != model.spent[name] or model.spent[name] > granted:
            raise Broken(f"{name} has spent {spent}; the ledger gives {model.spent[name]}.")
    return model


def request_results(cases: int) -> Iterator[Result]:
    """So many requests to each operation, each in a world of its own; what did not hold, and all in one line."""
    with TemporaryDirectory() as folder, opened_world(Path(folder), **ROOM) as world:
        names = list(operations_of(world))
    statuses: Counter[int] = Counter()
    for name in progressing("operations", names):
        with TemporaryDirectory() as folder, opened_world(Path(folder), **ROOM) as world:
            sent = fire(world, operations_of(world)[name], cases)
            try:
                require_sound(world)
            except Broken as reason:
                sent.broken.append(str(reason))
        statuses += sent.statuses
        if sent.broken:
            yield Result(name, sent.times, len(sent.broken), sent.broken[0])
    end_workers()
    seen = ", ".join(f"{count:,} got {int(status)}" for status, count in sorted(statuses.items()))
    yield Result(f"requests to {len(names)} operations", statuses.total(), 0, seen)
