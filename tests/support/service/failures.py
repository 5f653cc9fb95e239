"""Every way to be refused, with a canary wherever a client can put text of its own. None of them changes anything."""

from __future__ import annotations

import gzip
import json
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Any

from httpx import Response

from app.http.middleware.body_limit import MAX_JSON_BYTES
from tests.support.service.api import ATTRIBUTES, CSV, ROWS
from tests.support.service.world import World

CANARY = "CANARY7f3a"
JSON = {"Content-Type": "application/json"}
ELSEWHERE = {"X-Note": CANARY, "User-Agent": CANARY, "Cookie": f"session={CANARY}", "Referer": f"http://{CANARY}/"}


@dataclass(frozen=True)
class Failure:
    """The status and the problem's name that a request must get."""

    status: int
    problem: str
    send: Callable[[World], Response]


def _as(role: str, method: str, path: str, **options: Any) -> Callable[[World], Response]:
    """One request of a role; `path` may name what a World holds, as in {ordered}."""

    def send(world: World) -> Response:
        call: Callable[..., Response] = getattr(world.api, role)
        headers = ELSEWHERE | options.get("headers", {})
        return call(method, path.format(**vars(world)), **(options | {"headers": headers}))

    return send


def _with(key: Callable[[World], str | None], method: str, path: str, **options: Any) -> Callable[[World], Response]:
    def send(world: World) -> Response:
        headers = ELSEWHERE | options.get("headers", {})
        return world.api.call_with(key(world), method, path.format(**vars(world)), **(options | {"headers": headers}))

    return send


def _limited(role: str, method: str, path: str, **options: Any) -> Callable[[World], Response]:
    return _with(lambda world: {str(r): key for r, key in world.limited.items()}[role], method, path, **options)


def _register(**changes: Any) -> Callable[[World], Response]:
    body = {"name": "new", "description": CANARY, "attributes": ATTRIBUTES, "budget": "1"} | changes
    return _as("curator", "POST", "/v1/datasets", json=body)


def _raw(text: bytes) -> Callable[[World], Response]:
    return _as("curator", "POST", "/v1/datasets", content=text, headers=JSON)


def _bounds(lower: str, upper: str) -> Callable[[World], Response]:
    """A registration whose bounds are spelt as given: JSON numbers that Python's own writer would not write."""
    attributes = f'[{{"name": "{CANARY}", "lower": {lower}, "upper": {upper}}}]'
    return _raw(f'{{"name": "new", "attributes": {attributes}, "budget": "1"}}'.encode())


def _order(name: str = "city", headers: Any = None, **changes: Any) -> Callable[[World], Response]:
    body = {"epsilon": "0.1", "clusters": 4, "size": {"declared": 500}} | changes
    return _as("curator", "POST", f"/v1/datasets/{name}/releases", json=body, headers=headers or {})


def _plan(**changes: Any) -> Callable[[World], Response]:
    body = {"epsilon": "0.1", "clusters": 4, "size": {"declared": 500}} | changes
    body = {name: value for name, value in body.items() if value is not None}
    return _as("curator", "POST", "/v1/datasets/city/plans", json=body)


def _grant(**changes: Any) -> Callable[[World], Response]:
    body = {"epsilon": "1", "reason": CANARY} | changes
    return _as("admin", "POST", "/v1/datasets/city/grants", json=body)


def _upload(body: Any = ROWS, headers: Any = CSV, release: str = "{ordered}") -> Callable[[World], Response]:
    return _as("curator", "PUT", f"/v1/releases/{release}/records", content=body, headers=headers)


def _ask(question: str, method: str = "GET", **options: Any) -> Callable[[World], Response]:
    return _as("analyst", method, f"/v1/releases/{{published}}/{question}", **options)


def _streamed(world: World) -> Response:
    """A body whose length nobody states beforehand."""

    async def chunks() -> AsyncIterator[bytes]:
        yield f"age,income,{CANARY}\n".encode()
        for _ in range(100):
            yield f"1,2,{CANARY}\n".encode() * 100

    return world.api.curator("PUT", f"/v1/releases/{world.ordered}/records", content=chunks(), headers=CSV)


