"""A release that is interrupted is repeated with the same command, and is paid once, whenever it was interrupted."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from app.access.permissions import Role
from app.cli import releasing
from app.cli.output import note
from tests.app.cli.conftest import Run
from tests.app.cli.test_checking import at_terminal
from tests.support.service.live import Fault, Live, Unreliable, honest, repeat

CURATOR = Role.CURATOR
TERMS = ("--epsilon", "0.5", "--clusters", "2")
NEW = ("-a", "x:0..10", "-a", "y:0..10", "--budget", "1")


class Interruption:
    """Faults that stop at a point of a request, tell so, and go on once the process that asked is killed."""

    def __init__(self) -> None:
        self.reached, self.killed = Event(), Event()

    async def before(self, _app: Unreliable, _scope: Any, _receive: Any, _send: Any) -> None:
        """The application never hears of the request."""
        await self._stop()

    async def during(self, app: Unreliable, scope: Any, receive: Any, send: Any) -> None:
        """The application has had the first piece of the body."""
        pieces = 0

        async def slow() -> Any:
            nonlocal pieces
            pieces += 1
            if pieces == 2:
                await self._stop()
            return await receive()

        await app.app(scope, slow, send)

    async def after(self, app: Unreliable, scope: Any, receive: Any, _send: Any) -> None:
        """The application has done its work, and its reply is lost."""

        async def swallow(_message: Any) -> None:
            return

        await app.app(scope, receive, swallow)
        await self._stop()

    async def _stop(self) -> None:
        self.reached.set()
        await asyncio.get_running_loop().run_in_executor(None, self.killed.wait, 60)


@pytest.fixture
def rows(tmp_path: Path, live: Live) -> Path:
    """A file of few rows that takes more than a socket holds, with the name of a dataset that is not there yet."""
    file = tmp_path / f"{live.city}.csv"
    file.write_bytes(b"x,y,note\n" + (b"1,2," + b"n" * 60_000 + b"\n") * 300)
    return file


def interrupted(live: Live, rows: Path, faults: dict[str, list[Fault]], at: Interruption, sign: int) -> str:
    """Run the command in a process of its own until it comes to the fault, kill it there, and give what it said."""
    live.gate.faults |= faults
    env = {name: value for name, value in os.environ.items() if not name.startswith("RUGNIK_")}
    env |= {"RUGNIK_URL": live.url, "RUGNIK_KEY": live.keys[CURATOR]}
    command = [sys.executable, "-m", "app.cli", "release", str(rows), *TERMS, *NEW]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env) as program:
        try:
            assert at.reached.wait(60)
            program.send_signal(sign)
            said = program.communicate(timeout=60)[1].decode()
        finally:
            at.killed.set()
            program.kill()
    return said


def spent(run: Run, live: Live) -> str:
    """What was charged."""
    budget = json.loads(run(CURATOR, "datasets", "show", live.city, "--json").stdout)["budget"]
    return str(budget["spent"])


@pytest.mark.parametrize("sign", [signal.SIGKILL, signal.SIGINT], ids=["kill", "Ctrl-C"])
def test_after_the_registration_the_same_command_goes_on(run: Run, live: Live, rows: Path, sign: int) -> None:
    """Nothing was charged, and the dataset is found with the bounds that are stated again."""
    at = Interruption()
    interrupted(live, rows, {"POST": [honest, at.before]}, at, sign)
    assert spent(run, live) == "0"
    assert "published" in run(CURATOR, "release", rows, *TERMS, *NEW).stdout
    assert spent(run, live) == "0.5"


@pytest.mark.parametrize("point", ["order", "upload"])
def test_an_order_that_is_paid_for_is_found_again(run: Run, live: Live, rows: Path, point: str) -> None:
    """The same command pays nothing: it names the order, which takes the rows without any term."""
    at = Interruption()
    faults: dict[str, list[Fault]] = {"POST": [honest, at.after]} if point == "order" else {"PUT": [at.during]}
    interrupted(live, rows, faults, at, signal.SIGKILL)
    assert spent(run, live) == "0.5"
    said = run(CURATOR, "release", rows, *TERMS, *NEW, code=1).stderr
    assert "open order" in said
    assert "--new-order" in said
    order = re.search(r"--order (r[0-9a-f]{16})", said)
    assert order
    assert spent(run, live) == "0.5"
    assert "300 read" in run(CURATOR, "release", rows, "--order", order[1]).stdout
    assert spent(run, live) == "0.5"


def test_a_release_whose_reply_was_lost_is_not_paid_again(run: Run, live: Live, rows: Path) -> None:
    """Its last byte had arrived, so it is published: that is said, with the question that it answers."""
    at = Interruption()
    interrupted(live, rows, {"PUT": [at.after]}, at, signal.SIGKILL)
    said = run(CURATOR, "release", rows, *TERMS, *NEW, code=1).stderr
    assert "is published already" in said
    release = re.search(r"r[0-9a-f]{16}", said)
    assert release
    assert spent(run, live) == "0.5"
    again = run(CURATOR, "release", rows, "--order", release[0])  # as a loop of a script would
    assert "no row was sent now" in again.stderr
    assert spent(run, live) == "0.5"
    assert "published" in run(CURATOR, "release", rows, *TERMS, "--new-order").stdout
    assert spent(run, live) == "1"


def test_the_same_command_twice_at_once_pays_once(run: Run, live: Live, rows: Path) -> None:
    """A second one runs while the first reads its file, after it saw that there is no order: they share one order."""
    run(CURATOR, "datasets", "new", live.city, *NEW)
    rows.write_bytes(b"x,y\n1,2\n")

    async def meanwhile(app: Unreliable, scope: Any, receive: Any, send: Any) -> None:
        command = [sys.executable, "-m", "app.cli", "release", str(rows), *TERMS]
        env = os.environ | {"RUGNIK_URL": live.url, "RUGNIK_KEY": live.keys[CURATOR]}
        done = await asyncio.to_thread(subprocess.run, command, env=env, capture_output=True)
        assert done.returncode == 0, done.stderr
        await app.app(scope, receive, send)

    live.gate.faults |= {"POST": [honest, meanwhile]}  # the plan, then the order
    said = run(CURATOR, "release", rows, *TERMS, code=1).stderr
    assert "published" in said
    assert spent(run, live) == "0.5"


def test_another_file_at_the_same_time_is_another_order(run: Run, live: Live, rows: Path) -> None:
    """Same terms, same moment: each file has its release, and none is taken for the other's."""
    run(CURATOR, "datasets", "new", live.city, *NEW)
    rows.write_bytes(b"x,y\n1,2\n")
    other = rows.with_name("other.csv")
    other.write_bytes(b"x,y\n3,4\n5,6\n")

    async def meanwhile(app: Unreliable, scope: Any, receive: Any, send: Any) -> None:
        command = [sys.executable, "-m", "app.cli", "release", str(other), "--dataset", live.city, *TERMS]
        env = os.environ | {"RUGNIK_URL": live.url, "RUGNIK_KEY": live.keys[CURATOR]}
        done = await asyncio.to_thread(subprocess.run, command, env=env, capture_output=True, text=True)
        assert "2 read" in done.stdout, done.stderr
        await app.app(scope, receive, send)

    live.gate.faults |= {"POST": [honest, meanwhile]}  # the plan, then the order
    assert "1 read" in run(CURATOR, "release", rows, *TERMS).stdout
    assert spent(run, live) == "1"


