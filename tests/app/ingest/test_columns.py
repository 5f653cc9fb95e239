"""Every kind of attribute through every format: the same values are read, and no value refuses a file."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.ingest.batch import Wanted
from app.ingest.columns.arrow import MAX_TEXT_BYTES
from app.ingest.columns.ids import MAX_ID_BYTES
from app.ingest.columns.kinds import CONVERTERS, converter_of
from app.ingest.csv_reader import CsvParser
from app.ingest.errors import WrongColumnType
from app.ingest.formats import MediaType, read_batches
from app.ingest.limits import Limits
from app.ingest.parquet_texts import longest_entry
from core.domain.attribute import MISSING, Attribute
from core.domain.category import OTHER
from core.domain.kinds import KINDS, attribute_of
from core.domain.number import Number
from tests.app.ingest.bodies import WRITERS, arrow_body, csv_body, ndjson_body, parquet_body
from tests.app.ingest.mixed import MIXED, TEXTS, cases

NAN = float("nan")
COLUMNAR = [(MediaType.PARQUET, parquet_body), (MediaType.ARROW_STREAM, arrow_body)]
NUMBER = attribute_of({"name": "x", "lower": 0, "upper": 1})
INTEGER = attribute_of({"name": "x", "kind": "integer", "lower": 0, "upper": 9})
CATEGORY = attribute_of({"name": "x", "kind": "category", "values": ["f", "ä b", "NA", "1", "0.5", "true"]})
DATE = attribute_of({"name": "x", "kind": "date", "lower": "2026-01-01", "upper": "2026-12-31"})
BOUNDS = {"lower": "2026-01-01T00:00:00+02:00", "upper": "2027-01-01T00:00:00+02:00"}
DATETIME = attribute_of({"name": "x", "kind": "datetime", **BOUNDS})
ATTRIBUTES = [NUMBER, INTEGER, CATEGORY, DATE, DATETIME]
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
NOON_MICROS = int(NOON.timestamp()) * 10**6
HOUR = 3600 * 10**6
DAY = (date(2026, 3, 1) - date(1970, 1, 1)).days

# Attribute, its values as texts, and what they are.
TEXT_CASES: list[tuple[Attribute, dict[str, Any]]] = [
    (NUMBER, {"1.5": 1.5, " -2e3\t": -2000, "": NAN, "NA": NAN, "1_0": NAN, "true": NAN, "0x1": NAN}),
    (INTEGER, {"7": 7, "3.5": 3.5, "1e1": 10, "NaN": NAN, "": NAN, "x": NAN}),
    (
        CATEGORY,
        {"f": 0, " ä b\t": 1, "NA": 2, "1": 3, "0.5": 4, "true": 5}
        | {
            "": MISSING,
            "N/A": MISSING,
            "null": MISSING,
            "F": OTHER,
            "1.0": OTHER,
            "(other)": OTHER,
            "(missing)": OTHER,
        },
    ),
    (
        DATE,
        {"2026-03-01": DAY, " 2026-03-02 ": DAY + 1, "1969-12-31": -1, "9999-12-31": 2932896}
        | dict.fromkeys(
            ["2026-02-30", "2026-3-1", "", "NA", "20260301", "0000-01-01", "2026-03-01T00:00:00Z"], MISSING
        ),
    ),
    (
        DATETIME,
        {"2026-03-01T12:00:00Z": NOON_MICROS, "2026-03-01 12:00:00.5": NOON_MICROS - 2 * HOUR + 500_000}
        | {"2026-03-01t12:00:00.1234567+01:00": NOON_MICROS - HOUR + 123_456}
        | dict.fromkeys(["2026-03-01", "2026-03-01T25:00:00Z", "2026-02-30T00:00:00Z", "", "1772366400"], MISSING),
    ),
]


def column_of(
    attribute: Attribute, body: bytes, media_type: MediaType, limits: Limits | None = None
) -> tuple[list[Any], int]:
    """What is read of the only attribute, and the number of bad rows."""
    wanted = Wanted((attribute,))
    batches = list(read_batches([body], wanted, media_type=media_type, gzip=False, limits=limits or Limits()))
    for batch in batches:
        assert batch.columns[0].dtype == attribute.column_type
    return [value for batch in batches for value in batch.columns[0].tolist()], sum(b.bad_rows for b in batches)


def ids_of(body: bytes, media_type: MediaType) -> list[bytes | None]:
    """The ids in the column `person`."""
    wanted = Wanted((NUMBER,), "person")
    batches = read_batches([body], wanted, media_type=media_type, gzip=False, limits=Limits())
    return [value for batch in batches if batch.ids is not None for value in batch.ids.to_pylist()]


def test_every_kind_has_a_converter() -> None:
    """A kind without one could be registered and never uploaded."""
    assert set(CONVERTERS) == set(KINDS)


@pytest.mark.parametrize("quoted", [False, True])
@pytest.mark.parametrize("media_type", MediaType)
@pytest.mark.parametrize(("attribute", "texts"), TEXT_CASES, ids=[a.kind for a, _ in TEXT_CASES])
def test_a_text_is_the_same_value_in_every_format(
    attribute: Attribute, texts: dict[str, Any], media_type: MediaType, quoted: bool
) -> None:
    """By the fast and the slow path of CSV, as a JSON string, and in columns of strings."""
    table = pa.table({"x": list(texts), "z": ['"'] * len(texts)})
    if media_type is MediaType.CSV:
        mark = '"' if quoted else ""
        body = csv_body(*(f"{mark}{text}{mark},z".encode() for text in texts), header=b"x,z")
    else:
        body = WRITERS[media_type](table)
    values, bad_rows = column_of(attribute, body, media_type)
    assert bad_rows == 0
    np.testing.assert_array_equal(values, list(texts.values()))


@pytest.mark.parametrize(
    ("attribute", "values"),
    [
        (NUMBER, [(1, 1), (0.5, 0.5), (True, NAN), (None, NAN), ([], NAN), ({}, NAN), (10**18, 1e18), ("2", 2)]),
        (INTEGER, [(7, 7), (7.0, 7), (3.5, 3.5), (False, NAN), (None, NAN)]),
        (CATEGORY, [(1, 3), (1.0, 3), (0.5, 4), (True, 5), (False, OTHER), (None, MISSING), ([], MISSING), (2, OTHER)]),
        (DATE, [("2026-03-01", DAY), (DAY, MISSING), (None, MISSING), (True, MISSING), ({}, MISSING)]),
        (DATETIME, [("2026-03-01T12:00:00Z", NOON_MICROS), (NOON_MICROS, MISSING), (None, MISSING), ([1], MISSING)]),
    ],
    ids=[attribute.kind for attribute in ATTRIBUTES],
)
def test_json_values_are_read_by_their_type(attribute: Attribute, values: list[tuple[Any, Any]]) -> None:
    """And a line without the attribute has a missing value."""
    body = ndjson_body(pa.table({"z": [1]})) + b"".join(
        ndjson_body(pa.table({"x": [value]})) if not isinstance(value, dict) else b'{"x": {}}\n' for value, _ in values
    )
    read, bad_rows = column_of(attribute, body, MediaType.NDJSON)
    missing = converter_of(attribute).unreadable
    np.testing.assert_array_equal(read, [missing, *(expected for _, expected in values)])
    assert bad_rows == 0


_BERLIN = datetime(2026, 2, 28, 23, 30, tzinfo=UTC)  # half past midnight, on 1 March
ARROW_CASES: list[tuple[Attribute, pa.Array, list[Any]]] = [
    (CATEGORY, pa.array([True, False, None]), [5, OTHER, MISSING]),
    (CATEGORY, pa.array([1, 2, None], pa.uint8()), [3, OTHER, MISSING]),
    (CATEGORY, pa.array([1.0, 0.5, None, NAN, 1e300], pa.float64()), [3, 4, MISSING, MISSING, OTHER]),
    (CATEGORY, pa.array([1.0, 0.5], pa.float32()), [3, 4]),
    (CATEGORY, pa.array([Decimal("1.00"), Decimal("0.50"), None], pa.decimal128(9, 2)), [3, 4, MISSING]),
    (CATEGORY, pa.array([Decimal("1.00"), Decimal("0.50"), None], pa.decimal32(9, 2)), [3, 4, MISSING]),
    (CATEGORY, pa.array([Decimal("1.00"), Decimal("0.50"), None], pa.decimal64(18, 2)), [3, 4, MISSING]),
    (CATEGORY, pa.array(["f", None, "q", "f"]).dictionary_encode(), [0, MISSING, OTHER, 0]),
    (CATEGORY, pa.array([1, None, 1]).dictionary_encode(), [3, MISSING, 3]),
    (CATEGORY, pa.array(["f", None, "q" * 50, "ä b"], pa.string_view()), [0, MISSING, OTHER, 1]),
    (CATEGORY, pa.nulls(2), [MISSING, MISSING]),
    (DATE, pa.array([date(2026, 3, 1), None]), [DAY, MISSING]),
    (DATE, pa.array([DAY * 86_400_000, None], pa.int64()).view(pa.date64()), [DAY, MISSING]),
    (DATE, pa.array([datetime(2026, 3, 1, 23, 59), None], pa.timestamp("us")), [DAY, MISSING]),
    (DATE, pa.array([datetime(1969, 12, 31, 23, 59)], pa.timestamp("ms")), [-1]),
    (DATE, pa.array([_BERLIN, None], pa.timestamp("us", "Europe/Berlin")), [DAY, MISSING]),
    (DATE, pa.array([_BERLIN], pa.timestamp("us", "UTC")), [DAY - 1]),
    (DATETIME, pa.array([NOON.replace(tzinfo=None), None], pa.timestamp("ms")), [NOON_MICROS - 2 * HOUR, MISSING]),
    (DATETIME, pa.array([NOON, None], pa.timestamp("us", "America/New_York")), [NOON_MICROS, MISSING]),
    (DATETIME, pa.array([NOON + timedelta(microseconds=1)], pa.timestamp("ns", "UTC")), [NOON_MICROS + 1]),
]


@pytest.mark.parametrize(("media_type", "write"), COLUMNAR)
@pytest.mark.parametrize(
    ("attribute", "column", "values"), ARROW_CASES, ids=[f"{a.kind} as {c.type}" for a, c, _ in ARROW_CASES]
)
def test_columns_of_other_types_are_read_by_value(
    attribute: Attribute, column: pa.Array, values: list[Any], media_type: MediaType, write: Callable[..., bytes]
) -> None:
    """The date of a timestamp is that of its own calendar; a moment without a zone is in the zone of the bounds."""
    assert column_of(attribute, write(pa.table({"x": column})), media_type) == (values, 0)


@pytest.mark.parametrize("attribute", ATTRIBUTES, ids=[attribute.kind for attribute in ATTRIBUTES])
@pytest.mark.parametrize(("media_type", "write"), COLUMNAR)
def test_a_type_that_cannot_hold_the_kind_refuses_the_file_whatever_its_rows(
    attribute: Attribute, media_type: MediaType, write: Callable[..., bytes]
) -> None:
    """Also one without a row."""
    unfit = [pa.list_(pa.int64()), pa.struct([("a", pa.int64())]), pa.duration("us"), pa.time64("us")]
    if attribute.kind in {"date", "datetime"}:
        unfit += [pa.int64(), pa.float64(), pa.bool_(), pa.decimal128(9, 2)]
    else:
        unfit += [pa.date32(), pa.timestamp("us")]
    for kind in unfit:
        with pytest.raises(WrongColumnType):
            column_of(attribute, write(pa.table({"x": pa.array([], kind)})), media_type)


def test_times_beyond_all_bounds_stay_beyond_them() -> None:
    """The least and the greatest of each unit, also in a zone: neither an error nor a wrong day."""
    for unit in ("s", "ms", "us"):
        for zone in (None, "Europe/Berlin"):
            column = pa.array([2**63 - 1, -(2**63)]).view(pa.timestamp(unit, zone))
            for attribute in (DATE, DATETIME):
                (late, early), _ = column_of(attribute, arrow_body(pa.table({"x": column})), MediaType.ARROW_STREAM)
                assert late > attribute.last  # type: ignore[attr-defined]
                assert MISSING < early < attribute.first  # type: ignore[attr-defined]


@pytest.mark.parametrize("attribute", ATTRIBUTES, ids=[attribute.kind for attribute in ATTRIBUTES])
def test_bytes_that_are_no_text_refuse_no_file(attribute: Attribute) -> None:
    """In a column of strings, which Arrow's own check would refuse; and texts that are longer than any value."""
    odd = [b"\xff", b"\xed\xa0\x80", b"\0", b"w" * (MAX_TEXT_BYTES + 1), b"w" * 10**6]
    unreadable = OTHER if attribute is CATEGORY else converter_of(attribute).unreadable
    for storage, kind in ((pa.binary(), pa.string()), (pa.binary_view(), pa.string_view())):
        for column in (
            pa.array(odd, storage).view(kind),
            pa.array(odd, pa.binary()).view(pa.string()).dictionary_encode(),
        ):
            for media_type, write in COLUMNAR:
                values, _ = column_of(attribute, write(pa.table({"x": column})), media_type)
                np.testing.assert_array_equal(values, [unreadable] * len(odd))


