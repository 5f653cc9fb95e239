"""NDJSON: one JSON object per line, each line judged by itself.

There is no header: a line that lacks an attribute is a bad row, and a body without a line is a file without a row.
"""

from __future__ import annotations

from array import array
from collections.abc import Generator, Iterable
from contextlib import suppress

import numpy as np
import orjson

from app.ingest.batch import Batch
from app.ingest.limits import Limits
from app.ingest.lines import BOM, blocks


def read_ndjson(chunks: Iterable[bytes], names: tuple[str, ...], limits: Limits) -> Generator[Batch]:
    """The rows of an NDJSON body, block by block."""
    for block in blocks(chunks, max_line_bytes=limits.max_line_bytes):
        numbers = array("d")
        bad_rows = block.long_lines
        for line in block.text.split(b"\n"):
            if line:
                row = json_line(line, names)
                if row is None:
                    bad_rows += 1
                else:
                    numbers.extend(row)
        yield Batch(np.frombuffer(numbers, dtype=np.float64).reshape(-1, len(names)), bad_rows)


def json_line(line: bytes, names: tuple[str, ...]) -> list[float] | None:
    """The wanted numbers of one line; None for a bad one.

    A byte order mark is passed over on any line, not only on the first: which line is the first depends on the rows.
    """
    row: object = None
    with suppress(orjson.JSONDecodeError):
        row = orjson.loads(line.removeprefix(BOM))
    if not isinstance(row, dict):
        return None
    numbers = []
    for name in names:
        value = row.get(name)
        if isinstance(value, bool) or not isinstance(value, int | float):
            return None
        numbers.append(float(value))
    return numbers
