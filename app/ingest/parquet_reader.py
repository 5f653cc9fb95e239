"""Reader of Parquet: the body is held until its end, because the footer comes last, and is then read page by page."""

from __future__ import annotations

import os
from binascii import a2b_base64
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

import pyarrow as pa
import pyarrow.parquet

from app.ingest.arrow_messages import metadata_of, require_small_metadata
from app.ingest.batch import Batch, Columns, Wanted, positions
from app.ingest.columns.arrow import storage_type
from app.ingest.errors import AmbiguousColumns, Cap, UnreadableFile, UploadTooLarge, WrongColumnType, attempt
from app.ingest.held_body import HeldBody
from app.ingest.limits import MIB, Limits
from app.ingest.local_file import LocalFile
from app.ingest.parquet_pages import NOT_PARQUET, Leaf, require_bounded
from app.ingest.thrift import BINARY, LIST, Struct, decode

# Three bytes of a hostile footer can cost a kilobyte of memory. A whole footer of this kind costs 350 MB (measured). An
# honest footer of this length describes about 8,000 column chunks.
MAX_FOOTER_BYTES = MIB
_MAGIC = b"PAR1"
_READ_BYTES = MIB  # buffer of pyarrow for reading a column chunk

# Bytes of a value by physical type. Decimals may also be stored in byte arrays: of variable length they are refused; of
# fixed length they may be as long as the longest decimal. A text takes four bytes at least, for its length.
_VALUE_BYTES = {"BOOLEAN": 1, "INT32": 4, "INT64": 8, "INT96": 12, "FLOAT": 4, "DOUBLE": 8}
_TEXT = "BYTE_ARRAY"
_FIXED = "FIXED_LEN_BYTE_ARRAY"
_LEAST_TEXT_BYTES = 4
_MAX_DECIMAL_BYTES = 32
_MAX_FIXED_BYTES = 256

_KEY_VALUE_METADATA = (5, LIST)  # struct FileMetaData
_KEY, _VALUE = (1, BINARY), (2, BINARY)  # struct KeyValue
_ARROW_SCHEMA = b"ARROW:schema"

_Result = TypeVar("_Result")
Source = HeldBody | LocalFile


def read_parquet(chunks: Iterable[bytes], wanted: Wanted, limits: Limits) -> Generator[Batch]:
    """Yield the rows of a Parquet body in batches of at most ROWS_AT_ONCE rows, fewer where texts are long.

    Raises UnreadableFile, ColumnFault, UploadTooLarge or SpoolFailure.
    """
    with HeldBody(limits) as body:
        for chunk in chunks:
            body.append(chunk)
        body.seal()
        yield from read_seekable_parquet(body, wanted, limits)


def read_seekable_parquet(source: Source, wanted: Wanted, limits: Limits) -> Generator[Batch]:
    """The same from a file that can be read where it lies, after the same checks."""
    footer = _footer(source)
    metadata, _ = attempt(partial(decode, footer), NOT_PARQUET)
    for schema in attempt(partial(_arrow_schemas, metadata), NOT_PARQUET):
        require_small_metadata(schema, limits)
    file = _attempt(source, partial(_open, source))
    _require_caps(file.metadata, limits)
    columns = Columns(wanted)
    leaves = _leaves(columns, *_attempt(source, partial(_schema, file)))
    reading = require_bounded(source, metadata, len(source) - len(footer) - 8, leaves, limits)
    if reading.shared:
        file = _attempt(source, partial(_open, source, sorted(reading.shared)))
    for row_group, rows in enumerate(reading.rows_at_once):
        batches = _attempt(source, partial(_batches, file, row_group, rows, columns))
        while (batch := _attempt(source, partial(next, batches, None))) is not None:
            yield batch


def _attempt(source: Source, step: Callable[[], _Result]) -> _Result:
    """Like `errors.attempt`, but raises SpoolFailure if it was the spool that failed and not the file."""
    with suppress(Exception):
        return step()
    source.require_sound()
    raise UnreadableFile(NOT_PARQUET)


def _footer(source: Source) -> bytes:
    """The bytes of the footer. A file ends with the footer, its length (4 bytes) and the magic number (4 bytes)."""
    source.seek(-8, os.SEEK_END)
    length, magic = int.from_bytes(source.read(4), "little"), source.read(4)
    if magic != _MAGIC or length + 8 > len(source):
        raise UnreadableFile(NOT_PARQUET)
    if length > MAX_FOOTER_BYTES:
        raise UploadTooLarge(Cap.METADATA_BYTES, MAX_FOOTER_BYTES)
    source.seek(-8 - length, os.SEEK_END)
    return source.read(length)


