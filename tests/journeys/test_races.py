"""Many clients at once, through several worker processes, on each kind of database."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import httpx

from app.settings.settings import Settings
from tests.support.processes.server import Server
from torture.races import issued, raced
from torture.services import place
from torture.verdict import judge

CLIENTS = 64
ROOM = 10


def test_sixty_four_orders_with_room_for_ten(settings: Settings, serve: Callable[..., Server]) -> None:
    """Exactly ten get 201 through two workers, the others 409, and the budget is spent to the last billionth."""
    server = serve(settings, workers=2)
    headers = {"Authorization": f"Bearer {server.issue_key('curator')}"}
    with httpx.Client(base_url=server.url, headers=headers, timeout=120) as client:
        dataset = {"name": "city", "attributes": [{"name": "x", "lower": 0, "upper": 1}], "budget": "1"}
        assert client.post("/v1/datasets", json=dataset).status_code == 201
        order = {"epsilon": "0.1", "clusters": 2, "size": {"declared": 10}}
        with ThreadPoolExecutor(CLIENTS) as pool:
            replies = pool.map(lambda _: client.post("/v1/datasets/city/releases", json=order), range(CLIENTS))
            statuses = Counter(reply.status_code for reply in replies)
        assert statuses == {201: ROOM, 409: CLIENTS - ROOM}
        dataset = client.get("/v1/datasets/city").json()
        assert dataset["budget"] == {"granted": "1", "spent": "1", "remaining": "0"}
        assert len(dataset["releases"]) == ROOM
        entries = client.get("/v1/ledger").json()["entries"]
        assert [entry["kind"] for entry in entries] == ["grant"] + ["charge"] * ROOM


def test_what_racing_clients_are_told_is_one_sequence_of_the_ledger() -> None:
    """One round of `make torture ONLY=races`: several keys approve one request, several clients send one order."""
    with place("SQLite") as here:
        server = here.start(workers=2)
        try:
            replies = raced(here, server, issued(server), "city", clients=10)
            judge(here.checked(server), "city", replies)
        finally:
            server.stop()
    done = {reply.action for reply in replies if reply.status < 300}
    assert {"charge", "request", "approve", "publish"} <= done
