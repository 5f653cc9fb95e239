"""Real tables at the command line: drafts of schemas, kinds in options and files, persons, parts and groups."""

from __future__ import annotations

import csv
import importlib.util
import json
import tomllib
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet
import pytest
import typer

from app.access.permissions import Role
from app.cli.asking import together
from app.cli.output import show_table
from app.cli.schema import find_schema, parse_attributes, parse_person
from tests.app.cli.conftest import Run
from tests.support.documents import ROOT
from tests.support.service.live import Live

CURATOR, ANALYST = Role.CURATOR, Role.ANALYST
VISITS = ROOT / "examples" / "clinic-visits.csv"
TERMS = ("--epsilon", "2", "--clusters", "3", "--use", "age", "--use", "sex", "--use", "arrived")


def test_the_example_is_what_its_program_prints() -> None:
    """Made-up rows from a public seed, which anybody can make again."""
    spec = importlib.util.spec_from_file_location("clinic_visits", ROOT / "examples" / "clinic_visits.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert VISITS.read_text().splitlines() == list(module.lines())


@pytest.mark.parametrize(
    ("option", "declared"),
    [
        ("age:0..100", {"name": "age", "lower": 0.0, "upper": 100.0}),
        ("hour:integer:0..23", {"name": "hour", "kind": "integer", "lower": 0, "upper": 23}),
        ("t:integer:-5..5,(missing)", {"name": "t", "kind": "integer", "missing": "keep", "lower": -5, "upper": 5}),
        ("sex:category:f,m,x", {"name": "sex", "kind": "category", "values": ["f", "m", "x"]}),
        (
            "ward:category:a,b,(other),(missing)",
            {"name": "ward", "kind": "category", "missing": "keep", "values": ["a", "b"], "other": True},
        ),
        (
            "day:date:2026-01-01..2026-12-31",
            {"name": "day", "kind": "date", "lower": "2026-01-01", "upper": "2026-12-31"},
        ),
        (
            "at:datetime:2026-01-01T00:00:00Z..2027-01-01T00:00:00Z",
            {"name": "at", "kind": "datetime", "lower": "2026-01-01T00:00:00Z", "upper": "2027-01-01T00:00:00Z"},
        ),
    ],
)
def test_an_option_declares_an_attribute_of_any_kind(option: str, declared: dict[str, Any]) -> None:
    """With the labels of questions for missing and other values."""
    assert parse_attributes([option]) == {declared["name"]: declared}


@pytest.mark.parametrize("option", ["age", "age:20", "hour:integer:0..x", "age:0..1,(other)", ":0..1"])
def test_an_option_that_declares_nothing_is_told_how_to(option: str) -> None:
    """With the option itself, which is no row."""
    with pytest.raises(typer.BadParameter):
        parse_attributes([option])


def test_a_person_is_a_column_and_a_limit() -> None:
    """`--person patient:3`; a column may have a colon in its name."""
    assert parse_person("patient:3") == {"kind": "person", "column": "patient", "max_rows": 3}
    for option in ("patient", "patient:", ":3", "patient:few"):
        with pytest.raises(typer.BadParameter):
            parse_person(option)


def test_a_draft_of_a_csv_file_has_its_names_and_nothing_of_its_rows(run: Run, tmp_path: Path) -> None:
    """A canary in the rows stays there; the draft is TOML, and says what is still to be filled in."""
    rows = tmp_path / "people.csv"
    rows.write_text('\ufeffid, age ,"full name"\ncanary-7351,47351,canary-7351\n')
    run(None, "init", rows)
    draft = (tmp_path / "people.toml").read_text()
    assert "7351" not in draft
    stored = tomllib.loads(draft)
    assert [each["name"] for each in stored["attributes"]] == ["id", "age", "full name"]
    assert stored["unit"] == {"kind": "record"}
    assert draft.count('declare kind = "integer"') == 3
    assert "needs lower and upper" in run(None, "check", rows, code=2).stderr
    assert "--force" in run(None, "init", rows, code=2).stderr
    run(None, "init", rows, "--force")


def test_a_draft_of_typed_columns_suggests_their_kinds(run: Run, tmp_path: Path) -> None:
    """Parquet and Arrow files say which type a column has."""
    table = pa.table(
        {
            "age": pa.array([47351], pa.int32()),
            "cost": [1.5],
            "day": [date(2026, 1, 1)],
            "at": pa.array([0], pa.timestamp("ms")),
            "sex": pa.array(["f"]).dictionary_encode(),
            "smokes": [True],
        }
    )
    pa.parquet.write_table(table, tmp_path / "rows.parquet")
    with pa.ipc.new_stream(tmp_path / "rows.arrow", table.schema) as writer:
        writer.write_table(table)
    for name in ("rows.parquet", "rows.arrow"):
        run(None, "init", tmp_path / name, "-o", tmp_path / f"{name}.toml")
        draft = (tmp_path / f"{name}.toml").read_text()
        kinds = {each["name"]: each["kind"] for each in tomllib.loads(draft)["attributes"]}
        assert kinds == {
            "age": "integer",
            "cost": "number",
            "day": "date",
            "at": "datetime",
            "sex": "category",
            "smokes": "category",
        }
        assert draft.count('declare kind = "integer"') == 1  # of the cost, which is a number
        assert "47351" not in draft
    (tmp_path / "broken.parquet").write_bytes(b"PAR1")
    assert "not a file of its kind" in run(None, "init", tmp_path / "broken.parquet", code=7).stderr


def test_metadata_of_the_csv_on_the_web_standard_fills_a_draft_in(run: Run, tmp_path: Path) -> None:
    """Types and bounds that were published beside the file are taken over."""
    rows = tmp_path / "rows.csv"
    rows.write_text("age,day,note\n1,2026-01-01,x\n")
    columns = [
        {"name": "age", "datatype": {"base": "integer", "minimum": 0, "maximum": 110}},
        {"name": "day", "titles": "day", "datatype": {"base": "date", "minInclusive": "2026-01-01"}},
    ]
    (tmp_path / "rows.csv-metadata.json").write_text(json.dumps({"tableSchema": {"columns": columns}}))
    run(None, "init", rows)
    age, day, note = tomllib.loads((tmp_path / "rows.toml").read_text())["attributes"]
    assert age == {"name": "age", "kind": "integer", "lower": 0, "upper": 110}
    assert day == {"name": "day", "kind": "date", "lower": "2026-01-01"}
    assert note == {"name": "note", "kind": "number"}
    (tmp_path / "rows.csv-metadata.json").write_text("{}")
    assert "tableSchema" in run(None, "init", rows, "--force", code=7).stderr


def test_a_filled_in_draft_is_a_schema(tmp_path: Path) -> None:
    """The example beside the clinic's visits: dates of TOML become text, and the unit is a person."""
    schema = find_schema(VISITS, None, None)
    assert schema is not None
    assert schema.unit == {"kind": "person", "column": "patient", "max_rows": 3}
    assert schema.attributes["arrived"] == {
        "name": "arrived",
        "kind": "date",
        "lower": "2026-01-01",
        "upper": "2026-12-31",
    }
    assert find_schema(tmp_path / "rows.csv", None, None) is None


FAULTY = {
    'kind = "integer"': ('kind = "int"', "the attribute 'age' has the kind 'int', which is none of: number, integer"),
    "lower = 0": ('lower = "low"', "the attribute 'age': The bounds of an integer are whole numbers"),
    "max_rows = 2": ("rows = 2", 'a unit is kind = "record", or it has column, kind, max_rows alone'),
    "name = ": ("name ", "is not TOML: "),
}


@pytest.mark.parametrize("right", FAULTY)
def test_a_fault_in_a_schema_is_told_with_its_file_and_its_attribute(run: Run, tmp_path: Path, right: str) -> None:
    """In a schema of thirty attributes, nobody wants to look for it."""
    rows, schema = tmp_path / "rows.csv", tmp_path / "rows.toml"
    rows.write_text("age,who\n1,a\n", encoding="utf-8")
    unit = '[unit]\nkind = "person"\ncolumn = "who"\nmax_rows = 2\n'
    text = f'budget = "1"\n{unit}[[attributes]]\nname = "age"\nkind = "integer"\nlower = 0\nupper = 9\n'
    schema.write_text(text, encoding="utf-8")
    run(None, "check", rows)
    wrong, sentence = FAULTY[right]
    schema.write_text(text.replace(right, wrong, 1), encoding="utf-8")
    said = run(None, "check", rows, code=2).stderr
    assert str(schema) in said
    assert sentence in said


def test_a_draft_of_a_file_without_commas_says_what_to_do(run: Run, tmp_path: Path) -> None:
    """Its first line would be one name of one attribute."""
    file = tmp_path / "rows.csv"
    file.write_text("Alter;Tag\n1;2\n", encoding="utf-8")
    assert "separated by semicolons" in run(None, "init", file, code=7).stderr
    assert not (tmp_path / "rows.toml").exists()


def test_check_tells_how_many_rows_each_limit_would_keep(run: Run) -> None:
    """From the number of visits of each patient; for the curator alone, and nothing is sent."""
    visits: dict[str, int] = {}
    with VISITS.open() as file:
        for row in csv.DictReader(file):
            visits[row["patient"]] = visits.get(row["patient"], 0) + 1
    told = json.loads(run(None, "check", VISITS, "--json").stdout)
    assert told["rows_over_limit"] == sum(max(0, number - 3) for number in visits.values())
    assert told["limits"] == [
        {"max_rows": c, "rows_kept": sum(min(c, number) for number in visits.values())} for c in (1, 2, 3, 5, 10)
    ]


def test_the_clinic_from_file_to_answers(run: Run, live: Live) -> None:
    """Registered from the schema file, planned, released, and asked about parts and by group."""
    name = f"{live.city}-clinic"
    run(CURATOR, "datasets", "new", name, "--schema", VISITS.with_suffix(".toml"))
    shown = run(CURATOR, "datasets", "show", name).stdout
    assert "persons by the column patient, at most 3 rows each" in shown
    assert "emergency,surgery,children,(other)" in shown
    plan = run(CURATOR, "plan", name, "--guess", 1500, *TERMS)
    assert "sex multiplies cells by 4" in plan.stderr
    assert "rows per person" in plan.stdout
    published = json.loads(run(CURATOR, "release", VISITS, "--dataset", name, *TERMS, "--json").stdout)
    assert published["ingest"]["rows_over_limit"] > 0
    assert published["plan"]["order"]["unit"] == {"kind": "person", "column": "patient", "max_rows": 3}
    part = ("--where", "arrived:2026-03-01..2026-05-31", "--where", "sex:f,(missing)")
    counted = json.loads(run(ANALYST, "query", "count", name, *part, "--json").stdout)
    assert counted["interval"]["low"] <= counted["count"] <= counted["interval"]["high"]
    grouped = run(ANALYST, "query", "quantiles", name, "age", "--group-by", "sex", "--q", 0.5).stdout
    assert "(missing)" in grouped
    quantiles = run(ANALYST, "query", "quantiles", name, "arrived", "--where", "sex:f")
    assert "2026-" in quantiles.stdout
    assert "About the part sex:f." in quantiles.stderr
    assert "2026-" in run(ANALYST, "query", "clusters", name, "--k", 2, "--group-by", "sex").stdout
    assert "f,m,x" not in run(ANALYST, "query", "rows", name, "--count", 3, "--where", "sex:m").stdout
    refused = run(ANALYST, "query", "count", name, "--where", "sex:q", code=1).stderr
    assert "f, m, x, (missing)" in refused
    other = ("-a", "age:integer:0..110", "-a", "sex:category:f,m", "-a", "arrived:date:2026-01-01..2026-12-31")
    assert "other bounds" in run(CURATOR, "release", VISITS, "--dataset", name, *TERMS, *other, code=2).stderr


def test_groups_whose_answers_have_different_columns_share_one_table(capsys: pytest.CaptureFixture[str]) -> None:
    """Clusters of a group with few rows are not judged by the model, whichever group comes last."""
    judged = (("size", "noise alone"), [(5, "0.2")])
    plain = (("size",), [(7,), (8,)])
    for tables in ({"f": judged, "m": plain}, {"m": plain, "f": judged}):
        columns, rows = together(tables)
        assert columns == ("size", "noise alone")
        assert {tuple(row) for row in rows} == {("f", 5, "0.2"), ("m", 7, None), ("m", 8, None)}
        show_table(("sex", *columns), rows)
    assert capsys.readouterr().out.count("0.2") == 2
