"""Slips at the command line: each is answered with what was meant, in the words of the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from app.access.permissions import Role
from tests.app.cli.conftest import Run
from tests.support.service.live import Live

CURATOR, ANALYST = Role.CURATOR, Role.ANALYST


@pytest.mark.parametrize(
    "command", [("void", "rdeadbeef"), ("release", "rows.csv", "--order", "rdeadbeef")], ids=["void", "release"]
)
def test_an_order_is_named_by_its_whole_id(run: Run, command: tuple[str, ...]) -> None:
    """In words of the command line, not of Python."""
    said = run(CURATOR, *command, code=2).stderr
    assert "'rdeadbeef' is not the id of an order: r and 16 hex digits" in said


def test_a_release_id_that_was_cut_off_is_told_how_ids_look(run: Run, live: Live) -> None:
    """Beside the names of datasets, which are listed."""
    run(CURATOR, "datasets", "new", live.city, "-a", "x:0..1", "--budget", "1")
    said = run(ANALYST, "query", "count", "r0123456", code=1).stderr
    assert "There are: " in said
    assert "The id of a release is r and 16 hex digits." in said


def test_a_range_with_an_equals_sign_is_told_its_colon(run: Run) -> None:
    """As options of other programs are written."""
    said = run(ANALYST, "query", "count", "r0123456789abcdef", "--where", "age=20..39", code=1).stderr
    assert "Write age:20..39, with a colon." in said


def test_a_file_that_is_not_there_has_no_draft(run: Run, tmp_path: Path) -> None:
    """In the words of `check`."""
    assert "There is no file" in run(None, "init", tmp_path / "nosuch.csv", code=7).stderr


def test_a_workbook_is_first_told_what_to_save_it_as(run: Run, tmp_path: Path) -> None:
    """By check and by init; that its name tells no format comes second."""
    file = tmp_path / "loans.xlsx"
    file.write_bytes(b"PK\x03\x04 xl/workbook.xml")
    for command, code in ((("check", file, "-a", "x:0..1"), 7), (("init", file), 2)):
        lines = run(None, *command, code=code).stderr.splitlines()
        assert "Save its sheet as 'CSV UTF-8 (comma delimited)'" in lines[0]
        assert len(lines) == 2


@pytest.mark.parametrize("head", ["x;y", "x;z"])
def test_a_file_with_semicolons_is_told_of_semicolons_alone(run: Run, tmp_path: Path, head: str) -> None:
    """Its columns are there, or are no row: neither is the fault. Names that are like wanted ones are still told."""
    file = tmp_path / "s.csv"
    file.write_text(f"{head}\n1;2\n")
    said = run(None, "check", file, "-a", "x:0..3", "-a", "y:0..3", code=7).stderr
    assert "separated by semicolons" in said
    assert "The file has:" not in said
    assert "put this line before it" not in said
    file.write_text("height;wieght\n1;2\n")
    assert "'wieght' to 'weight'" in run(None, "check", file, "-a", "height:0..3", "-a", "weight:0..3", code=7).stderr


def test_a_misspelt_field_of_a_schema_is_refused(run: Run, tmp_path: Path) -> None:
    """It would be left out, and its default would be registered for ever."""
    file, attributes = tmp_path / "rows.csv", [{"name": "x", "lower": 0, "upper": 3}]
    file.write_text("x\n1\n")
    file.with_suffix(".json").write_text(json.dumps({"budgett": "2", "attributes": attributes}))
    said = run(None, "check", file, code=2).stderr
    assert "a schema has no field 'budgett'. Did you mean 'budget'?" in said
    file.with_suffix(".json").write_text(json.dumps({"colour": "red", "attributes": attributes}))
    assert "It has name, description, budget" in run(None, "check", file, code=2).stderr


def test_a_draft_shows_how_a_category_and_a_date_are_written(run: Run, tmp_path: Path) -> None:
    """A CSV file tells no kinds, so every column begins as a number."""
    file = tmp_path / "rows.csv"
    file.write_text("x\n1\n")
    run(None, "init", file)
    draft = file.with_suffix(".toml").read_text()
    assert 'kind = "category", and values = ["f", "m", "x"]' in draft
    assert 'kind = "date", lower = "2026-01-01"' in draft


def test_a_plan_shows_the_limit_of_the_dataset_among_others(run: Run, live: Live) -> None:
    """Of rows per person."""
    run(CURATOR, "datasets", "new", live.city, "-a", "x:0..1", "--budget", "1", "--person", "id:3")
    terms = ("--epsilon", "0.5", "--clusters", "2", "--guess", "3000", "--json")
    people = json.loads(run(CURATOR, "plan", live.city, *terms).stdout)["people"]
    assert [each["max_rows"] for each in people] == [1, 2, 3, 5, 10]