def _arrow_schemas(metadata: Struct) -> list[bytearray]:
    """The metadata of the Arrow schemas in a footer: base64 of messages, which pyarrow reads when it opens the file."""
    pairs = metadata.get(_KEY_VALUE_METADATA, [])
    messages = [a2b_base64(pair[_VALUE], strict_mode=True) for pair in pairs if pair.get(_KEY) == _ARROW_SCHEMA]
    return [metadata_of(message) for message in messages]


def _open(source: Source, shared: list[int] | None = None) -> pyarrow.parquet.ParquetFile:
    """The file; its leaf columns `shared` are read as Arrow dictionaries."""
    source.seek(0)
    return pyarrow.parquet.ParquetFile(
        source.for_arrow(),
        pre_buffer=False,
        buffer_size=_READ_BYTES,
        coerce_int96_timestamp_unit="us",
        read_dictionary=shared,
    )


def _require_caps(metadata: pyarrow.parquet.FileMetaData, limits: Limits) -> None:
    if metadata.num_columns > limits.max_columns:
        raise UploadTooLarge(Cap.COLUMNS, limits.max_columns)
    if metadata.num_rows > limits.max_rows:
        raise UploadTooLarge(Cap.ROWS, limits.max_rows)


@dataclass(frozen=True, slots=True)
class _LeafColumn:
    """A leaf column of the Parquet schema: its path, physical type, and length if that is fixed."""

    path: str
    physical_type: str
    length: int


def _schema(file: pyarrow.parquet.ParquetFile) -> tuple[list[tuple[str, pa.DataType]], list[_LeafColumn]]:
    """Names and types of the top-level columns, and all leaf columns."""
    columns = [(field.name, field.type) for field in file.schema_arrow]
    leaves = [file.schema.column(leaf) for leaf in range(len(file.schema))]
    return columns, [_LeafColumn(leaf.path, leaf.physical_type, leaf.length) for leaf in leaves]


def _leaf(index: int, leaves: list[_LeafColumn], kind: pa.DataType) -> Leaf | None:
    """How a column of this Arrow type is read; None if its values may have any length and are no texts."""
    column = leaves[index]
    is_decimal = pa.types.is_decimal(storage_type(kind))
    if column.physical_type == _FIXED:
        longest = _MAX_DECIMAL_BYTES if is_decimal else _MAX_FIXED_BYTES
        return Leaf(index, column.length) if 0 < column.length <= longest else None
    if column.physical_type == _TEXT:
        is_shared = pa.types.is_dictionary(storage_type(kind))
        return None if is_decimal else Leaf(index, _LEAST_TEXT_BYTES, is_text=True, is_shared=is_shared)
    size = _VALUE_BYTES.get(column.physical_type)
    return None if size is None else Leaf(index, size)


def _leaves(columns: Columns, schema: list[tuple[str, pa.DataType]], leaves: list[_LeafColumn]) -> list[Leaf]:
    """The leaf columns of the wanted columns, exactly one for each; else ColumnFault.

    pyarrow selects by path, so it cannot distinguish a column named "a.b" from the field b of a column a.
    """
    names = columns.names
    wanted = positions(names, [name for name, _ in schema])
    types = [schema[position][1] for position in wanted]
    columns.require_types(types)
    held = {name: [x for x, leaf in enumerate(leaves) if f"{leaf.path}.".startswith(f"{name}.")] for name in names}
    ambiguous = tuple(name for name in names if len(held[name]) != 1)
    if ambiguous:
        raise AmbiguousColumns(ambiguous)
    chosen = {name: _leaf(held[name][0], leaves, kind) for name, kind in zip(names, types, strict=True)}
    unbounded = tuple(name for name, leaf in chosen.items() if leaf is None)
    if unbounded:
        raise WrongColumnType(unbounded)
    return [leaf for leaf in chosen.values() if leaf is not None]


def _batches(file: pyarrow.parquet.ParquetFile, row_group: int, rows: int, columns: Columns) -> Iterator[Batch]:
    names = list(dict.fromkeys(columns.names))
    batches = file.iter_batches(rows, row_groups=[row_group], columns=names, use_threads=False)
    return (columns.from_arrow([batch.column(name) for name in columns.names]) for batch in batches)
