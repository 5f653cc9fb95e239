"""Worker processes: confined, stopped, killed at the limit, replaced when they die, and gone with their parent."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event

import psutil
import pytest

from app.operations import worker_pool
from app.operations.lanes import Stopped
from app.operations.worker_pool import Failed, Lost, OutOfTime, WorkerPool
from app.operations.worker_process import NICENESS, Refusal
from core.checkpoint import carry_on

TASKS = "tests.support.processes.tasks"
_PARENT = f"""
import sys
from app.operations.worker_pool import WorkerPool
from core.checkpoint import carry_on
WorkerPool({TASKS!r}, seconds=600).run(sys.argv[1].encode(), bytes, carry_on)
"""


def until(condition: Callable[[], object]) -> None:
    """Wait for something that will hold in a moment; a hang fails."""
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.fixture
def opened() -> Iterator[Callable[[float], WorkerPool]]:
    """A way to make pools, which are closed at the end."""
    pools: list[WorkerPool] = []

    def make(seconds: float = 60.0) -> WorkerPool:
        pools.append(WorkerPool(TASKS, seconds=seconds))
        return pools[-1]

    yield make
    for pool in pools:
        pool.close()


@pytest.fixture
def pool(opened: Callable[[], WorkerPool]) -> WorkerPool:
    """A pool with a generous limit."""
    return opened()


def run(pool: WorkerPool, *words: object) -> bytes:
    """The result of a task that nobody stops."""
    return pool.run(" ".join(map(str, words)).encode(), lambda: b"data", carry_on)


def stopping(stop: Event) -> Callable[[], None]:
    """A checkpoint that raises from a moment on."""

    def checkpoint() -> None:
        if stop.is_set():
            raise Stopped

    return checkpoint


def test_a_process_starts_with_the_first_task_and_is_used_again(pool: WorkerPool) -> None:
    """None before there is a task; then one for all tasks that come one after the other. It gets data where it asks."""
    assert pool.pids == []
    first = int(run(pool, "pid"))
    assert [int(run(pool, "pid")) for _ in range(3)] == [first] * 3
    assert run(pool, "fetch") == b"data"
    assert pool.pids == [first] != [os.getpid()]


def test_a_process_has_nothing_that_is_not_its_own(pool: WorkerPool, monkeypatch: pytest.MonkeyPatch) -> None:
    """No setting, no secret, no socket or file of the service; no core dumps; low priority in the same session."""
    monkeypatch.setenv("RUGNIK_ADMIN_KEY", "x" * 32)
    monkeypatch.setenv("PGPASSWORD", "secret")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        os.set_inheritable(listener.fileno(), True)  # as a server that hands its socket on would have it
        seen = json.loads(run(pool, "confined"))
    assert not {"RUGNIK_ADMIN_KEY", "PGPASSWORD"} & set(seen["variables"])
    assert any(name.startswith("PYTHON") for name in seen["variables"])
    sockets = [target for target in seen["descriptors"] if target.startswith("socket:")]
    assert len(sockets) == 1  # the connection to its parent
    assert (seen["core"], seen["dumpable"]) == ([0, 0], 0)
    assert (seen["niceness"], seen["oom"]) == (os.nice(0) + NICENESS, "500")
    assert (seen["session"], seen["ignored"]) == (os.getsid(0), [True, True])


def test_a_refusal_is_passed_on_in_words_and_a_fault_without_them(
    pool: WorkerPool, capfd: pytest.CaptureFixture[str]
) -> None:
    """A refusal is for whoever asked. Of a fault, the log has type and place and nobody has the message."""
    with pytest.raises(Refusal, match=r"Not like this\."):
        run(pool, "refuse")
    with pytest.raises(Failed):
        run(pool, "fail")
    said = capfd.readouterr()
    assert "ValueError" in said.out + said.err
    assert "CANARY" not in said.out + said.err
    assert run(pool, "pid")


def test_a_stopped_task_ends_at_its_checkpoint_and_its_process_lives(pool: WorkerPool, tmp_path: Path) -> None:
    """The caller is free again, and the process does the next task."""
    first, stop = int(run(pool, "pid")), Event()
    with ThreadPoolExecutor(1) as threads:
        asked = threads.submit(pool.run, f"patient {tmp_path / 'begun'}".encode(), bytes, stopping(stop))
        until((tmp_path / "begun").exists)
        stop.set()
        with pytest.raises(Stopped):
            asked.result(60)
    assert int(run(pool, "pid")) == first


def test_a_task_without_checkpoints_is_killed(
    pool: WorkerPool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a moment of grace, so that nothing computes for a client that is gone."""
    monkeypatch.setattr(worker_pool, "STOP_SECONDS", 0.2)
    first, stop = int(run(pool, "pid")), Event()
    with ThreadPoolExecutor(1) as threads:
        asked = threads.submit(pool.run, f"stubborn {tmp_path / 'begun'}".encode(), bytes, stopping(stop))
        until((tmp_path / "begun").exists)
        stop.set()
        with pytest.raises(Stopped):
            asked.result(60)
    assert not psutil.pid_exists(first)
    assert int(run(pool, "pid")) != first


