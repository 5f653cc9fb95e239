"""CSV, Parquet and Arrow: the integers of a synopsis read back from a file, and the first row that is not as written.

A file has the box of each cell in its first columns, then the counts, then the sums of offsets (`app.questions.files`).
CSV is read as texts: its columns are compared with texts that the service's own writer makes.

Files are read in this thread: a command that ends while Arrow's pool of threads starts up may be aborted by it, with
its work done and a wrong exit code (apache/arrow issue 34314).
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet
from numpy.typing import NDArray

from app.questions.files.columns import cell_columns
from app.questions.files.writing import cells, written
from app.questions.formats import Format
from app.receipts.downloads import Progress, UnfitFile
from core.arrays import Floats, Wholes
from core.domain.attribute import Attribute
from core.domain.axis import Axis
from core.domain.category import Category
from core.synopsis import Outline, Synopsis

_LAYER_COLUMNS = 5  # layer, count, noise_sd, estimate, sd
_DERIVED = ("noise_sd", "estimate", "sd")  # of layers: floats, which another processor may round otherwise
_NOT_CONTENT = {b"pandas", b"ARROW:schema"}  # what other programs add when they write a file again


def read_table(data: bytes, form: Format) -> pa.Table:
    """The table of a file; of CSV every column as texts. UnfitFile where it cannot be read."""
    source = pa.BufferReader(data)
    try:
        match form:
            case Format.CSV:
                return _read_csv(data)
            case Format.PARQUET:
                return pyarrow.parquet.ParquetFile(source, pre_buffer=False).read(use_threads=False)
            case _:
                return pa.ipc.open_stream(source, options=pa.ipc.IpcReadOptions(use_threads=False)).read_all()
    except (pa.ArrowException, csv.Error, UnicodeDecodeError, StopIteration, OSError, ValueError):
        raise UnfitFile(f"The file cannot be read as {form.value}.") from None


def _read_csv(data: bytes) -> pa.Table:
    names = next(csv.reader(io.StringIO(data.decode("utf-8"), newline="")))
    places = [str(place) for place in range(len(names))]
    table = pyarrow.csv.read_csv(
        pa.BufferReader(data),
        read_options=pyarrow.csv.ReadOptions(column_names=places, skip_rows_after_names=1, use_threads=False),
        parse_options=pyarrow.csv.ParseOptions(newlines_in_values=True),
        convert_options=pyarrow.csv.ConvertOptions(
            column_types=dict.fromkeys(places, pa.string()), strings_can_be_null=False
        ),
    )
    return table.rename_columns(names)


def integers_of(table: pa.Table, outline: Outline, form: Format) -> Wholes:
    """The integers that follow the header of the synopsis, in their order. UnfitFile where the table has none."""
    attributes, boxes = outline.domain.attributes, _box_columns(outline)
    sums = len(outline.domain.ordered) if outline.has_offsets else 0
    expected = boxes + (_LAYER_COLUMNS if outline.layered else 1 + sums)
    if table.num_columns != expected:
        raise UnfitFile(f"The file has {table.num_columns} columns; a download of this release has {expected}.")
    counts = _wholes(table, boxes + outline.layered)
    if outline.layered:
        return counts
    if not outline.thresholded:
        if len(counts) != outline.grid.cell_count:
            raise UnfitFile(f"The file has {len(counts):,} rows; the release has {outline.grid.cell_count:,} cells.")
        return counts
    places, column = np.empty((table.num_rows, len(attributes)), dtype=np.int64), 0
    for x, (attribute, axis) in enumerate(zip(attributes, outline.grid.axes, strict=True)):
        places[:, x] = _places(table, column, _axis_values(attribute, axis, form))
        column += _columns_of(attribute)
    numbers = outline.grid.numbers(places)
    behind = np.flatnonzero(numbers[1:] <= numbers[:-1])
    if len(behind):
        raise UnfitFile(f"Row {behind[0] + 2} is out of order: its cell does not come after that of the row before it.")
    offsets = [_wholes(table, boxes + 1 + x) for x in range(sums)]
    return np.concatenate([numbers, counts, *([np.stack(offsets, axis=1).ravel()] if offsets else [])])


def _columns_of(attribute: Attribute) -> int:
    return 1 if isinstance(attribute, Category) else 2


def _box_columns(outline: Outline) -> int:
    return sum(map(_columns_of, outline.domain.attributes))


def _axis_values(attribute: Attribute, axis: Axis, form: Format) -> pa.Array:
    """What the first column of an attribute holds for each cell of its axis: the lower end, or the label."""
    _, values = cell_columns(attribute, axis, np.arange(axis.cells), csv=form is Format.CSV)[0]
    if form is not Format.CSV:
        return values
    batch = pa.RecordBatch.from_arrays([values, pa.array(np.arange(axis.cells))], names=["value", "place"])
    text = b"".join(written(iter([batch]), form))  # a second column: a line of one empty value would be skipped
    return _read_csv(text).column(0).combine_chunks()


def _places(table: pa.Table, column: int, values: pa.Array) -> Wholes:
    """The place on an axis of each row's cell."""
    name, own = table.column_names[column], table.column(column)
    if own.type != values.type:
        raise UnfitFile(f"The column '{name}' has the type {own.type}; in a download it has {values.type}.")
    places = pc.index_in(own, value_set=values)
    if places.null_count:
        row = pc.index(pc.is_null(places), value=True).as_py()
        raise UnfitFile(f"Row {row + 1} is no cell of the release: no cell begins with its '{name}'.")
    return np.asarray(places.to_numpy(), dtype=np.int64)


