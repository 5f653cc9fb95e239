"""Losses: the causes that a check tells add up to the numbers of rows that an upload replies, whatever the file."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.ingest.causes import BadLine
from app.ingest.formats import MediaType
from app.ingest.losses import ColumnLosses, LossCounter, Losses
from app.ingest.upload import check_upload
from core.domain.domain import Domain
from core.domain.kinds import attribute_of
from core.records import OutOfRange
from core.unit import RECORD, Unit
from tests.app.ingest.bodies import LIMITS, arrow_body, count, parquet_body
from tests.app.ingest.mixed import cases

FIELDS = (
    {"name": "income", "lower": -10, "upper": 10},
    {"name": "age", "kind": "integer", "lower": 0, "upper": 9, "missing": "keep"},
    {"name": "sex", "kind": "category", "values": ["f", "m", "NA"]},
    {"name": "town", "kind": "category", "values": ["bonn"], "other": True},
    {"name": "day", "kind": "date", "lower": "2026-01-01", "upper": "2026-12-31"},
)
DOMAIN = Domain(tuple(map(attribute_of, FIELDS)))
PERSON = Unit("patient", 2)
# What is written, by what it is.
VALUES: dict[str, dict[str, list[str]]] = {
    "income": {
        "good": ["2.5", " -10 ", "1e1"],
        "missing": ["", "NA", " null "],
        "unreadable": ["many", "1,5", "inf", "-inf"],
        "below": ["-10.5", "-1e300"],
        "above": ["11"],
    },
    "age": {
        "good": ["7", "9.0"],
        "missing": ["", "nan", "N/A"],
        "unreadable": ["7.5", "old"],
        "below": ["-1"],
        "above": ["10", "300"],
    },
    "sex": {"good": ["f", " m", "NA"], "missing": ["", "NULL"], "unlisted": ["F", "männlich", "0"]},
    "town": {"good": ["bonn"], "missing": ["", "NULL"], "unlisted": ["Bonn", "köln"]},
    "day": {
        "good": ["2026-02-28"],
        "missing": ["", "None"],
        "unreadable": ["28.02.2026", "2026-02-30"],
        "below": ["2025-12-31"],
        "above": ["2027-01-01"],
    },
    "patient": {"good": ["a", "b", "c"], "missing": [""], "long": ["p" * 257]},
}
ROW = st.fixed_dictionaries({name: st.sampled_from(sorted(causes)) for name, causes in VALUES.items()})
BAD = {BadLine.FIELDS: "1,2", BadLine.QUOTES: '"1,2,f,2026-01-01,a', BadLine.LONG: "1" * 500}


@dataclass(frozen=True)
class Case:
    """Rows by the causes of their values, and lines that are no rows."""

    rows: list[dict[str, str]]
    texts: list[dict[str, str]]
    bad: list[BadLine]


@st.composite
def files(draw: st.DrawFn) -> Case:
    """A file of a few rows, with at most one fault in most of them, and bad lines between."""
    rows = draw(st.lists(st.one_of(ROW, st.just(dict.fromkeys(VALUES, "good"))), max_size=12))
    texts = [{name: draw(st.sampled_from(VALUES[name][row[name]])) for name in VALUES} for row in rows]
    return Case(rows, texts, draw(st.lists(st.sampled_from(sorted(BAD)), max_size=4)))


def body_of(case: Case, media_type: MediaType) -> bytes:
    """The file in a format; only CSV has the bad lines, and NDJSON has others in their place."""
    table = pa.table({name: pa.array([row[name] for row in case.texts], pa.string()) for name in VALUES})
    match media_type:
        case MediaType.PARQUET:
            return parquet_body(table)
        case MediaType.ARROW_STREAM:
            return arrow_body(table)
        case MediaType.NDJSON:
            lines = [json.dumps(row, ensure_ascii=False) for row in case.texts]
            lines += [BAD[BadLine.LONG] if bad is BadLine.LONG else "[1, 2]" for bad in case.bad]
            return "".join(f"{line}\n" for line in lines).encode()
        case _:
            lines = [",".join(f'"{text}"' if "," in text else text for text in row.values()) for row in case.texts]
            lines += [BAD[bad] for bad in case.bad]
            return "".join(f"{line}\n" for line in (",".join(VALUES), *lines)).encode()


def losses_of(body: bytes, media_type: MediaType, choice: OutOfRange, unit: Unit = RECORD) -> Losses:
    """What a check of the file tells."""
    counter = LossCounter(DOMAIN, choice, unit)
    ingest = check_upload(
        [body],
        media_type=media_type,
        gzip=False,
        domain=DOMAIN,
        out_of_range=choice,
        limits=LIMITS,
        unit=unit,
        explainer=counter,
    )
    return counter.losses(ingest)


def causes_of(column: ColumnLosses) -> Counter[str]:
    """The causes of a column by their names in VALUES."""
    names = ("missing", "unreadable", "unlisted", "below", "above")
    return +Counter({name: getattr(column, name) for name in names})


def drops(name: str, cause: str, choice: OutOfRange) -> bool:
    """Whether a value drops its row."""
    if cause in {"below", "above"}:
        return choice is OutOfRange.DROP
    kept = {("age", "missing"), ("age", "unreadable"), ("town", "unlisted")}  # in cells of their own
    return cause != "good" and (name, cause) not in kept


@pytest.mark.parametrize("media_type", MediaType)
@pytest.mark.parametrize("unit", [RECORD, PERSON], ids=["records", "persons"])
@pytest.mark.parametrize("choice", OutOfRange)
@given(case=files())
@cases(10)
def test_causes_are_exact_and_reconcile_with_what_an_upload_replies(
    case: Case, choice: OutOfRange, unit: Unit, media_type: MediaType
) -> None:
    """Bad lines, rows without an id and rows that a value drops add up; each column has exactly its own faults."""
    body = body_of(case, media_type)
    losses = losses_of(body, media_type, choice, unit)
    replied = count(body, media_type, domain=DOMAIN, out_of_range=choice, unit=unit).ingest
    told = losses.ingest
    assert (told.rows_read, told.rows_dropped, told.rows_clipped) == (
        replied.rows_read,
        replied.rows_dropped,
        replied.rows_clipped,
    )
    bad = case.bad if media_type in {MediaType.CSV, MediaType.NDJSON} else []
    if media_type is MediaType.NDJSON:
        bad = [each if each is BadLine.LONG else BadLine.JSON for each in bad]
    assert losses.bad_lines == Counter(bad)
    ids = Counter(row["patient"] for row in case.rows)
    assert (losses.ids_missing, losses.ids_too_long) == (
        (ids["missing"], ids["long"]) if unit.is_person else (None, None)
    )
    with_id = [row for row in case.rows if not unit.is_person or row["patient"] == "good"]
    kept = [row for row in with_id if not any(drops(name, row[name], choice) for name in DOMAIN.names)]
    assert losses.by_values == len(with_id) - len(kept)
    for column in losses.columns:
        name = column.attribute.name
        expected = Counter(row[name] for row in case.rows if row[name] not in {"good", "below", "above"})
        within = case.rows if choice is OutOfRange.DROP else kept
        expected += Counter(row[name] for row in within if row[name] in {"below", "above"})
        assert causes_of(column) == expected, name
        assert column.dropped == sum(drops(name, row[name], choice) for row in case.rows)
    clipped = sum(any(row[name] in {"below", "above"} for name in DOMAIN.names) for row in kept)
    assert told.rows_clipped == (clipped if choice is OutOfRange.CLIP else 0)


@pytest.mark.parametrize(
    "ids",
    [
        pa.array(["a", None, "p" * 300, "b"], pa.string_view()),
        pa.array(["a", None, "p" * 300, "b"]).dictionary_encode(),
        pa.array([b"a", b"", b"p" * 300, b"b"], pa.large_binary()),
    ],
    ids=["views", "dictionary", "bytes"],
)
def test_ids_of_every_type_of_text_are_told_apart(ids: pa.Array) -> None:
    """One is missing, one too long."""
    good = {"income": [1.0] * 4, "age": [1] * 4, "sex": ["f"] * 4, "town": ["bonn"] * 4, "day": ["2026-01-01"] * 4}
    table = pa.table({**good, "patient": ids})
    losses = losses_of(arrow_body(table), MediaType.ARROW_STREAM, OutOfRange.CLIP, PERSON)
    assert (losses.ids_missing, losses.ids_too_long, losses.by_values) == (1, 1, 0)


def test_typed_columns_have_missing_and_unreadable_values_too() -> None:
    """Nulls and NaN are missing; an infinite number, and 7.5 for a whole one, are unreadable."""
    table = pa.table(
        {
            "income": pa.array([1.0, None, float("nan"), float("inf"), 2.0]),
            "age": pa.array([1.0, 7.5, None, 3.0, 4.0]),
            "sex": pa.array(["f", "q", None, "m", "m"]).dictionary_encode(),
            "town": pa.array(["bonn", "Bonn", None, "bonn", "bonn"]),
            "day": pa.array([20454, None, 20454, 20454, 0], pa.date32()),
        }
    )
    for body, media_type in (
        (arrow_body(table), MediaType.ARROW_STREAM),
        (parquet_body(table), MediaType.PARQUET),
    ):
        income, age, sex, town, day = map(causes_of, losses_of(body, media_type, OutOfRange.CLIP).columns)
        assert income == {"missing": 2, "unreadable": 1}
        assert age == {"missing": 1, "unreadable": 1}
        assert sex == {"missing": 1, "unlisted": 1}
        assert town == {"missing": 1, "unlisted": 1}
        assert day == {"missing": 1, "below": 1}


def test_a_file_of_other_columns_has_no_value() -> None:
    """NDJSON has no header, so a file without one wanted name is told by its values, also where these are kept."""
    other = b'{"Income": 1, "Age": 2}\n' * 3
    kept = Domain((DOMAIN.attributes[1],))
    counter = LossCounter(kept, OutOfRange.CLIP)
    ingest = check_upload(
        [other],
        media_type=MediaType.NDJSON,
        gzip=False,
        domain=kept,
        out_of_range=OutOfRange.CLIP,
        limits=LIMITS,
        explainer=counter,
    )
    assert ingest.rows_dropped == 0
    assert counter.losses(ingest).has_no_value
