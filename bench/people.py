"""Person units beside record units: speed and peak memory of reading an upload, with its spools and its noise.

`python -m bench.people`; with FULL=1 in the environment also 10^7 rows of 10^6 persons. Every upload is read in a
process of its own, so that its peak memory is that of this upload. Where units are persons, at most MAX_ROWS rows of
each are counted, which takes grouping the rows by person: in memory, and beyond `Limits.buffer_bytes` on disk.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from app.ingest.formats import MediaType
from app.ingest.limits import GIB, MIB, Limits
from app.ingest.upload import read_upload
from bench.report import Section, chosen, publish
from core.budget import Epsilon
from core.domain.domain import Domain
from core.domain.number import Number
from core.plan import DeclaredSize, Order
from core.randomness import NoiseSource
from core.records import OutOfRange
from core.release import draw
from core.unit import RECORD, Unit

SIZES = ((10**6, 10**5),)  # rows, persons
FULL_SIZES = (*SIZES, (10**7, 10**6))
PERSON = Unit("person", 3)
ATTRIBUTES = 3
ROUNDS = 3
MAX_CELLS = 4_000_000  # the service's default


@dataclass(frozen=True, slots=True)
class Kind:
    """A file format and its writer."""

    name: str
    media_type: MediaType
    write: Callable[[pa.Table, Path], object]


@dataclass(frozen=True, slots=True)
class Measured:
    """One upload: its seconds, and in MB its peak memory above that at the start and what it wrote to disk."""

    seconds: float
    memory: float
    written: float


def _write_csv(table: pa.Table, path: Path) -> None:
    pyarrow.csv.write_csv(table, path, pyarrow.csv.WriteOptions(quoting_style="none"))


KINDS = (
    Kind("CSV", MediaType.CSV, _write_csv),
    Kind("Parquet", MediaType.PARQUET, pyarrow.parquet.write_table),
)


def table(rows: int, persons: int) -> pa.Table:
    """Normal values, and persons in no order: each row belongs to any of them with the same probability."""
    rng = np.random.default_rng(1)
    columns: dict[str, Any] = {f"x{number}": rng.normal(50, 12, rows).round(3) for number in range(ATTRIBUTES)}
    names = pa.array([f"person-{number:07d}" for number in range(persons)])
    return pa.table(columns | {"person": names.take(pa.array(rng.integers(persons, size=rows)))})


def read_once(path: Path, media_type: MediaType, unit: Unit, rows: int) -> Measured:
    """Read a file and draw its synopsis, as the service does between the body and the database."""
    domain = Domain(tuple(Number(f"x{number}", 0, 100) for number in range(ATTRIBUTES)))
    size = DeclaredSize(rows)
    order = Order(attributes=domain.attributes, epsilon=Epsilon.parse("1"), clusters=8, size=size, unit=unit)
    process = psutil.Process()
    before, written, started = process.memory_info().rss, process.io_counters().write_chars, time.perf_counter()
    with read_upload(
        _chunks(path),
        media_type=media_type,
        gzip=False,
        order=order,
        domain=domain,
        out_of_range=OutOfRange.CLIP,
        max_cells=MAX_CELLS,
        limits=Limits(max_bytes=4 * GIB),
    ) as held:
        draw(
            held,
            order,
            NoiseSource(),
            max_cells=MAX_CELLS,
            domain=domain,
            out_of_range=OutOfRange.CLIP,
            dataset="bench",
            release_id="bench",
        )
    seconds = time.perf_counter() - started
    assert held.ingest.rows_read == rows
    written = process.io_counters().write_chars - written
    return Measured(seconds, (_peak_bytes() - before) / 1e6, written / 1e6)


def _chunks(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while chunk := file.read(MIB):
            yield chunk


def _peak_bytes() -> int:
    """The highest resident memory of this process. (`ru_maxrss` would include that of the process that started it.)"""
    (kilobytes,) = re.findall(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())
    return 1024 * int(kilobytes)


def in_a_process(path: Path, kind: Kind, unit: Unit, rows: int) -> Measured:
    """`read_once` in a new process."""
    command = [sys.executable, "-m", "bench.people", str(path), kind.media_type, json.dumps(unit.to_json()), str(rows)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return Measured(*json.loads(done.stdout))


def measure(path: Path, kind: Kind, rows: int, persons: int) -> list[list[str]]:
    """Uploads of a file with both units, in turns; a line of the table for each."""
    measured: dict[Unit, list[Measured]] = {RECORD: [], PERSON: []}
    for _ in range(ROUNDS):
        for unit, uploads in measured.items():
            uploads.append(in_a_process(path, kind, unit, rows))
    seconds = {unit: float(np.median([each.seconds for each in uploads])) for unit, uploads in measured.items()}
    return [
        [
            kind.name,
            f"{rows:,}",
            f"{persons:,}",
            "person" if unit.is_person else "record",
            f"{rows / seconds[unit]:,.0f}",
            f"{seconds[RECORD] / seconds[unit]:.2f}",
            f"{max(each.memory for each in uploads):.0f} MB",
            f"{max(each.written for each in uploads):.0f} MB",
        ]
        for unit, uploads in measured.items()
    ]


def run() -> list[Section]:
    """The section of the report."""
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        for rows, persons in chosen(SIZES, FULL_SIZES):
            content = table(rows, persons)
            for kind in KINDS:
                path = Path(folder) / "rows"
                kind.write(content, path)
                lines += measure(path, kind, rows, persons)
    return [
        Section(
            title="Uploads of persons",
            remarks=[
                f"{ATTRIBUTES} attributes and a column of persons, at most {PERSON.max_rows} rows of each; readers, "
                f"spools and noise, without network and database; the median of {ROUNDS} uploads, in turns.",
                "Memory is how much the process grows by at most; written is what goes to the sealed spools.",
            ],
            header=["file", "rows", "persons", "unit", "rows/s", "of record", "memory", "written"],
            rows=lines,
        )
    ]


def main() -> None:
    """The report; or, with the arguments of `in_a_process`, a single upload, printed as JSON."""
    if len(sys.argv) == 1:
        publish(run(), "people")
        return
    path, media_type, unit, rows = sys.argv[1:]
    measured = read_once(Path(path), MediaType(media_type), Unit.from_json(json.loads(unit)), int(rows))
    print(json.dumps([measured.seconds, measured.memory, measured.written]))


if __name__ == "__main__":
    main()
