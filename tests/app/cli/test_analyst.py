"""An analyst at the command line: tables for people, JSON and files for programs."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet
import pytest

from app.access.permissions import Role
from app.cli import demo_data
from tests.app.cli.conftest import Run
from tests.support.service.live import Live

ANALYST = Role.ANALYST


@pytest.fixture(scope="module")
def release(live_server: Live) -> Iterator[str]:
    """A published release of the dataset `trips`."""
    with live_server.client(Role.CURATOR) as client:
        client.register_dataset("trips", demo_data.SCHEMA["attributes"], budget=3)
        client.register_dataset("empty", demo_data.SCHEMA["attributes"], budget=3)
        order = client.order("trips", epsilon=1, clusters=5, declared=2000)
        yield client.upload(order.id, demo_data.csv(2000), media_type="text/csv").id


QUESTIONS = {
    "count": (["-w", "hour:7..9", "-w", "x:..4"], "with cut cells", "count"),
    "marginal": (["hour", "x"], "hour from", "counts"),
    "quantiles": (["hour", "--q", "0.5"], "0.5", "quantiles"),
    "moments": (["--level", "0.9"], "correlation", "pairs"),
    "clusters": (["-k", "3"], "size between", "centers"),
    "scan": (["--from", "2", "--to", "4"], "stability", "scan"),
    "rows": (["--count", "3", "--seed", "1"], "hour", "rows"),
    "synopsis": ([], "hour to", "counts"),
    "regression": (["x", "--on", "hour"], "(constant)", "coefficients"),
    "components": ([], "share", "components"),
    "conditional": (["hour", "--given", "x", "--cells", "4"], "share", "distributions"),
    "information": (["hour", "x", "--cells", "4"], "mutual information", "attributes"),
    "hotspots": (["hour", "x"], "excess", "attributes"),
}


@pytest.mark.parametrize("question", QUESTIONS)
def test_every_question_is_a_table_or_json_or_a_file(run: Run, release: str, question: str, tmp_path: Path) -> None:
    """By the release's id or the dataset's name; the JSON is the service's own, and epsilon is not spent."""
    options, heading, field = QUESTIONS[question]
    assert heading in run(ANALYST, "query", question, release, *options).stdout
    answer = json.loads(run(ANALYST, "query", question, "trips", *options, "--json").stdout)
    assert (answer["release"], answer["epsilon_spent"]) == (release, "0")
    assert answer[field]
    file = tmp_path / "answer.json"
    written = run(ANALYST, "query", question, release, *options, "-o", file)
    assert (written.stdout, written.stderr) == ("", f"Written to {file}.\n")
    assert json.loads(file.read_text()) == answer


def test_predictors_that_are_repeated_count_like_those_in_a_list(run: Run, release: str) -> None:
    """None of them is dropped without a word."""
    listed = run(ANALYST, "query", "regression", release, "hour", "--on", "x,y").stdout
    assert run(ANALYST, "query", "regression", release, "hour", "--on", "x", "--on", "y").stdout == listed
    assert {"x", "y"} <= set(listed.split())


def test_numbers_of_every_table_have_the_digits_that_their_interval_leaves(run: Run, release: str) -> None:
    """Of shares, bits and coefficients as of counts; edges of cells have three of the cell's width."""
    for question, options in (
        ("regression", ["hour", "--on", "x,y"]),
        ("components", []),
        ("conditional", ["hour", "--given", "x", "--cells", "4"]),
        ("information", ["hour", "x", "--cells", "4"]),
        ("hotspots", ["hour", "x"]),
        ("marginal", ["hour"]),
    ):
        table = run(ANALYST, "query", question, release, *options).stdout
        assert not re.search(r"\d\.\d{5}", table), table


def test_hotspots_say_when_no_region_stands_out(run: Run, release: str) -> None:
    """A sentence, and not an empty table alone."""
    said = run(ANALYST, "query", "hotspots", release, "hour", "-w", "hour:7..7.5").stderr
    assert "No region stands out at level 0.95." in said


def test_clusters_say_by_which_method_and_why(run: Run, release: str) -> None:
    """What served may be another method than was asked for."""
    for method in ((), ("--method", "lloyd")):
        answer = json.loads(run(ANALYST, "query", "clusters", release, "-k", 3, *method, "--json").stdout)
        notes = run(ANALYST, "query", "clusters", release, "-k", 3, *method).stderr
        assert f"method {answer['method']}, " in notes
        assert answer["method_reason"] in notes


def test_the_interval_of_the_whole_error_comes_first(run: Run, release: str) -> None:
    """In the table before its parts, and in a sentence that says whether cells are cut; --snap cuts none."""
    box = ("query", "count", release, "-w", "hour:7..9.01")
    cut = run(ANALYST, *box)
    whole = json.loads(run(ANALYST, *box, "--json").stdout)["interval"]
    between = f"Between {round(whole['low']):,} and {round(whole['high']):,} rows with 95 % probability"
    assert f"{between}: noise and cut cells together." in cut.stderr
    assert cut.stdout.split()[:5] == ["count", "low", "high", "noise", "low"]
    snapped = run(ANALYST, *box, "--snap").stderr
    assert "the box cuts no cell" in snapped
    assert "hour was counted from " in snapped
    assert "the box cuts no cell" in run(ANALYST, "query", "count", release, "-w", "hour:0..24").stderr


