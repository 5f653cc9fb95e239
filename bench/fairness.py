"""One caller's load beside another caller's latency: `python -m bench.fairness`, against a server on loopback.

An analyst asks for counts, each a different one, and a curator uploads, first alone and then while other keys load the
service: with the most expensive questions of each lane, with many streams of rows, and with questions whose clients
have gone away. Ratios are of one run on one machine.

The targets beside 8 connections: 99 % of the calls to /healthz within 50 ms, 99 % of the counts within 100 ms, uploads
at half of their speed or more.
"""

from __future__ import annotations

import asyncio
import http.client
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from threading import Event, Thread

import httpx
import numpy as np
import psutil

from bench.report import Section, publish
from bench.uploads import KINDS, Curator, served
from bench.uploads import ROWS as UPLOADED
from bench.uploads import rows as table

SECONDS = 10.0  # of one measurement
PATIENCE = 60.0  # seconds after which a request is given up
CONNECTIONS = 8
UPLOADS = 3
STREAMS, STREAMS_EACH = 48, 4
ROWS = 10**7
LABELS = [f"g{number}" for number in range(14)]
# On a release of 31 x 31 x 14 cells, the most expensive questions of each lane: estimated at 55 of 60 seconds, 0.22 of
# 0.25 seconds, and 0.7 of 2 milliseconds. Each number makes another seed or level, and so another answer.
LONG = "/v1/releases/{release}/clusters?k=32&group_by=g&seed={{}}"
MIDDLE = "/v1/releases/{release}/clusters/scan?k=1..11&seed={{}}"
QUICK = "/v1/releases/{release}/marginal?attributes=x,y,g&level=0.5{{:07d}}"
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


def latencies(url: str, key: str, path: str) -> list[float]:
    """Milliseconds of each request, sent one after the other on one connection for SECONDS, at least one."""
    connection = http.client.HTTPConnection(url.removeprefix("http://"), timeout=PATIENCE)
    milliseconds: list[float] = []
    until = time.perf_counter() + SECONDS
    while time.perf_counter() < until:
        started = time.perf_counter()
        try:
            connection.request("GET", path.format(next(_numbers) / 1e6), headers={"Authorization": f"Bearer {key}"})
            reply = connection.getresponse()
            reply.read()
            assert reply.status == 200, reply.status
        except TimeoutError:  # the time until the timeout is a lower bound
            connection.close()
        milliseconds.append(1000 * (time.perf_counter() - started))
        time.sleep(0.01)
    connection.close()
    return milliseconds


def _row(name: str, milliseconds: list[float], idle: list[float], others: str = "") -> list[str]:
    middle, most = np.percentile(milliseconds, [50, 99])
    return [
        name,
        f"{middle:.1f} ms",
        f"{most:.1f} ms",
        f"{max(milliseconds):.0f} ms",
        f"{middle / np.median(idle):.1f}",
        others,
    ]


def _told(statuses: list[str]) -> str:
    return f"{statuses.count('200')} answered, {statuses.count('429')} refused"


def _published(url: str, admin_key: str) -> tuple[str, list[str], str]:
    """A release of about 14,000 cells, the keys of 14 analysts, and a curator's key."""
    with httpx.Client(base_url=url, headers={"Authorization": f"Bearer {admin_key}"}) as admin:
        keys = [admin.post("/v1/keys", json={"name": f"a{i}", "role": "analyst"}).json()["key"] for i in range(14)]
        curator = admin.post("/v1/keys", json={"name": "c", "role": "curator"}).json()["key"]
    with httpx.Client(base_url=url, headers={"Authorization": f"Bearer {curator}"}, timeout=60.0) as client:
        attributes: list[dict[str, object]] = [{"name": name, "lower": 0, "upper": 100} for name in "xy"]
        attributes.append({"name": "g", "kind": "category", "values": LABELS})
        client.post("/v1/datasets", json={"name": "d", "budget": "1", "attributes": attributes}).raise_for_status()
        order = {"epsilon": "1", "clusters": 4, "size": {"declared": 54_000}}
        release = client.post("/v1/datasets/d/releases", json=order).json()
        rows = np.random.default_rng(1).normal(50, 20, (54_000, 2)).clip(0, 100)
        text = "x,y,g\n" + "\n".join(f"{x:.3f},{y:.3f},{LABELS[i % 14]}" for i, (x, y) in enumerate(rows))
        records = f"/v1/releases/{release['id']}/records"
        client.put(records, content=text, headers={"Content-Type": "text/csv"}).raise_for_status()
    return release["id"], keys, curator


