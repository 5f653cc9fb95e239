"""The service under a supervisor (SIGTERM) and behind a TLS proxy (forwarded headers)."""

from __future__ import annotations

import signal
import socket
from collections.abc import Callable

import httpx
import pytest

from app.settings.settings import Settings
from tests.support.processes.server import Server
from tests.support.service.api import ATTRIBUTES


def accepts(port: int) -> bool:
    """Whether anybody listens."""
    try:
        socket.create_connection(("127.0.0.1", port)).close()
    except ConnectionError:
        return False
    return True


def test_an_upload_at_work_is_published_before_the_service_stops(
    sqlite_settings: Settings, serve: Callable[..., Server]
) -> None:
    """SIGTERM in the middle of a body: no new connections, the upload gets its 200, and only then the process ends."""
    server = serve(sqlite_settings)
    key = server.issue_key("curator")
    with httpx.Client(base_url=server.url, headers={"Authorization": f"Bearer {key}"}, timeout=60) as client:
        client.post("/v1/datasets", json={"name": "city", "attributes": ATTRIBUTES, "budget": "1"}).raise_for_status()
        order = client.post("/v1/datasets/city/releases", json={"epsilon": "0.5", "clusters": 4}).json()["id"]
    port = int(server.url.rpartition(":")[2])
    with socket.create_connection(("127.0.0.1", port)) as upload:
        headers = [
            f"PUT /v1/releases/{order}/records HTTP/1.1",
            "Host: rugnik",
            f"Authorization: Bearer {key}",
            "Content-Type: text/csv",
            "Content-Length: 25",
            "Expect: 100-continue",
        ]
        upload.sendall("\r\n".join([*headers, "", ""]).encode())
        assert upload.recv(100).startswith(b"HTTP/1.1 100")  # the body is asked for: the upload is at work
        upload.sendall(b"age,income\n30,400\n")
        server.process.send_signal(signal.SIGTERM)
        while accepts(port):
            pass
        assert server.process.poll() is None
        upload.sendall(b"31,401\n")
        assert upload.recv(1000).startswith(b"HTTP/1.1 200")
    assert server.process.wait(timeout=60) in {0, -signal.SIGTERM}

    again = serve(sqlite_settings)
    release = httpx.get(f"{again.url}/v1/releases/{order}", headers={"Authorization": f"Bearer {key}"}).json()
    assert release["state"] == "published"


@pytest.mark.parametrize(("trusted", "scheme"), [("127.0.0.1", "https"), ("192.0.2.0/24", "http")])
def test_only_a_trusted_proxy_tells_the_scheme(
    sqlite_settings: Settings, serve: Callable[..., Server], trusted: str, scheme: str
) -> None:
    """A session's cookie is for https alone behind one's own proxy, and nobody else can claim to be one."""
    server = serve(Settings(**sqlite_settings.model_dump(exclude_unset=True), trusted_proxies=trusted))
    form = {"key": server.issue_key("analyst")}
    reply = httpx.post(f"{server.url}/sign-in", data=form, headers={"X-Forwarded-Proto": "https"})
    assert reply.status_code == 303
    assert ("Secure" in reply.headers["set-cookie"]) == (scheme == "https")
