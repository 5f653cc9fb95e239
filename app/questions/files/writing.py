"""Large answers as CSV, Parquet or Arrow, written in batches so that none is held as a whole."""

from __future__ import annotations

import json
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from io import BytesIO
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from app.questions.files.columns import cell_columns, row_column
from app.questions.files.layers import layer_columns
from app.questions.formats import Format
from app.questions.spreadsheets import as_text
from core.adaptive.cells import AdaptiveCells
from core.adaptive.listing import listings
from core.domain.attribute import Attribute
from core.domain.axis import OFFSET_STEPS
from core.domain.domain import Domain
from core.noisy_histogram import NoisyHistogram
from core.queries.synthetic import Block
from rugnik.wire.cells import distinct

_CELLS_AT_ONCE = 2**16


def cells(histogram: NoisyHistogram, form: Format, about: Mapping[str, str]) -> Iterator[pa.RecordBatch]:
    """Every cell, or every listed one, with its box in the attributes' own types and its noisy count.

    With offsets, a column for each ordered attribute has their noisy sums, in `offset_steps` to half a cell.
    What is said `about` them goes with the file where its form has room for it. There is always a batch, if need be an
    empty one.
    """
    if isinstance(histogram.cells, AdaptiveCells):
        yield from _layers(histogram.cells, histogram.domain, form, about)
        return
    grid, attributes = histogram.grid, histogram.domain.attributes
    metadata = {**about, **{name: str(value) for name, value in histogram.cells.header().items()}}
    offsets = histogram.cells.offsets
    if offsets is not None:
        metadata["offset_steps"] = str(OFFSET_STEPS)
    sums_of = [f"{attribute.name}_offsets" for attribute in histogram.domain.ordered] if offsets is not None else []
    for start in range(0, max(1, len(histogram.counts)), _CELLS_AT_ONCE):
        counts = histogram.counts[start : start + _CELLS_AT_ONCE]
        numbers = histogram.cells.numbers_at(np.arange(start, start + len(counts)))
        columns: list[tuple[str, pa.Array]] = []
        for attribute, axis, places in zip(attributes, grid.axes, grid.places(numbers).T, strict=True):
            columns += cell_columns(attribute, axis, places, csv=form is Format.CSV)
        names = distinct((name for name, _ in columns), "count", *sums_of)
        own = [(name, column) for name, (_, column) in zip(names, columns, strict=True)]
        sums = () if offsets is None else tuple(offsets.sums[start : start + len(counts)].T)
        own += [("count", pa.array(counts)), *zip(sums_of, (pa.array(each) for each in sums), strict=True)]
        yield _batch(own, metadata)


def _layers(cells: AdaptiveCells, domain: Domain, form: Format, about: Mapping[str, str]) -> Iterator[pa.RecordBatch]:
    """The cells of all layers of an adaptive release, from the base to the leaves, with their boxes."""
    metadata = {**about, **{name: json.dumps(value) for name, value in cells.header().items()}}
    for listing in listings(cells, domain):
        for start in range(0, len(listing), _CELLS_AT_ONCE):
            rows = slice(start, start + _CELLS_AT_ONCE)
            own, others = layer_columns(listing, domain, rows, csv=form is Format.CSV)
            names = distinct((name for name, _ in own), *(name for name, _ in others))
            named = [(name, column) for name, (_, column) in zip(names, own, strict=True)]
            yield _batch([*named, *others], metadata)


def rows(blocks: Iterable[Block], attributes: Sequence[Attribute], form: Format) -> Iterator[pa.RecordBatch]:
    """Blocks of rows as record batches."""
    for block in blocks:
        columns = [
            (attribute.name, row_column(attribute, column, csv=form is Format.CSV))
            for attribute, column in zip(attributes, block, strict=True)
        ]
        yield _batch(columns, None)


def _batch(columns: Sequence[tuple[str, pa.Array]], metadata: Mapping[str, str] | None) -> pa.RecordBatch:
    schema = pa.schema([(name, column.type) for name, column in columns], metadata=metadata)
    return pa.RecordBatch.from_arrays([column for _, column in columns], schema=schema)


def written(batches: Iterator[pa.RecordBatch], form: Format) -> Generator[bytes, None, None]:
    """The bytes of a CSV, Parquet or Arrow file, a piece for each batch; there is one batch at least."""
    sink = BytesIO()

    def drained() -> bytes:
        piece = sink.getvalue()
        sink.seek(0)
        sink.truncate()
        return piece

    first = next(batches)
    schema = first.schema
    if form is Format.CSV:  # attribute names are free text, and people open such a file in a spreadsheet
        schema = pa.schema([field.with_name(as_text(field.name)) for field in schema])
    with _writer(_Forward(sink), schema, form) as writer:
        for batch in chain((first,), batches):
            writer.write_batch(pa.RecordBatch.from_arrays(batch.columns, schema=schema))
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
