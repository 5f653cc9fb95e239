"""Answers from worker processes: the same bytes, a limit on their time, and a service that outlives their deaths."""

from __future__ import annotations

import os
import pickle
import signal
import socket
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from functools import partial
from typing import Any

import httpx
import psutil
import pytest

from app.access.keys import issue_key
from app.access.permissions import Role
from app.answers import answers as answering
from app.answers.answers import Answers
from app.operations.lanes import Lanes
from app.operations.worker_pool import WorkerPool
from app.questions.question import Question
from app.settings.settings import Settings
from tests.support.processes.server import Server
from tests.support.service.api import ATTRIBUTES, CSV, ROWS, Api
from tests.support.service.live import Live, opened_live
from tests.support.service.questions import EXAMPLES

SLOW = "clusters?k=32&group_by=sex&seed={}"  # more than ten seconds
PUBLIC = [example for example in EXAMPLES if example.answer.path != "rows"]
GROUPS = [f"g{number}" for number in range(12)]


def until(condition: Callable[[], object]) -> None:
    """Wait for something that will hold in a moment; a hang fails."""
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def pool_of(app: Any) -> WorkerPool:
    """The worker processes of an application."""
    answers: Answers = app.state.answers
    return answers.long.pool


@pytest.fixture(scope="module")
def city(module_api: Api) -> tuple[Api, str]:
    """A published release."""
    return module_api, module_api.published(epsilon="1")


@pytest.fixture(scope="module")
def module_api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    """An application for the tests of this file that leave it as it was."""
    from app.main import create_app  # noqa: PLC0415 - the other tests here have servers of their own

    settings = Settings(data_dir=tmp_path_factory.mktemp("city") / "data", log_level="warning")
    with Api(create_app(settings)) as api:
        assert api.register().status_code == 201
        yield api


