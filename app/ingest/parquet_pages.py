"""Checks the page headers of Parquet columns before pyarrow reads the pages.

The header of a page states its length, its length after decompression and its number of values. pyarrow allocates as
much memory as the header states. The footer does not contain these numbers. So the page headers of the wanted columns
are read here first, in the same order as pyarrow does: page after page until all values of the column chunk are there.
Every header that pyarrow reads has therefore been checked. Text columns are measured too (`parquet_texts`). The numbers
below are the field ids of parquet.thrift.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial

from app.ingest.errors import Cap, UnreadableFile, UploadTooLarge, attempt
from app.ingest.held_body import HeldBody
from app.ingest.limits import KIB, Limits
from app.ingest.local_file import LocalFile
from app.ingest.parquet_texts import (
    TextPages,
    longest_entry,
    require_few_entries,
    rows_at_once,
    shared_leaves,
    sharing,
)
from app.ingest.thrift import I32, I64, LIST, STRUCT, Struct, decode

NOT_PARQUET = "The body is not a Parquet file, or a damaged one."
MAX_PAGES = 1_000_000
# Read for a page header: more than the statistics of a page of numbers take. A header that is longer is read again, up
# to _HEADER_BYTES. The statistics of a page of texts may have two of its texts in full: up to the limit of a block.
_SHORT_HEADER_BYTES = KIB
_HEADER_BYTES = 16 * KIB
MAX_WALKED_ENTRIES = 2**25  # of all dictionaries of a file together: about five seconds

_ROW_GROUPS = (4, LIST)  # struct FileMetaData
_COLUMNS = (1, LIST)  # struct RowGroup
_META_DATA = (3, STRUCT)  # struct ColumnChunk
_CODEC, _NUM_VALUES, _TOTAL_COMPRESSED_SIZE = (4, I32), (5, I64), (7, I64)  # struct ColumnMetaData, also the next two
_DATA_PAGE_OFFSET, _DICTIONARY_PAGE_OFFSET = (9, I64), (11, I64)
_TYPE, _UNCOMPRESSED_SIZE, _COMPRESSED_SIZE = (1, I32), (2, I32), (3, I32)  # struct PageHeader
_DATA, _DICTIONARY, _DATA_V2 = 0, 2, 3  # enum PageType
_PAGE_VALUES = (1, I32)  # num_values, the same field in each of the headers below
_TYPE_HEADERS = {_DATA: (5, STRUCT), _DICTIONARY: (7, STRUCT), _DATA_V2: (8, STRUCT)}
_ENCODINGS = {_DATA: (2, I32), _DATA_V2: (4, I32)}
_PLAIN_DICTIONARY, _DELTA_BYTE_ARRAY, _RLE_DICTIONARY = 2, 7, 8  # enum Encoding
_NUM_ROWS = (3, I64)  # struct RowGroup


@dataclass(frozen=True, slots=True)
class Leaf:
    """A leaf column that will be read.

    index        its place among the leaf columns of the file
    value_bytes  bytes of a value in PLAIN encoding; for texts, the least that one takes
    is_text      whether its values are byte arrays of any length
    is_shared    whether it is read as an Arrow dictionary, which has each text once
    """

    index: int
    value_bytes: int
    is_text: bool = False
    is_shared: bool = False


@dataclass(frozen=True, slots=True)
class _Chunk:
    """A column chunk: its byte range in the file, its number of values, its codec, and the column it belongs to."""

    start: int
    stop: int
    values: int
    codec: int
    leaf: Leaf


@dataclass(frozen=True, slots=True)
class _Page:
    """The numbers in a page header; `values` is 0 for pages that are not data pages."""

    start: int  # of its content, in the file
    compressed: int
    inflated: int
    values: int
    entries: int  # of a dictionary page
    is_dictionary: bool
    encoding: int | None


@dataclass(slots=True)
class _Budget:
    """What has been used of the limits that hold for all pages of a file together."""

    pages: int = 0
    inflated: int = 0
    walked: int = 0

    def use(self, page: _Page, limits: Limits) -> None:
        """Count a page; raises UploadTooLarge beyond a limit."""
        self.pages += 1
        self.inflated += page.inflated
        if self.inflated > limits.max_inflated_bytes:
            raise UploadTooLarge(Cap.INFLATED_BYTES, limits.max_inflated_bytes)
        if self.pages > MAX_PAGES:
            raise UploadTooLarge(Cap.PAGES, MAX_PAGES)


@dataclass(frozen=True, slots=True)
class Reading:
    """How the columns of a file can be read in bounded memory.

    rows_at_once  for each row group
    shared        indices of text columns that must be read as Arrow dictionaries
    """

    rows_at_once: list[int]
    shared: set[int]


@dataclass(slots=True)
class _Measured:
    """TextPages in the making."""

    longest: int = 0
    rows: list[int] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)


def require_bounded(
    source: HeldBody | LocalFile, metadata: Struct, pages_end: int, leaves: Sequence[Leaf], limits: Limits
) -> Reading:
    """How the columns can be read.

    Raises UploadTooLarge for pages beyond the limits, UnreadableFile for pages that do not fit into the file.

    metadata   the decoded footer
    pages_end  offset of the footer in the file, where the pages end
    leaves     leaf columns that will be read
    """
    budget = _Budget()
    row_groups = []
    for rows, chunks in attempt(partial(_row_groups, metadata, leaves, pages_end), NOT_PARQUET):
        texts = [_measured(source, chunk, budget, limits) for chunk in chunks]
        row_groups.append((rows, [each for each in texts if each is not None]))
    shared = shared_leaves(row_groups, limits)
    return Reading(rows_at_once(sharing(row_groups, shared), limits), shared)


def _row_groups(metadata: Struct, leaves: Sequence[Leaf], pages_end: int) -> list[tuple[int, list[_Chunk]]]:
    """Rows and column chunks of each row group, each chunk from its dictionary page on if it has one.

    Raises if a chunk leaves the file. Chunks without values are skipped: their pages are never read, and pyarrow
    writes no usable offset for them.
    """
    row_groups = []
    for row_group in metadata[_ROW_GROUPS]:
        chunks = []
        for leaf in leaves:
            column = row_group[_COLUMNS][leaf.index][_META_DATA]
            if column[_NUM_VALUES] > 0:
                start, dictionary = column[_DATA_PAGE_OFFSET], column.get(_DICTIONARY_PAGE_OFFSET, 0)
                start = dictionary if 0 < dictionary < start else start
                stop = start + column[_TOTAL_COMPRESSED_SIZE]
                if not 0 <= start <= stop <= pages_end:
                    raise ValueError
                chunks.append(_Chunk(start, stop, column[_NUM_VALUES], column[_CODEC], leaf))
        row_groups.append((row_group[_NUM_ROWS], chunks))
    return row_groups


def _measured(source: HeldBody | LocalFile, chunk: _Chunk, budget: _Budget, limits: Limits) -> TextPages | None:
    """Check the pages of a chunk; returns what they say about its texts, None if it is no text column."""
    measured = _Measured()
    for page in _pages(source, chunk, limits):
        budget.use(page, limits)
        if not chunk.leaf.is_text:
            continue
        if page.is_dictionary:
            require_few_entries(page.entries, limits)
            measured.longest = max(measured.longest, _longest(source, chunk, page, budget))
        elif page.values:
            refers = page.encoding in {_PLAIN_DICTIONARY, _RLE_DICTIONARY}
            measured.rows.append(page.values)
            measured.sizes.append(0 if refers else page.inflated)
    if not chunk.leaf.is_text:
        return None
    leaf = chunk.leaf
    return TextPages(leaf.index, measured.longest, measured.rows, measured.sizes, leaf.is_shared)


def _longest(source: HeldBody | LocalFile, chunk: _Chunk, page: _Page, budget: _Budget) -> int:
    """Bytes of the longest text of a dictionary page, or more where it would take too long to look at all of them."""
    budget.walked += page.entries
    if chunk.leaf.is_shared or budget.walked > MAX_WALKED_ENTRIES:
        return page.inflated
    source.seek(page.start)
    content = source.read(page.compressed)
    measure = partial(longest_entry, content, entries=page.entries, inflated=page.inflated, codec=chunk.codec)
    return attempt(measure, NOT_PARQUET)


def _pages(source: HeldBody | LocalFile, chunk: _Chunk, limits: Limits) -> Iterator[_Page]:
    """Yield the pages of a chunk up to its last value; raises if one exceeds the limits or the end of the chunk."""
    position, values = chunk.start, 0
    while values < chunk.values:
        page = _page_at(source, position, chunk, limits)
        if max(page.compressed, page.inflated) > limits.max_block_bytes:
            raise UploadTooLarge(Cap.BLOCK_BYTES, limits.max_block_bytes)
        if page.encoding == _DELTA_BYTE_ARRAY:
            raise UnreadableFile("A column is encoded as DELTA_BYTE_ARRAY, which is not read here: write it as PLAIN.")
        position = page.start + page.compressed
        if position > chunk.stop:
            raise UnreadableFile(NOT_PARQUET)
        values += page.values
        yield page


def _page_at(source: HeldBody | LocalFile, position: int, chunk: _Chunk, limits: Limits) -> _Page:
    """The page whose header starts at a position."""
    most = min(limits.max_block_bytes, chunk.stop - position) if chunk.leaf.is_text else _HEADER_BYTES
    count = _SHORT_HEADER_BYTES
    while True:
        source.seek(position)
        data = source.read(count)
        if count >= most:
            return attempt(partial(_page, data, position, chunk.leaf.value_bytes), NOT_PARQUET)
        with suppress(Exception):
            return _page(data, position, chunk.leaf.value_bytes)
        count *= 16


def _page(data: bytes, position: int, value_bytes: int) -> _Page:
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
    is_dictionary = kind == _DICTIONARY
    if is_dictionary and values * value_bytes > inflated:
        raise ValueError
    return _Page(
        start=position + header_bytes,
        compressed=compressed,
        inflated=inflated,
        values=0 if is_dictionary else values,
        entries=values if is_dictionary else 0,
        is_dictionary=is_dictionary,
        encoding=detail[_ENCODINGS[kind]] if kind in _ENCODINGS else None,
    )
