"""Reader of CSV: a header line, then one row per line, each line parsed on its own.

`CsvParser.line` defines the result of a line: its fields, their number, and the numbers in the wanted fields. It is a
function of that line alone, which is what the privacy proof needs (step 1 in `core.release`).

There are two paths. The slow path calls `line` for each line. The fast path gives a whole block of lines to pyarrow,
which is 25 times as fast but fails the whole block for one bad line. A block that pyarrow reads without an error is
taken as it is; any other block is read on the slow path. So an odd row can change the path that its block takes. That
changes no other row, because both paths agree on every line:

- Fields. Without quotes, both paths split at commas. pyarrow has its own rules for CR, NUL and a BOM at the start of
  a block, so a block that contains one of them takes the slow path. So does a block with a quote. The slow path
  accepts quotes within a line; a line whose quotes do not match is a bad row.
- Number of fields. A line with more or fewer fields than the header is a bad row on the slow path, and makes pyarrow
  fail the block on the fast path.
- Numbers. `_NUMBER` matches exactly the texts that pyarrow accepts as a finite double. Both paths round correctly.
  Texts that only Python's float() accepts (1_000, digits of other scripts, vertical tabs) do not match. pyarrow also
  accepts "inf", "nan" and the like as numbers that are not finite; such a row is dropped later, like one without a
  number.
- Blank lines. Both paths skip them and do not count them as rows, also in a file with a single column.
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

# Possessive quantifiers throughout: a hostile field must not cause backtracking.
_NUMBER = re.compile(r"[ \t]*+[+-]?+(?:[0-9]++(?:\.[0-9]*+)?+|\.[0-9]++)(?:[eE][+-]?+[0-9]++)?+[ \t]*+")
_SPECIAL = (b'"', b"\r", b"\0")
# Spellings of "no value" that keep a block on the fast path. None of them is a number, so this list affects speed only.
_NULLS = ["", "NA", "N/A", "NaN", "nan", "NULL", "null", "None", "#N/A"]


def read_csv(chunks: Iterable[bytes], names: tuple[str, ...], limits: Limits) -> Generator[Batch]:
    """Yield the rows of a CSV body, one batch per block of lines.

    Raises UnreadableFile, ColumnFault or UploadTooLarge for the header; a bad line below it is a bad row.
    """
    line, rest = first_line(chunks, max_line_bytes=limits.max_line_bytes)
    columns = _header(line, limits)
    parser = CsvParser(positions(names, columns), width=len(columns), max_line_bytes=limits.max_line_bytes)
    for block in blocks(rest, max_line_bytes=limits.max_line_bytes):
        batch = parser.block(block.text)
        yield Batch(batch.values, batch.bad_rows + block.long_lines)


def _header(line: bytes | None, limits: Limits) -> list[str]:
    """The column names, without spaces and tabs around them; `line` is None if it was too long.

    Bytes that are not UTF-8 become surrogates. No attribute name contains one, so such a column is simply not wanted.
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
    """The fields of a line that is not blank; None if its quotes do not match."""
    if '"' not in line:
        return line.split(",")
    with suppress(csv.Error):
        return next(csv.reader([line], strict=True))
    return None


class CsvParser:
    """Parses lines of `width` fields; `wanted` has the indices of the fields that hold the attributes."""

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
            check_utf8=False,  # columns that are not wanted may hold anything
            column_types=dict.fromkeys(included, pa.float64()),
            include_columns=included,
            null_values=_NULLS,
        )

    def block(self, text: bytes) -> Batch:
        """The rows of a block of lines that each end in LF: the result of `lines`, by the fast path if possible."""
        special = text.startswith(BOM) or any(byte in text for byte in _SPECIAL)
        return (None if special else self.whole(text)) or self.lines(text)

    def whole(self, text: bytes) -> Batch | None:
        """Fast path: the rows as pyarrow reads them; None if it raises, without its message, which may quote a row."""
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
        """Slow path: the rows, parsed line by line.

        Decoded as Latin-1, which maps every byte to a character. Only ASCII characters have a meaning here, so the
        true encoding does not matter.
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
        """The wanted numbers of one line; None for a bad row."""
        fields = _fields(line)
        if fields is None or len(fields) != self._width:
            return None
        wanted = [fields[position] for position in self._wanted]
        if not all(map(_NUMBER.fullmatch, wanted)):
            return None
        return list(map(float, wanted))
