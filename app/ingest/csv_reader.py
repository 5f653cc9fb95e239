"""CSV: a header line, then one row per line, each line judged by itself.

One function of a line alone decides what the line is worth (`CsvParser.line`): its fields, their number, and the
numbers in the wanted ones. pyarrow computes the same for a whole block at 25 times the speed, but it judges a block as
a whole: one bad line fails it. So a block that pyarrow reads without complaint is taken as read, and any other is
read line by line. One odd row then changes the path its block takes, and it changes nothing else as long as the two
paths agree on every other line. They do because of

- the fields: without a quote, both split at commas. CR, NUL and a BOM at the start of a block, where pyarrow has rules
  of its own, never reach it. Quotes are obeyed within a line and only on the slow path; a quote that does not end with
  its line is a bad row.
- the width: a line with more or fewer fields than the header is a bad row to one and fails the block in the other.
- the numbers: `_NUMBER` is what pyarrow accepts as a finite double, no more and no less; both round correctly. What
  Python's float() takes beyond it (1_000, other scripts' digits, vertical tabs) is refused. "inf", "nan" and the like
  pyarrow does accept, as numbers that are not finite: such a row is dropped, like one without a number.
- blank lines: skipped by both, not even counted as rows, also where the file has a single column.
"""

from __future__ import annotations

import csv
import re
from array import array
from collections.abc import Generator, Iterable
from contextlib import suppress

import numpy as np
import pyarrow as pa
import pyarrow.csv

from app.ingest.batch import Batch, from_columns, positions
from app.ingest.errors import Cap, UnreadableFile, UploadTooLarge
from app.ingest.limits import Limits
from app.ingest.lines import BOM, MAX_BLOCK_BYTES, blocks, first_line

# Possessive throughout: a hostile field must not make the matcher go back and try again.
_NUMBER = re.compile(r"[ \t]*+[+-]?+(?:[0-9]++(?:\.[0-9]*+)?+|\.[0-9]++)(?:[eE][+-]?+[0-9]++)?+[ \t]*+")
_SPECIAL = (b'"', b"\r", b"\0")
# Spellings of "no value" that keep a block on the fast path. None is a number, so they decide speed and nothing else.
_NULLS = ["", "NA", "N/A", "NaN", "nan", "NULL", "null", "None", "#N/A"]


def read_csv(chunks: Iterable[bytes], names: tuple[str, ...], limits: Limits) -> Generator[Batch]:
    """The rows of a CSV body, block by block."""
    line, rest = first_line(chunks, max_line_bytes=limits.max_line_bytes)
    columns = _header(line, limits)
    parser = CsvParser(positions(names, columns), width=len(columns), max_line_bytes=limits.max_line_bytes)
    for block in blocks(rest, max_line_bytes=limits.max_line_bytes):
        batch = parser.block(block.text)
        yield Batch(batch.values, batch.bad_rows + block.long_lines)


def _header(line: bytes | None, limits: Limits) -> list[str]:
    """The column names, without the spaces around them.

    Bytes that are not UTF-8 become surrogates, which no attribute name contains: such a column is one of the others.
    """
    if line is None:
        raise UnreadableFile(
            f"The first line is longer than {limits.max_line_bytes:,} bytes; it must name the columns."
        )
    text = line.removeprefix(BOM).decode("utf-8", "surrogateescape")
    if not text.strip():
        raise UnreadableFile("The first line must name the columns, separated by commas.")
    fields = _fields(text)
    if fields is None:
        raise UnreadableFile("The quotes in the first line, which names the columns, do not match.")
    if len(fields) > limits.max_columns:
        raise UploadTooLarge(Cap.COLUMNS, limits.max_columns)
    return [field.strip(" \t") for field in fields]


def _fields(line: str) -> list[str] | None:
    """The fields of one line that is not blank; None where its quotes do not match."""
    if '"' not in line:
        return line.split(",")
    with suppress(csv.Error):
        return next(csv.reader([line], strict=True))
    return None


class CsvParser:
    """Reads lines of `width` fields; the wanted numbers are those at `wanted`."""

    def __init__(self, wanted: tuple[int, ...], *, width: int, max_line_bytes: int) -> None:
        self._wanted = wanted
        self._width = width
        columns = [str(position) for position in range(width)]
        included = [str(position) for position in wanted]
        self._read_options = pyarrow.csv.ReadOptions(
            use_threads=False, column_names=columns, block_size=MAX_BLOCK_BYTES + max_line_bytes + 2
        )
        self._parse_options = pyarrow.csv.ParseOptions(
            delimiter=",",
            quote_char=False,
            double_quote=False,
            escape_char=False,
            newlines_in_values=False,
            ignore_empty_lines=True,
        )
        self._convert_options = pyarrow.csv.ConvertOptions(
            check_utf8=False,  # the other columns may hold anything
            column_types=dict.fromkeys(included, pa.float64()),
            include_columns=included,
            null_values=_NULLS,
        )

    def block(self, text: bytes) -> Batch:
        """The rows of a block of lines, each ending in LF: what `lines` makes of it, faster where that is possible."""
        special = text.startswith(BOM) or any(byte in text for byte in _SPECIAL)
        return (None if special else self.whole(text)) or self.lines(text)

    def whole(self, text: bytes) -> Batch | None:
        """The rows as pyarrow reads them, or None where it complains: what it says would quote a row."""
        with suppress(Exception):
            table = pyarrow.csv.read_csv(
                pa.BufferReader(text),
                read_options=self._read_options,
                parse_options=self._parse_options,
                convert_options=self._convert_options,
            )
            return Batch(from_columns([column.combine_chunks() for column in table.columns]))
        return None

    def lines(self, text: bytes) -> Batch:
        """The rows, read one line at a time.

        Latin-1 gives every byte a character of its own; only ASCII means anything here, whatever the true encoding.
        """
        numbers = array("d")
        bad_rows = 0
        for line in text.decode("latin-1").split("\n"):
            if line:
                row = self.line(line)
                if row is None:
                    bad_rows += 1
                else:
                    numbers.extend(row)
        values = np.frombuffer(numbers, dtype=np.float64).reshape(-1, len(self._wanted))
        return Batch(values, bad_rows)

    def line(self, line: str) -> list[float] | None:
        """The wanted numbers of one line; None for a bad one."""
        fields = _fields(line)
        if fields is None or len(fields) != self._width:
            return None
        wanted = [fields[position] for position in self._wanted]
        if not all(map(_NUMBER.fullmatch, wanted)):
            return None
        return list(map(float, wanted))
