"""Fairness between keys, over real sockets: shares, refusals, and work that stops when its client goes away."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from threading import Event
from typing import Any

import httpx
import pytest

from app.access.keys import issue_key
from app.access.permissions import Role
from app.operations.lanes import Lanes
from app.questions import clusters
from app.questions.encoding import encode
from app.questions.prepared import Prepared
from app.questions.question import Question
from app.settings.settings import Settings
from core.checkpoint import Checkpoint
from core.clustering.methods import Method
from core.queries.clusters import find_clusters
from tests.support.service.api import ATTRIBUTES, CSV, ROWS, Api
from tests.support.service.live import Live, opened_live


def until(condition: Callable[[], bool]) -> None:
    """Wait for something that will hold in a moment; a hang fails."""
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def answered_here(prepared: Prepared, question: Question, checkpoint: Checkpoint) -> bytes:
    """A long answer in this process, where a test can hold it up; other processes: test_long_answers.py."""
    return encode(question.answer(prepared, checkpoint))


class Desk:
    """A server with a release, whose clusterings take until they may end; and two analysts."""

    def __init__(self, live: Live) -> None:
        self.live = live
        self.lanes: Lanes = live.app.state.lanes
        self.go_on = Event()
        self.begun: list[int] = []
        self.greedy, self.other = (
            issue_key(live.service, name=name, role=Role.ANALYST, datasets=None)[1] for name in ("greedy", "other")
        )
        with httpx.Client(base_url=live.url, headers={"Authorization": f"Bearer {live.keys[Role.CURATOR]}"}) as client:
            body = {"name": "city", "attributes": ATTRIBUTES, "budget": "3"}
            client.post("/v1/datasets", json=body).raise_for_status()
            order = {"epsilon": "1", "clusters": 4, "size": {"declared": 500}}
            self.release = client.post("/v1/datasets/city/releases", json=order).json()["id"]
            client.put(f"/v1/releases/{self.release}/records", content=ROWS, headers=CSV).raise_for_status()

    def slow_clusters(self, *args: Any, checkpoint: Callable[[], None], **options: Any) -> Any:
        """Clusters that are worked out once they may be, and look for their checkpoint until then."""
        self.begun.append(options["seed"])
        while not self.go_on.wait(0.01):
            checkpoint()
        return find_clusters(*args, **(options | {"checkpoint": checkpoint, "method": Method.PROJECTED}))

    def ask(self, key: str, seed: int) -> socket.socket:
        """A request for clusters, sent and not waited for. k = 8 is more than a quick answer by its estimate."""
        client = socket.create_connection(("127.0.0.1", int(self.live.url.rpartition(":")[2])))
        asked = f"GET /v1/releases/{self.release}/clusters?k=8&seed={seed} HTTP/1.1"
        client.sendall(f"{asked}\r\nHost: rugnik\r\nAuthorization: Bearer {key}\r\n\r\n".encode())
        return client

    def get(self, key: str, question: str) -> httpx.Response:
        """A question whose answer is waited for."""
        headers = {"Authorization": f"Bearer {key}"}
        return httpx.get(f"{self.live.url}/v1/releases/{self.release}/{question}", headers=headers, timeout=60)


@pytest.fixture
def desk(sqlite_settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Iterator[Desk]:
    """A server whose clusterings wait."""
    with opened_live(sqlite_settings) as live:
        desk = Desk(live)
        monkeypatch.setattr(clusters, "find_clusters", desk.slow_clusters)
        monkeypatch.setattr(live.app.state.answers.long, "work_out", answered_here)
        yield desk
        desk.go_on.set()


def test_another_analysts_questions_are_answered_beside_many_expensive_ones(desk: Desk) -> None:
    """While all clusterings of one key are at work or wait: counts, marginals, rows and clusters of another key."""
    with ExitStack() as waiting:
        for seed in range(8):
            waiting.enter_context(closing(desk.ask(desk.greedy, seed)))
        until(lambda: desk.lanes.long.waiting == 7)
        for question in ("count?where=age:1..30", "marginal?attributes=age", "moments", "rows?count=10"):
            for key in (desk.other, desk.greedy):
                assert desk.get(key, question).status_code == 200
        assert (desk.lanes.long.busy, desk.lanes.long.waiting) == (1, 7)  # none of the expensive ones is done
        with ThreadPoolExecutor(1) as pool:
            own = pool.submit(desk.get, desk.other, "clusters?k=8&seed=100")
            until(lambda: 100 in desk.begun)  # at work beside the greedy key's first, before its second
            assert len(desk.begun) == 2
            desk.go_on.set()
            assert own.result().status_code == 200


def test_a_key_with_too_many_questions_is_told_when_to_come_back(desk: Desk) -> None:
    """Of 24 expensive questions at once as many wait as may; the others get 429, Retry-After and a sentence."""
    with ExitStack() as waiting:
        asked = [waiting.enter_context(closing(desk.ask(desk.greedy, seed))) for seed in range(9)]
        until(lambda: desk.lanes.long.waiting == 8)
        for seed in range(9, 24):
            refused = desk.get(desk.greedy, f"clusters?k=8&seed={seed}")
            assert (refused.status_code, refused.json()["type"]) == (429, "urn:rugnik:problem:too-many-requests")
            assert int(refused.headers["retry-after"]) >= 1
            assert refused.json()["detail"]
        desk.go_on.set()
        assert {client.recv(12) for client in asked} == {b"HTTP/1.1 200"}


def test_work_ends_with_its_client(desk: Desk) -> None:
    """Connections that close: what waits is dropped, what is at work stops; nothing is left of either."""
    clients = [
        desk.ask(key, seed) for key, seeds in ((desk.greedy, range(5)), (desk.other, range(5, 10))) for seed in seeds
    ]
    until(lambda: (desk.lanes.long.busy, desk.lanes.long.waiting, len(desk.begun)) == (2, 8, 2))
    for client in reversed(clients):  # those that wait leave before those at work
        client.close()
    until(lambda: desk.lanes.long.busy == desk.lanes.long.waiting == 0)
    desk.go_on.set()
    assert desk.get(desk.other, "clusters?k=8&seed=1").status_code == 200


def test_an_answer_that_somebody_else_waits_for_is_not_stopped(desk: Desk) -> None:
    """Two analysts ask the same; the first goes away; the second gets the one answer that was begun."""
    first = desk.ask(desk.greedy, 7)
    until(lambda: desk.begun == [7])
    (flight,) = desk.lanes._flights.values()
    with ThreadPoolExecutor(1) as pool:
        answer = pool.submit(desk.get, desk.other, "clusters?k=8&seed=7")
        until(lambda: flight.waiters == 2)
        first.close()
        until(lambda: flight.waiters == 1)
        desk.go_on.set()
        assert answer.result().status_code == 200
    assert desk.begun == [7]


def test_a_question_beyond_the_limit_is_refused_with_what_to_reduce(sqlite_settings: Settings) -> None:
    """422 before any work, by an estimate from public numbers: what it would take, what is allowed, what to change."""
    settings = Settings(**sqlite_settings.model_dump(exclude_unset=True), max_answer_seconds=0.02)
    with opened_live(settings) as live:
        desk = Desk(live)
        for question in ("clusters?k=8", "clusters/scan?k=2..10"):
            refused = desk.get(desk.other, question)
            assert (refused.status_code, refused.json()["type"]) == (422, "urn:rugnik:problem:too-much-work")
            assert refused.json()["setting"] == "RUGNIK_MAX_ANSWER_SECONDS"
            assert refused.json()["seconds"] > refused.json()["allowed"] == 0.02
            assert "fewer" in refused.json()["detail"]
        assert desk.get(desk.other, "count").status_code == 200
        assert desk.get(desk.other, "clusters?k=0").json()["type"] == "urn:rugnik:problem:invalid-query"


def cached(api: Api) -> tuple[Any, Any]:
    """The two caches of answers: bodies and request lines."""
    return api.app.state.answers._bodies, api.app.state.hot_answers._kept


def test_answers_and_request_lines_have_one_budget_together(sqlite_api: Api) -> None:
    """RUGNIK_ANSWER_MEMORY_BYTES is granted once: bodies are kept in one place, and both caches add up to it."""
    sqlite_api.register()
    release = sqlite_api.published(epsilon="1")
    bodies, lines = cached(sqlite_api)
    assert bodies._capacity + lines._capacity == sqlite_api.service.settings.answer_memory_bytes
    for k in range(1, 40):
        assert sqlite_api.analyst("GET", f"/v1/releases/{release}/count?where=age:{k}..50").status_code == 200
    assert len(lines._values) == len(bodies._values) == 39
    assert not any(hasattr(kept, "body") for kept in lines._values.values())
    first = sqlite_api.analyst("GET", f"/v1/releases/{release}/count?where=age:1..50")
    assert (first.status_code, first.json()["parameters"]["where"]) == (200, ["age:1..50"])


def test_what_a_client_sends_in_a_header_is_not_kept(sqlite_api: Api) -> None:
    """A request line counts with its length, and one that is too long is not remembered: it is answered anew."""
    sqlite_api.register()
    release = sqlite_api.published(epsilon="1")
    _, lines = cached(sqlite_api)
    for number in range(20):
        accept = "application/json" + f";x={number}" + " " * 100_000
        assert sqlite_api.analyst("GET", f"/v1/releases/{release}/count", headers={"Accept": accept}).status_code == 200
    assert sum(map(len, lines._values)) <= lines.weight < 100_000
    before = lines.weight
    sqlite_api.analyst("GET", f"/v1/releases/{release}/count", headers={"Accept": "application/json;q=0.5"})
    assert lines.weight - before > len(f"/v1/releases/{release}/count? application/json;q=0.5")
