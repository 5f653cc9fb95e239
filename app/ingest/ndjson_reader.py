"""Reader of NDJSON: one JSON object per line, each line parsed on its own.

There is no header. An attribute that a line lacks is a missing value, and an empty body is a file without rows.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable
from contextlib import suppress
from typing import Any

import orjson

from app.ingest.batch import ROWS_AT_ONCE, Batch, Columns, Wanted
from app.ingest.limits import Limits
from app.ingest.lines import BOM, blocks


def read_ndjson(chunks: Iterable[bytes], wanted: Wanted, limits: Limits) -> Generator[Batch]:
    """Yield the rows of an NDJSON body in batches of at most ROWS_AT_ONCE rows, one or several per block of lines."""
    columns = Columns(wanted)
    for block in blocks(chunks, max_line_bytes=limits.max_line_bytes):
        lines = [line for line in block.text.split(b"\n") if line]
        bad_rows = block.long_lines
        for start in range(0, max(1, len(lines)), ROWS_AT_ONCE):
            yield _batch(lines[start : start + ROWS_AT_ONCE], columns, bad_rows)
            bad_rows = 0


def _batch(lines: list[bytes], columns: Columns, bad_rows: int) -> Batch:
    values: list[list[object]] = [[] for _ in columns.names]
    for line in lines:
        row = json_line(line)
        if row is None:
            bad_rows += 1
        else:
            for name, column in zip(columns.names, values, strict=True):
                column.append(row.get(name))
    return columns.from_jsons(values, bad_rows)


def json_line(line: bytes) -> dict[str, Any] | None:
    """The object of one line; None for a bad row.

    A byte order mark (BOM) is skipped on every line, not only on the first. Which line comes first depends on the
    other rows, so a rule for the first line only would make rows depend on each other.
    """
    row: object = None
    with suppress(orjson.JSONDecodeError):
        row = orjson.loads(line.removeprefix(BOM))
    return row if isinstance(row, dict) else None
