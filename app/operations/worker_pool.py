"""WorkerPool: worker processes for tasks that take long, so that they do not hold this process's interpreter lock.

A process starts with the first task that finds none idle, and ends after some minutes without a task. Whoever limits
the number of tasks at work limits the number of processes: here the lanes of `app.operations.lanes`.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from multiprocessing import Pipe
from pathlib import Path
from threading import Lock, Timer

import structlog

from app.operations import worker_process
from app.operations.worker_process import Refusal
from core.checkpoint import Checkpoint

log = structlog.get_logger(__name__)

IDLE_SECONDS = 600.0  # after so long without a task a process is ended
STOP_SECONDS = 2.0  # how long a stopped task may take to its next checkpoint; then its process is killed
_LOOK_SECONDS = 0.05  # how often a waiting thread looks whether anybody still wants the result
_COMMAND = "from app.operations.worker_process import main; main()"
# The variables that a worker process gets: where to find libraries, and how these compute. No setting and no secret.
_VARIABLES = ("PATH", "HOME", "LANG", "TZ", "TMPDIR")
_PREFIXES = (
    "PYTHON",
    "LC_",
    "LD_",
    "MALLOC_",
    "NPY_",
    "NUMPY_",
    "OPENBLAS_",
    "OMP_",
    "MKL_",
    "GOTO_",
    "BLIS_",
    "VECLIB_",
)


class OutOfTime(Exception):
    """The task took longer than a task may, and was stopped."""


class Lost(Exception):
    """The process of the task died, and that of its second try as well."""


class Failed(Exception):
    """The task raised an exception that nobody foresaw. The log has its type and place."""


class _Died(Exception):
    """A process ended in the middle of a task."""


class WorkerPool:
    """Runs tasks in processes that import `module` and call its `handle`; at most `seconds` for a task.

    Its methods may be called from any thread. A thread that calls `run` waits for the result.
    """

    def __init__(self, module: str, *, seconds: float) -> None:
        self._module, self._seconds = module, seconds
        self._lock = Lock()
        self._processes: list[_Process] = []
        self._idle: list[_Process] = []  # last used, last
        self._timer: Timer | None = None
        self._closed = False

    def run(self, task: bytes, data: Callable[[], bytes], checkpoint: Checkpoint) -> bytes:
        """The result of a task. `data` is called where the process wants what belongs to the task.

        If the checkpoint raises, the task is stopped. If the process dies (out of memory, say), the task is tried once
        more. Raises Refusal, OutOfTime, Lost, Failed, and what the checkpoint raises.
        """
        for _ in range(2):
            checkpoint()
            try:
                process = self._take()
            except OSError:  # no memory, or too many processes
                break
            try:
                return process.run(task, data, checkpoint, self._seconds)
            except _Died:
                log.warning("worker_process_died")
            finally:
                self._give_back(process)
        raise Lost

    def close(self) -> None:
        """End all processes. Tasks at work are lost, and so are later ones."""
        with self._lock:
            self._closed = True
            if self._timer is not None:
                self._timer.cancel()
            for process in self._processes:
                process.kill()  # the thread that waits for a task sees that, and drops the process
            while self._idle:
                self._drop(self._idle.pop())

    @property
    def pids(self) -> list[int]:
        """The process ids of all processes, at work or idle."""
        with self._lock:
            return [process.pid for process in self._processes]

    def _take(self) -> _Process:
        with self._lock:
            if self._closed:
                raise Lost
            while self._idle:
                process = self._idle.pop()
                if process.is_alive:
                    return process
                self._drop(process)
        process = _Process(self._module)
        with self._lock:
            self._processes.append(process)
        return process

    def _give_back(self, process: _Process) -> None:
        with self._lock:
            if self._closed or not process.usable:
                self._drop(process)
                return
            process.idle_since = time.monotonic()
            self._idle.append(process)
            if self._timer is None:
                self._wait_for_idle()

    def _wait_for_idle(self) -> None:
        self._timer = Timer(IDLE_SECONDS, self._end_idle)
        self._timer.daemon = True
        self._timer.start()

    def _end_idle(self) -> None:
        with self._lock:
            self._timer = None
            until = time.monotonic() - IDLE_SECONDS
            for process in [process for process in self._idle if process.idle_since <= until]:
                self._idle.remove(process)
                self._drop(process)
            if self._idle and not self._closed:
                self._wait_for_idle()

    def _drop(self, process: _Process) -> None:
        process.end()
        if process in self._processes:
            self._processes.remove(process)


class _Process:
    """One worker process, and the connection to it. One thread at a time."""

    def __init__(self, module: str) -> None:
        self._connection, theirs = Pipe()
        with theirs:
            # Of this process's descriptors it gets its end of the connection and standard error, and nothing else. It
            # stays in this session, or a scheduler that groups by session would make nothing of its niceness.
            self._popen = subprocess.Popen(  # noqa: S603 - our own interpreter
                [sys.executable, "-P", "-c", _COMMAND, str(theirs.fileno()), module],
                env=_environment(),
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                process_group=0,
            )
        self.usable = True
        self.idle_since = 0.0

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._popen.pid

    @property
    def is_alive(self) -> bool:
        """Whether it has not ended."""
        return self._popen.poll() is None

    def run(self, task: bytes, data: Callable[[], bytes], checkpoint: Checkpoint, seconds: float) -> bytes:
        """The result of a task; see WorkerPool.run."""
        until = time.monotonic() + seconds

        def go_on() -> None:
            checkpoint()
            if time.monotonic() >= until:
                raise OutOfTime

        try:
            self._connection.send_bytes(worker_process.TASK + task)
            while (kind := self._next_kind(go_on)) == worker_process.NEEDS_DATA:
                self._connection.send_bytes(worker_process.DATA)
                self._connection.send_bytes(data())
            return self._result(kind)
        except (EOFError, OSError):
            self.usable = False
            raise _Died from None

    def _next_kind(self, go_on: Checkpoint) -> bytes:
        """The kind of the next message. While it is waited for, `go_on` may raise; then the task is stopped."""
        while not self._connection.poll(_LOOK_SECONDS):
            try:
                go_on()
            except Exception:
                self._stop()
                raise
        return self._connection.recv_bytes()

    def _result(self, kind: bytes) -> bytes:
        result = self._connection.recv_bytes()
        if kind == worker_process.REFUSED:
            raise Refusal(result.decode())
        if kind == worker_process.FAILED:
            log.error("task_failed", error=result.decode())
            raise Failed
        return result

    def _stop(self) -> None:
        """Let the task end at its next checkpoint. If that takes too long, the process is not used again."""
        self.usable = False
        with suppress(EOFError, OSError):
            self._connection.send_bytes(worker_process.STOP)
            if self._connection.poll(STOP_SECONDS) and self._connection.recv_bytes() != worker_process.NEEDS_DATA:
                self._connection.recv_bytes()
                self.usable = True

    def kill(self) -> None:
        """End it at once. It holds nothing that is worth saving."""
        self._popen.kill()

    def end(self) -> None:
        """Kill it, wait until it is gone, and close the connection."""
        self.kill()
        self._popen.wait()
        self._connection.close()


def _environment() -> dict[str, str]:
    """The variables of _VARIABLES and _PREFIXES, and the places that this process imports from."""
    kept = {name: value for name, value in os.environ.items() if name in _VARIABLES or name.startswith(_PREFIXES)}
    return kept | {"PYTHONPATH": os.pathsep.join(place or str(Path.cwd()) for place in sys.path)}
