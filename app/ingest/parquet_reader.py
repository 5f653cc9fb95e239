"""Reader of Parquet: the body goes to a sealed spool, because the footer comes last, and is then read page by page."""

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

# Three bytes of a hostile footer can cost a kilobyte of memory. A whole footer of this kind costs 350 MB (measured). An
# honest footer of this length describes about 8,000 column chunks.
MAX_FOOTER_BYTES = MIB
_MAGIC = b"PAR1"
_READ_BYTES = MIB  # buffer of pyarrow for reading a column chunk

# Bytes of a value by physical type. Decimals may also be stored in byte arrays. Byte arrays of variable length are
# refused, and those of fixed length may be as long as the longest decimal. The reason: many rows may refer to one long
# value in a dictionary, and each row gets a copy of it (measured: a file of 50 kB took 1.5 GB).
_VALUE_BYTES = {"INT32": 4, "INT64": 8, "FLOAT": 4, "DOUBLE": 8}
_MAX_DECIMAL_BYTES = 32

_KEY_VALUE_METADATA = (5, LIST)  # struct FileMetaData
_KEY, _VALUE = (1, BINARY), (2, BINARY)  # struct KeyValue
_ARROW_SCHEMA = b"ARROW:schema"

_Result = TypeVar("_Result")


def read_parquet(chunks: Iterable[bytes], names: tuple[str, ...], limits: Limits) -> Generator[Batch]:
    """Yield the rows of a Parquet body in batches of at most ROWS_AT_ONCE rows.

    Raises UnreadableFile, ColumnFault, UploadTooLarge or SpoolFailure.
    """
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
    """Like `errors.attempt`, but raises SpoolFailure if it was the spool that failed and not the file."""
    with suppress(Exception):
        return step()
    spool.require_sound()
    raise UnreadableFile(NOT_PARQUET)


def _footer(spool: SealedSpool) -> bytes:
    """The bytes of the footer. A file ends with the footer, its length (4 bytes) and the magic number (4 bytes)."""
    spool.seek(-8, os.SEEK_END)
    length, magic = int.from_bytes(spool.read(4), "little"), spool.read(4)
    if magic != _MAGIC or length + 8 > len(spool):
        raise UnreadableFile(NOT_PARQUET)
    if length > MAX_FOOTER_BYTES:
        raise UploadTooLarge(Cap.METADATA_BYTES, MAX_FOOTER_BYTES)
    spool.seek(-8 - length, os.SEEK_END)
    return spool.read(length)


def _arrow_schemas(metadata: Struct) -> list[bytearray]:
    """The metadata of the Arrow schemas in a footer: base64 of messages, which pyarrow reads when it opens the file."""
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
    """A leaf column of the Parquet schema; `value_bytes` is None if values may have any length."""

    path: str
    value_bytes: int | None


def _columns(file: pyarrow.parquet.ParquetFile) -> tuple[list[tuple[str, pa.DataType]], list[_Leaf]]:
    """Names and types of the top-level columns, and all leaf columns."""
    columns = [(field.name, field.type) for field in file.schema_arrow]
    return columns, [_leaf(file.schema.column(leaf)) for leaf in range(len(file.schema))]


def _leaf(column: pyarrow.parquet.ColumnSchema) -> _Leaf:
    if column.physical_type == "FIXED_LEN_BYTE_ARRAY":
        return _Leaf(column.path, column.length if 0 < column.length <= _MAX_DECIMAL_BYTES else None)
    return _Leaf(column.path, _VALUE_BYTES.get(column.physical_type))


def _leaves(names: tuple[str, ...], columns: list[tuple[str, pa.DataType]], leaves: list[_Leaf]) -> dict[int, int]:
    """Indices of the leaf columns of the attributes, exactly one for each -> bytes of a value; else ColumnFault.

    pyarrow selects by path, so it cannot distinguish a column named "a.b" from the field b of a column a.
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