@pytest.mark.parametrize("media_type", MediaType)
def test_a_million_different_texts_are_other_values(media_type: MediaType) -> None:
    """More than any list has, and more than a dictionary of Parquet holds."""
    count = 10**6 if media_type is not MediaType.NDJSON else 10**5
    table = pa.table({"x": pa.array(range(count)).cast(pa.string())})
    body = b"x\n" + b"\n".join(b"%d" % number for number in range(count)) if media_type is MediaType.CSV else None
    values, bad_rows = column_of(CATEGORY, body or WRITERS[media_type](table), media_type)
    assert (len(values), bad_rows) == (count, 0)
    assert [place for place, value in enumerate(values) if value != OTHER] == [1]


LONG = "w" * 10**7


@pytest.mark.parametrize("media_type", MediaType)
def test_ids_are_exact_bytes_and_a_row_without_a_usable_one_has_none(media_type: MediaType) -> None:
    """Empty, missing, or longer than 256 bytes, be it ten megabytes; CSV alone ignores spaces around an id."""
    most = "w" * MAX_ID_BYTES
    ids = ["p1", "ä", most, most + "w", "", LONG, " p1", "NA", "P1"]
    table = pa.table({"x": [0.5] * len(ids), "person": ids})
    space = b"p1" if media_type is MediaType.CSV else b" p1"
    expected = [b"p1", "ä".encode(), most.encode(), None, None, None, space, b"NA", b"P1"]
    if media_type in {MediaType.CSV, MediaType.NDJSON}:
        expected.remove(None)  # the line of ten megabytes is too long, and so a bad row
    assert ids_of(WRITERS[media_type](table), media_type) == expected


