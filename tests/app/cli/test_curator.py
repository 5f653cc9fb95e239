"""A curator at the command line: register, plan, check, release, and clear words where something is missing."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from app.access.permissions import Role
from app.cli import demo_data, main
from rugnik import Client
from tests.app.cli.conftest import Run
from tests.support.service.live import Live, break_before, refuse

CURATOR, ADMIN, ANALYST, AUDITOR = Role.CURATOR, Role.ADMIN, Role.ANALYST, Role.AUDITOR
BOUNDS = ("-a", "x:0..10", "-a", "y:0..10", "-a", "hour:0..24")
TERMS = ("--epsilon", "0.5", "--clusters", "5")


@pytest.fixture
def trips(tmp_path: Path, live: Live) -> Path:
    """A file of trips that bears the name of a dataset which is not there yet; one row cannot be read."""
    file = tmp_path / f"{live.city}.csv"
    file.write_bytes(demo_data.csv(300) + b"1,2\n" + b"1,2,99\n")
    return file


def test_a_file_becomes_a_release_in_one_line(run: Run, live: Live, trips: Path) -> None:
    """Registered, ordered, uploaded, published; the second time the dataset is there and needs no bounds."""
    done = run(CURATOR, "release", trips, *TERMS, *BOUNDS, "--budget", "1")
    assert "published" in done.stdout
    assert "302 read, 1 dropped, 1 clipped" in done.stdout
    assert "0.5 spent, 0.5 left" in done.stdout
    labelled = run(CURATOR, "release", trips, *TERMS, "--label", "2026-Q3", "--json", "--new-order")
    again = json.loads(labelled.stdout)
    assert f"Ordered {again['id']} (2026-Q3)" in labelled.stderr
    assert (again["state"], again["ingest"]["rows_read"]) == ("published", 302)
    assert set(again["plan"]["order"]["size"]) == {"estimate"}
    newest = run(ANALYST, "query", "clusters", live.city, "--k", 3, "--json")
    assert "clusters" in newest.stdout
    assert f"The newest release of {live.city}: {again['id']} (2026-Q3), published on 20" in newest.stderr
    assert "2026-Q3" in run(ANALYST, "datasets", "releases", live.city).stdout
    run(CURATOR, "release", trips, *TERMS, "--label", "other", "--order", again["id"], code=2)
    refused = run(CURATOR, "release", trips, *TERMS, "--new-order", code=4).stderr
    assert refused == (
        f"Not enough epsilon: 0.5 is asked for, 0 is left of {live.city}. No row was read, and nothing was spent.\n"
    )


def test_a_schema_beside_the_file_is_found(run: Run, live: Live, trips: Path) -> None:
    """Name, bounds and budget from the JSON file of the same name, which is the body of a registration."""
    (trips.with_suffix(".json")).write_text(json.dumps(demo_data.SCHEMA | {"name": live.city + "-s"}))
    squeezed = trips.with_name(trips.name + ".gz")
    squeezed.write_bytes(gzip.compress(trips.read_bytes()))
    done = run(CURATOR, "release", squeezed, *TERMS, "--declared", 300, "--use", "x", "--use", "y", "--json")
    order = json.loads(done.stdout)["plan"]["order"]
    assert (order["attributes"], order["size"]) == (["x", "y"], {"declared": 300})
    assert f"Registered {live.city}-s with a budget of 3" in done.stderr
    shown = json.loads(run(CURATOR, "datasets", "show", f"{live.city}-s", "--json").stdout)
    assert shown["attributes"] == demo_data.SCHEMA["attributes"]


def test_a_misspelt_dataset_opens_no_budget(run: Run, live: Live, trips: Path) -> None:
    """A schema's budget is for the dataset that it names; any other takes a --budget of its own."""
    (trips.with_suffix(".json")).write_text(json.dumps(demo_data.SCHEMA | {"name": live.city + "-s"}))
    other = live.city + "-o"
    error = run(CURATOR, "release", trips, *TERMS, "--dataset", other, code=2).stderr
    assert f"There is no dataset '{other}' yet; {live.city}.json is for '{live.city}-s'. Give --budget" in error
    assert "no dataset" in run(CURATOR, "datasets", "show", other, code=1).stderr
    assert "0.5 left" in run(CURATOR, "release", trips, *TERMS, "--dataset", other, "--budget", 1).stdout


def test_no_request_follows_an_upload(run: Run, live: Live, trips: Path) -> None:
    """Whoever reads the log's times cannot tell when the upload ended, and so not how long it took."""
    live.gate.seen.clear()
    run(CURATOR, "release", trips, *TERMS, *BOUNDS, "--budget", 1)
    assert live.gate.seen[-1][0] == "PUT"


def test_without_dataset_and_bounds_it_is_said_what_is_missing(run: Run, live: Live, trips: Path) -> None:
    """Bounds are not read off the file, and the sentence says why and what to do."""
    error = run(CURATOR, "release", trips, *TERMS, code=2).stderr
    assert f"There is no dataset '{live.city}' yet" in error
    assert "not read off the file" in error
    assert "-a name:lower..upper" in error
    assert "--budget" in run(CURATOR, "release", trips, *TERMS, *BOUNDS, code=2).stderr