def _wholes(table: pa.Table, column: int) -> Wholes:
    try:
        wholes = table.column(column).cast(pa.int64())
    except pa.ArrowException:
        wholes = None
    if wholes is None or wholes.null_count or pa.types.is_floating(table.column(column).type):
        raise UnfitFile(f"The column '{table.column_names[column]}' holds something that is no whole number.")
    return np.asarray(wholes.to_numpy(), dtype=np.int64)


def difference(
    data: bytes, table: pa.Table, synopsis: Synopsis, digest: str, form: Format, progress: Progress | None = None
) -> str | None:
    """The first difference between a file and what the service writes of this synopsis, as a sentence; None if none.

    `digest` is the published one, by which the file may name itself.
    """
    batches = cells(synopsis, form, {"synopsis_digest": digest})
    if form is Format.CSV:
        text = b"".join(written(batches, form))
        return None if text == data else _of_tables([_read_csv(text)], table, progress) or _of_lines(data, text)
    return _of_tables((pa.Table.from_batches([batch]) for batch in batches), table, progress)


def _of_lines(data: bytes, text: bytes) -> str:
    """Of two CSV files with the same values."""
    lines = zip(data.split(b"\n"), text.split(b"\n"), strict=False)
    number = next((number for number, (own, other) in enumerate(lines, start=1) if own != other), None)
    where = "after its last line" if number is None else f"in line {number}"
    return f"The file is not written as the service writes it, {where}."


def _of_tables(expected: Iterable[pa.Table], table: pa.Table, progress: Progress | None) -> str | None:
    start = 0
    for part in expected:
        sentence = _of_schemas(table.schema, part.schema) if start == 0 else None
        if sentence is None:
            sentence = _of_rows(table.slice(start, part.num_rows), part, start)
        if sentence is not None:
            return sentence
        start += part.num_rows
        if progress is not None:
            progress(start, table.num_rows)
    return None if start == table.num_rows else f"Row {start + 1} and those after it are not of the release."


def _of_schemas(own: pa.Schema, other: pa.Schema) -> str | None:
    if own.names != other.names:
        names = zip(own.names, other.names, strict=False)
        mine, theirs = next(((a, b) for a, b in names if a != b), ("", ""))
        return f"The file has a column '{mine}' where the release has '{theirs}'."
    for mine, theirs in zip(own, other, strict=True):
        if mine.type != theirs.type:
            return f"The column '{mine.name}' has the type {mine.type}; in a download it has {theirs.type}."
    said, expected = own.metadata or {}, other.metadata or {}
    for name in sorted((said.keys() | expected.keys()) - _NOT_CONTENT):
        if said.get(name) != expected.get(name):
            return f"The file says something else about its '{name.decode(errors='replace')}' than the release."
    return None


def _of_rows(own: pa.Table, other: pa.Table, start: int) -> str | None:
    """The first row that differs, and its first column that does."""
    if own.num_rows < other.num_rows:
        return f"The file ends after row {start + own.num_rows}; the release has more."
    first: tuple[int, str] | None = None
    for name, mine, theirs in zip(own.column_names, own.columns, other.columns, strict=True):
        if mine.equals(theirs):
            continue
        differs = np.flatnonzero(
            _differs(mine, theirs, is_derived=name in _DERIVED and own.column_names[-5] == "layer")
        )
        if len(differs) and (first is None or differs[0] < first[0]):
            first = int(differs[0]), name
    if first is None:
        return None
    row, name = first
    mine, theirs = own.column(name)[row].as_py(), other.column(name)[row].as_py()
    return f"Row {start + row + 1} differs: its '{name}' is {mine}; that of the release is {theirs}."


def _differs(mine: pa.ChunkedArray, theirs: pa.ChunkedArray, *, is_derived: bool) -> NDArray[np.bool_]:
    same: NDArray[np.bool_]
    if is_derived:
        same = np.isclose(_floats(mine), _floats(theirs), rtol=1e-9, atol=1e-9, equal_nan=True)
    else:
        both_null = pc.and_(pc.is_null(mine), pc.is_null(theirs))
        same = np.asarray(pc.or_(pc.fill_null(pc.equal(mine, theirs), False), both_null).to_numpy(), dtype=np.bool_)
    return ~same


def _floats(column: pa.ChunkedArray) -> Floats:
    """Derived numbers; NaN where there is none, which no file has as a value."""
    if pa.types.is_string(column.type):
        column = pc.if_else(pc.equal(column, ""), "nan", column)
        try:
            column = column.cast(pa.float64())
        except pa.ArrowException:
            return np.full(len(column), np.inf)
    return np.asarray(column.to_numpy(), dtype=np.float64)