@pytest.mark.parametrize(("media_type", "write"), COLUMNAR)
@pytest.mark.parametrize(
    ("column", "ids"),
    [
        (pa.array([7, None, -(2**63)]), [b"7", None, b"-9223372036854775808"]),
        (pa.array([7.0, None, 0.5, NAN, 1e17]), [b"7", None, None, None, None]),
        (pa.array([Decimal(7), None], pa.decimal128(20, 0)), [b"7", None]),
        (pa.array([b"\xff\0", b"", None], pa.binary()), [b"\xff\0", None, None]),
        (pa.array([b"0123456789abcdef", None], pa.uuid()), [b"0123456789abcdef", None]),
        (pa.array(["p", None, "q", "p", LONG]).dictionary_encode(), [b"p", None, b"q", b"p", None]),
        (pa.array(["p", None, LONG, "q" * 20], pa.string_view()), [b"p", None, None, b"q" * 20]),
        (pa.array(["p", LONG], pa.large_string()), [b"p", None]),
        (pa.nulls(2), [None, None]),
    ],
    ids=lambda value: str(value.type) if isinstance(value, pa.Array) else "",
)
def test_ids_of_every_type_are_read(
    column: pa.Array, ids: list[bytes | None], media_type: MediaType, write: Callable[..., bytes]
) -> None:
    """Whole numbers by their digits, bytes as they are."""
    assert ids_of(write(pa.table({"x": [0.5] * len(column), "person": column})), media_type) == ids


