"""Forwarder: a TCP port in front of a Unix socket, so that a database can be reached, and be lost, as on a network."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress
from typing import Self

_COMMIT = b"Q\0\0\0\x0bCOMMIT\0"  # a simple query, as the driver ends every transaction


class Forwarder:
    """Listens on a free port of this machine and passes bytes to and from the socket, until it is left."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._open: list[socket.socket] = []
        self.is_cut = False
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        _end(self._listener)
        self.cut()

    def cut(self) -> None:
        """End all connections; new ones are ended at once while `is_cut`."""
        ends, self._open = self._open, []
        for end in ends:
            _end(end)

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                near, _ = self._listener.accept()
                if self.is_cut:
                    _end(near)
                    continue
                far = socket.socket(socket.AF_UNIX)
                far.connect(self._path)
                self._open += [near, far]
                for source, target in ((near, far), (far, near)):
                    threading.Thread(target=self._pass_on, args=(source, target), daemon=True).start()

    def _pass_on(self, source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(65536):
                self._take(data, source, target)
        with suppress(OSError):
            target.shutdown(socket.SHUT_WR)

    def _take(self, data: bytes, source: socket.socket, target: socket.socket) -> None:
        """Bytes on their way; `source` is where they come from."""
        del source
        target.sendall(data)


class DeafForwarder(Forwarder):
    """A forwarder to PostgreSQL that can lose the reply to a COMMIT: the client never hears what became of it."""

    def __init__(self, path: str) -> None:
        self._lost: threading.Event | None = None
        self._committing: dict[socket.socket, threading.Event] = {}  # by the end at the server
        super().__init__(path)

    def lose_next_commit(self) -> threading.Event:
        """From now on: the next COMMIT is passed on, and its connection ends when its reply comes, which sets this."""
        self._lost = threading.Event()
        return self._lost

    def _take(self, data: bytes, source: socket.socket, target: socket.socket) -> None:
        lost = self._committing.pop(source, None)
        if lost is not None:  # the reply
            _end(target)
            _end(source)
            lost.set()
            return
        if self._lost is not None and data == _COMMIT:
            self._committing[target], self._lost = self._lost, None
        target.sendall(data)


def _end(end: socket.socket) -> None:
    with suppress(OSError):
        end.shutdown(socket.SHUT_RDWR)
    end.close()