def test_what_the_grid_can_add_stands_beside_each_interval(run: Run, release: str) -> None:
    """In a column of moments, as the cell of a quantile, and behind each coordinate of a centre."""
    moments = run(ANALYST, "query", "moments", release)
    assert "grid adds up to" in moments.stdout
    assert "low to high covers the noise." in moments.stderr
    assert "cell from" in run(ANALYST, "query", "quantiles", release, "hour").stdout
    clusters = run(ANALYST, "query", "clusters", release, "-k", 3)
    assert clusters.stdout.count(" ± ") == 9
    assert "± is what the grid can add" in clusters.stderr
    part = run(ANALYST, "query", "rows", release, "--count", 3, "-w", "hour:7..9").stderr
    assert part.startswith("About the part hour:")


def test_a_range_that_holds_nothing_is_refused_in_one_sentence(run: Run, release: str) -> None:
    """Half-open is said where the range is written; an empty range and one outside the bounds are no zero."""
    assert "upper end is not in it" in " ".join(run(ANALYST, "query", "count", "--help").stdout.split())
    assert "The range of hour is empty" in run(ANALYST, "query", "count", release, "-w", "hour:9..9", code=1).stderr
    assert "bounds, 0 to 24" in run(ANALYST, "query", "count", release, "-w", "hour:25..30", code=1).stderr


def test_large_answers_are_files_of_every_form(run: Run, release: str, tmp_path: Path) -> None:
    """The form follows the name; a name that tells none is refused."""
    run(ANALYST, "query", "rows", release, "--count", 50, "-o", tmp_path / "rows.parquet")
    assert pyarrow.parquet.read_table(tmp_path / "rows.parquet").num_rows == 50
    run(ANALYST, "query", "rows", release, "--count", 50, "-o", tmp_path / "rows.csv")
    assert (tmp_path / "rows.csv").read_text().count("\n") == 51
    run(ANALYST, "query", "synopsis", release, "-o", tmp_path / "cells.arrow")
    assert (tmp_path / "cells.arrow").stat().st_size > 100
    run(ANALYST, "query", "synopsis", release, "-o", tmp_path / "cells.xlsx", code=2)
    run(ANALYST, "query", "rows", release, "-o", tmp_path / "no" / "rows.csv", code=1)


def test_a_question_that_cannot_be_answered_is_one_sentence(run: Run, release: str) -> None:
    """Unknown attributes, releases and datasets, and a dataset with nothing published."""
    refused = run(ANALYST, "query", "count", release, "-w", "age:1..2", "--level", 0.9, code=1).stderr
    assert "no attribute of that name" in refused
    assert "You typed: --level 0.9 --where age:1..2." in refused
    said = run(ANALYST, "query", "marginal", release, "huor", "x", "--where", "yy:..3", code=1).stderr
    assert "It has no 'huor', 'yy'. You typed: huor x --where yy:..3." in said
    assert "no release" in run(ANALYST, "query", "moments", "r" + "0" * 16, code=1).stderr
    assert "neither the id of a release nor the name" in run(ANALYST, "query", "moments", "nowhere", code=1).stderr
    assert "no published release" in run(ANALYST, "query", "moments", "empty", code=1).stderr


def test_an_adaptive_release_is_made_and_asked_like_any_other(run: Run, live_server: Live, tmp_path: Path) -> None:
    """The plan names the base, the release its leaves, and the table of the synopsis has their estimates."""
    terms = ("--epsilon", 2, "--clusters", 5, "--declared", 2000, "--rule", "adaptive", "--use", "hour", "--use", "x")
    with live_server.client(Role.CURATOR) as client:
        client.register_dataset("crowded", demo_data.SCHEMA["attributes"], budget=5)
    file = tmp_path / "rows.csv"
    file.write_bytes(demo_data.csv(2000))
    planned = run(Role.CURATOR, "plan", "crowded", *terms)
    assert "a base of 8 x 8 cells, cut as noisy counts say" in planned.stdout
    made = run(Role.CURATOR, "release", file, "--dataset", "crowded", *terms, "--yes")
    leaves = len(json.loads(run(ANALYST, "query", "synopsis", "crowded", "--json").stdout)["counts"])
    assert f"a base of 8 x 8 cells, cut into {leaves:,} leaves" in made.stdout
    for question, (options, heading, _) in QUESTIONS.items():
        assert heading in run(ANALYST, "query", question, "crowded", *options).stdout
    table = run(ANALYST, "query", "synopsis", "crowded")
    assert table.stdout.split()[8:11] == ["count", "estimate", "sd"]
    assert len(table.stdout.splitlines()) >= leaves
    assert "the layers that decided" in table.stderr