def test_ids_of_json_are_strings_and_whole_numbers() -> None:
    """Nothing else names a person."""
    values = [b'"p"', b"7", b"7.0", b"7.5", b"true", b"null", b"[1]", b'"\\u00e4"', b"1e300"]
    body = b"".join(b'{"x": 0.5, "person": %b}\n' % value for value in values) + b'{"x": 1}\n'
    assert ids_of(body, MediaType.NDJSON) == [b"p", b"7", b"7", None, None, None, None, "ä".encode(), None, None]


MIXED_PARSER = CsvParser(Wanted(MIXED.attributes, "person"), tuple(range(7)), width=7, max_line_bytes=10**6)
_FIELDS = st.one_of(TEXTS, st.binary(max_size=6)).map(lambda text: bytes(b for b in text if b not in b'\n,"\r\0'))
_LINES = st.lists(_FIELDS, min_size=7, max_size=7).map(b",".join)


def _read(column: np.ndarray) -> np.ndarray:
    """Values as core takes them: "inf" is infinite on one path and NaN on the other, and missing in core."""
    return np.where(np.isfinite(column), column, NAN) if column.dtype.kind == "f" else column


@cases(300)
@given(st.lists(_LINES.filter(lambda line: line[:3] != b"\xef\xbb\xbf"), min_size=1, max_size=6))
def test_both_paths_of_csv_read_the_same_values_of_every_kind(block: list[bytes]) -> None:
    """The fast path never gives up on such a block, and agrees with the slow one on every field and id."""
    text = b"".join(line + b"\n" for line in block)
    whole, single = MIXED_PARSER.whole(text), MIXED_PARSER.lines(text)
    assert whole is not None
    assert whole.ids is not None
    assert whole.bad_rows == single.bad_rows == 0
    for fast, slow in zip(whole.columns, single.columns, strict=True):
        assert fast.dtype == slow.dtype
        np.testing.assert_array_equal(*(_read(column) for column in (fast, slow)))
    assert whole.ids.equals(single.ids)