@pytest.mark.parametrize("task", ["patient", "stubborn"])
def test_a_task_beyond_its_time_is_ended(
    opened: Callable[[float], WorkerPool], monkeypatch: pytest.MonkeyPatch, task: str
) -> None:
    """Whether it has checkpoints or not; the next task is done."""
    monkeypatch.setattr(worker_pool, "STOP_SECONDS", 0.2)
    pool = opened(60.0)
    run(pool, "pid")
    pool._seconds = 0.5
    with pytest.raises(OutOfTime):
        run(pool, task)
    pool._seconds = 60.0
    assert run(pool, "pid")


def test_a_task_whose_process_dies_is_tried_once_more(pool: WorkerPool, tmp_path: Path) -> None:
    """Out of memory, say: the second process gives the answer, and the first is not left as a zombie."""
    begun = tmp_path / "begun"
    assert run(pool, "die-once", begun) == b"done"
    first, second = map(int, begun.read_text().split())
    assert pool.pids == [second]
    assert not psutil.pid_exists(first)


def test_a_task_that_kills_every_process_is_given_up(pool: WorkerPool, tmp_path: Path) -> None:
    """After the second death, and the pool is as good as new."""
    with pytest.raises(Lost):
        run(pool, "die", tmp_path / "begun")
    assert len((tmp_path / "begun").read_text().split()) == 2
    assert pool.pids == []
    assert run(pool, "pid")


def test_an_idle_process_that_died_is_replaced_unseen(pool: WorkerPool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Killed between two tasks: the next one does not notice, and has its second try left."""
    monkeypatch.setattr(worker_pool.log, "warning", pytest.fail, raising=False)
    first = int(run(pool, "pid"))
    os.kill(first, signal.SIGKILL)
    os.waitid(os.P_PID, first, os.WEXITED | os.WNOWAIT)  # gone with all its threads; nobody has been told yet
    assert int(run(pool, "pid")) != first
    assert not psutil.pid_exists(first)


def test_a_process_without_tasks_is_ended(pool: WorkerPool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its memory is given back; the next task starts another."""
    monkeypatch.setattr(worker_pool, "IDLE_SECONDS", 0.2)
    first = int(run(pool, "pid"))
    until(lambda: not pool.pids)
    assert not psutil.pid_exists(first)
    assert int(run(pool, "pid")) != first


def test_a_closed_pool_ends_its_processes_and_takes_no_tasks(pool: WorkerPool, tmp_path: Path) -> None:
    """Those at work too: nothing is left of them."""
    with ThreadPoolExecutor(1) as threads:
        asked = threads.submit(run, pool, "stubborn", tmp_path / "begun")
        until((tmp_path / "begun").exists)
        pids = pool.pids
        pool.close()
        with pytest.raises(Lost):
            asked.result(60)
    assert not any(map(psutil.pid_exists, pids))
    with pytest.raises(Lost):
        run(pool, "pid")


@pytest.mark.parametrize("task", ["patient", "stubborn"])
def test_processes_end_with_their_parent(tmp_path: Path, task: str) -> None:
    """SIGKILL, so that the parent can do nothing about it: a process in the middle of a task ends by itself."""
    begun = tmp_path / "begun"
    parent = subprocess.Popen([sys.executable, "-c", _PARENT, f"{task} {begun}"], env=_with_path())
    until(lambda: begun.exists() and begun.read_text())
    child = psutil.Process(int(begun.read_text()))
    parent.kill()
    parent.wait()
    until(lambda: not child.is_running() or child.status() == psutil.STATUS_ZOMBIE)


def _with_path() -> dict[str, str]:
    return os.environ | {"PYTHONPATH": os.pathsep.join(place or str(Path.cwd()) for place in sys.path)}
