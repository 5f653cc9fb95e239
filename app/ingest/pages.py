"""The pages of Parquet columns, measured before Parquet inflates them.

A page says how long it will be once inflated, in a header beside it that the footer knows nothing of, and the reader
allocates that. So the headers of the wanted columns are walked first; the numbers below are those of the fields in
parquet.thrift.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial

from app.ingest.errors import Cap, UploadTooLarge, attempt
from app.ingest.limits import KIB, Limits
from app.ingest.spool import SealedSpool
from app.ingest.thrift import I32, I64, LIST, STRUCT, decode

NOT_PARQUET = "The body is not a Parquet file, or a damaged one."
MAX_PAGES = 1_000_000
_HEADER_BYTES = 16 * KIB  # of a page of numbers: far more than its statistics take

_ROW_GROUPS = (4, LIST)  # of FileMetaData
_COLUMNS = (1, LIST)  # of RowGroup
_META_DATA = (3, STRUCT)  # of ColumnChunk
_NUM_VALUES, _TOTAL_COMPRESSED_SIZE = (5, I64), (7, I64)  # of ColumnMetaData, as are the next two
_DATA_PAGE_OFFSET, _DICTIONARY_PAGE_OFFSET = (9, I64), (11, I64)
_UNCOMPRESSED_SIZE, _COMPRESSED_SIZE = (2, I32), (3, I32)  # of PageHeader


def require_bounded(spool: SealedSpool, footer: bytes, leaves: Iterable[int], limits: Limits) -> None:
    """Refuse a file whose pages inflate beyond the caps; `leaves` are the columns that will be read."""
    pages = inflated = 0
    for chunk in attempt(partial(_column_chunks, footer, tuple(leaves)), NOT_PARQUET):
        for page_bytes in _pages(spool, chunk):
            pages += 1
            inflated += page_bytes
            if page_bytes > limits.max_block_bytes:
                raise UploadTooLarge(Cap.BLOCK_BYTES, limits.max_block_bytes)
            if inflated > limits.max_inflated_bytes:
                raise UploadTooLarge(Cap.INFLATED_BYTES, limits.max_inflated_bytes)
            if pages > MAX_PAGES:
                raise UploadTooLarge(Cap.PAGES, MAX_PAGES)


def _column_chunks(footer: bytes, leaves: tuple[int, ...]) -> list[range]:
    """Where the column chunks of some leaves lie in the file: from the dictionary page on, if there is one.

    A chunk without values has no page that is ever read, and in files of pyarrow no sensible offset either.
    """
    metadata, _ = decode(footer)
    chunks = []
    for row_group in metadata[_ROW_GROUPS]:
        for leaf in leaves:
            column = row_group[_COLUMNS][leaf][_META_DATA]
            if column[_NUM_VALUES] > 0:
                start, dictionary = column[_DATA_PAGE_OFFSET], column.get(_DICTIONARY_PAGE_OFFSET, 0)
                start = dictionary if 0 < dictionary < start else start
                chunks.append(range(start, start + column[_TOTAL_COMPRESSED_SIZE]))
    return chunks


def _pages(spool: SealedSpool, chunk: range) -> Iterator[int]:
    """The inflated length of each page that starts within a column chunk."""
    position = chunk.start
    while position < chunk.stop:
        spool.seek(position)
        header = spool.read(_HEADER_BYTES)
        length, inflated, compressed = attempt(partial(_page_header, header), NOT_PARQUET)
        yield inflated
        position += length + compressed


def _page_header(data: bytes) -> tuple[int, int, int]:
    """Length of the header itself, then the page's inflated and compressed length."""
    header, length = decode(data)
    inflated, compressed = header[_UNCOMPRESSED_SIZE], header[_COMPRESSED_SIZE]
    if min(inflated, compressed) < 0:
        raise ValueError
    return length, inflated, compressed