def test_other_bounds_than_registered_are_refused(run: Run, live: Live, trips: Path) -> None:
    """Bounds never change: a schema that disagrees is a mistake, found before epsilon is spent."""
    run(CURATOR, "datasets", "new", live.city, *BOUNDS, "--budget", 1)
    error = run(CURATOR, "release", trips, *TERMS, "-a", "x:0..9", "-a", "y:0..10", "-a", "hour:0..24", code=2).stderr
    assert "x:0..10" in error
    assert _spent(run, live) == "0"


@pytest.mark.parametrize(
    ("content", "sentence"),
    [(b"x,y\n1,2\n", "no column for: hour"), (b"", "column"), (b"x,y,hour,hour\n1,2,3,4\n", "more than one column")],
)
def test_a_file_that_does_not_fit_costs_nothing(
    run: Run, live: Live, trips: Path, content: bytes, sentence: str
) -> None:
    """The check here comes before the order; without it the order stays open, and the way back is told."""
    run(CURATOR, "datasets", "new", live.city, *BOUNDS, "--budget", 1)
    trips.write_bytes(content)
    assert sentence in run(CURATOR, "release", trips, *TERMS, code=7).stderr
    assert _spent(run, live) == "0"
    error = run(CURATOR, "release", trips, *TERMS, "--no-check", code=7).stderr
    order = next(word for word in error.split() if word.startswith("r") and len(word.strip("':;,.")) == 17)[:17]
    assert f"rugnik void {order}" in error
    assert _spent(run, live) == "0.5"
    trips.write_bytes(demo_data.csv(50))
    assert "50 read" in run(CURATOR, "release", trips, *TERMS, "--order", order).stdout
    assert _spent(run, live) == "0.5"
    assert "published" in run(CURATOR, "void", order, code=1).stderr


def test_a_connection_that_breaks_during_the_upload_loses_nothing(run: Run, live: Live, trips: Path) -> None:
    """The order is named, so that it can be gone on with, or voided."""
    live.gate.faults["PUT"] = [break_before, refuse(500, "internal-error")]
    error = run(CURATOR, "release", trips, *TERMS, *BOUNDS, "--budget", 1, code=1).stderr
    order = error.split("--order ")[1][:17]
    assert "0.5" not in run(CURATOR, "void", order).stdout
    assert _spent(run, live) == "0"