def test_an_order_of_another_dataset_gets_no_rows(run: Run, live: Live, rows: Path) -> None:
    """A reply that belongs to another request, as a gateway that mixes them up would give."""
    run(CURATOR, "datasets", "new", live.city, *NEW)
    with live.client(CURATOR) as client:
        other = client.order(live.city, epsilon="0.25", clusters=2).raw | {"dataset": "another"}
    live.gate.faults |= {"POST": [honest, repeat(other)]}
    rows.write_bytes(b"x,y\n1,2\n")
    assert "No row was sent" in run(CURATOR, "release", rows, *TERMS, code=1).stderr
    with live.client(CURATOR) as client:
        assert [each.state for each in client.releases(live.city)] == ["ordered"]


def test_ctrl_c_during_the_upload_says_how_to_go_on(run: Run, live: Live, rows: Path) -> None:
    """A person at a terminal is asked, and says yes with the return key."""
    at = Interruption()
    said = interrupted(live, rows, {"PUT": [at.during]}, at, signal.SIGINT)
    assert f"Go on with 'rugnik release {rows} --order r" in said
    assert "rugnik void r" in said
    shown, code = at_terminal(live, ["release", str(rows), *TERMS], "")
    assert "open order" in shown
    assert code == 0, shown
    assert "300 read" in shown
    assert spent(run, live) == "0.5"


