"""Upload bodies in every format, and helpers that read and count them."""

from __future__ import annotations

import gzip as gzip_module
import io
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet
from numpy.typing import NDArray

from app.ingest.batch import Batch, Wanted
from app.ingest.formats import MediaType, read_batches
from app.ingest.limits import Limits
from app.ingest.upload import Ingest, read_upload
from core.budget import Epsilon
from core.domain.domain import Domain
from core.domain.number import Number
from core.histogram import Counts, OccupiedCounts
from core.plan import DeclaredSize, EstimatedSize, Order, Plan, make_plan
from core.records import OutOfRange
from core.unit import RECORD, Unit

DOMAIN = Domain((Number("x", 0, 10), Number("y", -1, 1)))
LIMITS = Limits(max_line_bytes=400)
SIZE = DeclaredSize(500)


def order(size: DeclaredSize | EstimatedSize = SIZE, *, domain: Domain = DOMAIN, unit: Unit = RECORD) -> Order:
    """An order for a small grid."""
    return Order(attributes=domain.attributes, epsilon=Epsilon.parse("1"), clusters=3, size=size, unit=unit)


@dataclass(frozen=True, slots=True, repr=False)
class Counted:
    """A counted upload: its plan, its exact counts, and its numbers of rows."""

    plan: Plan
    counts: Counts | OccupiedCounts
    ingest: Ingest


def count(
    body: bytes | Iterable[bytes],
    media_type: MediaType = MediaType.CSV,
    *,
    gzip: bool = False,
    size: DeclaredSize | EstimatedSize = SIZE,
    domain: Domain = DOMAIN,
    out_of_range: OutOfRange = OutOfRange.CLIP,
    limits: Limits = LIMITS,
    unit: Unit = RECORD,
) -> Counted:
    """Count an upload, given as bytes or as chunks. With an estimated size no noise is added to the size."""
    wanted = order(size, domain=domain, unit=unit)
    with read_upload(
        [body] if isinstance(body, bytes) else body,
        media_type=media_type,
        gzip=gzip,
        order=wanted,
        domain=domain,
        out_of_range=out_of_range,
        max_cells=10_000,
        limits=limits,
    ) as rows:
        exact = None if isinstance(size, DeclaredSize) else max(1, len(rows))
        plan = make_plan(wanted, max_cells=10_000, noisy_size=exact)
        return Counted(plan, rows.count_on(plan), rows.ingest)


def summary(counted: Counted) -> tuple[int, int, int, bytes]:
    """All results of counting, in a form that can be compared."""
    ingest = counted.ingest
    return ingest.rows_read, ingest.rows_dropped, ingest.rows_clipped, counted.counts.cells.tobytes()


def read(
    body: bytes | Iterable[bytes],
    media_type: MediaType = MediaType.CSV,
    *,
    names: tuple[str, ...] = DOMAIN.names,
    gzip: bool = False,
    limits: Limits = LIMITS,
) -> Rows:
    """All rows of a body, whose columns of these names are numbers."""
    chunks = [body] if isinstance(body, bytes) else body
    batches = list(read_batches(chunks, numbers(*names), media_type=media_type, gzip=gzip, limits=limits))
    values = np.concatenate([np.empty((0, len(names))), *(Rows.of(batch).values for batch in batches)])
    return Rows(values, sum(batch.bad_rows for batch in batches))


def numbers(*names: str) -> Wanted:
    """Columns of numbers."""
    return Wanted(tuple(Number(name, 0, 1) for name in names))


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows of numbers, one for each line of `values`; and the number of rows that could not be parsed."""

    values: NDArray[np.float64]
    bad_rows: int

    @classmethod
    def of(cls, batch: Batch) -> Rows:
        """The rows of a batch of numbers."""
        return cls(np.stack(batch.columns, axis=1), batch.bad_rows)


def finite(batch: Rows) -> NDArray[np.float64]:
    """The rows of a batch that can become records."""
    return batch.values[np.isfinite(batch.values).all(axis=1)]


def cut(body: bytes, size: int) -> Iterator[bytes]:
    """A body in chunks of the given size."""
    return (body[start : start + size] for start in range(0, len(body), size))


def csv_body(*lines: bytes, header: bytes = b"x,y") -> bytes:
    """A CSV file with these lines."""
    return b"".join(line + b"\n" for line in (header, *lines))


def ndjson_body(table: pa.Table) -> bytes:
    """A table as NDJSON."""
    return b"".join(orjson.dumps(row) + b"\n" for row in table.to_pylist())


def parquet_body(table: pa.Table, **options: object) -> bytes:
    """A table as a Parquet file."""
    sink = io.BytesIO()
    pyarrow.parquet.write_table(table, sink, **options)
    return sink.getvalue()


def arrow_body(table: pa.Table, *, rows: int | None = None, compression: str | None = None) -> bytes:
    """A table as an Arrow stream of batches of some rows."""
    sink = io.BytesIO()
    options = pyarrow.ipc.IpcWriteOptions(compression=compression)
    with pyarrow.ipc.new_stream(sink, table.schema, options=options) as writer:
        writer.write_table(table, max_chunksize=rows)
    return sink.getvalue()


def text_body(table: pa.Table) -> bytes:
    """A table as CSV, by Python's own spelling of numbers."""
    rows = (",".join("" if value is None else str(value) for value in row.values()) for row in table.to_pylist())
    return csv_body(*(row.encode() for row in rows), header=",".join(table.column_names).encode())


WRITERS = {
    MediaType.CSV: text_body,
    MediaType.NDJSON: ndjson_body,
    MediaType.PARQUET: parquet_body,
    MediaType.ARROW_STREAM: arrow_body,
}


def table(rows: int = 50, *, seed: int = 1) -> pa.Table:
    """Rows in and around the domain, with other columns between and after the attributes."""
    numbers = np.random.default_rng(seed)
    return pa.table(
        {
            "y": numbers.uniform(-1.2, 1.2, rows),
            "note": ["a", "b"] * (rows // 2) + ["c"] * (rows % 2),
            "x": numbers.integers(-1, 12, rows),
        }
    )


def descriptors() -> int:
    """The number of open files of this process."""
    return len(list(Path("/proc/self/fd").iterdir()))


def gzipped(body: bytes) -> bytes:
    """A body under Content-Encoding gzip."""
    return gzip_module.compress(body, 1)
