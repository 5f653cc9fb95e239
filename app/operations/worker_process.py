"""The inside of a worker process: tasks from its parent, one after the other, until the parent is gone.

`app.operations.worker_pool` starts it as a fresh interpreter, never as a fork: it has no rows, no secrets, no database
and no listening socket. The parent sends tasks, which may be pickled; the parent itself unpickles nothing.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
import traceback
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from multiprocessing.connection import Connection
from pathlib import Path
from queue import SimpleQueue
from threading import Event, Thread
from typing import Protocol

from app.operations.process_privacy import disable_core_dumps
from core.checkpoint import Checkpoint

# The first byte of a message. From the parent: a task, the data that it needs, or a request to stop.
TASK, DATA, STOP = b"T", b"D", b"S"
# To the parent: a result, a refusal with its sentence, a fault, the end of a stopped task, or a request for the data.
RESULT, REFUSED, FAILED, STOPPED, NEEDS_DATA = b"R", b"N", b"F", b"E", b"W"

NICENESS = 10  # requests and uploads come first; with idle cores it changes nothing
_OOM_SCORE = 500  # of 1000: where memory runs out, the kernel ends a worker process before the service

Fetch = Callable[[], bytes]


class Refusal(Exception):
    """The task cannot be done; the message is a sentence for whoever asked."""


class _Stopped(Exception):
    """Raised at a checkpoint of a task that nobody waits for."""


class Handler(Protocol):
    """What a module of tasks offers under the name `handle`."""

    def __call__(self, task: bytes, fetch: Fetch, checkpoint: Checkpoint) -> bytes:
        """The result of a task. `fetch` returns the data that belongs to it; Refusal where it cannot be done."""


def main() -> None:
    """Serve the parent at the other end of a descriptor (first argument) with a module's `handle` (second)."""
    disown_privileges()
    Worker(Connection(int(sys.argv[1]))).serve(sys.argv[2])


def disown_privileges() -> None:
    """Lower priority, first to go where memory is short, no core dumps, and deaf to the signals of a terminal.

    A stop signal often goes to all processes of a service at once, and requests may still end then. A worker process
    ends when its parent closes the connection, or is gone.
    """
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    with suppress(OSError):  # a sandbox may forbid it
        os.nice(NICENESS)
    with suppress(OSError):  # there is no such file beside Linux
        Path("/proc/self/oom_score_adj").write_text(str(_OOM_SCORE), encoding="ascii")
    disable_core_dumps()


class Worker:
    """Does the tasks in this thread, while another one listens: to be told to stop, and to end with the parent."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._stop = Event()
        self._tasks: SimpleQueue[bytes] = SimpleQueue()
        self._data: SimpleQueue[bytes] = SimpleQueue()

    def serve(self, module: str) -> None:
        """Never returns: the listening thread ends the process."""
        Thread(target=self._listen, daemon=True).start()
        handle: Handler = import_module(module).handle
        gc.freeze()  # what was imported stays: a full garbage collection would look at all of it, 0.1 s each time
        while True:
            self._do(handle, self._tasks.get())

    def _listen(self) -> None:
        try:
            while True:
                message = self._connection.recv_bytes()
                match message[:1]:
                    case b"T":
                        self._stop.clear()
                        self._tasks.put(message[1:])
                    case b"D":
                        self._data.put(self._connection.recv_bytes())
                    case _:
                        self._stop.set()
        finally:  # the parent closed the connection, or is gone, also by SIGKILL
            os._exit(0)

    def _do(self, handle: Handler, task: bytes) -> None:
        kind = RESULT
        try:
            result = handle(task, self._fetch, self._checkpoint)
        except _Stopped:
            kind, result = STOPPED, b""
        except Refusal as refusal:
            kind, result = REFUSED, str(refusal).encode()
        except Exception as error:  # noqa: BLE001, RUF100 - the parent is told, by type and place
            kind, result = FAILED, _described(error)
        with suppress(BrokenPipeError):  # the parent is gone, and the listening thread knows
            self._connection.send_bytes(kind)
            self._connection.send_bytes(result)

    def _checkpoint(self) -> None:
        if self._stop.is_set():
            raise _Stopped

    def _fetch(self) -> bytes:
        self._connection.send_bytes(NEEDS_DATA)
        return self._data.get()


def _described(error: Exception) -> bytes:
    """An exception by its type and its places, without its message."""
    frames = traceback.extract_tb(error.__traceback__)
    return " ".join([type(error).__name__, *(f"{frame.name}:{frame.lineno}" for frame in frames[-8:])]).encode()
