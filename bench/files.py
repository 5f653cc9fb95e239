"""A file of rows to exact counts: in process beside only reading it and beside peers, and over HTTP beside in process.

`python -m bench.files`. In process, both sides have one core and take turns, and CPU time is compared; the last column
of the first table is wall time, where rows are counted in a second thread while the next ones are read. Over HTTP it is
the wall time of the whole PUT, with socket, sealed spool, noise and database, beside counting the same file in process.

Peers are in environments and processes of their own (`bench.peers.timed`), where their time is measured; so is the
reader beside which all is compared, pyarrow alone. Of numpy there is one version, that which rugnik runs on.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
from matplotlib.figure import Figure
from rich.progress import track

from app.ingest.formats import MediaType
from app.ingest.limits import Limits
from app.ingest.local_file import LocalFile
from app.ingest.upload import read_upload
from bench.peers.timed import Timed, timed
from bench.report import Section, chosen, cpu_seconds, publish, save, take_turns
from bench.uploads import Curator, Kind, curator_at, served
from core.budget import Epsilon
from core.domain.domain import Domain
from core.domain.number import Number
from core.plan import DeclaredSize, Order, make_plan
from core.records import OutOfRange

ROWS = 3_000_000
ROUNDS = chosen(5, 15)
NAMES = ("x0", "x1", "x2")
DOMAIN = Domain(tuple(Number(name, 0, 100) for name in NAMES))
EPSILON = Epsilon(10**9)
ORDER = Order(attributes=DOMAIN.attributes, size=DeclaredSize(ROWS), epsilon=EPSILON, clusters=8)
MAX_CELLS = 10**7
_MEDIA = {"Parquet": MediaType.PARQUET, "Parquet, rounded": MediaType.PARQUET, "CSV": MediaType.CSV}
_SENT = ("Parquet", "CSV")  # over HTTP

Call = Callable[[], object]


def counted(path: Path, media_type: MediaType) -> int:
    """Count a file as a release would; its rows."""
    with (
        LocalFile(path) as file,
        read_upload(
            file,
            media_type=media_type,
            gzip=False,
            order=ORDER,
            domain=DOMAIN,
            out_of_range=OutOfRange.CLIP,
            max_cells=MAX_CELLS,
            limits=Limits(),
        ) as rows,
    ):
        return len(rows)


def reader(path: Path, media_type: MediaType, *, cores: Literal[1, "all"]) -> AbstractContextManager[Timed]:
    """pyarrow that reads the same columns, on one thread."""
    options = {"path": str(path), "media_type": media_type.value, "columns": NAMES}
    return timed("pyarrow", "pyarrow_read.py", cores=cores, **options)


def by_histogramdd(path: Path, cells: int) -> None:
    """The same counts by numpy alone, after reading by pyarrow."""
    table = pyarrow.parquet.read_table(path, columns=list(NAMES), use_threads=False)
    rows = np.stack([table[name].to_numpy() for name in NAMES], axis=1)
    np.histogramdd(rows, bins=cells, range=[(0, 100)] * len(NAMES))


@contextmanager
def peers(path: Path, cells: int) -> Iterator[dict[str, Timed]]:
    """The same counts of a Parquet file by other tools: by a query that groups, and by np.bincount of their cells."""
    with ExitStack() as stack:
        options = {"path": str(path), "names": NAMES, "cells": cells, "upper": 100}
        yield {
            f"{tool}{'' if grouped else ' and np.bincount'}": stack.enter_context(
                timed(tool.lower(), f"{tool.lower()}_count.py", cores=1, grouped=grouped, **options)
            )
            for tool in ("polars", "DuckDB")
            for grouped in (True, False)
        }


@contextmanager
def one_core() -> Iterator[None]:
    """This thread, and threads that it starts meanwhile, on one core: `app.ingest.relay` then needs no second one."""
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(cores)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, cores)


def on_one_core(call: Call) -> Call:
    """The call on one core."""

    def alone() -> object:
        with one_core():
            return call()

    return alone


def write(folder: Path) -> dict[str, Path]:
    """The files: random doubles, which no encoding makes smaller, and the same rounded to three places."""
    rng = np.random.default_rng(1)
    columns = {name: rng.uniform(0, 100, ROWS) for name in NAMES}
    table, rounded = pa.table(columns), pa.table({name: column.round(3) for name, column in columns.items()})
    paths = {kind: folder / kind for kind in _MEDIA}
    pyarrow.parquet.write_table(table, paths["Parquet"], use_dictionary=False)
    pyarrow.parquet.write_table(rounded, paths["Parquet, rounded"], use_dictionary=False)
    pyarrow.csv.write_csv(rounded, paths["CSV"])
    return paths


def in_process(paths: dict[str, Path]) -> Section:
    """Speeds beside reading, and peers."""
    cells = make_plan(ORDER, max_cells=MAX_CELLS).grid.cells_per_axis or 1
    lines, speeds = [], {}
    for kind, path in track(paths.items(), "files in process"):
        seconds, wall = _seconds(path, _MEDIA[kind], cells if kind == "Parquet" else None)
        for tool, value in seconds.items():
            speeds[kind, tool] = ROWS / value / 1e6
            share = f"{wall:.2f}" if tool == "count" else ""
            lines.append([kind, tool, f"{ROWS / value / 1e6:.1f}", f"{seconds['read'] / value:.2f}", share])
    remarks = [
        f"{ROWS:,} rows, three columns, {cells} cells per axis; `count` is rugnik's reader with all of its checks, "
        f"`read` is pyarrow alone, on one thread. CPU time on one core, median of {ROUNDS} rounds in turns.",
        "The peers count what is there: no bound, missing value or type is checked.",
        "Wall time: `count` has a second thread, `read` has not.",
    ]
    header = ["file", "what", "million rows/s", "of reading (CPU)", "of reading (wall)"]
    return Section("Files: rows to counts in process", remarks, header, lines, _plot(speeds))


def _seconds(path: Path, media_type: MediaType, cells: int | None) -> tuple[dict[str, float], float]:
    """CPU time of each tool, of peers too if there are `cells`; and the wall time of reading over that of counting."""
    count = partial(counted, path, media_type)
    with reader(path, media_type, cores="all") as read:
        walls = take_turns({"read": read.wall_seconds, "count": partial(_wall, count)}, repeats=ROUNDS)
    with ExitStack() as stack:
        others = {"read": stack.enter_context(reader(path, media_type, cores=1))}
        here: dict[str, Call] = {"count": count}
        if cells is not None:
            others |= stack.enter_context(peers(path, cells))
            here["np.histogramdd"] = partial(by_histogramdd, path, cells)
        timers: dict[str, Callable[[], float]] = {
            tool: partial(cpu_seconds, on_one_core(call)) for tool, call in here.items()
        }
        timers |= {tool: call.cpu_seconds for tool, call in others.items()}
        seconds = take_turns(timers, repeats=ROUNDS)
        assert others.pop("read").result == ROWS
        assert len({call.result for call in others.values()}) <= 1, "peers disagree about the cells that have rows"
    return seconds, walls["read"] / walls["count"]


def _plot(speeds: dict[tuple[str, str], float]) -> str:
    figure = Figure(figsize=(7, 3.5), layout="constrained")
    axes = figure.subplots()
    labels = [f"{kind}: {tool}" for kind, tool in speeds]
    colours = ["tab:orange" if tool == "count" else "tab:grey" for _, tool in speeds]
    axes.barh(labels, list(speeds.values()), color=colours)
    axes.invert_yaxis()
    axes.set(xlabel="million rows a second of CPU time; orange: rugnik")
    return save(figure, "files")


def over_http(paths: dict[str, Path], folder: Path) -> Section:
    """The whole PUT beside counting the same file in process, in turns: wall time."""
    lines = []
    with served(folder) as (url, admin_key, process):
        curator = curator_at(url, admin_key, process)
        for name in track(_SENT, "files over HTTP"):
            kind = Kind(name, len(NAMES), _MEDIA[name].value, _unused)
            lines.append(_sent(curator, kind, paths[name]))
    remarks = [
        f"The same files and the same order, {ROWS:,} rows to one worker on loopback: PUT /v1/releases/{{id}}/records "
        f"from the first byte to the reply. Wall time, median of {ROUNDS} rounds in turns; CPU time is the server's.",
    ]
    header = ["file", "PUT", "million rows/s", "CPU", "in process", "of in process", "of reading"]
    return Section("Files: over HTTP", remarks, header, lines)


def _sent(curator: Curator, kind: Kind, path: Path) -> list[str]:
    dataset = curator.register(kind)
    media_type = MediaType(kind.media_type)
    times: dict[str, list[float]] = {"put": [], "cpu": [], "count": [], "read": []}
    with reader(path, media_type, cores="all") as read:
        for round_number in range(ROUNDS + 1):
            cpu = _cpu(curator)
            put, _ = curator.upload(dataset, kind, path, {"declared": ROWS}, rows=ROWS, epsilon="0.5", watched=False)
            measured = {"put": put, "cpu": _cpu(curator) - cpu}
            measured |= {"count": _wall(partial(counted, path, media_type)), "read": read.wall_seconds()}
            for name, value in measured.items():
                if round_number:  # the first one warms the caches
                    times[name].append(value)
    put, cpu, count, reading = (median(values) for values in times.values())
    return [
        kind.name,
        f"{1000 * put:.0f} ms",
        f"{ROWS / put / 1e6:.1f}",
        f"{1000 * cpu:.0f} ms",
        f"{1000 * count:.0f} ms",
        f"{count / put:.2f}",
        f"{reading / put:.2f}",
    ]


def _cpu(curator: Curator) -> float:
    times = curator.process.cpu_times()
    return float(times.user + times.system)


def _wall(call: Call) -> float:
    return cpu_seconds(call, time.perf_counter)


def _unused(*_: Any) -> None:
    raise NotImplementedError


def run() -> list[Section]:
    """In process, then over HTTP."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        paths = write(folder)
        return [in_process(paths), over_http(paths, folder)]


if __name__ == "__main__":
    publish(run(), "files")