def _conflicting(world: World) -> Response:
    name, headers = world.fresh(), {"Idempotency-Key": CANARY}
    assert world.api.order(name, headers=headers).status_code == 201
    return world.api.order(name, headers=headers, epsilon="0.2")


def _own_request(world: World) -> Response:
    """An approval by the key that asked."""
    return world.api.curator("POST", f"/v1/requests/{_asked(world)}/approve", headers=ELSEWHERE)


def _decided_request(world: World) -> Response:
    """A refusal of what was withdrawn before."""
    path = f"/v1/requests/{_asked(world)}/refuse"
    assert world.api.curator("POST", path, json={"reason": CANARY}).status_code == 200
    return world.api.curator("POST", path, json={"reason": CANARY}, headers=ELSEWHERE)


def _asked(world: World) -> str:
    """An order of the curator's that waits for a second person."""
    name = world.fresh()
    assert world.api.curator("POST", f"/v1/datasets/{name}/rule", json={"above": "0"}).status_code == 200
    return str(world.api.order(name).json()["id"])


def _wrong_secret(world: World) -> str:
    key = next(iter(world.api.keys.values()))
    return key[:-43] + CANARY.ljust(43, "x")


_JSON_TOO_LARGE = json.dumps({"name": "new", "description": CANARY * (MAX_JSON_BYTES // 10)}).encode()
_LONG = CANARY * 10
_ROW = f"1,2,{CANARY}\n"
_PARQUET = {"Content-Type": "application/vnd.apache.parquet"}
_ARROW = {"Content-Type": "application/vnd.apache.arrow.stream"}
_GZIP = CSV | {"Content-Encoding": "gzip"}

FAILURES: dict[str, Failure] = {
    # Who calls
    "no key": Failure(401, "not-authenticated", _with(lambda _: None, "GET", "/v1/datasets")),
    "garbage for a key": Failure(401, "not-authenticated", _with(lambda _: CANARY, "GET", "/v1/datasets")),
    "garbage shaped like a key": Failure(
        401, "not-authenticated", _with(lambda _: f"rugnik_admin_{CANARY}_{CANARY}", "GET", "/v1/datasets")
    ),
    "right id, wrong secret": Failure(401, "not-authenticated", _with(_wrong_secret, "GET", "/v1/datasets")),
    "not a bearer": Failure(
        401,
        "not-authenticated",
        _with(lambda _: None, "GET", "/v1/datasets", headers={"Authorization": f"Basic {CANARY}"}),
    ),
    "revoked key": Failure(401, "not-authenticated", _with(lambda world: world.revoked, "GET", "/v1/keys")),
    "metrics without a key": Failure(401, "not-authenticated", _with(lambda _: None, "GET", "/metrics")),
    "metrics with garbage": Failure(401, "not-authenticated", _with(lambda _: CANARY, "GET", "/metrics")),
    "wrong role": Failure(403, "not-allowed", _as("analyst", "POST", "/v1/datasets", json={"name": CANARY})),
    "wrong role for a question": Failure(403, "not-allowed", _as("admin", "GET", "/v1/releases/{published}/moments")),
    "wrong role for metrics": Failure(403, "not-allowed", _as("auditor", "GET", "/metrics")),
    "limited key, whole ledger": Failure(403, "not-allowed", _limited("auditor", "GET", "/v1/ledger/head")),
    "limited key, new name": Failure(
        403,
        "not-allowed",
        _limited("curator", "POST", "/v1/datasets", json={"name": CANARY, "attributes": ATTRIBUTES, "budget": "1"}),
    ),
    "own request": Failure(403, "own-request", _own_request),
    # What is not there
    "unknown address": Failure(404, "not-found", _as("admin", "GET", f"/v1/{CANARY}")),
    "unknown dataset": Failure(404, "not-found", _as("curator", "GET", f"/v1/datasets/{CANARY}")),
    "unknown dataset's ledger": Failure(
        404, "not-found", _as("auditor", "GET", "/v1/ledger", params={"dataset": CANARY})
    ),
    "unknown release": Failure(404, "not-found", _as("curator", "GET", f"/v1/releases/{CANARY}")),
    "upload to an unknown release": Failure(404, "not-found", _upload(release=CANARY)),
    "unknown request": Failure(404, "not-found", _as("curator", "POST", f"/v1/requests/{CANARY}/approve")),
    "unknown key": Failure(404, "not-found", _as("admin", "DELETE", f"/v1/keys/{CANARY}")),
    "another's dataset": Failure(404, "not-found", _limited("curator", "GET", "/v1/datasets/city")),
    "not yet published": Failure(404, "not-found", _as("analyst", "GET", "/v1/releases/{ordered}")),
    "wrong method": Failure(405, "method-not-allowed", _as("curator", "PATCH", f"/v1/datasets/{CANARY}")),
    # What is in the way
    "name taken": Failure(409, "name-taken", _register(name="city")),
    "name of a closed dataset": Failure(409, "name-taken", _register(name="shut")),
    "closed to orders": Failure(409, "dataset-closed", _order("shut")),
    "closed to grants": Failure(
        409,
        "dataset-closed",
        _as("admin", "POST", "/v1/datasets/shut/grants", json={"epsilon": "1", "reason": CANARY}),
    ),
    "closed to uploads": Failure(409, "dataset-closed", _upload(_ROW, release="{shut_order}")),
    "closed already": Failure(409, "dataset-closed", _as("curator", "POST", "/v1/datasets/shut/close")),
    "published already": Failure(409, "release-ended", _upload(_ROW, release="{published}")),
    "voided before": Failure(409, "release-ended", _upload(_ROW, release="{void}")),
    "void of a published release": Failure(409, "release-ended", _as("curator", "DELETE", "/v1/releases/{published}")),
    "no epsilon left": Failure(409, "insufficient-budget", _order(epsilon="99")),
    "decided before": Failure(409, "request-decided", _decided_request),
    # What is too much
    "JSON body too large": Failure(
        413, "too-large", _as("curator", "POST", "/v1/datasets", content=_JSON_TOO_LARGE, headers=JSON)
    ),
    "upload too large by its own word": Failure(413, "too-large", _upload(_ROW.encode() * 10_000)),
    "upload too large as it streams": Failure(413, "too-large", _streamed),
    "upload that inflates too far": Failure(
        413, "too-large", _upload(gzip.compress(b"age,income,x\n" + _ROW.encode() * 20_000), _GZIP)
    ),
    "too many rows": Failure(413, "too-large", _upload(f"age,income,{CANARY}\n" + _ROW * 2_100)),
    "too many columns": Failure(413, "too-large", _upload(f"age,income{f',{CANARY}' * 20}\n")),
    "more than the spool holds": Failure(413, "too-large", _upload(CANARY.encode() * 6_000, _PARQUET)),
    # What is of the wrong kind
    "unknown media type": Failure(415, "unsupported-media-type", _upload(_ROW, {"Content-Type": f"text/{CANARY}"})),
    "unknown encoding": Failure(415, "unsupported-media-type", _upload(_ROW, CSV | {"Content-Encoding": CANARY})),
    "length that is no number": Failure(400, "bad-request", _upload(_ROW, CSV | {"Content-Length": CANARY})),
    "length beyond all numbers": Failure(413, "too-large", _upload(_ROW, CSV | {"Content-Length": "9" * 5000})),
    "JSON that is not UTF-8": Failure(400, "bad-request", _raw(b'{"name": "\xff' + CANARY.encode() + b'"}')),
    "JSON without end": Failure(422, "invalid-request", _raw(b'{"name": "' + CANARY.encode())),
    "JSON of great depth": Failure(400, "bad-request", _raw(b"[" * 100_000)),
    "JSON that is no object": Failure(422, "invalid-request", _raw(f'["{CANARY}"]'.encode())),
    "JSON sent as text": Failure(
        422,
        "invalid-request",
        _as("curator", "POST", "/v1/datasets", content=f'{{"name": "{CANARY}"}}', headers={"Content-Type": "text/x"}),
    ),
    "no body": Failure(422, "invalid-request", _raw(b"")),
    # What is not valid in itself
    "unknown field": Failure(422, "invalid-request", _register(**{CANARY: CANARY})),
    "unknown field within a field": Failure(422, "invalid-request", _order(size={"declared": 5, CANARY: 1})),
    "unknown field of an attribute": Failure(
        422, "invalid-request", _register(attributes=[ATTRIBUTES[0] | {CANARY: CANARY}])
    ),
    "text for a number": Failure(422, "invalid-request", _order(clusters=CANARY)),
    "a list for a text": Failure(422, "invalid-request", _register(name=[CANARY])),
    "a lone surrogate": Failure(422, "invalid-request", _raw(rf'{{"name": "\ud800{CANARY}"}}'.encode())),
    "a number for epsilon": Failure(422, "invalid-request", _order(epsilon=0.1)),
    "epsilon too long": Failure(422, "invalid-request", _order(epsilon="0.12345678901234")),
    "bad dataset name": Failure(422, "invalid-request", _register(name=f"{CANARY} x")),
    "dataset name too long in the address": Failure(
        422, "invalid-request", _as("curator", "GET", f"/v1/datasets/{_LONG}")
    ),
    "release id too long": Failure(422, "invalid-request", _as("curator", "GET", f"/v1/releases/{_LONG}")),
    "control characters in a description": Failure(422, "invalid-request", _register(description=f"{CANARY}\0")),
    "unknown kind of entry": Failure(
        422, "invalid-request", _as("auditor", "GET", "/v1/ledger", params={"kind": CANARY})
    ),
    "a page that is no number": Failure(
        422, "invalid-request", _as("auditor", "GET", "/v1/ledger", params={"after": CANARY})
    ),
    "unknown role": Failure(
        422, "invalid-request", _as("admin", "POST", "/v1/keys", json={"name": CANARY, "role": CANARY})
    ),
    "unknown state": Failure(422, "invalid-request", _as("auditor", "GET", "/v1/requests", params={"state": CANARY})),
    "unknown rule": Failure(422, "invalid-request", _order(rule=CANARY)),
    "Idempotency-Key too long": Failure(422, "invalid-request", _order(headers={"Idempotency-Key": CANARY * 30})),
    "Idempotency-Key with a space": Failure(422, "invalid-request", _order(headers={"Idempotency-Key": f"{CANARY} x"})),
    "neither epsilon nor target": Failure(422, "invalid-request", _plan(epsilon=None)),
    "infinite target": Failure(422, "invalid-request", _plan(epsilon=None, target={"count_error": CANARY})),
    "bound that is not a number": Failure(422, "invalid-request", _bounds("NaN", "1")),
    "bound beyond a double": Failure(422, "invalid-request", _bounds("0", "1e999")),
    # What is valid in itself and makes no sense
    "no epsilon": Failure(422, "invalid-epsilon", _order(epsilon=CANARY)),
    "budget that is no epsilon": Failure(422, "invalid-epsilon", _register(budget=CANARY)),
    "threshold that is no epsilon": Failure(
        422, "invalid-epsilon", _as("curator", "POST", "/v1/datasets/city/rule", json={"above": CANARY})
    ),
    "grant of nothing": Failure(422, "invalid-epsilon", _grant(epsilon="0")),
    "budget beyond the limit": Failure(422, "budget-too-large", _register(budget="500")),
    "grant beyond the limit": Failure(422, "budget-too-large", _grant(epsilon="500")),
    "reversed bounds": Failure(422, "invalid-domain", _bounds("2", "1")),
    "bounds too close": Failure(422, "invalid-domain", _bounds("1", "1.0000000000000002")),
    "attribute name with a comma": Failure(
        422, "invalid-domain", _register(attributes=[{"name": f"{CANARY},x", "lower": 0, "upper": 1}])
    ),
    "attribute named twice": Failure(
        422, "invalid-domain", _register(attributes=[{"name": CANARY, "lower": 0, "upper": 1}] * 2)
    ),
    "unknown attribute": Failure(422, "invalid-domain", _order(attributes=[CANARY])),
    "unknown attribute in a plan": Failure(422, "invalid-domain", _plan(attributes=[CANARY])),
    "more clusters than cells": Failure(422, "too-many-cells", _order(clusters=20_000)),
    "share of epsilon beyond all of it": Failure(422, "invalid-order", _order(size={"estimate": "1"})),
    "another order under one key": Failure(422, "idempotency-conflict", _conflicting),
    # What a synopsis cannot be asked
    "answer in another language": Failure(406, "not-acceptable", _ask("moments", headers={"Accept": f"text/{CANARY}"})),
    "answer in an unknown form": Failure(406, "not-acceptable", _ask("synopsis", params={"format": CANARY})),
    "rows in an unknown form": Failure(406, "not-acceptable", _ask("rows", params={"format": CANARY})),
    "question to an order": Failure(
        404, "not-found", _as("analyst", "GET", "/v1/releases/{ordered}/count", params={"where": f"{CANARY}:1..2"})
    ),
    "unknown question": Failure(404, "not-found", _as("analyst", "GET", f"/v1/releases/{{published}}/{CANARY}")),
    "unknown parameter": Failure(422, "invalid-query", _ask("count", params={CANARY: CANARY})),
    "misspelt parameter": Failure(422, "invalid-query", _ask("count", params={"wher": f"x:{CANARY}"})),
    "unknown parameter of a file": Failure(
        422, "invalid-query", _ask("rows", params={CANARY: CANARY, "format": "csv"})
    ),
    "range of an unknown attribute": Failure(422, "invalid-query", _ask("count", params={"where": f"{CANARY}:1..2"})),
    "range that is none": Failure(422, "invalid-query", _ask("count", params={"where": CANARY})),
    "ranges of an unknown attribute": Failure(
        422, "invalid-query", _ask("counts", "POST", json={"boxes": [[f"{CANARY}:1..2"]]})
    ),
    "marginal of an unknown attribute": Failure(
        422, "invalid-query", _ask("marginal", params={"attributes": f"age,{CANARY}"})
    ),
    "quantile of an unknown attribute": Failure(
        422, "invalid-query", _ask("quantiles", params={"attribute": CANARY, "q": "0.5"})
    ),
    "quantile beyond all": Failure(422, "invalid-query", _ask("quantiles", params={"attribute": "age", "q": "7"})),
    "quantile that is no number": Failure(
        422, "invalid-request", _ask("quantiles", params={"attribute": "age", "q": CANARY})
    ),
    "level that is no number": Failure(422, "invalid-request", _ask("moments", params={"level": CANARY})),
    "no clusters": Failure(422, "invalid-query", _ask("clusters", params={"k": "0"})),
    "scan of anything": Failure(422, "invalid-query", _ask("clusters/scan", params={"k": CANARY})),
    "points of another space": Failure(
        422, "invalid-query", _ask("clusters/assign", "POST", json={"points": [[1, 2, 3]], "k": 2})
    ),
    "points that are none": Failure(
        422, "invalid-request", _ask("clusters/assign", "POST", json={"points": [[{"x": CANARY}]], "k": 2})
    ),
    "points of another kind": Failure(
        422, "invalid-query", _ask("clusters/assign", "POST", json={"points": [[CANARY, CANARY]], "k": 2})
    ),
    # What is no file of rows
    "columns missing": Failure(422, "unfit-columns", _upload(f"{CANARY},b\n1,2\n")),
    "columns twice": Failure(422, "unfit-columns", _upload(f"age,income,age,{CANARY}\n{_ROW}")),
    "nothing at all": Failure(422, "unreadable-upload", _upload(b"")),
    "header with an open quote": Failure(422, "unreadable-upload", _upload(f'age,income,"{CANARY}\n1,2,3\n')),
    "no gzip": Failure(422, "unreadable-upload", _upload(f"age,income\n{CANARY}\n", _GZIP)),
    "gzip cut short": Failure(
        422, "unreadable-upload", _upload(gzip.compress(f"age,income,x\n{_ROW}".encode())[:-9], _GZIP)
    ),
    "no Parquet": Failure(422, "unreadable-upload", _upload(CANARY, _PARQUET)),
    "no Arrow stream": Failure(422, "unreadable-upload", _upload(CANARY * 10, _ARROW)),
}
