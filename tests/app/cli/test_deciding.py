"""What takes two keys, at the command line: the rule, the order that waits, the approval, the upload."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from app.access.keys import issue_key
from app.access.permissions import Role
from app.cli import main
from tests.app.cli.conftest import Run
from tests.support.service.api import ROWS
from tests.support.service.live import Live

CURATOR, ADMIN, AUDITOR = Role.CURATOR, Role.ADMIN, Role.AUDITOR


@pytest.fixture
def rows(tmp_path: Path, live: Live, run: Run) -> Path:
    """A file, and a dataset with a rule at 0.3."""
    bounds = ("-a", "age:0..100", "-a", "income:0..1000")
    run(CURATOR, "datasets", "new", live.city, "--budget", "3", *bounds, "--two-persons-above", "0.3")
    (tmp_path / "rows.csv").write_bytes(ROWS)
    return tmp_path / "rows.csv"


def second(live: Live, *arguments: object, code: int = 0, given: str | None = None) -> Result:
    """Run `rugnik` with the key of another curator."""
    key = issue_key(live.service, name="second", role=CURATOR, datasets=None)[1]
    env = {name: None for name in os.environ if name.startswith("RUGNIK_")} | {
        "RUGNIK_URL": live.url,
        "RUGNIK_KEY": key,
    }
    done = CliRunner().invoke(main, [str(argument) for argument in arguments], env=env, input=given)
    assert done.exit_code == code, (done.output, done.exception)
    return done


def waiting(run: Run, live: Live) -> list[dict[str, Any]]:
    listed: list[dict[str, Any]] = json.loads(run(AUDITOR, "requests", "--dataset", live.city, "--json").stdout)
    return listed


def test_a_release_waits_and_goes_on_with_its_order(run: Run, live: Live, rows: Path) -> None:
    """Exit code 8 and the next step in words; the second person sees the terms, and is asked."""
    terms = ("--dataset", live.city, "--epsilon", "0.5", "--clusters", "4", "--declared", "500")
    said = run(CURATOR, "release", rows, *terms, code=8).stderr
    (request,) = waiting(run, live)
    assert f"rugnik approve {request['id']}" in said
    assert f"--order {request['release']}" in said
    assert "another key" in run(CURATOR, "approve", request["id"], "--yes", code=6).stderr
    shown = second(live, "approve", request["id"], code=1, given="n\n").output
    assert '"clusters": 4' in shown
    assert "for epsilon 0.5" in shown
    assert waiting(run, live) == [request]
    assert f"{request['id']} is approved" in second(live, "approve", request["id"], given="y\n").stdout
    assert waiting(run, live) == []
    done = run(CURATOR, "release", rows, *terms, "--order", request["release"], "--json")
    assert json.loads(done.stdout)["state"] == "published"
    assert request["id"] in run(AUDITOR, "requests", "--all", "--dataset", live.city).stdout


def test_a_request_is_refused_in_words(run: Run, live: Live, rows: Path) -> None:
    """Its reason is on record; a grant, a void and a raised rule wait as well."""
    run(ADMIN, "datasets", "grant", live.city, "1", "--reason", "board", code=8)
    run(CURATOR, "rule", live.city, "--above", "1", code=8)
    run(CURATOR, "rule", live.city, "--off", code=8)
    grant, raised, removed = waiting(run, live)
    assert (grant["kind"], raised["content"], removed["content"]) == ("grant", {"above": "1"}, {"above": None})
    assert "is refused" in run(ADMIN, "refuse", grant["id"], "--reason", "too much").stdout
    approved = json.loads(second(live, "approve", raised["id"], "--yes", "--json").stdout)
    assert (approved["state"], approved["content"]) == ("approved", {"above": "1"})
    assert json.loads(second(live, "refuse", removed["id"], "--json").stdout)["state"] == "refused"
    assert "two persons above  1" in run(CURATOR, "datasets", "show", live.city).stdout
    assert "0.25" in run(CURATOR, "rule", live.city, "--above", "0.25").stdout
    assert rows.exists()


@pytest.mark.parametrize("given", [(), ("--above", "1", "--off")])
def test_a_rule_is_either_set_or_removed(run: Run, given: tuple[str, ...]) -> None:
    """Neither is guessed."""
    assert "--off" in run(CURATOR, "rule", "city", *given, code=2).stderr