def test_the_zone_of_bounds_is_that_of_moments_without_one() -> None:
    """East and west of Greenwich, in text and in Arrow."""
    for hours in (-11, 0, 14):
        zone = timezone(timedelta(hours=hours))
        bounds = {
            end: datetime(year, 1, 1, tzinfo=zone).isoformat() for end, year in (("lower", 2026), ("upper", 2027))
        }
        attribute = attribute_of({"name": "x", "kind": "datetime", **bounds})
        naive = NOON.replace(tzinfo=None)
        for body, media_type in (
            (csv_body(b"2026-03-01T12:00:00", header=b"x"), MediaType.CSV),
            (arrow_body(pa.table({"x": pa.array([naive], pa.timestamp("s"))})), MediaType.ARROW_STREAM),
        ):
            assert column_of(attribute, body, media_type) == ([NOON_MICROS - hours * HOUR], 0)


@pytest.mark.parametrize("attribute", [NUMBER, INTEGER, CATEGORY], ids=lambda each: each.kind)
@pytest.mark.parametrize(
    "kind",
    [
        pa.decimal32(5, 10),
        pa.decimal64(5, -19),
        pa.decimal128(5, 39),
        pa.decimal128(5, 2**31 - 1),
        pa.decimal128(5, -(2**31)),
        pa.decimal256(5, 77),
        pa.dictionary(pa.int8(), pa.decimal128(5, 2**31 - 1)),
    ],
    ids=str,
)
def test_a_decimal_whose_scale_pyarrow_does_not_bound_is_refused_before_it_is_converted(
    attribute: Attribute, kind: pa.DataType
) -> None:
    """Converting one reads beyond a table of pyarrow: it gave numbers from other memory, and ended the process."""
    body = arrow_body(pa.table({"x": pa.nulls(1, kind)}))
    with pytest.raises(WrongColumnType):
        list(read_batches([body], Wanted((attribute,)), media_type=MediaType.ARROW_STREAM, gzip=False, limits=Limits()))


_JSON_NUMBERS = st.none() | st.floats() | st.integers(-(2**63), 2**64 - 1)


@given(st.lists(_JSON_NUMBERS, max_size=20), st.lists(st.booleans() | st.text("0.5e-", max_size=3), max_size=1))
def test_json_numbers_of_a_batch_are_those_of_single_values(numbers: list[object], others: list[object]) -> None:
    """To the last bit, whether all are converted at once or another value among them prevents that."""
    converter = converter_of(Number("x", 0, 1))
    values = [*numbers, *others]
    expected = np.array([float(converter.from_json(value)) for value in values], dtype=np.float64)
    converted = converter.from_jsons(values)
    assert converted.dtype == np.float64
    assert np.array_equal(converted, expected, equal_nan=True)


@pytest.mark.parametrize("cut", [0, 1, 5])
def test_the_longest_text_of_a_dictionary_is_unclear_where_the_page_ends_early(cut: int) -> None:
    """Then the whole page is taken for one text."""
    texts = [b"a", b"four", b""]
    page = b"".join(len(text).to_bytes(4, "little") + text for text in texts)
    longest = longest_entry(page[: len(page) - cut], entries=len(texts), inflated=99, codec=0)
    assert longest == (99 if cut else 4)
