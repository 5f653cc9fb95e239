"""A million rows through a real server: speed beside plain pyarrow, peak memory, and latency meanwhile.

`python -m bench.uploads`. The targets: memory grows by less than 200 MB, and 99 % of the calls to /healthz that are
made during the upload are answered within 50 ms.
"""

from __future__ import annotations

import http.client
import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlsplit

import httpx
import numpy as np
import psutil
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from bench.peers.timed import timed
from bench.report import Section, chosen, publish

ROWS = 1_000_000
ROUNDS = chosen(3, 5)
SIZES: dict[str, dict[str, object]] = {"declared": {"declared": ROWS}, "estimated": {"estimate": "0.05"}}


@dataclass(frozen=True, slots=True)
class Kind:
    """A file format: its writer and its media type."""

    name: str
    attributes: int
    media_type: str
    write: Callable[[pa.Table, Path], object]


def _write_csv(table: pa.Table, path: Path) -> None:
    pyarrow.csv.write_csv(table, path, pyarrow.csv.WriteOptions(quoting_style="none"))


def _write_ndjson(table: pa.Table, path: Path) -> None:
    with path.open("w") as file:
        file.writelines(json.dumps(row) + "\n" for row in table.to_pylist())


KINDS = [
    Kind("CSV", 3, "text/csv", _write_csv),
    Kind("CSV, six attributes", 6, "text/csv", _write_csv),
    Kind("NDJSON", 3, "application/x-ndjson", _write_ndjson),
    Kind("Parquet", 3, "application/vnd.apache.parquet", pyarrow.parquet.write_table),
]


def rows(attributes: int) -> pa.Table:
    """Normal values, and one column that is not asked for."""
    rng = np.random.default_rng(1)
    columns: dict[str, Any] = {f"x{number}": rng.normal(50, 12, ROWS).round(3) for number in range(attributes)}
    return pa.table(columns | {"note": np.full(ROWS, "nothing to see")})


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
        self._address, self._process = urlsplit(url).netloc, process
        self._over = threading.Event()
        self._threads = [threading.Thread(target=self._memory), threading.Thread(target=self._latency)]
        self.start_bytes = self.peak_bytes = process.memory_info().rss
        self.milliseconds: list[float] = []

    def _memory(self) -> None:
        while not self._over.wait(0.02):
            self.peak_bytes = max(self.peak_bytes, self._process.memory_info().rss)

    def _latency(self) -> None:
        connection = http.client.HTTPConnection(self._address)
        while not self._over.wait(0.005):
            started = time.perf_counter()
            connection.request("GET", "/healthz")
            connection.getresponse().read()
            self.milliseconds.append(1000 * (time.perf_counter() - started))
        connection.close()

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join()

    @property
    def growth_mb(self) -> float:
        """Growth of the server's memory, in MB."""
        return float(self.peak_bytes - self.start_bytes) / 1e6


def percentiles(milliseconds: list[float]) -> str:
    """The median, the 90th and the 99th percentile."""
    return " / ".join(f"{value:.1f}" for value in np.percentile(milliseconds, [50, 90, 99])) + " ms"


@dataclass(frozen=True, slots=True)
class Curator:
    """A curator who orders releases of one dataset and uploads the same file to each."""

    url: str
    process: psutil.Process
    headers: dict[str, str]

    def register(self, kind: Kind) -> str:
        """A dataset for a kind of file."""
        name = kind.name.lower().replace(" ", "-").replace(",", "")
        attributes = [{"name": f"x{number}", "lower": 0, "upper": 100} for number in range(kind.attributes)]
        body = {"name": name, "budget": "20", "attributes": attributes}
        httpx.post(f"{self.url}/v1/datasets", json=body, headers=self.headers).raise_for_status()
        return name

    def upload(
        self,
        dataset: str,
        kind: Kind,
        file: Path,
        size: dict[str, object],
        *,
        rows: int = ROWS,
        epsilon: str = "1",
        watched: bool = True,
    ) -> tuple[float, Watch]:
        """Order and upload once: the seconds of the upload, and what was measured meanwhile if it is `watched`.

        curl sends the file, so that the process that calls /healthz does nothing else.
        """
        terms = {"epsilon": epsilon, "clusters": 8, "size": size}
        order = httpx.post(f"{self.url}/v1/datasets/{dataset}/releases", json=terms, headers=self.headers)
        address = f"{self.url}/v1/releases/{order.raise_for_status().json()['id']}/records"
        sent = self.headers | {"Content-Type": kind.media_type}
        options = [word for name, value in sent.items() for word in ("-H", f"{name}: {value}")]
        watch = Watch(self.url, self.process)
        with watch if watched else nullcontext():
            started = time.perf_counter()
            reply = subprocess.run(
                ["/usr/bin/env", "curl", "-sS", *options, "-T", file, address], check=True, capture_output=True
            )
            seconds = time.perf_counter() - started
        assert json.loads(reply.stdout)["ingest"]["rows_read"] == rows, reply.stdout
        return seconds, watch


def measure(folder: Path, curator: Curator, kind: Kind) -> list[list[str]]:
    """Several uploads with a declared and with an estimated size, in turns; a line of the table for each."""
    file = folder / "rows"
    kind.write(rows(kind.attributes), file)
    dataset = curator.register(kind)
    uploads: dict[str, list[tuple[float, Watch]]] = {name: [] for name in SIZES}
    with timed("pyarrow", "pyarrow_read.py", cores="all", path=str(file), media_type=kind.media_type) as reader:
        plain = []
        for _ in range(ROUNDS):
            for name, size in SIZES.items():
                uploads[name].append(curator.upload(dataset, kind, file, size))
            plain.append(reader.wall_seconds())
        assert reader.result == ROWS
    return [
        [
            kind.name,
            name,
            f"{ROWS / np.median([seconds for seconds, _ in measured]):,.0f}",
            f"{np.median(plain) / np.median([seconds for seconds, _ in measured]):.2f}",
            f"{max(watch.growth_mb for _, watch in measured):.0f} MB",
            percentiles([value for _, watch in measured for value in watch.milliseconds]),
        ]
        for name, measured in uploads.items()
    ]


def curator_at(url: str, admin_key: str, process: psutil.Process) -> Curator:
    """A curator with a new key."""
    headers = {"Authorization": f"Bearer {admin_key}"}
    reply = httpx.post(f"{url}/v1/keys", json={"name": "curator", "role": "curator"}, headers=headers)
    return Curator(url, process, {"Authorization": f"Bearer {reply.raise_for_status().json()['key']}"})


def run() -> list[Section]:
    """The section of the report: every file format, with a declared and with an estimated size."""
    with tempfile.TemporaryDirectory() as name, served(Path(name)) as (url, admin_key, process):
        with Watch(url, process) as idle:
            time.sleep(3)
        curator = curator_at(url, admin_key, process)
        lines = [line for kind in KINDS for line in measure(Path(name), curator, kind)]
    return [
        Section(
            title="Uploads",
            remarks=[
                f"{ROWS:,} rows over loopback to one worker, network, noise and database included, the median of "
                f"{ROUNDS} uploads; the speed is beside pyarrow's reader of the same file on one thread.",
                "Memory is how much the server grows by at most (limit: 200 MB); /healthz is called every 5 ms: "
                "50 %, 90 % and 99 % of the answers came within (limit: 50 ms at the 99th percentile). "
                f"Without an upload: {percentiles(idle.milliseconds)}.",
            ],
            header=["file", "size", "rows/s", "of pyarrow", "memory", "/healthz during the upload"],
            rows=lines,
        )
    ]


if __name__ == "__main__":
    publish(run(), "uploads")
