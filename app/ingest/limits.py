"""Limits: the memory, disk and size limits of one upload."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from core.domain.domain import Domain

KIB = 2**10
MIB = 2**20
GIB = 2**30


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Limits of one upload. An upload beyond one of them is refused; only a line that is too long is just dropped.

    max_bytes           of the body as sent
    max_inflated_bytes  of the body after gzip, and of all Parquet pages after decompression
    max_rows            rows read, good and bad
    max_wide_rows       the same for a release of four or more attributes: each row may need its own cell in memory.
                        With offsets a cell takes 4 bytes more for each ordered attribute: see `most_wide_rows`
    max_columns         columns of the file, wanted or not
    max_line_bytes      of a line of CSV or NDJSON; a longer line is a bad row
    max_block_bytes     of an Arrow message or a Parquet page, which must be in memory as a whole
    buffer_bytes        of a Parquet body in memory, and of records in memory while the grid is not planned yet or while
                        the layers of an adaptive release are counted; the rest goes to the sealed spool. Where an
                        upload holds both, each has half: see `halved`
    spool_bytes         of a Parquet body, or of a sealed spool of the records beyond buffer_bytes
    spool_folder        where the unlinked files of spools are; None: the system's folder for temporary files
    """

    max_bytes: int = GIB
    max_inflated_bytes: int = 4 * GIB
    max_rows: int = 100_000_000
    max_wide_rows: int = 20_000_000
    max_columns: int = 4096
    max_line_bytes: int = 64 * KIB
    max_block_bytes: int = 64 * MIB
    buffer_bytes: int = 64 * MIB
    spool_bytes: int = 4 * GIB
    spool_folder: Path | None = None

    def halved(self) -> Limits:
        """The same with half of buffer_bytes: for each of two buffers that are in use at the same time."""
        return replace(self, buffer_bytes=self.buffer_bytes // 2)

    def most_wide_rows(self, domain: Domain, *, offsets: bool) -> int:
        """The most rows of a release of four or more attributes, such that all of them take the same memory.

        A row may need its own cell: 16 bytes for its number and count and, with offsets, 4 for each ordered attribute.
        """
        sums = len(domain.ordered) if offsets else 0
        return max(1, self.max_wide_rows * 4 // (4 + sums))
