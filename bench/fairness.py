"""One caller's load beside another caller's latency: `python -m bench.fairness`, against a server on loopback.

An analyst asks for counts, each a different one, first alone and then while another key loads the service: with many
expensive clusterings at once, with many streams of rows, and with clusterings whose clients have gone away. Ratios are
of one run on one machine.
"""

from __future__ import annotations

import asyncio
import statistics
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from threading import Event, Thread

import httpx
import numpy as np
import psutil

from bench.report import Section, publish
from bench.uploads import served

SECONDS = 10.0  # of one measurement
PATIENCE = 60.0  # seconds after which a request is given up
STREAMS, STREAMS_EACH = 48, 4
ROWS = 10**7
_numbers = count()


async def _load(url: str, path: str, keys: list[str], over: Event, statuses: list[str]) -> None:
    """One connection for each key that asks, reads the reply to its end, and asks again with another number."""
    port = int(url.rpartition(":")[2])

    async def connection(key: str) -> None:
        while not over.is_set():
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            try:
                asked = path.format(next(_numbers))
                head = f"GET {asked} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {key}\r\nConnection: close\r\n\r\n"
                writer.write(head.encode())
                first = await reader.readline()
                if first:
                    statuses.append(first.split()[1].decode())
                while await reader.read(2**16) and not over.is_set():
                    pass
                if statuses and statuses[-1] == "429":
                    await asyncio.sleep(1.0)
            finally:
                writer.close()

    async def until_over() -> None:
        while not over.is_set():
            await asyncio.sleep(0.05)

    asking = [asyncio.create_task(connection(key)) for key in keys]
    await until_over()
    for task in asking:
        task.cancel()
    await asyncio.gather(*asking, return_exceptions=True)


@contextmanager
def loaded(url: str, path: str, keys: list[str]) -> Iterator[list[str]]:
    """Run the load during the block; yields the list of its status codes."""
    over, statuses = Event(), []  # type: tuple[Event, list[str]]
    thread = Thread(target=lambda: asyncio.run(_load(url, path, keys, over, statuses)))
    thread.start()
    time.sleep(1.0)
    try:
        yield statuses
    finally:
        over.set()
        thread.join()


def latencies(client: httpx.Client, path: str) -> list[float]:
    """Milliseconds of each request, sent one after the other for SECONDS, at least one."""
    milliseconds: list[float] = []
    until = time.perf_counter() + SECONDS
    while time.perf_counter() < until:
        started = time.perf_counter()
        with suppress(httpx.TimeoutException):  # the time until the timeout is a lower bound
            client.get(path.format(next(_numbers) / 1e6), timeout=PATIENCE).raise_for_status()
        milliseconds.append(1000 * (time.perf_counter() - started))
        time.sleep(0.02)
    return milliseconds


def _row(name: str, milliseconds: list[float], idle: list[float], statuses: list[str]) -> list[str]:
    middle = statistics.median(milliseconds)
    answered = f"{statuses.count('200')} answered, {statuses.count('429')} refused" if statuses else ""
    ratio = middle / statistics.median(idle)
    return [
        name,
        f"{middle:.0f} ms",
        f"{np.percentile(milliseconds, 90):.0f} ms",
        f"{max(milliseconds):.0f} ms",
        f"{ratio:.1f}",
        answered,
    ]


def _published(url: str, admin_key: str) -> tuple[str, list[str]]:
    """A release of 196 cells, and the keys of 14 analysts."""
    with httpx.Client(base_url=url, headers={"Authorization": f"Bearer {admin_key}"}) as admin:
        keys = [admin.post("/v1/keys", json={"name": f"a{i}", "role": "analyst"}).json()["key"] for i in range(14)]
        curator = admin.post("/v1/keys", json={"name": "c", "role": "curator"}).json()["key"]
    with httpx.Client(base_url=url, headers={"Authorization": f"Bearer {curator}"}, timeout=60.0) as client:
        attributes = [{"name": name, "lower": 0, "upper": 100} for name in "xy"]
        client.post("/v1/datasets", json={"name": "d", "budget": "1", "attributes": attributes}).raise_for_status()
        order = {"epsilon": "1", "clusters": 4, "size": {"declared": 3000}}
        release = client.post("/v1/datasets/d/releases", json=order).json()
        rows = np.random.default_rng(1).normal(50, 20, (3000, 2)).clip(0, 100)
        text = "x,y\n" + "\n".join(f"{x:.3f},{y:.3f}" for x, y in rows)
        records = f"/v1/releases/{release['id']}/records"
        client.put(records, content=text, headers={"Content-Type": "text/csv"}).raise_for_status()
    return release["id"], keys


def _measured(url: str, admin_key: str, process: psutil.Process) -> list[list[str]]:
    release, keys = _published(url, admin_key)
    other, clusters = keys[0], f"/v1/releases/{release}/clusters?k=32&seed={{}}"
    rows = []
    with httpx.Client(base_url=url, headers={"Authorization": f"Bearer {other}"}) as client:
        ask = f"/v1/releases/{release}/count?where=x:{{:.6f}}..50"
        idle = latencies(client, ask)
        rows.append(_row("count, alone", idle, idle, []))
        for connections in (8, 64):
            with loaded(url, clusters, [keys[1]] * connections) as statuses:
                milliseconds = latencies(client, ask)
            rows.append(_row(f"count, beside {connections} clusterings of another key", milliseconds, idle, statuses))
            _idle(process)
        before = process.memory_info().rss
        health = latencies(client, "/healthz?{}")
        streaming = [key for key in keys[2:] for _ in range(STREAMS_EACH)][:STREAMS]
        with loaded(url, f"/v1/releases/{release}/rows?count={ROWS}&format=csv&seed={{}}", streaming) as statuses:
            milliseconds = latencies(client, "/healthz?{}")
            during = process.memory_info().rss
        _idle(process)
        after = process.memory_info().rss
        name = f"/healthz, beside {STREAMS} streams of {ROWS:,} rows"
        rows.append(_row(name, milliseconds, health, statuses))
        memory = " -> ".join(f"{size / 2**20:.0f}" for size in (before, during, after))
        rows[-1][-1] += f"; memory before, during and after: {memory} MB"
        rows.append(
            [
                "CPU after 40 clients of clusterings left",
                f"{_wasted(url, clusters, keys, process):.1f} s",
                "",
                "",
                "",
                "",
            ]
        )
    return rows


def _idle(process: psutil.Process) -> None:
    """Wait until the server has nothing to do any more, for two minutes at most."""
    for _ in range(120):
        if process.cpu_percent(1.0) < 5.0:
            return


def _wasted(url: str, path: str, keys: list[str], process: psutil.Process) -> float:
    with loaded(url, path, keys[1:11] * 4):
        pass
    start = sum(process.cpu_times()[:2])
    _idle(process)
    return sum(process.cpu_times()[:2]) - start


def run() -> list[Section]:
    """The section of the report."""
    with tempfile.TemporaryDirectory() as folder, served(Path(folder)) as (url, admin_key, process):
        rows = _measured(url, admin_key, process)
    section = Section(
        title="Fairness",
        remarks=[
            "Latencies of one analyst while others load the same worker process; ratio of medians to the idle service.",
            "A refused request got 429 with Retry-After and came back a second later.",
        ],
        header=["what", "median", "90 %", "worst", "ratio", "the others"],
        rows=rows,
    )
    return [section]


if __name__ == "__main__":
    publish(run(), "fairness")