def test_other_terms_are_another_order(run: Run, live: Live, rows: Path) -> None:
    """And a void order is none."""
    run(CURATOR, "datasets", "new", live.city, *NEW)
    with live.client(CURATOR) as client:
        client.void(client.order(live.city, epsilon="0.5", clusters=2).id)
        client.order(live.city, epsilon="0.25", clusters=2)
    rows.write_bytes(b"x,y\n1,2\n")
    assert "published" in run(CURATOR, "release", rows, *TERMS).stdout
    assert "published" in run(CURATOR, "release", rows, "--epsilon", "0.25", "--clusters", "3").stdout


def test_an_order_refuses_what_contradicts_it(run: Run, live: Live, rows: Path) -> None:
    """Before a row is read; an option that agrees is no fault."""
    run(CURATOR, "datasets", "new", live.city, *NEW)
    with live.client(CURATOR) as client:
        order = client.order(live.city, epsilon="0.5", clusters=2, attributes=["x"], declared=300).id
    live.gate.seen.clear()
    for options, words in (
        (("--epsilon", "0.6"), "--epsilon 0.6 contradicts"),
        (("--clusters", "3"), "--clusters 3 contradicts"),
        (("--use", "y"), "--use y contradicts"),
        (("--rule", "adaptive"), "--rule adaptive contradicts"),
        (("--declared", "301"), "which has 300"),
        (("--out-of-range", "drop"), "which has clip"),
        (("--offsets",), "--offsets contradicts the order"),
        (("--dataset", "elsewhere"), f"is one of '{live.city}', not of 'elsewhere'"),
    ):
        assert words in run(CURATOR, "release", rows, "--order", order, *options, code=2).stderr
    assert {method for method, _ in live.gate.seen} == {"GET"}
    agreeing = ("--epsilon", "0.50", "--clusters", "2", "--use", "x", "--declared", "300", "--no-offsets", "--quiet")
    done = run(CURATOR, "release", rows, "--order", order, *agreeing)
    assert (done.stdout, done.stderr) == (f"{order}\n", "")
    assert "Give --epsilon and --clusters" in run(CURATOR, "release", rows, code=2).stderr