class Uploads:
    """Uploads of the same CSV file, timed."""

    def __init__(self, folder: Path, url: str, key: str, process: psutil.Process) -> None:
        self._kind, self._file = KINDS[0], folder / "rows"
        self._kind.write(table(self._kind.attributes), self._file)
        self._curator = Curator(url, process, {"Authorization": f"Bearer {key}"})
        self._dataset = self._curator.register(self._kind)

    def seconds(self) -> float:
        """The median of some uploads."""
        size: dict[str, object] = {"declared": UPLOADED}
        every = [self._curator.upload(self._dataset, self._kind, self._file, size)[0] for _ in range(UPLOADS)]
        return float(np.median(every))


@dataclass(frozen=True, slots=True)
class Bench:
    """A server with a release, and those who use it."""

    url: str
    process: psutil.Process
    release: str
    keys: list[str]
    uploads: Uploads

    def measured(self) -> list[list[str]]:
        """The rows of the table."""
        count = f"/v1/releases/{self.release}/count?where=x:{{:.6f}}..50"
        asked = {"/healthz": "/healthz?{}", "count": count}
        idle = {name: latencies(self.url, self.keys[0], path) for name, path in asked.items()}
        upload = self.uploads.seconds()
        rows = [_row(f"{name}, alone", each, each) for name, each in idle.items()]
        rows.append(_upload_row("upload, alone", upload, upload))
        many = self.keys[1 : 1 + CONNECTIONS]
        for load, path, keys in (
            (f"{CONNECTIONS} keys that ask the most expensive questions", LONG, many),
            (f"{CONNECTIONS} connections of one such key", LONG, many[:1] * CONNECTIONS),
            (f"{CONNECTIONS} keys that ask for a quarter of a second each", MIDDLE, many),
            (f"{CONNECTIONS} keys that ask for whole marginals, one after the other", QUICK, many),
        ):
            with loaded(self.url, path.format(release=self.release), keys) as statuses:
                for name, address in asked.items():
                    milliseconds = latencies(self.url, self.keys[0], address)
                    rows.append(_row(f"{name}, beside {load}", milliseconds, idle[name], _told(statuses)))
                during = self.uploads.seconds()
                memory = ", ".join(f"{child.memory_info().rss / 2**20:.0f} MB" for child in self.process.children())
            rows.append(_upload_row(f"upload, beside {load}", during, upload))
            rows[-1][-1] = f"worker processes: {memory}"
            self.idle()
        return [*rows, self._streams(idle["/healthz"]), self._wasted()]

    def _streams(self, idle: list[float]) -> list[str]:
        before = self.process.memory_info().rss
        streaming = [key for key in self.keys[2:] for _ in range(STREAMS_EACH)][:STREAMS]
        path = f"/v1/releases/{self.release}/rows?count={ROWS}&format=csv&seed={{}}"
        with loaded(self.url, path, streaming) as statuses:
            milliseconds = latencies(self.url, self.keys[0], "/healthz?{}")
            during = self.process.memory_info().rss
        self.idle()
        sizes = (before, during, self.process.memory_info().rss)
        memory = " -> ".join(f"{size / 2**20:.0f}" for size in sizes)
        others = f"{_told(statuses)}; memory before, during and after: {memory} MB"
        return _row(f"/healthz, beside {STREAMS} streams of {ROWS:,} rows", milliseconds, idle, others)

    def _wasted(self) -> list[str]:
        with loaded(self.url, LONG.format(release=self.release), self.keys[1:11] * 4):
            pass
        start = self._seconds()
        self.idle()
        return ["CPU after 40 clients of expensive questions left", f"{self._seconds() - start:.1f} s", "", "", "", ""]

    def _seconds(self) -> float:
        """Processor time of the server and its worker processes."""
        return sum(sum(each.cpu_times()[:2]) for each in (self.process, *self.process.children()))

    def idle(self) -> None:
        """Wait until the server has nothing to do any more, for two minutes at most."""
        for _ in range(120):
            before = self._seconds()
            time.sleep(1.0)
            if self._seconds() - before < 0.05:
                return


def _upload_row(name: str, seconds: float, alone: float) -> list[str]:
    return [name, f"{seconds:.2f} s", "", "", f"{seconds / alone:.1f}", f"{alone / seconds:.2f} of the speed alone"]


def run() -> list[Section]:
    """The section of the report."""
    with tempfile.TemporaryDirectory() as name, served(Path(name)) as (url, admin_key, process):
        release, keys, curator = _published(url, admin_key)
        uploads = Uploads(Path(name), url, curator, process)
        rows = Bench(url, process, release, keys, uploads).measured()
    section = Section(
        title="Fairness",
        remarks=[
            "Latencies of one analyst while others load the same worker; ratios of medians to the idle service.",
            "A refused request got 429 with Retry-After and came back a second later.",
            "Targets: /healthz 50 ms and count 100 ms at the 99th percentile; an upload at 0.5 of its speed alone.",
        ],
        header=["what", "median", "99 %", "worst", "ratio", "beside it"],
        rows=rows,
    )
    return [section]


if __name__ == "__main__":
    publish(run(), "fairness")
