"""Large answers as files: JSON, CSV, Parquet or Arrow, written in batches so that none is held as a whole."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator
from enum import StrEnum
from io import BytesIO
from typing import Any

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from app.questions.spreadsheets import as_text
from core.queries.synthetic import Block
from core.synopsis import Synopsis

_CELLS_AT_ONCE = 2**16


class Format(StrEnum):
    """The forms of a large answer, by the word for `?format=`."""

    JSON = "json"
    CSV = "csv"
    PARQUET = "parquet"
    ARROW = "arrow"

    @property
    def media_type(self) -> str:
        """The value of Content-Type, and what Accept may name."""
        return _MEDIA_TYPES[self]


_MEDIA_TYPES = {
    Format.JSON: "application/json",
    Format.CSV: "text/csv",
    Format.PARQUET: "application/vnd.apache.parquet",
    Format.ARROW: "application/vnd.apache.arrow.stream",
}


def cells(synopsis: Synopsis) -> Iterator[pa.RecordBatch]:
    """Every cell, or every listed one, with its box in the attributes' own units and its noisy count."""
    grid, domain = synopsis.grid, synopsis.domain
    edges = [attribute.edges(axis) for attribute, axis in zip(domain.attributes, grid.axes, strict=True)]
    for start in range(0, len(synopsis.counts), _CELLS_AT_ONCE):
        counts = synopsis.counts[start : start + _CELLS_AT_ONCE]
        numbers = synopsis.cells.numbers_at(np.arange(start, start + len(counts)))
        places = grid.places(numbers).T
        ends = [edge[place + step] for edge, place in zip(edges, places, strict=True) for step in (0, 1)]
        columns = [*(pa.array(end) for end in ends), pa.array(counts)]
        yield pa.RecordBatch.from_arrays(columns, schema=cell_schema(synopsis))


def cell_schema(synopsis: Synopsis) -> pa.Schema:
    """The columns of `cells`; the digest goes with the file where the form has room for it."""
    ends = [(f"{name}_{end}", pa.float64()) for name in synopsis.domain.names for end in ("lower", "upper")]
    about_cells = {name: str(value) for name, value in synopsis.cells.header().items()}
    metadata = {"synopsis_digest": synopsis.digest, **about_cells}
    return pa.schema([*ends, ("count", pa.int64())], metadata=metadata)


def row_schema(names: tuple[str, ...]) -> pa.Schema:
    """The columns of `rows`."""
    return pa.schema([(name, pa.float64()) for name in names])


def rows(blocks: Iterable[Block], names: tuple[str, ...]) -> Iterator[pa.RecordBatch]:
    """Blocks of rows as record batches."""
    for block in blocks:
        columns = [pa.array(column.values, mask=column.missing) for column in block]
        yield pa.RecordBatch.from_arrays(columns, schema=row_schema(names))


def written(batches: Iterator[pa.RecordBatch], schema: pa.Schema, form: Format) -> Generator[bytes, None, None]:
    """The bytes of a CSV, Parquet or Arrow file, a piece for each batch."""
    sink = BytesIO()

    def drained() -> bytes:
        piece = sink.getvalue()
        sink.seek(0)
        sink.truncate()
        return piece

    if form is Format.CSV:  # attribute names are free text, and people open such a file in a spreadsheet
        schema = pa.schema([field.with_name(as_text(field.name)) for field in schema])
        batches = (pa.RecordBatch.from_arrays(batch.columns, schema=schema) for batch in batches)
    with _writer(_Forward(sink), schema, form) as writer:
        for batch in batches:
            writer.write_batch(batch)
            yield drained()
    yield drained()


class _Forward:
    """A file that only goes forward: positions count every byte written, though written pieces are taken away."""

    def __init__(self, sink: BytesIO) -> None:
        self._sink = sink
        self._position = 0
        self.closed = False

    def write(self, data: bytes) -> int:
        """Pass on, and count."""
        self._sink.write(data)
        self._position += len(data)
        return len(data)

    def tell(self) -> int:
        """How many bytes were written so far."""
        return self._position

    def flush(self) -> None:
        """Nothing is held back."""

    def close(self) -> None:
        """The sink stays open for the last piece."""
        self.closed = True

    def readable(self) -> bool:
        """Never read."""
        return False

    def writable(self) -> bool:
        """Only written."""
        return True

    def seekable(self) -> bool:
        """Never sought in."""
        return False


def _writer(sink: _Forward, schema: pa.Schema, form: Format) -> Any:
    target = pa.PythonFile(sink, mode="w")
    match form:
        case Format.CSV:
            return pyarrow.csv.CSVWriter(target, schema)
        case Format.PARQUET:
            return pyarrow.parquet.ParquetWriter(target, schema)
        case _:
            return pa.ipc.new_stream(target, schema)


def json_rows(blocks: Iterable[Block], empty: bytes) -> Generator[bytes, None, None]:
    """A JSON object in pieces: `empty` is it without rows, and its last field is an empty list for them."""
    yield empty.removesuffix(b"]}")
    first = True
    for block in blocks:
        inner = orjson.dumps(np.stack([column.values for column in block], axis=1), option=orjson.OPT_SERIALIZE_NUMPY)[
            1:-1
        ]
        yield inner if first else b"," + inner
        first = False
    yield b"]}"
