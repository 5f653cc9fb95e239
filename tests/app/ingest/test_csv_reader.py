"""CSV: the result of a line depends on that line alone, and both paths agree."""

from __future__ import annotations

import math
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from app.ingest import lines
from app.ingest.batch import Batch
from app.ingest.csv_reader import CsvParser
from app.ingest.errors import AmbiguousColumns, Cap, MissingColumns, UnreadableFile, UploadTooLarge
from app.ingest.limits import Limits
from tests.app.ingest.bodies import Rows, csv_body, finite, numbers, read
from tests.app.ingest.hostile import FIELDS, LINES, NUMBERS

ONE = CsvParser(numbers("x"), (0,), width=1, max_line_bytes=10**6)
TWO_OF_THREE = CsvParser(numbers("y", "x"), (2, 0), width=3, max_line_bytes=10**6)
BOM = b"\xef\xbb\xbf"


def good(batch: Batch | Rows | None) -> list[bytes]:
    """The rows of a batch that can become records, as bytes, for an exact comparison."""
    if batch is None:
        return []
    return [row.tobytes() for row in finite(batch if isinstance(batch, Rows) else Rows.of(batch))]


def rows(batch: Batch | Rows) -> int:
    """Good rows and bad."""
    return (len(batch.values) if isinstance(batch, Rows) else len(batch)) + batch.bad_rows


def plain(text: bytes) -> bool:
    """Whether a text may go to pyarrow."""
    return not (text.startswith(BOM) or any(special in text for special in (b'"', b"\r", b"\0")))


@settings(max_examples=500)
@given(NUMBERS.filter(lambda field: field and plain(field) and b"," not in field))
@example(b"1_000")
@example(b"\xd9\xa1")
@example(b"\x0b1")
@example(b"1\x1f")
@example(b"0x10")
@example(b"1" * 400)
@example(b"9007199254740993" + b"0" * 900 + b"1e-901")
@example(b"2.2250738585072011e-308")
def test_both_paths_take_the_same_spellings_for_the_same_numbers(field: bytes) -> None:
    """What one accepts as a finite number the other accepts, to the last bit."""
    assert good(ONE.whole(field + b"\n")) == good(ONE.lines(field + b"\n"))


@given(st.floats(allow_nan=False, allow_infinity=False), st.sampled_from(["r", ".17e", ".3f", "+.20g", ".60f"]))
def test_a_number_is_read_to_the_nearest_double_on_both_paths(number: float, layout: str) -> None:
    """As Python reads it, which rounds correctly."""
    text = repr(number) if layout == "r" else format(number, layout)
    expected = [np.float64(text).tobytes()] if math.isfinite(float(text)) else []
    assert good(ONE.whole(text.encode() + b"\n")) == good(ONE.lines(text.encode() + b"\n")) == expected


@settings(max_examples=200)
@given(st.lists(LINES.filter(lambda line: plain(line.removeprefix(BOM))), max_size=8))
@example([b"1,a,2", BOM + b"1,a,2"])
def test_what_pyarrow_reads_as_a_block_is_what_the_lines_say(block: list[bytes]) -> None:
    """The same rows in the same order and number; or pyarrow has raised and its result is not used."""
    text = b"".join(line + b"\n" for line in block)
    assume(plain(text))
    whole, single = TWO_OF_THREE.whole(text), TWO_OF_THREE.lines(text)
    if whole is not None:
        assert good(whole) == good(single)
        assert rows(whole) == rows(single)


@settings(max_examples=200)
@given(st.lists(LINES, max_size=12), st.integers(20, 200))
def test_a_block_is_worth_the_sum_of_its_lines(block: list[bytes], block_bytes: int) -> None:
    """Whichever path a block takes because of one line, the other lines give the same result as on their own."""
    alone = [read(csv_body(line, header=b"x,z,y")) for line in block]
    with patch.object(lines, "BLOCK_BYTES", block_bytes):
        together = read(csv_body(*block, header=b"x,z,y"))
    assert good(together) == [row for batch in alone for row in good(batch)]
    assert rows(together) == sum(map(rows, alone))


@given(st.lists(FIELDS, min_size=3, max_size=3))
def test_a_quoted_field_is_worth_what_it_holds(fields: list[bytes]) -> None:
    """Quotes around a field, doubled within, change nothing about its line, where it can do without them."""
    quoted = b",".join(b'"' + field.replace(b'"', b'""') + b'"' for field in fields)
    bare = b",".join(b"other" if position == 1 else field for position, field in enumerate(fields))
    if all(plain(field) and b"," not in field for field in (fields[0], fields[2])):
        assert good(TWO_OF_THREE.lines(quoted + b"\n")) == good(TWO_OF_THREE.lines(bare + b"\n"))


def test_clean_blocks_and_gaps_in_them_take_the_fast_path() -> None:
    """Also with the usual spellings of a missing value and other columns in any encoding."""
    text = b"1,\xff\xfe,2\n3,,NA\n,b,5\nnan,c,null\n\n6,'d',7\n"
    whole = TWO_OF_THREE.whole(text)
    assert whole is not None
    assert rows(whole) == 5
    assert finite(Rows.of(whole)).tolist() == [[2, 1], [7, 6]]


