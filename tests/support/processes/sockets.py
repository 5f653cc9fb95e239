"""Connections by hand, for tests of what no well-behaved client sends."""

from __future__ import annotations

import json
import socket
from typing import Any
from urllib.parse import urlsplit

PATIENCE = 60.0  # a safety net, not a promise: a busy machine is not a fault


def connected(url: str, *, receive_buffer: int | None = None) -> socket.socket:
    """A connection to a server; with a small receive buffer, a reply soon waits for whoever reads it."""
    parts = urlsplit(url)
    opened = socket.socket()
    if receive_buffer is not None:
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
    opened.settimeout(PATIENCE)
    opened.connect((parts.hostname, parts.port))
    return opened


def head(method: str, path: str, **headers: str) -> bytes:
    """A request's head; underscores in names become hyphens."""
    lines = [f"{method} {path} HTTP/1.1", "Host: rugnik"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode()


def reply(connection: socket.socket) -> tuple[int, dict[str, str], Any]:
    """Status, headers and JSON body of the next reply; status 0 where the connection ended without one."""
    received = b""
    while b"\r\n\r\n" not in received:
        piece = _piece(connection)
        if not piece:
            return 0, {}, None
        received += piece
    top, _, body = received.partition(b"\r\n\r\n")
    status, *lines = top.decode().split("\r\n")
    headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}
    while len(body) < int(headers.get("content-length", 0)):
        body += connection.recv(2**16)
    return int(status.split()[1]), headers, json.loads(body) if body else None


def ended(connection: socket.socket) -> bool:
    """Wait until the other side has closed the connection; whatever it still sent is passed over."""
    while _piece(connection):
        pass
    return True


def _piece(connection: socket.socket) -> bytes:
    try:
        return connection.recv(2**16)
    except ConnectionResetError:
        return b""
