"""Logs and metrics report events, but neither the content of requests nor numbers of rows."""

from __future__ import annotations

import json
import re
import socket
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any, NoReturn

import httpx
import pytest

from app.http.middleware.body_limit import MAX_JSON_BYTES
from app.main import create_app
from app.releases import datasets, ordering, uploading
from app.settings.settings import Settings
from tests.support.processes.server import Server
from tests.support.service.api import ATTRIBUTES, CSV, Api, frozen_clock

ROUTE = "/v1/releases/{release_id}/records"
CANARY = "CANARY-7f3a"
Capture = pytest.CaptureFixture[str]
HEADER = b"age,income,note\n"


def rows(count: int) -> bytes:
    return HEADER + b"".join(b"%d,%d,%s\n" % (i % 100, i % 1000, CANARY.encode()) for i in range(count))


class Watched:
    """A real server at its most talkative, used by a curator and watched by an admin."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.admin = {"Authorization": f"Bearer {server.admin_key}"}
        self.curator = {"Authorization": f"Bearer {server.issue_key('curator')}"}
        self._read = 0
        self.call("POST", "/v1/datasets", json={"name": "city", "attributes": ATTRIBUTES, "budget": "20"})

    def call(self, method: str, path: str, **options: Any) -> httpx.Response:
        """One request as curator."""
        headers = self.curator | options.pop("headers", {})
        return httpx.request(method, self.server.url + path, headers=headers, timeout=120, **options)

    def order(self, **changes: Any) -> str:
        """The id of an order, changed as asked."""
        body = {"epsilon": "0.1", "clusters": 4, "size": {"declared": 1000}} | changes
        reply = self.call("POST", "/v1/datasets/city/releases", json=body)
        assert reply.status_code == 201, reply.text
        return str(reply.json()["id"])

    def broken_off(self, release: str, body: bytes) -> None:
        """An upload whose client goes away in the middle."""
        host, port = self.server.url.removeprefix("http://").split(":")
        head = [f"PUT /v1/releases/{release}/records HTTP/1.1", "Host: rugnik", "Content-Type: text/csv"]
        head += [f"{name}: {value}" for name, value in self.curator.items()]
        head += [f"Content-Length: {len(body)}", "", ""]
        with socket.create_connection((host, int(port))) as connection:
            connection.sendall("\r\n".join(head).encode() + body[: len(body) // 2])

    def said(self) -> str:
        """What was logged since this was last asked; a marked request tells that everything before it is written."""
        assert httpx.get(f"{self.server.url}/v1/keys", headers=self.admin).status_code == 200
        while '"GET", "route": "/v1/keys"' not in (said := self.server.log.read_text()[self._read :]):
            time.sleep(0.02)
        self._read += len(said)
        return said


@pytest.fixture
def watched(sqlite_settings: Settings, serve: Callable[..., Server]) -> Watched:
    """A real server at log level debug."""
    settings = Settings(**(sqlite_settings.model_dump(exclude_unset=True) | {"log_level": "debug"}))
    return Watched(serve(settings))


def without_times(said: str) -> str:
    """A log without what differs between any two requests: moments, durations."""
    said = re.sub(r'"timestamp": "[^"]+"', '"timestamp": "…"', said)
    return re.sub(r'"milliseconds": [\d.]+', '"milliseconds": …', said)


def test_the_log_of_an_upload_does_not_depend_on_its_size(watched: Watched) -> None:
    """Ten rows and 100,000, with and without an estimate, refused or broken off: the same lines, none of an upload."""
    watched.said()
    heard = []
    for count in (10, 100_000):
        for size in ({"declared": 1000}, {"estimate": "0.05"}):
            release = watched.order(size=size)
            uploaded = watched.call("PUT", f"/v1/releases/{release}/records", content=rows(count), headers=CSV)
            assert uploaded.json()["ingest"]["rows_read"] == count
        release = watched.order()
        cut = rows(count).replace(HEADER, b"a,b,c\n")
        assert watched.call("PUT", f"/v1/releases/{release}/records", content=cut, headers=CSV).status_code == 422
        watched.broken_off(release, rows(count))
        heard.append(without_times(watched.said()))
    small, large = heard
    assert small == large
    everything = watched.server.log.read_text()
    assert "records" not in everything
    assert CANARY not in everything
    # Nor of what the curator did before and after: the time between two such lines would be the upload's.
    assert '"route": "/v1/datasets/{name}/releases"' not in everything
    assert '"route": "/v1/keys"' in everything


@pytest.fixture
def talkative(sqlite_settings: Settings) -> Iterator[Api]:
    """The application in this process at log level debug."""
    with Api(create_app(sqlite_settings.model_copy(update={"log_level": "debug"}), frozen_clock)) as opened:
        assert opened.register().status_code == 201
        yield opened


def test_an_upload_to_a_misspelt_address_leaves_no_trace_of_its_size(talkative: Api, capfd: Capture) -> None:
    """A slash too many is still somebody's rows: nothing tells a short body from a long one or has a duration."""
    release = talkative.order().json()["id"]
    heard = []
    for body in (rows(10), rows(10) + b"1,2,x\n" * (MAX_JSON_BYTES // 6)):
        capfd.readouterr()
        reply = talkative.curator("PUT", f"/v1/releases/{release}/records/", content=body, headers=CSV)
        assert reply.status_code in {307, 404, 405, 413}
        heard.append(without_times(capfd.readouterr().err))
    assert heard[0] == heard[1]
    assert "milliseconds" not in heard[0]
    measured = [line for line in talkative.admin("GET", "/metrics").text.splitlines() if "_seconds" in line]
    assert not [line for line in measured if 'method="PUT"' in line]


def test_metrics_know_nothing_of_uploads(talkative: Api) -> None:
    """No process collector, no size, no duration, and no count whose growth would tell the moment."""
    release = talkative.published(rows(10))
    assert talkative.auditor("GET", "/v1/datasets").status_code == 200
    lines = [line for line in talkative.admin("GET", "/metrics").text.splitlines() if not line.startswith("#")]
    assert not [line for line in lines if line.startswith(("process_", "python_"))]
    assert any(line.startswith("rugnik_request_seconds") for line in lines)
    assert not [line for line in lines if CANARY in line or release in line]
    assert not [line for line in lines if ROUTE in line]


def test_metrics_and_logs_name_routes_and_not_addresses(talkative: Api, capfd: Capture) -> None:
    """What a client puts into an address is its own text: a template stands for it, or nothing."""
    for path in (f"/v1/datasets/{CANARY}", f"/v1/releases/{CANARY}", f"/{CANARY}", f"/v1/ledger?dataset={CANARY}"):
        for method in ("GET", "DELETE"):
            talkative.auditor(method, path)
    talkative.call_with(CANARY, "GET", "/v1/datasets", headers={"X-Request-ID": CANARY, "User-Agent": CANARY})
    seen = talkative.admin("GET", "/metrics").text
    said = capfd.readouterr().err
    assert '"route": "/v1/datasets/{name}"' in said
    assert CANARY not in said + seen


def a_bad_row() -> NoReturn:
    raise ValueError(f"could not convert 31.4,{CANARY}")


def failing(*_: object, **__: object) -> NoReturn:
    """A fault that nobody foresaw, with a row in its message and in that of its cause."""
    try:
        a_bad_row()
    except ValueError as error:
        raise KeyError(f"row 7: 31.4,{CANARY}") from error


FAULTS: list[tuple[Any, str, Callable[[Api], httpx.Response]]] = [
    (datasets, "get", lambda api: api.curator("GET", "/v1/datasets/city")),
    (uploading, "read_upload", lambda api: api.upload(api.order().json()["id"])),
    (ordering, "open_book", lambda api: api.order()),
]


@pytest.mark.parametrize(("module", "name", "send"), FAULTS, ids=[fault[1] for fault in FAULTS])
def test_a_fault_is_logged_by_type_and_place_without_its_message(
    talkative: Api,
    monkeypatch: pytest.MonkeyPatch,
    capfd: Capture,
    module: Any,
    name: str,
    send: Callable[[Api], httpx.Response],
) -> None:
    """Enough to find the line of code, and not a word of what may quote a row, chained causes included."""
    monkeypatch.setattr(module, name, failing)
    assert send(talkative).status_code == 500
    said = capfd.readouterr().err
    (line,) = [json.loads(line) for line in said.splitlines() if "request_failed" in line]
    assert line["error"] == "KeyError"
    assert line["at"][-1].startswith("failing:")
    assert CANARY not in said
    # Two failed tries of one upload would tell its duration by their moments, so such a line has the day alone.
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", line["timestamp"])
    assert '"request"' not in said


def test_a_fault_in_a_real_server_is_logged_without_its_message(watched: Watched) -> None:
    """The server's own report of a failed request goes through the same filter."""
    release = watched.order()
    watched.said()
    with closing(sqlite3.connect(watched.server.log.parent / "data" / "rugnik.db")) as connection, connection:
        refusal = f"SELECT RAISE(ABORT, '{CANARY}')"
        connection.execute(f"CREATE TRIGGER in_the_way BEFORE INSERT ON ledger BEGIN {refusal}; END")
    assert watched.call("DELETE", f"/v1/releases/{release}").status_code == 500
    said = watched.said()
    assert "request_failed" in said
    assert "Exception in ASGI application" in said
    assert CANARY not in said
    faults = [json.loads(line) for line in said.splitlines() if "error" in json.loads(line)]
    assert {len(fault["timestamp"]) for fault in faults} == {len("2026-01-02")}
