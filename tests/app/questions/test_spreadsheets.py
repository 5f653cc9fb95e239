"""Names that curators choose run nowhere: not as a formula in a CSV that somebody opens in a spreadsheet."""

from __future__ import annotations

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.questions.spreadsheets import as_text
from tests.support.service.api import Api

FORMULAS = ["=HYPERLINK(1)", "+1", "-2+3", "@SUM(A1)", "\uff1dcmd", "'=x"]


@pytest.mark.parametrize("form", ["synopsis?format=csv", "rows?count=3&format=csv"])
def test_no_header_of_a_csv_file_is_a_formula(sqlite_api: Api, form: str) -> None:
    """Each gets an apostrophe; the numbers below, also negative ones, are as they were."""
    attributes = [{"name": name, "lower": -10, "upper": 10} for name in FORMULAS[:3]]
    assert sqlite_api.register(attributes=attributes).status_code == 201
    rows = ",".join(FORMULAS[:3]) + "\n" + "-5,-5,-5\n" * 50
    release = sqlite_api.published(rows.encode(), size={"declared": 50})
    header, *lines = list(csv.reader(io.StringIO(sqlite_api.analyst("GET", f"/v1/releases/{release}/{form}").text)))
    named = [name for name in header if name != "count"]
    assert {name[:2] for name in named} == {"'=", "'+", "'-"}
    assert any(float(cell) < 0 for line in lines for cell in line)
    parquet = sqlite_api.analyst("GET", f"/v1/releases/{release}/rows?count=3").json()
    assert parquet["attributes"] == FORMULAS[:3]


def test_no_cell_of_the_ledger_is_a_formula(sqlite_api: Api) -> None:
    """The same helper serves the ledger: reasons and names are free text there."""
    sqlite_api.register()
    key = sqlite_api.admin("POST", "/v1/keys", json={"name": "=1+1", "role": "admin"}).json()["key"]
    body = {"epsilon": "1", "reason": "more"}
    assert sqlite_api.call_with(key, "POST", "/v1/datasets/city/grants", json=body).status_code == 201
    exported = sqlite_api.auditor("GET", "/v1/ledger/export?format=csv").text
    cells = [cell for line in csv.reader(io.StringIO(exported)) for cell in line]
    assert any(cell.startswith("'=1+1") for cell in cells)
    assert not [cell for cell in cells if cell.startswith(("=", "+", "-", "@"))]


@given(st.text(alphabet="='+-@a\t\r\uff1d ", max_size=5), st.text(alphabet="='+-@a\t\r\uff1d ", max_size=5))
def test_a_text_never_begins_like_a_formula_and_different_texts_stay_different(one: str, other: str) -> None:
    """Whatever the text."""
    assert as_text(one)[:1] not in {"=", "+", "-", "@", "\t", "\r", "\uff1d"}
    assert (as_text(one) == as_text(other)) == (one == other)
