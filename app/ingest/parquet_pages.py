"""The pages of Parquet columns, measured before Parquet reads them.

A page says how long it is, how long it will be once inflated and how many values it holds, in a header beside it that
the footer knows nothing of, and the reader allocates that. So the headers of the wanted columns are walked first, as
pyarrow walks them: page after page until the values of the column chunk are complete. A header that pyarrow reads has
therefore been checked here. The numbers below are those of the fields in parquet.thrift.
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
_HEADER_BYTES = 16 * KIB  # of a page of numbers: far more than its statistics take

_ROW_GROUPS = (4, LIST)  # of FileMetaData
_COLUMNS = (1, LIST)  # of RowGroup
_META_DATA = (3, STRUCT)  # of ColumnChunk
_NUM_VALUES, _TOTAL_COMPRESSED_SIZE = (5, I64), (7, I64)  # of ColumnMetaData, as are the next two
_DATA_PAGE_OFFSET, _DICTIONARY_PAGE_OFFSET = (9, I64), (11, I64)
_TYPE, _UNCOMPRESSED_SIZE, _COMPRESSED_SIZE = (1, I32), (2, I32), (3, I32)  # of PageHeader
_DATA, _DICTIONARY, _DATA_V2 = 0, 2, 3  # PageType
_PAGE_VALUES = (1, I32)  # of the header below, of each type
_TYPE_HEADERS = {_DATA: (5, STRUCT), _DICTIONARY: (7, STRUCT), _DATA_V2: (8, STRUCT)}
_ENCODINGS = {_DATA: (2, I32), _DATA_V2: (4, I32)}
_DELTA_BYTE_ARRAY = 7


@dataclass(frozen=True, slots=True)
class _Chunk:
    """A column chunk: where it lies in the file, how many values it has, and the bytes of one, stored plainly."""

    start: int
    stop: int
    values: int
    value_bytes: int


@dataclass(frozen=True, slots=True)
class _Page:
    """What a page header says; `values` is 0 for pages that are no data."""

    header_bytes: int
    compressed: int
    inflated: int
    values: int
    prefixed: bool  # encoded as DELTA_BYTE_ARRAY


def require_bounded(
    spool: SealedSpool, metadata: Struct, pages_end: int, leaves: Mapping[int, int], limits: Limits
) -> None:
    """Refuse a file whose pages are larger than the caps, or larger than the file has room for.

    `metadata` is the footer, `pages_end` where it starts in the file, and `leaves` are the columns that will be read,
    with the bytes of a plainly stored value of each.
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
    """The column chunks of some leaves, from the dictionary page on, if there is one; raises for one beyond the file.

    A chunk without values has no page that is ever read, and in files of pyarrow no sensible offset either.
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
    """The pages of a chunk up to its last value, each of which fits the cap and ends within the chunk."""
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
    """What the page header at the beginning of some bytes says; raises where that cannot be.

    The reader makes room for all values of a dictionary at once. A data page is read value by value, and may hold many
    values in few bytes; but each value of DELTA_BYTE_ARRAY may be as long as all the bytes before it.
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