def test_offsets_are_a_term_that_a_repeated_command_must_have(run: Run, live: Live, tmp_path: Path) -> None:
    """With the same flag the earlier release is found; without it the order is another one."""
    file = tmp_path / "four.csv"
    file.write_text("a,b,c,d\n" + "1,2,3,4\n" * 300, encoding="utf-8")
    bounds = [part for name in "abcd" for part in ("-a", f"{name}:0..10")]
    run(CURATOR, "datasets", "new", live.city, *bounds, "--budget", 9)
    command = ("release", file, "--dataset", live.city, "--epsilon", "2", "--clusters", "2")
    planned = ("plan", live.city, "--epsilon", "2", "--clusters", "2", "--guess", 300)
    shown = run(CURATOR, *planned, "--offsets")
    assert "epsilon of the counts and of the offsets" in shown.stdout
    assert "rugnik with offsets" in shown.stdout
    assert "twice the noise" in shown.stderr
    assert "of the offsets" not in run(CURATOR, *planned).stdout
    release = run(CURATOR, *command, "--offsets", "--quiet").stdout.strip()
    again = run(CURATOR, *command, "--offsets", code=1).stderr
    assert f"A release {release} of {live.city} with the same terms is published already" in again
    assert "contradicts" in run(CURATOR, "release", file, "--order", release, "--no-offsets", code=2).stderr
    other = run(CURATOR, *command, "--quiet").stdout.strip()
    with live.client(CURATOR) as client:
        orders = [client.release(each).plan.order.get("offsets") for each in (release, other)]
    assert orders == [True, None]


def test_what_cannot_be_paid_is_refused_before_the_file_is_read(run: Run, live: Live, rows: Path) -> None:
    """Registered or not: the file is not there, and that is not what is said."""
    rows.unlink()
    live.gate.seen.clear()
    terms = ("--epsilon", "1.5", "--clusters", "2")
    said = run(CURATOR, "release", rows, *terms, *NEW, code=4).stderr
    assert "1.5 is asked for, and the budget is to be 1" in said
    assert {method for method, _ in live.gate.seen} == {"GET"}
    run(CURATOR, "datasets", "new", live.city, *NEW)
    assert f"1.5 is asked for, 1 is left of {live.city}" in run(CURATOR, "release", rows, *terms, code=4).stderr
    assert spent(run, live) == "0"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--epsilon", "1,5"), "--epsilon: "),
        (("--epsilon", "0"), "epsilon of an order"),
        (("--rule", "adaptiv"), "--rule must be 'rugnik', 'eugkm' or 'adaptive'"),
        (("--out-of-range", "perhaps", "--no-check"), "--out-of-range must be 'clip' or 'drop'"),
        (("--estimate", "2"), "share"),
        (("--estimate", "much"), "--estimate: "),
        (("--label", "one\ntwo"), "label"),
        (("--label", "x" * 81), "label"),
        (("--declared", "9" * 13), "declared"),
        (("--clusters", "200"), "different values"),
    ],
    ids=lambda value: "".join(value)[:24].strip() if isinstance(value, tuple) else "",
)
def test_terms_that_are_refused_register_nothing(
    run: Run, live: Live, rows: Path, options: tuple[str, ...], words: str
) -> None:
    """A dataset is registered for ever, so its first order is judged on this machine before."""
    live.gate.seen.clear()
    bounds = ("-a", "x:integer:0..10", "-a", "y:integer:0..10", "--budget", "2")
    said = run(CURATOR, "release", rows, *TERMS, *bounds, *options, code=2).stderr
    assert words in said
    assert "Nothing was registered" in said
    assert said.count("\n") == 1
    assert {method for method, _ in live.gate.seen} == {"GET"}


def test_a_misspelt_name_registers_nothing(run: Run, live: Live, rows: Path) -> None:
    """Not even with bounds and a budget; the name that is meant is named, as it is for a plan or a question."""
    right, wrong = f"trips-of-{live.city}", f"tripz-of-{live.city}"
    run(CURATOR, "datasets", "new", right, *NEW)
    rows.write_bytes(b"x,y\n1,2\n")
    live.gate.seen.clear()
    meant = f"There is no dataset '{wrong}'. Did you mean '{right}'?"
    said = run(CURATOR, "release", rows, "--dataset", wrong, *TERMS, *NEW, code=2).stderr
    assert meant in said
    assert "datasets new" in said
    assert {method for method, _ in live.gate.seen} == {"GET"}
    assert meant in run(CURATOR, "plan", wrong, *TERMS, code=1).stderr
    assert f"Did you mean '{right}'?" in run(CURATOR, "query", "count", wrong, code=1).stderr
    assert meant in run(CURATOR, "datasets", "show", wrong, code=1).stderr
    assert meant in run(CURATOR, "check", rows, "--dataset", wrong, code=1).stderr


