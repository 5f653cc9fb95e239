"""Replies in pieces: whoever reads slowly, or not at all, holds no connection of the pool, no thread and no other."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

import httpx
import pytest

from app.access.keys import issue_key
from app.access.permissions import Role
from app.http import streaming
from app.http.routes import ledger as routes
from app.ledger import audits, verification
from app.main import make_service
from app.operations.lanes import STREAMS_PER_KEY, Lanes
from app.releases import datasets
from app.service import Service
from app.settings.settings import Settings
from core.budget import Epsilon
from tests.support.databases.books import ADMIN, vast_ledger
from tests.support.service.api import frozen_clock
from tests.support.service.live import Live, opened_live

ENTRIES = 2_500  # a megabyte: more than two small buffers hold
READERS = 5


def until(condition: Callable[[], bool]) -> None:
    """Wait for something that will hold in a moment; a hang fails."""
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def lanes_of(live: Live) -> Lanes:
    """The lanes of a server in this process."""
    lanes: Lanes = live.app.state.lanes
    return lanes


def held(service: Service) -> int:
    """How many connections of the pool are in use."""
    return int(service.database.engine.pool.checkedout())  # type: ignore[attr-defined]


@pytest.fixture
def audited(settings: Settings) -> Iterator[Live]:
    """A server with a long ledger, on each kind of database."""
    with opened_live(settings) as live:
        vast_ledger(live.service, entries=ENTRIES)
        yield live


@contextmanager
def unread(live: Live, key: str, path: str) -> Iterator[socket.socket]:
    """A request whose reply has begun and is not read any further."""
    with socket.socket() as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.connect(("127.0.0.1", int(live.url.rpartition(":")[2])))
        client.sendall(f"GET {path} HTTP/1.1\r\nHost: rugnik\r\nAuthorization: Bearer {key}\r\n\r\n".encode())
        assert client.recv(12) == b"HTTP/1.1 200"
        yield client


def auditors(live: Live) -> list[str]:
    """The keys of some auditors."""
    return [issue_key(live.service, name=f"a{i}", role=Role.AUDITOR, datasets=None)[1] for i in range(READERS)]


@pytest.mark.parametrize("form", ["ndjson", "csv"])
def test_readers_that_stall_hold_no_connection_and_nobody_up(audited: Live, form: str) -> None:
    """20 exports that are not read: all connections are in the pool, and all is served; closed, nothing is left."""
    lanes, keys = lanes_of(audited), auditors(audited)
    newest = audited.service.replay.head.seq
    with ExitStack() as stalled:
        for key in keys:
            for _ in range(STREAMS_PER_KEY):
                stalled.enter_context(unread(audited, key, f"/v1/ledger/export?format={form}"))
        until(lambda: lanes.pieces.busy == lanes.pieces.waiting == 0)
        assert (lanes.streams, held(audited.service)) == (READERS * STREAMS_PER_KEY, 0)
        with audited.client(Role.AUDITOR) as auditor:
            assert auditor.ledger_head().seq == newest
            assert auditor.ledger(limit=5).entries
    until(lambda: lanes.streams == 0)
    assert held(audited.service) == 0
    with audited.client(Role.AUDITOR) as auditor:
        assert [auditor.ledger_head().seq for _ in range(30)] == [newest] * 30


def test_a_key_has_so_many_streams_and_the_others_theirs(audited: Live) -> None:
    """One more gets 429 with Retry-After and a sentence; another key is served, and so is this one later."""
    lanes, (greedy, other, *_) = lanes_of(audited), auditors(audited)
    address, headers = f"{audited.url}/v1/ledger/export", {"Authorization": f"Bearer {greedy}"}
    with ExitStack() as stalled:
        for _ in range(STREAMS_PER_KEY):
            stalled.enter_context(unread(audited, greedy, "/v1/ledger/export"))
        refused = httpx.get(address, headers=headers)
        assert (refused.status_code, refused.json()["type"]) == (429, "urn:rugnik:problem:too-many-requests")
        assert int(refused.headers["retry-after"]) >= 1
        assert str(STREAMS_PER_KEY) in refused.json()["detail"]
        refused = httpx.post(f"{audited.url}/v1/ledger/verifications", headers=headers)
        assert refused.status_code == 429
        with unread(audited, other, "/v1/ledger/export"):
            assert lanes.streams == STREAMS_PER_KEY + 1
    until(lambda: lanes.streams == 0)
    assert httpx.get(address, headers=headers).text.count("\n") == audited.service.replay.head.seq


def test_a_client_that_takes_nothing_is_given_up(audited: Live, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its stream ends though its connection is open, so that it cannot keep a place for ever."""
    monkeypatch.setattr(streaming, "STALLED_SECONDS", 0.2)
    with unread(audited, audited.keys[Role.AUDITOR], "/v1/ledger/export"):
        until(lambda: lanes_of(audited).streams == 0)


@pytest.fixture
def service(settings: Settings) -> Iterator[Service]:
    """A ledger of some batches, on each kind of database."""
    opened = make_service(settings, frozen_clock)
    vast_ledger(opened, entries=2500)
    yield opened
    opened.database.dispose()


def test_an_export_is_one_ledger_whatever_is_appended_meanwhile(service: Service) -> None:
    """It ends at the head that it began with, and between two pieces it is in no transaction."""
    pieces = routes._lines(service)
    taken = next(pieces)
    datasets.grant(service, ADMIN, "vast", epsilon=Epsilon.parse("0.1"), reason="late")
    for piece in pieces:
        assert held(service) == 0
        taken += piece
    assert [json.loads(line)["seq"] for line in taken.splitlines()] == list(range(1, 2501))


def test_a_verification_is_in_no_transaction_between_its_steps(service: Service) -> None:
    """Whoever reads its progress slowly holds nothing; it is on record at the end."""
    steps = []
    for step in audits.verify_on_record(service, ADMIN):
        assert held(service) == 0
        steps.append(step.entries)
    assert steps == [1000, 2000, 2500]
    assert verification.verify_all(service).valid
