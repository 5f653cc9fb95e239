"""`make torture` runs for hours, so what it names is checked here: its parts, the lines that it breaks, its tests."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from app.access.keys import issue_key
from app.access.permissions import Role
from tests.support.processes.mortal import STEPS
from tests.support.service.api import Api
from tests.support.signed_log import SignedLog, entries
from torture import faults
from torture.__main__ import PARTS, main
from torture.broken.mutant import Mutant
from torture.console import ROOT, Result
from torture.crash_steps import state_after
from torture.faults.trial import Fault, Strike, tried
from torture.model import Broken, Model
from torture.mutants import MUTANTS
from torture.racers import Reply
from torture.services import Place, place
from torture.signed_tree import SeenLog, root_of
from torture.suites import SUITES
from torture.verdict import judge


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_mutant_breaks_one_line_of_today(mutant: Mutant) -> None:
    assert (ROOT / mutant.file).read_text().count(mutant.before) == 1
    assert mutant.before != mutant.after


def test_every_part_and_every_test_exists() -> None:
    for name in PARTS:
        part = import_module(f"torture.{name}")
        assert part.__doc__
        assert callable(part.run)
    named = {test for each in (*MUTANTS, *SUITES) for test in each.tests}
    assert [test for test in named if not Path(ROOT, test).exists()] == []
    assert main(["nothing"]) == 2


def test_the_independent_model_agrees_with_the_service_and_finds_an_edit(sqlite_api: Api) -> None:
    """What `make torture` judges by: it follows a real ledger, and it notices a charge that was made smaller."""
    sqlite_api.register()
    published, void = sqlite_api.published(), str(sqlite_api.order(epsilon="0.25").json()["id"])
    sqlite_api.curator("DELETE", f"/v1/releases/{void}")
    export = sqlite_api.auditor("GET", "/v1/ledger/export").text
    model = Model.of(export.splitlines())
    assert (model.states[published], model.states[void]) == ("published", "void")
    budget = sqlite_api.budget()
    assert (str(model.granted["city"]), float(model.spent["city"])) == (budget["granted"], float(budget["spent"]))
    with pytest.raises(Broken, match="does not have its hash"):
        Model.of(export.replace('"epsilon":"0.25"', '"epsilon":"0.05"', 1).splitlines())


@pytest.fixture
def export(sqlite_api: Api) -> list[dict[str, Any]]:
    """A ledger with an order that two persons made, and one that waits."""
    second = issue_key(sqlite_api.service, name="second", role=Role.CURATOR, datasets=None)[1]
    sqlite_api.register()
    sqlite_api.curator("POST", "/v1/datasets/city/rule", json={"above": "0.3"})
    asked = [sqlite_api.order().json()["id"] for _ in range(2)]
    assert sqlite_api.call_with(second, "POST", f"/v1/requests/{asked[0]}/approve").status_code == 200
    return [json.loads(line) for line in sqlite_api.auditor("GET", "/v1/ledger/export").text.splitlines()]


def replayed(entries: list[dict[str, Any]]) -> Model:
    """The model of these entries, chained anew: what somebody who can write to the database makes of them."""
    previous, lines = "0" * 64, []
    for number, entry in enumerate(entries, start=1):
        sealed = {**entry, "seq": number, "previous": previous}
        del sealed["hash"]
        text = json.dumps(sealed, sort_keys=True, separators=(",", ":"))
        previous = hashlib.sha256(text.encode()).hexdigest()
        lines.append(json.dumps({**sealed, "hash": previous}))
    return Model.of(lines)


def _by_the_asker(entries: list[dict[str, Any]]) -> None:
    entries[-1]["actor"] = entries[-1]["detail"]["requested_by"]


def _without_the_request(entries: list[dict[str, Any]]) -> None:
    del entries[-1]["detail"]["request"]


def _of_more_cells(entries: list[dict[str, Any]]) -> None:
    entries[-1]["detail"]["max_cells"] += 1


def _by_nobody(entries: list[dict[str, Any]]) -> None:
    entries[-1]["actor"] = "second [k00000000]"


def _twice(entries: list[dict[str, Any]]) -> None:
    entries.append({**entries[-1], "release": "rother"})


@pytest.mark.parametrize(
    ("edit", "found"),
    [
        (_by_the_asker, "approved by the key that asked"),
        (_without_the_request, "takes two persons"),
        (_of_more_cells, "is not what was asked for"),
        (_by_nobody, "decided by a key that is not in use"),
        (_twice, "does not wait"),
    ],
)
def test_the_independent_model_knows_the_rules_of_two_persons(
    export: list[dict[str, Any]], edit: Callable[[list[dict[str, Any]]], None], found: str
) -> None:
    """It takes what a service wrote, and refuses an approval that was forged."""
    assert [each.state for each in replayed(export).approvals.requests.values()] == ["approved", "waiting"]
    edit(export)
    with pytest.raises(Broken, match=found):
        replayed(export)


def test_a_verdict_compares_what_was_told_with_the_ledger(export: list[dict[str, Any]]) -> None:
    """No more and no less, and what was lost says nothing."""
    model, charge = replayed(export), export[-1]["release"]
    approved, waits = model.approvals.requests
    told = [Reply("request", 202, approved), Reply("request", 202, waits), Reply("approve", 200, approved, charge)]
    judge(model, "city", told)
    judge(model, "city", [*told[:2], Reply("lost", 599)])
    judge(model, "city", [*told, Reply("approve", 409, approved)])
    for replies, found in (
        (told[:2], "entries 'charge'"),
        (told[1:], "entries 'request'"),
        ([*told, told[2]], "acknowledged twice"),
        ([*told, Reply("charge", 201, "rother", "rother")], "is not on record"),
        ([*told, Reply("grant", 201)], "entries 'grant'"),
        ([*told, Reply("approve", 500, waits)], "fault"),
        ([*told, *(Reply("charge", 201, release, release, "key") for release in (charge, "rother"))], "two releases"),
    ):
        with pytest.raises(Broken, match=found):
            judge(model, "city", replies)


LOG = SignedLog(entries(20))
LEAVES = [bytes.fromhex(entry.hash) for entry in LOG.entries]
KEY = str(LOG.key.verifier)


@pytest.mark.parametrize("size", [1, 2, 3, 7, 8, 9, 20])
def test_the_independent_tree_agrees_with_a_signed_log(size: int) -> None:
    assert root_of(LEAVES[:size]) == LOG.root(size)
    assert SeenLog().require_shown(str(LOG.note(size)), KEY, LEAVES) == size


def test_a_log_that_takes_something_back_is_found() -> None:
    """A smaller checkpoint, one of another key, one of more entries than there are, and a fork behind one."""
    seen = SeenLog()
    seen.require_shown(str(LOG.note(9)), KEY, LEAVES)
    with pytest.raises(Broken, match="9 entries was shown, and now one of 8"):
        seen.require_shown(str(LOG.note(8)), KEY, LEAVES)
    with pytest.raises(Broken, match="no good signature"):
        SeenLog().require_signed(str(SignedLog(entries(9)).note()), KEY, LEAVES)
    with pytest.raises(Broken, match="no good signature"):
        SeenLog().require_signed(str(LOG.note(9)).replace("\n9\n", "\n10\n"), KEY, LEAVES)
    with pytest.raises(Broken, match="20 entries, and there are 10"):
        SeenLog().require_signed(str(LOG.note(20)), KEY, LEAVES[:10])
    fork = LOG.forked(at=5, size=20)
    with pytest.raises(Broken, match="first 9 entries are not those"):
        seen.require_signed(str(fork.note(20)), KEY, [bytes.fromhex(entry.hash) for entry in fork.entries])


def test_every_step_of_a_crash_leaves_a_known_state() -> None:
    states = [state_after(step) for step in STEPS]
    assert states == sorted(states, key=["ordered", "burnt", "published"].index)
    assert set(states) == {"ordered", "burnt", "published"}


def test_a_fault_that_needs_root_does_not_count_without_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr(faults, "tried", lambda fault: Result(fault.name, 1, 0))
    untried = [result for result in faults.run() if not result.times]
    assert {result.remark for result in untried} == {"not tried: needs root"}
    assert len(untried) == 3


@pytest.mark.parametrize("name", ["clients that vanish before the reply", "clock set back"])
def test_a_fault_is_tried(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once each, of those that need neither root nor PostgreSQL."""
    monkeypatch.setenv("TIMES", "1")
    (fault,) = (each for each in faults.FAULTS if each.name == name)
    assert tried(fault).failures == 0


def test_a_fault_that_loses_something_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A curator who was told of a charge that is not on record."""
    monkeypatch.setenv("TIMES", "1")

    @contextmanager
    def forgetful() -> Iterator[tuple[Place, Strike]]:
        with place("SQLite") as here:
            yield here, lambda scene: scene.acknowledged.charged.add("r0000000000000000")

    assert tried(Fault("forgetful", forgetful)).remark == "1 place failed: An acknowledged charge is missing."
