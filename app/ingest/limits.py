"""Limits: how much of the machine one upload may take."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

KIB = 2**10
MIB = 2**20
GIB = 2**30


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Caps on one upload. Beyond one of them it is refused; only a line that is too long is dropped by itself.

    max_bytes           of the body as sent
    max_inflated_bytes  of the body after gzip, and of the Parquet pages after their own compression
    max_rows            read, good and bad
    max_wide_rows       read for a release of four or more attributes: each may take a cell of its own in memory
    max_columns         of the file, wanted or not
    max_line_bytes      of one line of CSV or NDJSON; a longer one is a bad row
    max_block_bytes     of one Arrow message or Parquet page: the unit that must fit memory as a whole
    buffer_bytes        of records held in memory while the grid is not yet known; more goes to the sealed spool
    spool_bytes         of one sealed spool: a Parquet body, or the records beyond buffer_bytes
    spool_folder        where the unlinked files of spools live; the system's folder for temporary files by default
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
