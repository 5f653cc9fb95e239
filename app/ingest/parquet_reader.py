"""Parquet: the footer comes last, so the body waits in a sealed spool and is then read page by page."""

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
from app.ingest.batch import ROWS_AT_ONCE, Batch, from_columns, positions, require_numbers
from app.ingest.errors import AmbiguousColumns, Cap, UnreadableFile, UploadTooLarge, WrongColumnType, attempt
from app.ingest.limits import MIB, Limits
from app.ingest.parquet_pages import NOT_PARQUET, require_bounded
from app.ingest.spool import SealedSpool
from app.ingest.thrift import BINARY, LIST, Struct, decode

# Three bytes of a hostile footer can cost a kilobyte of memory. A whole footer of them costs 350 MB (measured); an
# honest one of this length describes some 8,000 column chunks.
MAX_FOOTER_BYTES = MIB
_MAGIC = b"PAR1"
_READ_BYTES = MIB  # of a column chunk at once

# Bytes of a value by physical type. A decimal may also be stored in byte arrays: those of any length are not read, and
# those of fixed length up to the longest decimal, because one long value in a dictionary stands for as many rows as it
# likes, each with a copy (measured: 50 kB of file, 1.5 GB).
_VALUE_BYTES = {"INT32": 4, "INT64": 8, "FLOAT": 4, "DOUBLE": 8}
_MAX_DECIMAL_BYTES = 32

_KEY_VALUE_METADATA = (5, LIST)  # of FileMetaData
_KEY, _VALUE = (1, BINARY), (2, BINARY)  # of KeyValue
_ARROW_SCHEMA = b"ARROW:schema"

_Result = TypeVar("_Result")


def read_parquet(chunks: Iterable[bytes], names: tuple[str, ...], limits: Limits) -> Generator[Batch]:
    """The rows of a Parquet body."""
    with SealedSpool(max_bytes=limits.spool_bytes, folder=limits.spool_folder) as spool:
        for chunk in chunks:
            spool.append(chunk)
        spool.seal()
        footer = _footer(spool)
        metadata, _ = attempt(partial(decode, footer), NOT_PARQUET)
        for schema in attempt(partial(_arrow_schemas, metadata), NOT_PARQUET):
            require_small_metadata(schema, limits)
        file = _attempt(spool, partial(_open, spool))
        _require_caps(file.metadata, limits)
        leaves = _leaves(names, *_attempt(spool, partial(_columns, file)))
        require_bounded(spool, metadata, len(spool) - len(footer) - 8, leaves, limits)
        for row_group in range(file.metadata.num_row_groups):
            batches = _attempt(spool, partial(_batches, file, row_group, names))
            while (batch := _attempt(spool, partial(next, batches, None))) is not None:
                yield batch


def _attempt(spool: SealedSpool, step: Callable[[], _Result]) -> _Result:
    """As `errors.attempt`, but what failed in the spool is not blamed on the file that Parquet reads from it."""
    with suppress(Exception):
        return step()
    spool.require_sound()
    raise UnreadableFile(NOT_PARQUET)


def _footer(spool: SealedSpool) -> bytes:
    """The footer, which stands before its own length and the magic number that ends the file."""
    spool.seek(-8, os.SEEK_END)
    length, magic = int.from_bytes(spool.read(4), "little"), spool.read(4)
    if magic != _MAGIC or length + 8 > len(spool):
        raise UnreadableFile(NOT_PARQUET)
    if length > MAX_FOOTER_BYTES:
        raise UploadTooLarge(Cap.METADATA_BYTES, MAX_FOOTER_BYTES)
    spool.seek(-8 - length, os.SEEK_END)
    return spool.read(length)


def _arrow_schemas(metadata: Struct) -> list[bytearray]:
    """The Arrow schemas in a footer, which pyarrow reads when it opens the file: messages in base64."""
    pairs = metadata.get(_KEY_VALUE_METADATA, [])
    messages = [a2b_base64(pair[_VALUE], strict_mode=True) for pair in pairs if pair.get(_KEY) == _ARROW_SCHEMA]
    return [metadata_of(message) for message in messages]


def _open(spool: SealedSpool) -> pyarrow.parquet.ParquetFile:
    source = pa.PythonFile(spool, mode="r")
    return pyarrow.parquet.ParquetFile(source, pre_buffer=False, buffer_size=_READ_BYTES)


def _require_caps(metadata: pyarrow.parquet.FileMetaData, limits: Limits) -> None:
    if metadata.num_columns > limits.max_columns:
        raise UploadTooLarge(Cap.COLUMNS, limits.max_columns)
    if metadata.num_rows > limits.max_rows:
        raise UploadTooLarge(Cap.ROWS, limits.max_rows)


@dataclass(frozen=True, slots=True)
class _Leaf:
    """A column as Parquet stores it; `value_bytes` is None where values may have any length."""

    path: str
    value_bytes: int | None


def _columns(file: pyarrow.parquet.ParquetFile) -> tuple[list[tuple[str, pa.DataType]], list[_Leaf]]:
    """Names and types of the columns, and the leaves they consist of."""
    columns = [(field.name, field.type) for field in file.schema_arrow]
    return columns, [_leaf(file.schema.column(leaf)) for leaf in range(len(file.schema))]


def _leaf(column: pyarrow.parquet.ColumnSchema) -> _Leaf:
    if column.physical_type == "FIXED_LEN_BYTE_ARRAY":
        return _Leaf(column.path, column.length if 0 < column.length <= _MAX_DECIMAL_BYTES else None)
    return _Leaf(column.path, _VALUE_BYTES.get(column.physical_type))


def _leaves(names: tuple[str, ...], columns: list[tuple[str, pa.DataType]], leaves: list[_Leaf]) -> dict[int, int]:
    """The leaves that hold the attributes, exactly one each, with the bytes of a value.

    pyarrow selects by path, so a column named "a.b" and a field b of a column a cannot be told apart.
    """
    wanted = positions(names, [name for name, _ in columns])
    require_numbers(names, [columns[position][1] for position in wanted])
    held = {name: [x for x, leaf in enumerate(leaves) if f"{leaf.path}.".startswith(f"{name}.")] for name in names}
    ambiguous = tuple(name for name in names if len(held[name]) != 1)
    if ambiguous:
        raise AmbiguousColumns(ambiguous)
    value_bytes = {held[name][0]: leaves[held[name][0]].value_bytes for name in names}
    unbounded = tuple(name for name in names if value_bytes[held[name][0]] is None)
    if unbounded:
        raise WrongColumnType(unbounded)
    return {leaf: size for leaf, size in value_bytes.items() if size is not None}


def _batches(file: pyarrow.parquet.ParquetFile, row_group: int, names: tuple[str, ...]) -> Iterator[Batch]:
    batches = file.iter_batches(ROWS_AT_ONCE, row_groups=[row_group], columns=list(names), use_threads=False)
    return (Batch(from_columns([batch.column(name) for name in names])) for batch in batches)