@pytest.mark.parametrize("example", PUBLIC, ids=str)
def test_an_answer_has_the_same_bytes_wherever_it_is_computed(
    city: tuple[Api, str], example: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each question in this process and in a worker process. So each can be pickled, too."""
    api, release = city
    bodies = []
    asked: list[Question] = []
    real = Answers.work_out_apart

    def noting(self: Answers, published: Any, question: Question, checkpoint: Any) -> bytes:
        asked.append(question)
        return real(self, published, question, checkpoint)

    monkeypatch.setattr(Answers, "work_out_apart", noting)
    monkeypatch.setattr(answering.stored_answers, "load", lambda *_: None)
    monkeypatch.setattr(answering.stored_answers, "store", lambda _tx, _key, body, *_, **__: body)
    for seconds in (1e9, 0.0):  # all are quick; none is
        monkeypatch.setattr(answering, "QUICK_SECONDS", seconds)
        api.forget_answers()
        reply = api.analyst(example.method, f"/v1/releases/{release}/{example.address}", **example.options)
        assert reply.status_code == 200, reply.text
        bodies.append(reply.content)
    assert bodies[0] == bodies[1]
    assert len(asked) == 1
    assert pool_of(api.app).pids
    again: Question = pickle.loads(pickle.dumps(asked[0]))  # noqa: S301 - our own
    assert (again.name, dict(again.parameters)) == (asked[0].name, dict(asked[0].parameters))


def test_a_question_that_cannot_be_answered_is_refused_in_the_same_words(
    city: tuple[Api, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """InvalidQuery from a worker process is the 422 that it always was."""
    api, release = city
    replies = []
    for seconds in (1e9, 0.0):
        monkeypatch.setattr(answering, "QUICK_SECONDS", seconds)
        body = {"k": 2, "points": [[1.0]]}
        replies.append(api.analyst("POST", f"/v1/releases/{release}/clusters/assign", json=body))
    assert [reply.status_code for reply in replies] == [422, 422]
    assert replies[0].content == replies[1].content


class Desk:
    """A server with a release whose answers take long, and its analysts."""

    def __init__(self, live: Live) -> None:
        self.live = live
        self.pool, self.lanes = pool_of(live.app), live.app.state.lanes
        self.greedy, self.other = (self.issued(name) for name in ("greedy", "other"))
        self.release = published(live.url, live.keys[Role.CURATOR])

    def issued(self, name: str) -> str:
        """A new analyst's key."""
        return issue_key(self.live.service, name=name, role=Role.ANALYST, datasets=None)[1]

    def ask(self, key: str, question: str) -> socket.socket:
        """A request, sent and not waited for."""
        client = socket.create_connection(("127.0.0.1", int(self.live.url.rpartition(":")[2])))
        asked = f"GET /v1/releases/{self.release}/{question} HTTP/1.1"
        client.sendall(f"{asked}\r\nHost: rugnik\r\nAuthorization: Bearer {key}\r\n\r\n".encode())
        return client

    def get(self, key: str, question: str) -> httpx.Response:
        """A question whose answer is waited for."""
        headers = {"Authorization": f"Bearer {key}"}
        return httpx.get(f"{self.live.url}/v1/releases/{self.release}/{question}", headers=headers, timeout=120)


def published(url: str, curator: str) -> str:
    """A release of 20 x 20 cells for each of 12 groups."""
    with httpx.Client(base_url=url, headers={"Authorization": f"Bearer {curator}"}, timeout=60) as client:
        group = {"name": "sex", "kind": "category", "values": GROUPS}
        body = {"name": "city", "attributes": [*ATTRIBUTES, group], "budget": "3"}
        client.post("/v1/datasets", json=body).raise_for_status()
        order = {"epsilon": "1", "clusters": 4, "size": {"declared": 30_000}}
        release = str(client.post("/v1/datasets/city/releases", json=order).raise_for_status().json()["id"])
        header, *rows = ROWS.decode().split()
        text = "\n".join([f"{header},sex", *(f"{row},{GROUPS[i % 12]}" for i, row in enumerate(rows))])
        client.put(f"/v1/releases/{release}/records", content=text, headers=CSV).raise_for_status()
    return release


@pytest.fixture
def opened_desk(sqlite_settings: Settings) -> Iterator[Callable[..., Desk]]:
    """A way to start such a server with settings of its own."""
    with ExitStack() as servers:

        def start(**changes: Any) -> Desk:
            settings = Settings(**(sqlite_settings.model_dump(exclude_unset=True) | changes))
            return Desk(servers.enter_context(opened_live(settings)))

        yield start


def test_an_answer_beyond_its_time_is_stopped_with_what_to_do(opened_desk: Callable[..., Desk]) -> None:
    """422 with the limit, its setting and advice; the slot is free again."""
    desk = opened_desk(answer_timeout_seconds=3.0)
    refused = desk.get(desk.other, SLOW.format(1))
    assert (refused.status_code, refused.json()["type"]) == (422, "urn:rugnik:problem:answer-stopped")
    assert (refused.json()["allowed"], refused.json()["setting"]) == (3.0, "RUGNIK_ANSWER_TIMEOUT_SECONDS")
    assert "fewer" in refused.json()["detail"]
    until(lambda: desk.lanes.long.busy == 0)
    until(lambda: desk.get(desk.other, "moments").status_code == 200)  # a busy machine may start a process for longer


def test_a_worker_process_computes_for_nobody_whose_client_has_gone(opened_desk: Callable[..., Desk]) -> None:
    """The connection closes, and the process stops within seconds; it is idle and not dead."""
    desk = opened_desk()
    desk.get(desk.greedy, "moments")
    client = desk.ask(desk.greedy, SLOW.format(1))
    until(lambda: desk.lanes.long.busy == 1 and desk.pool.pids)
    busy = psutil.Process(desk.pool.pids[0])
    until(lambda: busy.cpu_times().user > 1)
    client.close()
    until(lambda: desk.lanes.long.busy == 0)
    used = busy.cpu_times().user
    time.sleep(0.5)
    assert busy.cpu_times().user - used < 0.2
    assert desk.pool.pids == [busy.pid]


def test_the_service_outlives_its_worker_processes(opened_desk: Callable[..., Desk]) -> None:
    """One that is killed is replaced, and its question answered; killed again and again, the question is lost: 503."""
    desk = opened_desk()
    question = SLOW.format(1)
    with ThreadPoolExecutor(1) as threads:
        asked = threads.submit(desk.get, desk.other, question)
        for _ in range(2):
            until(lambda: desk.pool.pids)
            killed = desk.pool.pids[0]
            os.kill(killed, signal.SIGKILL)
            until(lambda killed=killed: killed not in desk.pool.pids)
        lost = asked.result(60)
    assert (lost.status_code, lost.json()["type"]) == (503, "urn:rugnik:problem:answer-lost")
    assert int(lost.headers["retry-after"]) >= 1
    assert httpx.get(f"{desk.live.url}/healthz").status_code == 200
    with ThreadPoolExecutor(1) as threads:
        asked = threads.submit(desk.get, desk.other, "clusters?k=8")
        until(lambda: desk.pool.pids)
        os.kill(desk.pool.pids[0], signal.SIGKILL)
        assert asked.result(60).status_code == 200


def test_a_key_is_refused_beyond_its_rate_of_long_answers(opened_desk: Callable[..., Desk]) -> None:
    """429 and Retry-After; answers that are stored and other keys are as before."""
    desk = opened_desk(long_answers_per_minute=1)
    first = desk.get(desk.greedy, "clusters?k=8")
    refused = desk.get(desk.greedy, "clusters?k=8&seed=1")
    assert (first.status_code, refused.status_code) == (200, 429)
    assert 1 <= int(refused.headers["retry-after"]) <= 60
    assert desk.get(desk.greedy, "clusters?k=8").content == first.content
    assert desk.get(desk.other, "clusters?k=8&seed=1").status_code == 200


def counted(desk: Desk) -> dict[str, float]:
    """What /metrics says about lanes."""
    headers = {"Authorization": f"Bearer {desk.live.keys[Role.ADMIN]}"}
    lines = httpx.get(f"{desk.live.url}/metrics", headers=headers).text.splitlines()
    pairs = [line.rpartition(" ") for line in lines if line.startswith("rugnik_lane")]
    return {name.partition(",worker")[0]: float(value) for name, _, value in pairs}


@pytest.mark.parametrize("role", [Role.ANALYST, Role.CURATOR])
def test_queues_and_refusals_are_counted_but_for_curators(
    opened_desk: Callable[..., Desk], role: Role, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of an analyst: how many wait, and how many were refused. Of a curator: nothing at all."""
    desk = opened_desk()
    lanes: Lanes = desk.lanes
    monkeypatch.setattr(lanes.long, "_queue", 2)
    key = desk.greedy if role is Role.ANALYST else desk.live.keys[role]
    before = counted(desk)
    with ExitStack() as waiting:
        for seed in range(3):
            waiting.enter_context(closing(desk.ask(key, SLOW.format(seed))))
        until(lambda: lanes.long.waiting == 2)
        assert desk.get(key, SLOW.format(9)).status_code == 429
        during = counted(desk)
    until(lambda: lanes.long.busy == lanes.long.waiting == 0)
    after = counted(desk)
    changed = {name: during[name] - before[name] for name in during if during[name] != before[name]}
    expected = {'rugnik_lane_waiting{lane="long"': 2.0, 'rugnik_lane_refused_total{lane="long",reason="queue"': 1.0}
    assert changed == (expected if role is Role.ANALYST else {})
    assert {name for name in after if after[name] != during[name]} <= {'rugnik_lane_waiting{lane="long"'}


def test_a_server_that_stops_ends_its_worker_processes(sqlite_settings: Settings) -> None:
    """With its lifespan, although the process goes on."""
    with opened_live(sqlite_settings) as live:
        desk = Desk(live)
        assert desk.get(desk.other, "clusters?k=8").status_code == 200
        pids = desk.pool.pids
    assert pids
    assert not any(map(psutil.pid_exists, pids))


@pytest.mark.parametrize("workers", [1, 2])
def test_worker_processes_of_a_real_server_end_with_it(
    sqlite_settings: Settings, serve: Callable[..., Server], workers: int
) -> None:
    """`rugnik serve`, with and without a supervisor: they answer, SIGTERM ends all of them, and nobody complains."""
    server = serve(sqlite_settings, workers=workers)
    curator, analyst = server.issue_key("curator"), server.issue_key("analyst")
    release = published(server.url, curator)
    get = partial(httpx.get, headers={"Authorization": f"Bearer {analyst}"}, timeout=120)
    assert get(f"{server.url}/v1/releases/{release}/clusters?k=8").status_code == 200
    children = psutil.Process(server.process.pid).children(recursive=True)
    computing = [child for child in children if "worker_process" in " ".join(child.cmdline())]
    assert len(computing) == 1
    server.stop()
    until(lambda: not any(child.is_running() for child in children))
    assert "Traceback" not in server.log.read_text()
