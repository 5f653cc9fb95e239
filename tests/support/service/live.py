"""Live: the application behind a real socket in this process, and ways to let it fail on purpose."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Event, Thread
from typing import Any

import uvicorn
from fastapi import FastAPI

from app.access.keys import issue_key
from app.access.permissions import Role
from app.main import create_app
from app.service import Service
from app.settings.settings import Settings
from rugnik import Client, Retries
from tests.support.service.workers import lend_workers

Fault = Callable[["Unreliable", Any, Any, Any], Any]


@dataclass
class Unreliable:
    """An application that treats the next requests of a method as told: each fault is used up once."""

    app: Any
    faults: dict[str, list[Fault]] = field(default_factory=dict)
    seen: list[tuple[str, str]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """The next fault for this method, or the application itself."""
        if scope["type"] == "http":
            self.seen.append((scope["method"], scope["path"]))
            self.headers.append({name.decode(): value.decode() for name, value in scope["headers"]})
            waiting = self.faults.get(scope["method"], [])
            if waiting:
                await waiting.pop(0)(self, scope, receive, send)
                return
        await self.app(scope, receive, send)


async def _reply(send: Any, status: int, body: bytes, **headers: str) -> None:
    listed = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": status, "headers": listed})
    await send({"type": "http.response.body", "body": body})


def refuse(status: int, problem: str | None = None, *, after: str | None = None) -> Fault:
    """A refusal before the application, or the body of the request, is touched."""

    async def fault(_self: Unreliable, _scope: Any, _receive: Any, send: Any) -> None:
        body = {"type": f"urn:rugnik:problem:{problem}", "title": "No", "status": status, "detail": "Not now."}
        headers = {"retry_after": after} if after else {}
        await _reply(send, status, json.dumps(body).encode() if problem else b"<html>", **headers)

    return fault


async def honest(self: Unreliable, scope: Any, receive: Any, send: Any) -> None:
    """No fault at all, for the request before the one that is meant."""
    await self.app(scope, receive, send)


def repeat(body: Any) -> Fault:
    """An answer that was true a moment ago."""

    async def fault(_self: Unreliable, _scope: Any, _receive: Any, send: Any) -> None:
        await _reply(send, 200, json.dumps(body).encode())

    return fault


async def break_before(_self: Unreliable, _scope: Any, _receive: Any, send: Any) -> None:
    """The connection breaks and the application never heard of the request."""
    await _reply(send, 200, b"{", content_length="1000")


async def lose_reply(self: Unreliable, scope: Any, receive: Any, send: Any) -> None:
    """The application does its work, and the connection breaks in the middle of its reply."""

    async def swallow(_message: Any) -> None:
        return

    await self.app(scope, receive, swallow)
    await _reply(send, 200, b"{", content_length="1000")


@dataclass
class Live:
    """A server in a thread: its address, its application, and a client for each role."""

    url: str
    app: FastAPI
    gate: Unreliable
    keys: dict[Role, str]
    naps: list[float] = field(default_factory=list)
    city: str = "city"

    @property
    def service(self) -> Service:
        """The Service behind the application."""
        service: Service = self.app.state.service
        return service

    def client(self, role: Role | None, **options: Any) -> Client:
        """A client with the key of a role; it notes how long it would have waited, and does not wait."""
        key = self.keys[role] if role else None
        return Client(self.url, key, **({"retries": Retries(sleep=self.naps.append)} | options))


@contextmanager
def opened_live(settings: Settings, *, own_workers: bool = True) -> Iterator[Live]:
    """A server on a free port of this machine, until the block ends."""
    app = create_app(settings)
    if not own_workers:
        lend_workers(app)
    gate = Unreliable(app)
    server = uvicorn.Server(
        uvicorn.Config(gate, access_log=False, log_config=None, lifespan="on", timeout_graceful_shutdown=5)
    )
    listener = socket.create_server(("127.0.0.1", 0))
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 2**16)  # so that a client that does not read is soon felt
    ready = Event()

    async def startup(sockets: Any = None) -> None:
        await uvicorn.Server.startup(server, sockets)
        ready.set()

    server.startup = startup  # type: ignore[method-assign]
    thread = Thread(target=server.run, args=([listener],), daemon=True)
    thread.start()
    assert ready.wait(timeout=60)
    service: Service = app.state.service
    keys = {role: issue_key(service, name=role.value, role=role, datasets=None)[1] for role in Role}
    try:
        yield Live(url=f"http://127.0.0.1:{listener.getsockname()[1]}", app=app, gate=gate, keys=keys)
    finally:
        server.should_exit = True
        thread.join(timeout=60)
        listener.close()
