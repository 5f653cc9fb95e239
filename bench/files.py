"""A file of rows to exact counts, in process: beside only reading it, np.histogramdd, polars and DuckDB.

`python -m bench.files`. CPU time, in turns, so that both sides have one thread's worth of work; the last column is wall
time, where reading and counting share two cores. A peer that is not installed is left out.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from importlib import import_module
from pathlib import Path
from statistics import median

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from app.ingest.formats import MediaType
from app.ingest.limits import Limits
from app.ingest.local_file import LocalFile
from app.ingest.upload import read_upload
from bench.report import Section, compare, publish
from core.budget import Epsilon
from core.domain.domain import Domain
from core.domain.number import Number
from core.plan import DeclaredSize, Order
from core.records import OutOfRange

ROWS = 3_000_000
ROUNDS = 5
NAMES = ("x0", "x1", "x2")
DOMAIN = Domain(tuple(Number(name, 0, 100) for name in NAMES))
ORDER = Order(attributes=DOMAIN.attributes, size=DeclaredSize(ROWS), epsilon=Epsilon(10**9), clusters=8)
_MEDIA = {"Parquet": MediaType.PARQUET, "Parquet, rounded": MediaType.PARQUET, "CSV": MediaType.CSV}


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
            max_cells=10**7,
            limits=Limits(),
        ) as rows,
    ):
        return len(rows)


def only_read(path: Path, media_type: MediaType) -> int:
    """Read the same columns with pyarrow, on one thread."""
    if media_type is MediaType.CSV:
        table = pyarrow.csv.read_csv(
            path, pyarrow.csv.ReadOptions(use_threads=False), convert_options=pyarrow.csv.ConvertOptions()
        )
        return int(table.num_rows)
    file = pyarrow.parquet.ParquetFile(path)
    return sum(batch.num_rows for batch in file.iter_batches(2**16, columns=list(NAMES), use_threads=False))


def peers(path: Path, cells: int) -> dict[str, Callable[[], object]]:
    """The same counts of a Parquet file by other tools, those that are installed."""
    calls: dict[str, Callable[[], object]] = {}

    def by_histogramdd() -> object:
        table = pyarrow.parquet.read_table(path, columns=list(NAMES), use_threads=False)
        rows = np.stack([table[name].to_numpy() for name in NAMES], axis=1)
        return np.histogramdd(rows, bins=cells, range=[(0, 100)] * len(NAMES))

    calls["np.histogramdd"] = by_histogramdd
    with suppress(ImportError):
        import polars as pl  # noqa: PLC0415 - optional

        place = [(pl.col(name) * (cells / 100)).cast(pl.Int32) for name in NAMES]
        calls["polars"] = lambda: pl.scan_parquet(path).group_by(place).len().collect()
    with suppress(ImportError):
        duckdb = import_module("duckdb")

        places = ", ".join(f"cast(floor({name} * {cells / 100}) as integer)" for name in NAMES)
        query = f"select {places}, count(*) from read_parquet('{path}') group by all"  # noqa: S608 - our own names
        calls["DuckDB"] = lambda: duckdb.sql(query).fetchall()
    return calls


def _wall(call: Callable[[], object]) -> float:
    times = []
    for _ in range(ROUNDS):
        started = time.perf_counter()
        call()
        times.append(time.perf_counter() - started)
    return median(times)


def run() -> list[Section]:
    """Speeds beside reading, and peers."""
    rng = np.random.default_rng(1)
    columns = {name: rng.uniform(0, 100, ROWS) for name in NAMES}
    table, rounded = pa.table(columns), pa.table({name: column.round(3) for name, column in columns.items()})
    lines = []
    with tempfile.TemporaryDirectory() as name:
        paths = {kind: Path(name) / kind for kind in _MEDIA}
        pyarrow.parquet.write_table(table, paths["Parquet"], use_dictionary=False)
        pyarrow.parquet.write_table(rounded, paths["Parquet, rounded"], use_dictionary=False)
        pyarrow.csv.write_csv(rounded, paths["CSV"])
        for kind, media_type in _MEDIA.items():
            path = paths[kind]
            calls: dict[str, Callable[[], object]] = {
                "read": partial(only_read, path, media_type),
                "count": partial(counted, path, media_type),
            }
            calls |= peers(path, 20) if kind == "Parquet" else {}
            seconds = compare(calls, repeats=ROUNDS)
            wall = _wall(calls["read"]) / _wall(calls["count"])
            for tool, value in seconds.items():
                share = f"{wall:.2f}" if tool == "count" else ""
                lines.append([kind, tool, f"{ROWS / value / 1e6:.1f}", f"{seconds['read'] / value:.2f}", share])
    remarks = [
        f"{ROWS:,} rows, three columns; `count` is rugnik's reader with all of its checks, `read` is pyarrow alone."
    ]
    header = ["file", "what", "million rows/s", "of reading (CPU)", "of reading (wall)"]
    return [Section("Files: rows to counts in process", remarks, header, lines)]


if __name__ == "__main__":
    publish(run(), "files")
