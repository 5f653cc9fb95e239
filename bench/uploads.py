"""A million rows through a real server: speed beside plain pyarrow, peak memory, and how the service feels meanwhile.

`python -m bench.uploads`. The targets: memory grows by less than 200 MB, and 99 % of the calls to /healthz that are
made during the upload are answered within 50 ms.
"""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Self

import httpx
import numpy as np
import psutil
import pyarrow as pa
import pyarrow.csv

from bench.report import Section, publish

ROWS = 1_000_000
ATTRIBUTES = ("x", "y", "z")


def write_rows(path: Path) -> None:
    """A CSV file of normal values with one column that is not asked for."""
    rng = np.random.default_rng(1)
    columns = {name: rng.normal(50, 12, ROWS).round(3) for name in ATTRIBUTES}
    columns["note"] = np.full(ROWS, "nothing to see")
    pyarrow.csv.write_csv(pa.table(columns), path, pyarrow.csv.WriteOptions(quoting_style="none"))


@contextmanager
def served(folder: Path) -> Iterator[tuple[str, str, psutil.Process]]:
    """A real server: its address, its admin key, its process."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    log = folder / "log"
    with log.open("wb") as output:
        server = subprocess.Popen(
            [sys.executable, "-m", "app.cli", "serve", "--port", str(port)],
            env=os.environ | {"RUGNIK_DATA_DIR": str(folder / "data"), "RUGNIK_LOG_LEVEL": "warning"},
            stdout=output,
            stderr=subprocess.STDOUT,
        )
        url = f"http://127.0.0.1:{port}"
        while not _ready(url):
            time.sleep(0.1)
        try:
            yield url, re.findall(r"rugnik_admin_\S+", log.read_text())[0], psutil.Process(server.pid)
        finally:
            server.terminate()
            server.wait()


def _ready(url: str) -> bool:
    try:
        return httpx.get(f"{url}/readyz").is_success
    except httpx.TransportError:
        return False


class Watch:
    """Peak memory of the server and the latency of /healthz, sampled until the block ends."""

    def __init__(self, url: str, process: psutil.Process) -> None:
        self._url, self._process = url, process
        self._over = threading.Event()
        self._threads = [threading.Thread(target=self._memory), threading.Thread(target=self._latency)]
        self.start_bytes = self.peak_bytes = process.memory_info().rss
        self.milliseconds: list[float] = []

    def _memory(self) -> None:
        while not self._over.wait(0.01):
            self.peak_bytes = max(self.peak_bytes, self._process.memory_info().rss)

    def _latency(self) -> None:
        with httpx.Client() as client:
            while not self._over.wait(0.01):
                started = time.perf_counter()
                client.get(f"{self._url}/healthz")
                self.milliseconds.append(1000 * (time.perf_counter() - started))

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join()

    @property
    def p99(self) -> float:
        """The 99th percentile of the latencies."""
        return float(np.percentile(self.milliseconds, 99))

    @property
    def growth_mb(self) -> float:
        """How much memory the server took on top."""
        return (self.peak_bytes - self.start_bytes) / 1e6


def measure(size: dict[str, object]) -> list[str]:
    """Upload once with a declared or an estimated size; one line of a table."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        file = folder / "rows.csv"
        write_rows(file)
        with served(folder) as (url, admin_key, process):
            with Watch(url, process) as idle:
                time.sleep(2)
            with httpx.Client(base_url=url, timeout=600) as client:
                curator = {"Authorization": f"Bearer {_key(client, admin_key)}"}
                attributes = [{"name": name, "lower": 0, "upper": 100} for name in ATTRIBUTES]
                dataset = {"name": "d", "budget": "10", "attributes": attributes}
                client.post("/v1/datasets", json=dataset, headers=curator).raise_for_status()
                terms = {"epsilon": "1", "clusters": 8, "size": size}
                order = client.post("/v1/datasets/d/releases", json=terms, headers=curator).raise_for_status().json()
                with Watch(url, process) as busy, file.open("rb") as body:
                    started = time.perf_counter()
                    reply = client.put(
                        f"/v1/releases/{order['id']}/records",
                        content=iter(lambda: body.read(2**16), b""),
                        headers=curator | {"Content-Type": "text/csv"},
                    )
                    seconds = time.perf_counter() - started
        assert reply.json()["ingest"]["rows_read"] == ROWS, reply.text
        started = time.perf_counter()
        pyarrow.csv.read_csv(file, pyarrow.csv.ReadOptions(use_threads=False))
        plain = time.perf_counter() - started
    return [
        next(iter(size)),
        f"{ROWS / seconds:,.0f}",
        f"{plain / seconds:.2f}",
        f"{busy.growth_mb:.0f} MB",
        f"{idle.p99:.1f} ms",
        f"{busy.p99:.1f} ms",
    ]


def _key(client: httpx.Client, admin_key: str) -> str:
    headers = {"Authorization": f"Bearer {admin_key}"}
    reply = client.post("/v1/keys", json={"name": "curator", "role": "curator"}, headers=headers)
    return str(reply.raise_for_status().json()["key"])


def run() -> list[Section]:
    """Both ways to know the size, in one table."""
    return [
        Section(
            title="Uploads",
            remarks=[
                f"{ROWS:,} CSV rows of {len(ATTRIBUTES) + 1} columns over loopback to one worker, network, noise and "
                "database included; the speed is beside pyarrow's read_csv of the same file on one thread.",
                "Memory is how much the server grows by at most (limit: 200 MB); /healthz is called every 10 ms "
                "(limit: 50 ms at the 99th percentile).",
            ],
            header=["size", "rows/s", "of read_csv", "memory", "/healthz p99, idle", "during the upload"],
            rows=[measure(size) for size in ({"declared": ROWS}, {"estimate": "0.05"})],
        )
    ]


if __name__ == "__main__":
    publish(run(), "uploads")
