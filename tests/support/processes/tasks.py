"""Tasks for a worker process: `handle` does what the task says. For tests of `app.operations.worker_pool`."""

from __future__ import annotations

import ctypes
import json
import os
import resource
import signal
import time
from pathlib import Path

from app.operations.worker_process import Fetch, Refusal
from core.checkpoint import Checkpoint

_PR_GET_DUMPABLE = 3


def handle(task: bytes, fetch: Fetch, checkpoint: Checkpoint) -> bytes:
    """One of the tasks below, by its first word; the others are its arguments."""
    name, *arguments = task.decode().split()
    begun = Path(arguments[0]) if arguments else None
    if begun is not None:
        with begun.open("a", encoding="ascii") as file:  # so that a test sees where and how often it began
            file.write(f"{os.getpid()}\n")
    match name:
        case "pid":
            return str(os.getpid()).encode()
        case "fetch":
            return fetch()
        case "refuse":
            raise Refusal("Not like this.")
        case "fail":
            raise ValueError("CANARY-7f3a")
        case "patient":
            while True:
                checkpoint()
                time.sleep(0.01)
        case "stubborn":
            while True:
                time.sleep(0.01)
        case "die":
            os.kill(os.getpid(), signal.SIGKILL)
        case "die-once":
            assert begun is not None
            if len(begun.read_text().split()) == 1:
                os.kill(os.getpid(), signal.SIGKILL)
        case _:
            return json.dumps(_confined()).encode()
    return b"done"


def _confined() -> dict[str, object]:
    """What this process could reach, and how it is treated."""
    descriptors = {number: os.readlink(f"/proc/self/fd/{number}") for number in _open_descriptors()}
    return {
        "variables": list(os.environ),
        "descriptors": descriptors,
        "niceness": os.nice(0),
        "core": resource.getrlimit(resource.RLIMIT_CORE),
        "dumpable": ctypes.CDLL(None).prctl(_PR_GET_DUMPABLE, 0, 0, 0, 0),
        "oom": Path("/proc/self/oom_score_adj").read_text(encoding="ascii").strip(),
        "session": os.getsid(0),
        "ignored": [signal.getsignal(number) is signal.SIG_IGN for number in (signal.SIGINT, signal.SIGTERM)],
    }


def _open_descriptors() -> list[int]:
    numbers = [int(name) for name in os.listdir("/proc/self/fd")]  # noqa: PTH208 - names, as the kernel has them
    return [number for number in numbers if Path(f"/proc/self/fd/{number}").exists() or _is_link(number)]


def _is_link(number: int) -> bool:
    try:
        os.readlink(f"/proc/self/fd/{number}")
    except OSError:  # the descriptor of the listing itself
        return False
    return True
