"""A slow upload ends by itself and leaves its order open; one key cannot keep the others from uploading."""

from __future__ import annotations

import select
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import httpx

from app.settings.settings import Settings
from tests.support.processes.server import Server
from tests.support.processes.sockets import connected, head, reply
from tests.support.service.api import ATTRIBUTES, CSV

MEDIA_TYPES = [
    "text/csv",
    "application/x-ndjson",
    "application/vnd.apache.parquet",
    "application/vnd.apache.arrow.stream",
]


def bearer(key: str) -> dict[str, str]:
    """The header that shows a key."""
    return {"Authorization": f"Bearer {key}"}


def ordered(server: Server, key: str, name: str = "city") -> str:
    """An order of a dataset that is registered on the way."""
    with httpx.Client(base_url=server.url, headers=bearer(key), timeout=60) as client:
        client.post("/v1/datasets", json={"name": name, "attributes": ATTRIBUTES, "budget": "3"})
        body = {"epsilon": "0.5", "clusters": 4, "size": {"declared": 500}}
        return str(client.post(f"/v1/datasets/{name}/releases", json=body).raise_for_status().json()["id"])


def begun(server: Server, key: str, release: str, media_type: str = "text/csv") -> socket.socket:
    """An upload that says it has a thousand bytes and has sent none of them."""
    connection = connected(server.url)
    fields = bearer(key) | {"Content-Type": media_type, "Content-Length": "1000"}
    connection.sendall(head("PUT", f"/v1/releases/{release}/records", **fields))
    return connection


def uploaded(server: Server, key: str, release: str) -> httpx.Response:
    """A whole upload of one row."""
    address = f"{server.url}/v1/releases/{release}/records"
    return httpx.put(address, content=b"age,income\n1,2\n", headers=bearer(key) | CSV, timeout=60)


@contextmanager
def trickling(connection: socket.socket) -> Iterator[None]:
    """Send a byte ten times a second until the block ends."""
    over = threading.Event()

    def trickle() -> None:
        while not over.wait(0.1):
            try:
                connection.sendall(b"a")
            except OSError:
                return

    thread = threading.Thread(target=trickle)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def test_an_upload_without_a_byte_is_ended_and_may_be_repeated_at_no_charge(
    sqlite_settings: Settings, serve: Callable[..., Server]
) -> None:
    """408 with a sentence that says so, for every kind of file; the slot and its thread are free, the order open."""
    server = serve(sqlite_settings.model_copy(update={"upload_idle_seconds": 0.5, "max_uploads": 1}))
    key = server.issue_key("curator")
    release = ordered(server, key)
    for media_type in MEDIA_TYPES:  # from the second on, 503 if the one before still held the only slot
        with begun(server, key, release, media_type) as connection:
            status, headers, problem = reply(connection)
        assert (status, headers["content-type"]) == (408, "application/problem+json")
        assert problem["type"] == "urn:rugnik:problem:too-slow"
        assert "at no charge" in problem["detail"]
    assert uploaded(server, key, release).status_code == 200


def test_an_upload_that_trickles_is_ended(sqlite_settings: Settings, serve: Callable[..., Server]) -> None:
    """Never idle for long, and still below the least rate: ended in the middle of its trickle."""
    changes = {"upload_idle_seconds": 1.0, "upload_bytes_per_second": 1000}
    server = serve(sqlite_settings.model_copy(update=changes))
    key = server.issue_key("curator")
    with begun(server, key, ordered(server, key)) as connection, trickling(connection):
        status, _, problem = reply(connection)
    assert (status, problem["type"]) == (408, "urn:rugnik:problem:too-slow")


def test_one_key_does_not_hold_every_slot(sqlite_settings: Settings, serve: Callable[..., Server]) -> None:
    """While one curator keeps connections open, another one uploads; the first is told when to come back."""
    server = serve(sqlite_settings.model_copy(update={"max_uploads": 2, "upload_wait_seconds": 0.2}))
    greedy, other = (server.issue_key("curator") for _ in range(2))
    releases = [ordered(server, greedy, f"greedy-{number}") for number in range(2)]
    wanted = ordered(server, other, "other")
    with begun(server, greedy, releases[0]) as first, begun(server, greedy, releases[1]) as second:
        answered, _, _ = select.select([first, second], [], [], 60)  # the service may see either connection first
        (refused,) = answered
        held = second if refused is first else first
        status, headers, problem = reply(refused)
        assert (status, problem["type"]) == (503, "urn:rugnik:problem:busy")
        assert "key" in problem["detail"]
        assert int(headers["retry-after"]) >= 1
        assert uploaded(server, other, wanted).status_code == 200
        held.sendall(b"age,income\n" + b" " * 989)  # the one that has the slot goes on
        assert reply(held)[0] == 200
