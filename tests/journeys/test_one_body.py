"""An answer is the same from every worker and after a restart."""

from __future__ import annotations

from collections.abc import Callable

import httpx

from app.settings.settings import Settings
from tests.support.processes.server import Server
from tests.support.service.api import ATTRIBUTES, CSV, ROWS

QUESTIONS = ["clusters?k=3", "count?where=age:20..41.5", "quantiles?attribute=age&q=0.3", "moments"]


def test_the_same_question_again_and_again_is_one_body(settings: Settings, serve: Callable[..., Server]) -> None:
    """Across two workers and a restart, each question has one body and one ETag."""
    first = serve(settings, workers=2)
    headers = {"Authorization": f"Bearer {first.issue_key('curator')}"}
    with httpx.Client(base_url=first.url, headers=headers, timeout=60) as client:
        client.post("/v1/datasets", json={"name": "city", "attributes": ATTRIBUTES, "budget": "1"}).raise_for_status()
        order = client.post("/v1/datasets/city/releases", json={"epsilon": "0.5", "clusters": 4}).json()
        client.put(f"/v1/releases/{order['id']}/records", content=ROWS, headers=CSV).raise_for_status()
    seen: dict[str, set[tuple[bytes, str]]] = {question: set() for question in QUESTIONS}

    def ask(server: Server) -> None:
        # A new connection each time, so that either worker may answer.
        anew = httpx.Limits(max_keepalive_connections=0)
        with httpx.Client(headers=headers, limits=anew, timeout=60) as client:
            for question in QUESTIONS * 20:
                reply = client.get(f"{server.url}/v1/releases/{order['id']}/{question}")
                seen[question].add((reply.raise_for_status().content, reply.headers["etag"]))

    ask(first)
    first.stop()
    ask(serve(settings, workers=2))
    assert {question: len(bodies) for question, bodies in seen.items()} == dict.fromkeys(QUESTIONS, 1)
