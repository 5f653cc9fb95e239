"""Tables in memory: a value that is no number costs its row, as it does in a file, and never the upload."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.ingest.formats import MediaType
from rugnik import Client, bodies, errors
from rugnik.frames import text
from tests.app.ingest.bodies import csv_body, read
from tests.app.ingest.hostile import NUMBERS
from tests.support.service.live import Live

TEXTS = ["12", " 7.5 ", "abc", "", "1_000", "inf", "-3e1", "nan"]
MIXED = [12, 7.5, "abc", None, True, np.inf, " -3e1", Decimal("0.5"), float("nan"), 10**400]
FRAMES: dict[str, Callable[[list[str]], Any]] = {
    "pandas objects": lambda texts: pd.DataFrame({"age": pd.Series(texts, dtype=object), "income": 1.0}),
    "pandas text": lambda texts: pd.DataFrame({"age": pd.Series(texts, dtype="str"), "income": 1.0}),
    "pandas categories": lambda texts: pd.DataFrame({"age": pd.Categorical(texts), "income": 1.0}),
    "polars text": lambda texts: pl.DataFrame({"age": texts, "income": [1.0] * len(texts)}),
    "polars categories": lambda texts: pl.DataFrame(
        {"age": pl.Series(texts, dtype=pl.Categorical), "income": [1.0] * len(texts)}
    ),
    "pyarrow text": lambda texts: pa.table({"age": pa.array(texts, pa.string()), "income": [1.0] * len(texts)}),
    "pyarrow long text": lambda texts: pa.table(
        {"age": pa.array(texts, pa.large_string()), "income": [1.0] * len(texts)}
    ),
    "pyarrow views": lambda texts: pa.table({"age": pa.array(texts, pa.string_view()), "income": [1.0] * len(texts)}),
    "pyarrow reader": lambda texts: pa.table({"age": texts, "income": [1.0] * len(texts)}).to_reader(max_chunksize=3),
}


def values_of(source: Any, media_type: str | None = None) -> np.ndarray:
    """The first ordered column as the service reads it from the client's upload."""
    body = bodies.body_of(source, media_type=media_type, columns=("age", "income"))
    return read(b"".join(body.read()), MediaType(body.media_type), names=("age", "income")).values[:, 0]


@pytest.mark.parametrize("media_type", [bodies.ARROW, bodies.PARQUET])
@pytest.mark.parametrize("kind", FRAMES)
def test_a_value_that_is_no_number_costs_its_row_and_no_other(kind: str, media_type: str) -> None:
    """Whatever type a library gives to a column because of that value; the numbers beside it arrive."""
    arrived = values_of(FRAMES[kind](TEXTS), media_type)
    assert [value for value in arrived if np.isfinite(value)] == [12, 7.5, -30]
    assert len(arrived) == len(TEXTS)


def test_the_same_column_as_a_file_and_as_a_frame_gives_the_same_rows(live: Live, curator: Client) -> None:
    """One bad value in a hundred: published either way, with one row dropped."""
    ages = [str(age) for age in range(99)] + ["abc"]
    file = b"age,income\n" + b"".join(f"{age},1\n".encode() for age in ages)
    for source, media_type in (
        (file, bodies.CSV),
        (FRAMES["pandas text"](ages), None),
        (FRAMES["polars text"](ages), None),
    ):
        order = curator.order(live.city, epsilon="0.1", clusters=2)
        published = curator.upload(order.id, source, media_type=media_type)
        assert published.ingest is not None
        assert (published.ingest.rows_read, published.ingest.rows_dropped) == (100, 1)


def test_objects_of_many_kinds_are_judged_one_at_a_time() -> None:
    """Numbers of any type are numbers; truth values, nothing and what is beyond a double are not."""
    objects = pd.DataFrame({"age": pd.Series(MIXED, dtype=object), "income": 1.0}).set_index(np.arange(10) // 2)
    ones = [1.0] * len(MIXED)
    for frame in (objects, pl.DataFrame({"age": pl.Series(MIXED, dtype=pl.Object), "income": ones})):
        arrived = values_of(frame)
        assert [value for value in arrived if np.isfinite(value)] == [12, 7.5, -30, 0.5]
        assert len(arrived) == len(MIXED)
    assert [text(value) for value in (np.int8(3), np.float32(0.5), 2**70, True)] == ["3", "0.5", str(2**70), "true"]
    assert text(pd.Timestamp(0)) == "1970-01-01T00:00:00"
    assert {text(value) for value in (b"1", pd.NA, 1j, [1], None)} == {None}


@given(st.lists(NUMBERS.map(lambda text: text.decode()).filter(lambda text: "," not in text), min_size=1, max_size=8))
def test_texts_are_numbers_to_the_client_if_and_only_if_they_are_in_a_csv_file(texts: list[str]) -> None:
    """To the last bit, whichever of the values stand together."""
    kept = [text for text in texts if text.isprintable() or "\t" in text]
    file = csv_body(*(f"{text},1".encode() for text in kept), header=b"age,income")
    for source in (
        pa.table({"age": pa.array(kept, pa.string()), "income": [1.0] * len(kept)}),
        FRAMES["pandas objects"](kept),
    ):
        arrived = values_of(source)
        expected = read(file, names=("age", "income")).values[:, 0]
        np.testing.assert_array_equal(arrived[np.isfinite(arrived)], expected[np.isfinite(expected)])


def test_the_service_names_a_missing_column_whatever_the_others_hold(curator: Client, order: str) -> None:
    """Columns that nobody ordered are not sent, and cannot stand in the way."""
    frame = pd.DataFrame({"age": [1, 2], "note": [1, "text"]})
    with pytest.raises(errors.UnfitColumns, match="income"):
        curator.upload(order, frame)


def test_a_column_of_dates_is_no_column_of_numbers(curator: Client, order: str) -> None:
    """It is refused by its type, which holds no number in any row. Truth values are judged one by one, and dropped."""
    with pytest.raises(errors.UnfitColumns, match="age"):
        curator.upload(order, pd.DataFrame({"age": pd.date_range("2026-01-01", periods=2), "income": [1.0, 2.0]}))
    published = curator.upload(order, pd.DataFrame({"age": [True, False], "income": [1.0, 2.0]}))
    assert published.ingest is not None
    assert published.ingest.rows_dropped == 2


@pytest.mark.parametrize("kind", ["pandas objects", "pandas text", "polars text", "polars categories"])
def test_without_pyarrow_the_same_rows_arrive(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As CSV, which pandas and polars write by themselves."""
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    body = bodies.body_of(FRAMES[kind](TEXTS), media_type=None, columns=("age", "income"))
    monkeypatch.undo()
    assert body.media_type == bodies.CSV
    arrived = read(b"".join(body.read()), names=("age", "income")).values[:, 0]
    assert [value for value in arrived if np.isfinite(value)] == [12, 7.5, -30]
