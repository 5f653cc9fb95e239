"""How many rows of Parquet text columns can be read at once in bounded memory.

A text column is a column of byte arrays of any length. pyarrow reads it in batches of rows and copies the texts of a
batch. Where a page refers to a dictionary, each row gets a copy of its entry: a file of 50 kB took 1.5 GB (measured).
So the number of rows of a batch follows from the longest entry of the dictionary, and from the lengths of the pages
that hold their texts themselves.

A column can also be read as an Arrow dictionary (`TextPages.shared`). Then no entry is copied for a row. But pyarrow
collects all texts that stand in pages themselves, for as long as it reads the row group. So this is done where
dictionaries have long entries and those texts are short together, and where the file itself asks for it.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from app.ingest.batch import ROWS_AT_ONCE
from app.ingest.columns.arrow import MAX_TEXT_BYTES
from app.ingest.errors import Cap, UploadTooLarge
from app.ingest.limits import Limits

MAX_BATCHES = 200_000
_LENGTH = struct.Struct("<I")  # before each text in PLAIN encoding
_ENTRY_BYTES = 64  # of memory for each entry of a dictionary, besides its text
_CODECS = {1: "snappy", 2: "gzip", 4: "brotli", 6: "zstd", 7: "lz4_raw"}  # enum CompressionCodec


@dataclass(frozen=True, slots=True)
class TextPages:
    """The pages of one text column in one row group.

    leaf      the index of the column among the leaf columns of the file
    longest   bytes of the longest entry of its dictionary; 0 without a dictionary
    rows      of each data page
    sizes     bytes of texts that each data page holds itself; 0 for a page that refers to the dictionary
    shared    whether it is read as an Arrow dictionary
    """

    leaf: int
    longest: int
    rows: Sequence[int]
    sizes: Sequence[int]
    shared: bool

    def batch_bytes(self, batch_rows: int) -> int:
        """The most bytes of texts that any batch of so many rows holds."""
        if self.shared or not self.rows:
            return 0
        stops = np.cumsum(self.rows)
        starts = stops - self.rows
        total = np.concatenate([[0], np.cumsum(self.sizes)])
        # The batch that begins with the last row of page i reaches into the last page that starts before its end.
        last = np.searchsorted(starts, stops - 1 + batch_rows, side="left")
        held = int((total[last] - total[:-1]).max())
        return held + (self.longest + _LENGTH.size) * batch_rows


def require_few_entries(entries: int, limits: Limits) -> None:
    """Raise UploadTooLarge for a dictionary of so many texts that pyarrow needs much memory for short ones too."""
    if entries * _ENTRY_BYTES > limits.max_block_bytes:
        raise UploadTooLarge(Cap.BLOCK_BYTES, limits.max_block_bytes)


RowGroups = list[tuple[int, list[TextPages]]]  # the number of rows and the text columns of each row group


def shared_leaves(row_groups: RowGroups, limits: Limits) -> set[int]:
    """Columns to be read as Arrow dictionaries, although the file does not ask for it."""
    columns = [column for _, texts in row_groups for column in texts]
    long = {column.leaf for column in columns if column.longest > MAX_TEXT_BYTES}
    return long - {column.leaf for column in columns if sum(column.sizes) > _collected_bytes(limits)}


def sharing(row_groups: RowGroups, leaves: set[int]) -> RowGroups:
    """The same with these columns read as Arrow dictionaries."""
    return [
        (rows, [replace(each, shared=each.shared or each.leaf in leaves) for each in texts])
        for rows, texts in row_groups
    ]


def _collected_bytes(limits: Limits) -> int:
    """The most bytes of texts that may be collected for an Arrow dictionary."""
    return limits.max_block_bytes // 2


def rows_at_once(row_groups: RowGroups, limits: Limits) -> list[int]:
    """The number of rows of a batch, for each row group, given its number of rows and its text columns.

    At most ROWS_AT_ONCE, and a power of two. Raises UploadTooLarge if the file would fall into more than MAX_BATCHES
    batches, or if the texts that are collected for an Arrow dictionary are too long together.
    """
    chosen, batches = [], 0
    for rows, columns in row_groups:
        if any(sum(column.sizes) > _collected_bytes(limits) for column in columns if column.shared):
            raise UploadTooLarge(Cap.BLOCK_BYTES, _collected_bytes(limits))
        batch_rows = ROWS_AT_ONCE
        while batch_rows > 1 and sum(each.batch_bytes(batch_rows) for each in columns) > limits.max_block_bytes // 4:
            batch_rows //= 2
        chosen.append(batch_rows)
        batches += -(-rows // batch_rows)
        if batches > MAX_BATCHES + len(row_groups):
            raise UploadTooLarge(Cap.BLOCK_BYTES, limits.max_block_bytes // 4)
    return chosen


def longest_entry(page: bytes, *, entries: int, inflated: int, codec: int) -> int:
    """Bytes of the longest text in a dictionary page of so many entries; `inflated` bytes where that is unclear.

    The texts stand one after the other, each after its length. Raises if the page cannot be decompressed.
    """
    if codec and codec not in _CODECS:
        return inflated
    data = memoryview(pa.decompress(page, inflated, codec=_CODECS[codec]) if codec else page)
    longest = position = 0
    try:
        for _ in range(entries):
            (length,) = _LENGTH.unpack_from(data, position)
            longest = max(longest, length)
            position += _LENGTH.size + length
    except struct.error:  # beyond the end
        return inflated
    return longest if position <= len(data) else inflated