def test_ctrl_c_during_the_upload_loses_nothing(
    run: Run, live: Live, trips: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """130 as shells expect, and the order that is paid for is named."""

    def interrupted(*_arguments: object, **_options: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Client, "upload", interrupted)
        error = run(CURATOR, "release", trips, *TERMS, *BOUNDS, "--budget", 1, code=130).stderr
    order = error.split("--order ")[1][:17]
    assert "302 read" in run(CURATOR, "release", trips, *TERMS, "--order", order).stdout
    assert _spent(run, live) == "0.5"


def test_check_reads_as_the_service_does_and_spends_nothing(run: Run, live: Live, trips: Path) -> None:
    """Rows read, dropped and clipped by options alone, without a service; or by the bounds of a dataset."""
    alone = json.loads(run(None, "check", trips, *BOUNDS, "--json").stdout)
    assert alone == {"rows_read": 302, "rows_dropped": 1, "rows_clipped": 1}
    dropped = json.loads(run(None, "check", trips, *BOUNDS, "--json", "--out-of-range", "drop").stdout)
    assert dropped == {"rows_read": 302, "rows_dropped": 2, "rows_clipped": 0}
    error = run(CURATOR, "check", trips, code=1).stderr
    assert f"There is no dataset '{live.city}' (from the file's name): give --dataset, or bounds with -a." in error
    run(CURATOR, "datasets", "new", live.city, *BOUNDS, "--budget", 1)
    assert "302" in run(CURATOR, "check", trips).stdout
    assert _spent(run, live) == "0"


@pytest.mark.parametrize(
    ("options", "code"),
    [
        (("-a", "x"), 2),
        (("-a", "x:10..0"), 2),
        (("-a", "x:0..10", "--out-of-range", "perhaps"), 2),
        (("-a", "x:0..10", "--media-type", "text/plain"), 2),
        (("--schema", "nowhere.json"), 2),
        (("-a", "z:0..1"), 7),
    ],
)
def test_wrong_usage_is_told_from_a_file_that_does_not_fit(
    run: Run, trips: Path, options: tuple[str, ...], code: int
) -> None:
    """2 for what was typed, 7 for the file; a sentence either way."""
    assert run(None, "check", trips, *options, code=code).stderr.strip()


def test_a_wrong_setting_is_told_by_its_name(trips: Path) -> None:
    """The check reads the same limits as a service here would."""
    checked = CliRunner().invoke(main, ["check", str(trips), *BOUNDS], env={"RUGNIK_MAX_CELLS": "many"})
    assert checked.exit_code == 2
    assert "RUGNIK_MAX_CELLS" in checked.stderr


def test_a_file_that_is_not_there_or_of_no_known_kind_is_told(run: Run, tmp_path: Path) -> None:
    """By its name."""
    assert "no file" in run(None, "check", tmp_path / "nowhere.csv", *BOUNDS, code=7).stderr
    (tmp_path / "rows.xyz").write_text("x\n1\n")
    assert "rows.xyz" in run(None, "check", tmp_path / "rows.xyz", *BOUNDS, code=7).stderr
    (tmp_path / "odd.json").write_text("[]")
    assert "not a schema" in run(None, "check", tmp_path / "rows.csv", "--schema", tmp_path / "odd.json", code=2).stderr


def test_datasets_are_managed(run: Run, live: Live) -> None:
    """New, list, show, grant, close; a close asks first."""
    run(
        CURATOR, "datasets", "new", live.city, "-a", "age:0..100", "--budget", 1, "--description", "[bold]people[/bold]"
    )
    assert live.city in run(AUDITOR, "datasets", "list").stdout
    assert json.loads(run(CURATOR, "datasets", "releases", live.city, "--json").stdout) == []
    assert "[bold]people" in run(ANALYST, "datasets", "show", live.city).stdout
    assert "1.5 in all" in run(ADMIN, "datasets", "grant", live.city, "0.5", "--reason", "more").stdout
    run(CURATOR, "datasets", "close", live.city, given="n\n", code=1)
    assert json.loads(run(CURATOR, "datasets", "show", live.city, "--json").stdout)["state"] == "open"
    run(CURATOR, "datasets", "close", live.city, "--yes")
    assert "closed" in run(ADMIN, "datasets", "grant", live.city, "0.5", "--reason", "more", code=1).stderr
    run(CURATOR, "datasets", "new", "x", code=2)
    run(CURATOR, "datasets", "new", "x", "-a", "age:0..100", code=2)


def test_a_plan_is_free(run: Run, live: Live) -> None:
    """By epsilon, or by the error that is wanted; the ledger does not move."""
    run(CURATOR, "datasets", "new", live.city, *BOUNDS, "--budget", 1)
    terms = ("plan", live.city, "--clusters", 5, "--guess", 3000)
    assert "cells on each of 3 axes" in run(CURATOR, *terms, "--epsilon", "0.5").stdout
    wanted = json.loads(run(CURATOR, *terms, "--count-error", 50, "--json").stdout)
    assert wanted["predicted"]["count_error"] <= 50
    shown = run(CURATOR, *terms, "--epsilon", "0.5", "--purpose", "counts")
    assert all(rule in shown.stdout for rule in ("rugnik", "eugkm", "adaptive", "For counts: "))
    assert "sixteenth" in shown.stderr
    assert "guess" in run(CURATOR, "plan", live.city, "--clusters", 5, "--epsilon", 1).stderr
    run(CURATOR, *terms, code=2)
    run(CURATOR, *terms, "--epsilon", 1, "--declared", 5, code=2)
    assert _spent(run, live) == "0"


def test_keys_are_managed(run: Run, live: Live) -> None:
    """The secret alone on standard output, for a shell to catch; listed without it, and gone when it is revoked."""
    made = run(ADMIN, "keys", "new", "[red]desk[/red]", "--role", "analyst", "--dataset", live.city)
    secret = made.stdout.strip()
    assert secret.startswith("rugnik_analyst_")
    key_id = secret.split("_")[2]
    listed = run(ADMIN, "keys", "list").stdout
    assert key_id in listed
    assert "[red]desk[/red]" in listed  # text, never markup
    assert secret not in listed
    run(ADMIN, "keys", "revoke", key_id)
    (mine,) = [key for key in json.loads(run(ADMIN, "keys", "list", "--json").stdout) if key["id"] == key_id]
    assert mine["revoked_at"]
    run(ADMIN, "keys", "new", "desk", "--role", "queen", code=1)


@pytest.mark.parametrize(
    ("key", "url", "code", "sentence"),
    [
        (None, None, 6, "set RUGNIK_KEY"),
        ("rugnik_curator_k0_nonsense", None, 6, "does not know this key"),
        ("k", "http://127.0.0.1:1", 3, "Is a service running there"),
        ("k", "nonsense", 3, "RUGNIK_URL"),
        ("k", "localhost:8000", 3, "An address begins with http:// or https://."),
    ],
)
def test_what_stands_in_the_way_is_one_sentence_and_a_code(
    run: Run, key: str | None, url: str | None, code: int, sentence: str
) -> None:
    """No key, a wrong key, no service."""
    options = [*(["--key", key] if key else []), *(["--url", url] if url else [])]
    error = run(None, "datasets", "list", *options, code=code).stderr
    assert sentence in error
    assert error.count("\n") == 1
    assert key is None or len(key) < 2 or key not in error


def test_a_key_of_the_wrong_role_is_told_which_one_is_right(run: Run) -> None:
    """In the service's own words."""
    assert "role curator" in run(ANALYST, "plan", "x", "--clusters", 2, "--epsilon", 1, code=6).stderr


def _spent(run: Run, live: Live) -> str:
    spent: str = json.loads(run(CURATOR, "datasets", "show", live.city, "--json").stdout)["budget"]["spent"]
    return spent
