"""Checks the page headers of Parquet columns before pyarrow reads the pages.

The header of a page states its length, its length after decompression and its number of values. pyarrow allocates as
much memory as the header states. The footer does not contain these numbers. So the page headers of the wanted columns
are read here first, in the same order as pyarrow does: page after page until all values of the column chunk are there.
Every header that pyarrow reads has therefore been checked. The numbers below are the field ids of parquet.thrift.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial

from app.ingest.errors import Cap, UnreadableFile, UploadTooLarge, attempt
from app.ingest.limits import KIB, Limits
from app.ingest.spool import SealedSpool
from app.ingest.thrift import I32, I64, LIST, STRUCT, Struct, decode

NOT_PARQUET = "The body is not a Parquet file, or a damaged one."
MAX_PAGES = 1_000_000
_HEADER_BYTES = 16 * KIB  # read for a page header: far more than the statistics of a page of numbers take

_ROW_GROUPS = (4, LIST)  # struct FileMetaData
_COLUMNS = (1, LIST)  # struct RowGroup
_META_DATA = (3, STRUCT)  # struct ColumnChunk
_NUM_VALUES, _TOTAL_COMPRESSED_SIZE = (5, I64), (7, I64)  # struct ColumnMetaData, also the next two
_DATA_PAGE_OFFSET, _DICTIONARY_PAGE_OFFSET = (9, I64), (11, I64)
_TYPE, _UNCOMPRESSED_SIZE, _COMPRESSED_SIZE = (1, I32), (2, I32), (3, I32)  # struct PageHeader
_DATA, _DICTIONARY, _DATA_V2 = 0, 2, 3  # enum PageType
_PAGE_VALUES = (1, I32)  # num_values, the same field in each of the headers below
_TYPE_HEADERS = {_DATA: (5, STRUCT), _DICTIONARY: (7, STRUCT), _DATA_V2: (8, STRUCT)}
_ENCODINGS = {_DATA: (2, I32), _DATA_V2: (4, I32)}
_DELTA_BYTE_ARRAY = 7


@dataclass(frozen=True, slots=True)
class _Chunk:
    """A column chunk: its byte range in the file, its number of values, and the bytes of a value in PLAIN encoding."""

    start: int
    stop: int
    values: int
    value_bytes: int


@dataclass(frozen=True, slots=True)
class _Page:
    """The numbers in a page header; `values` is 0 for pages that are not data pages."""

    header_bytes: int
    compressed: int
    inflated: int
    values: int
    prefixed: bool  # encoded as DELTA_BYTE_ARRAY


def require_bounded(
    spool: SealedSpool, metadata: Struct, pages_end: int, leaves: Mapping[int, int], limits: Limits
) -> None:
    """Raise UploadTooLarge for pages beyond the limits, UnreadableFile for pages that do not fit into the file.

    metadata   the decoded footer
    pages_end  offset of the footer in the file, where the pages end
    leaves     leaf columns that will be read -> bytes of a value in PLAIN encoding
    """
    pages = inflated = 0
    for chunk in attempt(partial(_column_chunks, metadata, leaves, pages_end), NOT_PARQUET):
        for page in _pages(spool, chunk, limits):
            pages += 1
            inflated += page.inflated
            if inflated > limits.max_inflated_bytes:
                raise UploadTooLarge(Cap.INFLATED_BYTES, limits.max_inflated_bytes)
            if pages > MAX_PAGES:
                raise UploadTooLarge(Cap.PAGES, MAX_PAGES)


def _column_chunks(metadata: Struct, leaves: Mapping[int, int], pages_end: int) -> list[_Chunk]:
    """The column chunks of the leaves, each from its dictionary page on if it has one; raises if one leaves the file.

    Chunks without values are skipped: their pages are never read, and pyarrow writes no usable offset for them.
    """
    chunks = []
    for row_group in metadata[_ROW_GROUPS]:
        for leaf, value_bytes in leaves.items():
            column = row_group[_COLUMNS][leaf][_META_DATA]
            if column[_NUM_VALUES] > 0:
                start, dictionary = column[_DATA_PAGE_OFFSET], column.get(_DICTIONARY_PAGE_OFFSET, 0)
                start = dictionary if 0 < dictionary < start else start
                stop = start + column[_TOTAL_COMPRESSED_SIZE]
                if not 0 <= start <= stop <= pages_end:
                    raise ValueError
                chunks.append(_Chunk(start, stop, column[_NUM_VALUES], value_bytes))
    return chunks


def _pages(spool: SealedSpool, chunk: _Chunk, limits: Limits) -> Iterator[_Page]:
    """Yield the pages of a chunk up to its last value; raises if one exceeds the limits or the end of the chunk."""
    position, values = chunk.start, 0
    while values < chunk.values:
        spool.seek(position)
        page = attempt(partial(_page, spool.read(_HEADER_BYTES), chunk.value_bytes), NOT_PARQUET)
        if max(page.compressed, page.inflated) > limits.max_block_bytes:
            raise UploadTooLarge(Cap.BLOCK_BYTES, limits.max_block_bytes)
        if page.prefixed:
            raise UnreadableFile("A column is encoded as DELTA_BYTE_ARRAY, which is not read here: write it as PLAIN.")
        position += page.header_bytes + page.compressed
        if position > chunk.stop:
            raise UnreadableFile(NOT_PARQUET)
        values += page.values
        yield page


def _page(data: bytes, value_bytes: int) -> _Page:
    """The page header at the start of `data`; raises if its numbers are impossible.

    pyarrow allocates all values of a dictionary page at once, so they must fit into the stated length. It reads a data
    page value by value, so many values in few bytes are fine there. The exception is DELTA_BYTE_ARRAY, where each value
    may be as long as all bytes before it.
    """
    header, header_bytes = decode(data)
    kind, inflated, compressed = header[_TYPE], header[_UNCOMPRESSED_SIZE], header[_COMPRESSED_SIZE]
    detail = header[_TYPE_HEADERS[kind]] if kind in _TYPE_HEADERS else {}
    values = detail[_PAGE_VALUES] if detail else 0
    if min(inflated, compressed, values) < 0:
        raise ValueError
    if kind == _DICTIONARY:
        if values * value_bytes > inflated:
            raise ValueError
        values = 0
    prefixed = kind in _ENCODINGS and detail[_ENCODINGS[kind]] == _DELTA_BYTE_ARRAY
    return _Page(header_bytes, compressed, inflated, values, prefixed)
