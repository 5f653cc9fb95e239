"""Files counted where they lie: two processes and two Dask workers beside one, a lost worker, and memory of 10^8 rows.

`python -m bench.engines`, a minute. The rows are one Parquet file of a million rows, hard-linked as often as needed,
so that they take little disk; each link is read and counted as a file of its own. Processes and workers are warm: a
file is counted before the clock starts. Peak memory is that of a fresh process that counts all files by itself.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import dask
import numpy as np
import pyarrow as pa
import pyarrow.parquet
from distributed import LocalCluster

from app.engines.counting import RecordEngine
from app.engines.dask_cluster import connected
from app.engines.files import find_files
from app.engines.parts import Job, Progress, parts_of
from app.ingest.limits import Limits
from bench.report import Section, publish
from core.budget import Epsilon
from core.counting import Drawn, Target, next_target
from core.domain.domain import Domain
from core.domain.number import Number
from core.plan import DeclaredSize, Order
from core.records import OutOfRange
from core.unit import RECORD

FILE_ROWS = 10**6
SPEED_FILES = 60
MEMORY_FILES = (1, 10, 100)
DOMAIN = Domain(tuple(Number(f"x{number}", 0, 100) for number in range(3)))
JOB = Job(DOMAIN, RECORD, OutOfRange.CLIP, Limits())
NOTHING_TO_DISK = {"distributed.worker.memory.target": False, "distributed.worker.memory.spill": False}


def target() -> Target:
    """The cells of an order for these rows; the same grid for any number of files."""
    size = DeclaredSize(FILE_ROWS)
    order = Order(attributes=DOMAIN.attributes, epsilon=Epsilon.parse("1"), clusters=8, size=size)
    return next_target(order, Drawn(), max_cells=4_000_000)


def linked(folder: Path, files: int) -> Path:
    """A folder with so many links to one file of rows, which is written when it is first needed."""
    rows = folder / "rows.parquet"
    if not rows.exists():
        rng = np.random.default_rng(1)
        columns = {each.name: rng.normal(50, 12, FILE_ROWS) for each in DOMAIN.attributes}
        pyarrow.parquet.write_table(pa.table(columns), rows, row_group_size=250_000, compression="none")
    links = folder / str(files)
    links.mkdir(exist_ok=True)
    for number in range(files):
        if not (link := links / f"{number:03}.parquet").exists():
            link.hardlink_to(rows)
    return links


def engine(executor: Executor, folder: Path, at_once: int, progress: Progress | None = None) -> RecordEngine:
    """An engine for all files of a folder."""
    parts = [part for file in find_files([str(folder)]) for part in parts_of(file)]
    return RecordEngine(executor, parts, JOB, at_once, progress)


def timed(executor: Executor, folder: Path, workers: int, progress: Progress | None = None) -> tuple[float, Any]:
    """Seconds and exact counts of a folder, once every worker has counted a file."""
    aim = target()
    engine(executor, linked(folder.parent, 8 * workers), 4 * workers).count(aim)
    started = time.perf_counter()
    tally = engine(executor, folder, 4 * workers, progress).count(aim)
    return time.perf_counter() - started, aim.dense(tally)


@contextmanager
def dask_cluster(workers: int) -> Iterator[tuple[Executor, LocalCluster]]:
    """Worker processes of one thread each."""
    options: dict[str, Any] = {"threads_per_worker": 1, "dashboard_address": "127.0.0.1:0", "silence_logs": 50}
    started: Any = LocalCluster  # it has no types
    with (
        dask.config.set(NOTHING_TO_DISK),
        started(n_workers=workers, host="127.0.0.1", protocol="tcp", **options) as cluster,
        connected(cluster.scheduler_address) as opened,
    ):
        yield opened.executor, cluster


def speeds(folder: Path) -> list[list[str]]:
    """A line for each kind of workers."""
    files = linked(folder, SPEED_FILES)
    local, dasks = {}, {}
    for workers in (1, 2):
        with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
            local[workers], expected = timed(pool, files, workers)
        with dask_cluster(workers) as (executor, _):
            dasks[workers], counts = timed(executor, files, workers)
        assert (counts == expected).all()
        assert counts.sum() == SPEED_FILES * FILE_ROWS
    killed: list[int] = []
    with dask_cluster(2) as (executor, cluster):

        def kill(done: int, _all: int) -> None:
            if done >= SPEED_FILES // 3 and not killed:
                killed.append(next(iter(cluster.workers.values())).pid)
                os.kill(killed[0], signal.SIGKILL)

        lost, counts = timed(executor, files, 2, kill)
    assert killed
    assert (counts == expected).all()
    return [
        [name, f"{SPEED_FILES * FILE_ROWS / seconds / 1e6:.1f}", f"{one / seconds:.2f}"]
        for name, seconds, one in (
            ("one process", local[1], local[1]),
            ("two processes", local[2], local[1]),
            ("one Dask worker", dasks[1], dasks[1]),
            ("two Dask workers", dasks[2], dasks[1]),
            ("two, one killed after a third: the same counts", lost, dasks[1]),
        )
    ]


def alone(folder: Path) -> list[float]:
    """Count a folder in this process: seconds, peak memory in MB, rows."""
    started = time.perf_counter()
    with ThreadPoolExecutor(1) as executor:
        tally = engine(executor, folder, 2).count(target())
    (kilobytes,) = re.findall(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())
    return [time.perf_counter() - started, 1024 * int(kilobytes) / 1e6, tally.total]


def memories(folder: Path) -> list[list[str]]:
    """A line for each number of rows, each counted in a fresh process."""
    measured = {}
    for files in MEMORY_FILES:
        command = [sys.executable, "-m", "bench.engines", str(linked(folder, files))]
        measured[files] = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        assert measured[files][2] == files * FILE_ROWS
    return [
        [f"{rows:,}", f"{seconds:.1f}", f"{peak:.0f} MB", f"{peak / measured[MEMORY_FILES[0]][1]:.2f}"]
        for seconds, peak, rows in measured.values()
    ]


def run() -> list[Section]:
    """The sections of the report."""
    with tempfile.TemporaryDirectory() as name:
        speed, memory = speeds(Path(name)), memories(Path(name))
    about = f"Parquet files of {FILE_ROWS:,} rows, {len(DOMAIN.attributes)} numbers each; one run."
    return [
        Section(
            title="Engines: speed",
            remarks=[about, f"{SPEED_FILES} files; processes and workers are warm."],
            header=["", "million rows/s", "of one"],
            rows=speed,
        ),
        Section(
            title="Engines: peak memory",
            remarks=[about, "A fresh process counts all files by itself; its whole memory, with all libraries."],
            header=["rows", "seconds", "peak memory", "of the first"],
            rows=memory,
        ),
    ]


def main() -> None:
    """The report; or, with a folder, its count by this process, printed as JSON."""
    if len(sys.argv) == 1:
        publish(run(), "engines")
    else:
        print(json.dumps(alone(Path(sys.argv[1]))))


if __name__ == "__main__":
    main()