def test_a_field_that_is_no_number_is_a_missing_value_and_keeps_its_block_on_the_fast_path() -> None:
    """The rows around it are read as before, spaces and tabs included."""
    text = b"1,a,2\n?,b,\t3 \n 4\t,c,1_0\n5,d,-.5e1\n"
    whole = TWO_OF_THREE.whole(text)
    assert whole is not None
    np.testing.assert_array_equal(Rows.of(whole).values, [[2, 1], [3, np.nan], [np.nan, 4], [-5, 5]])
    np.testing.assert_array_equal(Rows.of(whole).values, Rows.of(TWO_OF_THREE.lines(text)).values)


def test_pyarrow_never_sees_the_bytes_it_has_its_own_rules_for() -> None:
    """Quote, CR and NUL anywhere, and a byte order mark at the start of a block, send it line by line."""
    with patch.object(CsvParser, "whole", side_effect=AssertionError):
        for text in (b'1\n"\n2\n', b"1\n3\r3\n2\n", b"1\n3\0\n2\n", BOM + b"3\n1\n2\n"):
            assert good(ONE.block(text)) == good(ONE.lines(b"1\n2\n"))


@pytest.mark.parametrize(
    ("line", "values"),
    [
        (b"1,2", [1, 2]),
        (b" 1 ,\t2", [1, 2]),
        (b'"1","2"', [1, 2]),
        (b'" 1",2', [1, 2]),
        (b"+.5,1.", [0.5, 1]),
        (b"1e3,-2E-1", [1000, -0.2]),
        (b'"1,2', None),
        (b'1","2', None),
        (b'"1"x,2', None),
        (b"1,2,", None),
        (b"1", None),
        (b"1,2,3", None),
        (b"1;2", None),
        (b"1,", None),
        (b"1,inf", None),
        (b"1,1e999", None),
        (b"1,1_0", None),
        (b"1,0x2", None),
        (b"1,true", None),
        (b"1,2\r3", None),
        (b"1,2\0", None),
        (b"\xef\xbb\xbf1,2", None),
        (b"1,\xd9\xa2", None),
    ],
)
def test_a_line_is_two_numbers_or_a_bad_row(line: bytes, values: list[float] | None) -> None:
    """Bad rows are counted, and good ones before and after them are read."""
    batch = read(csv_body(b"3,4", line, b"5,6"))
    assert finite(batch).tolist() == [[3, 4], *([values] if values else []), [5, 6]]
    assert rows(batch) == 3


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b""])
def test_line_ends_do_not_matter_and_the_last_may_be_missing(end: bytes) -> None:
    """LF, CRLF, or the end of the file."""
    newline = end or b"\n"
    batch = read(newline.join([b"x,y", b"1,2", b"", b"3,4"]) + end)
    assert (finite(batch).tolist(), rows(batch)) == ([[1, 2], [3, 4]], 2)


def test_blank_lines_are_no_rows_even_in_a_single_column() -> None:
    """On both paths."""
    assert rows(read(b"x\n1\n\n\n2\n", names=("x",))) == 2
    assert rows(read(b'x\n1\n\n\n"2"\n', names=("x",))) == 2


def test_a_line_over_the_limit_is_one_bad_row() -> None:
    """Wherever it stands, and even if it would have been a good one."""
    long = b"1," + b"0" * 400 + b"2"
    batch = read(csv_body(long, b"1,2", long))
    assert (finite(batch).tolist(), rows(batch)) == ([[1, 2]], 3)


@pytest.mark.parametrize(
    "header",
    [
        b"x,y,z",
        b"\xef\xbb\xbfx,y,z",
        b'"x","y","z"',
        b"x, y ,\tz",
        b"x,y,\xff\xfe",
        b'x,y,"a ""quoted"", name"',
        b"x,y,z\r",
    ],
)
def test_columns_are_found_by_name_however_the_header_is_spelt(header: bytes) -> None:
    """Byte order mark, quotes, spaces around names, and any bytes in the names of other columns."""
    assert finite(read(csv_body(b"1,2,3", header=header))).tolist() == [[1, 2]]


def test_attributes_come_in_their_own_order_and_other_columns_may_share_a_name() -> None:
    """Two columns called z do not matter: z is no attribute."""
    assert finite(read(csv_body(b"1,2,3,4", header=b"z,y,z,x"))).tolist() == [[4, 2]]


@pytest.mark.parametrize(
    ("body", "error"),
    [
        (b"", UnreadableFile),
        (b"\n1,2\n", UnreadableFile),
        (b"\xef\xbb\xbf\n1,2\n", UnreadableFile),
        (b'"x,y\n1,2\n', UnreadableFile),
        (b"x" * 401 + b",y\n1,2\n", UnreadableFile),
        (b"a,b\n1,2\n", MissingColumns),
        (b"x;y\n1;2\n", MissingColumns),
        (b"X,Y\n1,2\n", MissingColumns),
        ("x,y\n1,2\n".encode("utf-16"), MissingColumns),
        (b"x,y,x\n1,2,3\n", AmbiguousColumns),
        (b'x,y,"x "\n1,2,3\n', AmbiguousColumns),
    ],
)
def test_a_header_that_does_not_name_each_attribute_once_is_a_fault_of_the_file(
    body: bytes, error: type[Exception]
) -> None:
    """The refusal depends on the header, which is public, and not on the rows."""
    with pytest.raises(error):
        read(body)


def test_more_columns_than_allowed_are_refused() -> None:
    """A cap, not a fault of the rows."""
    body = csv_body(b"1,2,3", header=b"x,y,z")
    assert len(read(body, limits=Limits(max_columns=3)).values) == 1
    with pytest.raises(UploadTooLarge) as refusal:
        read(body, limits=Limits(max_columns=2))
    assert refusal.value.cap is Cap.COLUMNS
