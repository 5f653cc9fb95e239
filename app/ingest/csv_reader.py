"""Reader of CSV: a header line, then one row per line, each line parsed on its own.

`_fields` defines the fields of a line, and `Converter.from_text` the value of a field. Both are functions of
that line alone, which is what the privacy proof needs (step 1 in `core.release`).

There are two paths. The slow path splits and converts line by line. The fast path gives a whole block of lines to
pyarrow, which is 25 times as fast but fails the whole block for one bad line. A block that pyarrow reads without an
error is taken as it is; any other block is read on the slow path. So an odd row can change the path that its block
takes. That changes no other row, because both paths agree on every line:

- Fields. Without quotes, both paths split at commas. pyarrow has its own rules for CR, NUL and a BOM at the start of
  a block, so a block that contains one of them takes the slow path. So does a block with a quote. The slow path
  accepts quotes within a line; a line whose quotes do not match is a bad row.
- Number of fields. A line with more or fewer fields than the header is a bad row on the slow path, and makes pyarrow
  fail the block on the fast path.
- Numbers. `NumberConverter.from_text` accepts exactly the texts that pyarrow accepts as a finite double. Both paths
  round correctly. pyarrow also accepts "inf", "nan" and the like as numbers that are not finite; core takes them for
  missing values, like NaN. A block with a field that pyarrow takes for no number is read once more with all columns as
  bytes: the fields that match the same pattern are converted, and all others are NaN.
- Values of other kinds, and ids. pyarrow gives the bytes of a field, and each distinct one is converted by the same
  function that the slow path uses. Neither path asks whether bytes are UTF-8: they are compared as bytes.
- Blank lines. Both paths skip them and do not count them as rows, also in a file with a single column.
"""

from __future__ import annotations

import csv
from collections.abc import Generator, Iterable
from contextlib import suppress

import pyarrow as pa
import pyarrow.csv

from app.ingest.batch import Batch, Columns, Wanted, positions
from app.ingest.causes import BadLine
from app.ingest.columns.categories import NULLS
from app.ingest.errors import Cap, UnreadableFile, UploadTooLarge
from app.ingest.limits import Limits
from app.ingest.lines import BOM, MAX_BLOCK_BYTES, blocks, first_line

_SPECIAL = (b'"', b"\r", b"\0")


def read_csv(chunks: Iterable[bytes], wanted: Wanted, limits: Limits) -> Generator[Batch]:
    """Yield the rows of a CSV body, one batch per block of lines.

    Raises UnreadableFile, ColumnFault or UploadTooLarge for the header; a bad line below it is a bad row.
    """
    line, rest = first_line(chunks, max_line_bytes=limits.max_line_bytes)
    header = _header(line, limits)
    places = positions(wanted.names, header)
    parser = CsvParser(wanted, places, width=len(header), max_line_bytes=limits.max_line_bytes)
    for block in blocks(rest, max_line_bytes=limits.max_line_bytes):
        yield parser.block(block.text).with_bad_rows(block.long_lines, BadLine.LONG)


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
    """Parses lines of `width` fields; `places` has the indices of the fields of the wanted columns, in their order."""

    def __init__(self, wanted: Wanted, places: tuple[int, ...], *, width: int, max_line_bytes: int) -> None:
        self._columns = Columns(wanted)
        self._places = places
        self._width = width
        self._read_options = pyarrow.csv.ReadOptions(
            use_threads=False,
            column_names=[str(place) for place in range(width)],
            block_size=MAX_BLOCK_BYTES + max_line_bytes + 2,
        )
        self._parse_options = pyarrow.csv.ParseOptions(
            delimiter=",",
            quote_char=False,
            double_quote=False,
            escape_char=False,
            newlines_in_values=False,
            ignore_empty_lines=True,
        )
        types = [converter.csv_type for converter in self._columns.converters]
        types += [pa.binary()] * self._columns.has_ids
        # The second try has no numbers that could make it fail.
        self._tries = [self._convert_options(types)]
        if pa.float64() in types:
            self._tries.append(self._convert_options([pa.binary()] * len(types)))

    def _convert_options(self, types: list[pa.DataType]) -> pyarrow.csv.ConvertOptions:
        names = [str(place) for place in self._places]
        return pyarrow.csv.ConvertOptions(
            check_utf8=False,  # columns that are not wanted may hold anything
            column_types=dict(zip(names, types, strict=True)),
            include_columns=names,
            null_values=list(NULLS),  # of numbers; none of them is a number, so this list affects speed only
            strings_can_be_null=False,
        )

    def block(self, text: bytes) -> Batch:
        """The rows of a block of lines that each end in LF: the result of `lines`, by the fast path if possible."""
        special = text.startswith(BOM) or any(byte in text for byte in _SPECIAL)
        batch = None if special else self.whole(text)
        return self.lines(text) if batch is None else batch

    def whole(self, text: bytes) -> Batch | None:
        """Fast path: the rows as pyarrow reads them; None if it raises, without its message, which may quote a row."""
        if len(set(self._places)) < len(self._places):  # ids that are an attribute too: a column of two types
            return None
        for convert_options in self._tries:
            with suppress(Exception):
                table = pyarrow.csv.read_csv(
                    pa.BufferReader(text),
                    read_options=self._read_options,
                    parse_options=self._parse_options,
                    convert_options=convert_options,
                )
                return self._columns.from_csv([column.combine_chunks() for column in table.columns])
        return None

    def lines(self, text: bytes) -> Batch:
        """Slow path: the rows, parsed line by line.

        Decoded as Latin-1, which maps every byte to a character and back. Only ASCII characters have a meaning for the
        fields of a line, so the true encoding does not matter.
        """
        columns: list[list[bytes]] = [[] for _ in self._places]
        unmatched = wrong_width = 0
        for line in text.decode("latin-1").split("\n"):
            if line:
                fields = _fields(line)
                if fields is None:
                    unmatched += 1
                elif len(fields) != self._width:
                    wrong_width += 1
                else:
                    for place, column in zip(self._places, columns, strict=True):
                        column.append(fields[place].encode("latin-1"))
        batch = self._columns.from_texts(columns)
        return batch.with_bad_rows(unmatched, BadLine.QUOTES).with_bad_rows(wrong_width, BadLine.FIELDS)
