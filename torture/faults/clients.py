"""Clients that vanish in an upload, before a reply or in one; and clients that upload a few bytes a second."""

from __future__ import annotations

import socket
import struct
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any

import httpx

from tests.support.processes.sockets import connected, head, reply
from torture.curator import CSV, ordered
from torture.faults.trial import Fault, Scene, Strike
from torture.model import Broken
from torture.services import ADMIN_KEY, ROWS, Place, folder, settings

_AT_ONCE = 3
_RESET = struct.pack("ii", 1, 0)  # SO_LINGER: the connection ends with RST in place of FIN
_IDLE_SECONDS, _BYTES_PER_SECOND = 0.5, 1000


@contextmanager
def _place(strike: Strike, **own: Any) -> Iterator[tuple[Place, Strike]]:
    with folder() as made:
        yield Place(settings(made, max_uploads=2 * _AT_ONCE, upload_wait_seconds=30, **own), made), strike


def vanish_in_an_upload(scene: Scene) -> None:
    """A part of the rows, and gone, politely or not. The order is open, and takes all rows from whoever is patient."""
    for number in range(_AT_ONCE):
        release = _an_order(scene)
        with _begun(scene, release, len(ROWS)) as client:
            client.sendall(ROWS[: scene.chance.randrange(1, len(ROWS))])
            _end(client, rudely=number % 2 == 0)
        _require_published(scene, release)


def vanish_before_the_reply(scene: Scene) -> None:
    """All rows, and gone. The release is published, or its order is open; it is not burnt."""
    for number in range(_AT_ONCE):
        release = _an_order(scene)
        with _begun(scene, release, len(ROWS)) as client:
            client.sendall(ROWS)
            time.sleep(scene.chance.uniform(0, 0.02))
            _end(client, rudely=number % 2 == 0)
        _require_published(scene, release)


def vanish_in_a_reply(scene: Scene) -> None:
    """An export of the ledger, of which a few bytes are read."""
    for number in range(_AT_ONCE):
        with connected(scene.server.url, receive_buffer=4096) as client:
            client.sendall(head("GET", "/v1/ledger/export", Authorization=f"Bearer {ADMIN_KEY}"))
            if client.recv(scene.chance.randint(12, 4096))[:12] != b"HTTP/1.1 200":
                raise Broken("An export was refused.")
            _end(client, rudely=number % 2 == 0)


def trickle(scene: Scene) -> None:
    """Uploads that never end: 408 each, at no charge, while the others are served. Its rows may come again."""
    with ExitStack() as open_ones:
        releases = [_an_order(scene) for _ in range(_AT_ONCE)]
        clients = [open_ones.enter_context(_begun(scene, release, len(ROWS))) for release in releases]
        for place in range(10):
            for client in clients:
                client.sendall(ROWS[place : place + 1])
            time.sleep(_IDLE_SECONDS / 10)
        for client in clients:
            status, _, problem = reply(client)
            if (status, problem and problem["type"]) != (408, "urn:rugnik:problem:too-slow"):
                raise Broken(f"An upload that trickled got {status}.")
    for release in releases:
        _require_published(scene, release)


def _an_order(scene: Scene) -> str:
    with scene.here.client(scene.server) as curator:
        release = ordered(curator, scene.acknowledged, scene.chance)
    if release is None:
        raise Broken("An order was refused.")
    return release


@contextmanager
def _begun(scene: Scene, release: str, length: int) -> Iterator[socket.socket]:
    """An upload that says how long it is, and has sent nothing of it yet."""
    fields = {"Authorization": f"Bearer {scene.here.curator}", "Content-Length": str(length), **CSV}
    with connected(scene.server.url) as client:
        client.sendall(head("PUT", f"/v1/releases/{release}/records", **fields))
        yield client


def _end(client: socket.socket, *, rudely: bool) -> None:
    if rudely:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
    client.close()


def _require_published(scene: Scene, release: str) -> None:
    """The release takes its rows, unless the service is at work on those that it has, or has published them."""
    with scene.here.client(scene.server) as curator:
        answer = curator.put(f"/v1/releases/{release}/records", content=ROWS, headers=CSV)
        if answer.status_code == httpx.codes.CONFLICT:
            _until_published(curator, release)
        elif not answer.is_success:
            raise Broken(f"The rows of {release} are refused with {answer.status_code}.")
        scene.acknowledged.digests[release] = curator.get(f"/v1/releases/{release}").json()["synopsis"]["digest"]


def _until_published(curator: httpx.Client, release: str) -> None:
    """Of an upload whose client is gone and whose rows are all there."""
    deadline = time.monotonic() + 60
    while curator.get(f"/v1/releases/{release}").json()["state"] != "published":
        if time.monotonic() > deadline:
            raise Broken(f"{release} was burnt, because its client did not wait for the reply.")
        time.sleep(0.02)


FAULTS = (
    Fault("clients that vanish in an upload", partial(_place, vanish_in_an_upload), is_felt=False),
    Fault("clients that vanish before the reply", partial(_place, vanish_before_the_reply), is_felt=False),
    Fault("clients that vanish in a reply", partial(_place, vanish_in_a_reply), is_felt=False),
    Fault(
        "uploads that trickle",
        partial(_place, trickle, upload_idle_seconds=_IDLE_SECONDS, upload_bytes_per_second=_BYTES_PER_SECOND),
        is_felt=False,
    ),
)