def test_ctrl_c_while_the_order_is_placed_says_how_to_go_on(
    run: Run, live: Live, rows: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before its reply came, and right after it was reported: the same command finds it, and pays once."""
    said = interrupted(live, rows, {"POST": [honest, (at := Interruption()).after]}, at, signal.SIGINT)
    assert "Repeat the same command, without --new-order" in said  # which would pay for another one
    assert spent(run, live) == "0.5"

    def ordered(message: str) -> None:
        note(message)
        if message.startswith("Ordered"):
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(releasing, "note", ordered)
        said = run(CURATOR, "release", rows, *TERMS, "--new-order", code=130).stderr
    assert re.search(r"--order r[0-9a-f]{16}', or get its epsilon back with 'rugnik void r", said)


def test_an_open_order_is_found_whatever_its_label(run: Run, live: Live, rows: Path) -> None:
    """A label left out, added or changed pays nothing; a new label beside a published release is a new order."""
    run(CURATOR, "datasets", "new", live.city, *NEW)
    with live.client(CURATOR) as client:
        order = client.order(live.city, epsilon="0.25", clusters=2, label="2026-Q3").id
    rows.write_bytes(b"x,y\n1,2\n")
    terms = (*TERMS, "--epsilon", "0.25")
    for label in ((), ("--label", "2026-Q3"), ("--label", "Q3")):
        said = run(CURATOR, "release", rows, *terms, *label, code=1).stderr
        assert f"open order {order} (2026-Q3)" in said
    assert spent(run, live) == "0.25"
    run(CURATOR, "release", rows, "--order", order)
    said = run(CURATOR, "release", rows, *terms, code=1).stderr
    assert f"{order} (2026-Q3) of {live.city} with the same terms is published already" in said
    assert "published" in run(CURATOR, "release", rows, *terms, "--label", "2026-Q4").stdout
    assert spent(run, live) == "0.5"


def test_what_a_registered_dataset_does_not_take_over_is_said(run: Run, live: Live, rows: Path) -> None:
    """Another limit of persons is refused by release and check, alone or beside a schema; a budget is a remark."""
    run(CURATOR, "datasets", "new", live.city, *NEW, "--person", "id:2")
    rows.write_bytes(b"id,x,y\na,1,2\n")
    for person in ("nobody:3", "id:3"):
        for command in (("release", rows, *TERMS), ("check", rows)):
            said = run(CURATOR, *command, "--person", person, code=2).stderr
            assert f"{live.city} protects another unit" in said
            assert "than --person states" in said
    assert spent(run, live) == "0"
    run(CURATOR, "check", rows, "--person", "id:2")
    said = run(CURATOR, "release", rows, *TERMS, "--person", "id:2", "--budget", "9").stderr
    assert f"{live.city} is registered already, with a budget of 1: --budget 9 changes nothing." in said
    same = run(CURATOR, "release", rows, *TERMS, "--label", "second", "--budget", "1.0").stderr
    assert "changes nothing" not in same


def test_persons_typed_beside_a_schema_file_are_protected(run: Run, live: Live, rows: Path) -> None:
    """The option goes before the file, as --budget does; it was left out."""
    attributes = [{"name": "x", "lower": 0, "upper": 10}]
    rows.with_suffix(".json").write_text(json.dumps({"budget": "1", "attributes": attributes}))
    rows.write_bytes(b"id,x\na,1\n")
    run(CURATOR, "release", rows, *TERMS, "--person", "id:2")
    assert "at most 2 rows" in run(CURATOR, "datasets", "show", live.city).stdout
