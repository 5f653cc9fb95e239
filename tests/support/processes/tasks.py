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
    """The task that the first word names. The second, if any, is a file that notes the process of each beginning."""
    name, *files = task.decode().split()
    begun = [_noted(Path(file)) for file in files]
    match name:
        case "pid":
            return str(os.getpid()).encode()
        case "fetch":
            return fetch()
        case "confined":
            return json.dumps(_confined()).encode()
        case "refuse":
            raise Refusal("Not like this.")
        case "fail":
            raise ValueError("CANARY-7f3a")
        case "patient" | "stubborn":
            _wait(checkpoint if name == "patient" else lambda: None)
        case "die" | "die-once" if name == "die" or begun == [1]:
            os.kill(os.getpid(), signal.SIGKILL)
    return b"done"


def _noted(file: Path) -> int:
    """How often a task began, this time included."""
    with file.open("a", encoding="ascii") as noting:
        noting.write(f"{os.getpid()}\n")
    return len(file.read_text(encoding="ascii").split())


def _wait(checkpoint: Checkpoint) -> None:
    while True:
        checkpoint()
        time.sleep(0.01)


def _confined() -> dict[str, object]:
    """What this process could reach, and how it is treated."""
    return {
        "variables": list(os.environ),
        "descriptors": [str(link.readlink()) for link in Path("/proc/self/fd").iterdir() if link.is_symlink()],
        "niceness": os.nice(0),
        "core": resource.getrlimit(resource.RLIMIT_CORE),
        "dumpable": ctypes.CDLL(None).prctl(_PR_GET_DUMPABLE, 0, 0, 0, 0),
        "oom": Path("/proc/self/oom_score_adj").read_text(encoding="ascii").strip(),
        "session": os.getsid(0),
        "ignored": [signal.getsignal(number) is signal.SIG_IGN for number in (signal.SIGINT, signal.SIGTERM)],
    }
