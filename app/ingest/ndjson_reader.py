"""Reader of NDJSON: one JSON object per line, each line parsed on its own.

There is no header. A line that lacks an attribute is a bad row, and an empty body is a file without rows.
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
    """Yield the rows of an NDJSON body, one batch per block of lines."""
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
    """The wanted numbers of one line; None for a bad row.

    A byte order mark (BOM) is skipped on every line, not only on the first. Which line comes first depends on the
    other rows, so a rule for the first line only would make rows depend on each other.
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
