"""Warm: a process of the service that begins where its modules are imported, which takes two seconds of a core.

Each test process keeps one process that has imported the service and does nothing else (the "forkserver" of the
standard library: no thread, no settings, no database, no socket of the service). A start is a fork of it, with a
session, environment, arguments and output of its own, and runs `python -m …` from there. What a start is for a person,
and several workers, are tested on processes that begin at nothing: test_start_refused.py, test_operations.py,
test_demo.py, test_documents.py and test_deployment.py in tests/journeys/.
"""

from __future__ import annotations

import os
import runpy
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from multiprocessing import get_context
from pathlib import Path

_CONTEXT = get_context("forkserver")
_CONTEXT.set_forkserver_preload(["tests.support.processes.preloaded"])


class Warm:
    """A started module, with what is used of subprocess.Popen."""

    def __init__(self, words: Sequence[str], *, variables: Mapping[str, str], log: Path) -> None:
        self._process = _CONTEXT.Process(target=_run, args=(list(words), dict(variables), str(log)))
        self._process.start()
        assert self._process.pid is not None
        self.pid: int = self._process.pid

    def poll(self) -> int | None:
        """Its exit code, or None while it runs; minus the signal that ended it."""
        return self._process.exitcode

    def wait(self, timeout: float) -> int:
        """Its exit code, once it has ended."""
        self._process.join(timeout)
        code = self._process.exitcode
        if code is None:
            raise subprocess.TimeoutExpired(["python", "-m"], timeout)
        return code

    def send_signal(self, number: signal.Signals) -> None:
        """A signal, if it still runs."""
        if self.poll() is None:
            os.kill(self.pid, number)


def _run(words: list[str], variables: dict[str, str], log: str) -> None:
    """What the new process does: `python -m` of the words."""
    os.setsid()
    output = os.open(log, os.O_WRONLY | os.O_APPEND)
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.close(output)
    os.environ.clear()
    os.environ.update(variables)
    sys.argv = words
    runpy.run_module(words[0], run_name="__main__", alter_sys=True)
