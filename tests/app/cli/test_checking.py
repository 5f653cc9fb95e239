"""A file is checked locally before anything is registered, ordered or sent; if rows would be lost, a person decides."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from app.access.permissions import Role
from tests.app.cli.conftest import Run
from tests.support.service.live import Live

CURATOR = Role.CURATOR
BOUNDS = ("-a", "x:0..10", "-a", "y:0..10")
TERMS = ("--epsilon", "0.5", "--clusters", "5", *BOUNDS, "--budget", "1")
LETTERS = b"x,y\n" + b"a,b\n" * 100
HALF_BAD = b"x,y\n" + b"1,2\na,b\n" * 50
HALF_CLIPPED = b"x,y\n" + b"1,2\n1,200\n" * 50
FEW_BAD = b"x,y\n" + b"1,2\n" * 99 + b"a,b\n"


@pytest.fixture
def rows(tmp_path: Path, live: Live) -> Path:
    """A file that bears the name of a dataset which is not there yet."""
    return tmp_path / f"{live.city}.csv"


def assert_untouched(run: Run, live: Live) -> None:
    """Nothing was registered, and so nothing ordered or sent."""
    assert "no dataset" in run(CURATOR, "datasets", "show", live.city, code=1).stderr
    assert {method for method, _ in live.gate.seen} <= {"GET"}


@pytest.mark.parametrize("content", [LETTERS, b"x,y\n", b"x,y\n1,2,3\n"], ids=["letters", "no rows", "too many fields"])
def test_a_file_of_which_nothing_would_be_kept_registers_and_spends_nothing(
    run: Run, live: Live, rows: Path, content: bytes
) -> None:
    """Not even with --yes; the exit code is that of a file that does not fit, and `check` has it too."""
    rows.write_bytes(content)
    live.gate.seen.clear()
    for options in ((), ("--yes",)):
        said = run(CURATOR, "release", rows, *TERMS, *options, code=7).stderr
        assert "No row" in said
        assert "--no-check" in said
    assert_untouched(run, live)
    checked = run(None, "check", rows, *BOUNDS, code=7)
    assert "rows read" in checked.stdout
    assert "No row" in checked.stderr


@pytest.mark.parametrize("content", [HALF_BAD, HALF_CLIPPED], ids=["dropped", "clipped"])
def test_a_script_must_say_yes_to_a_file_that_loses_many_rows(run: Run, live: Live, rows: Path, content: bytes) -> None:
    """There is nobody to ask; the sentence says what to do, and nothing is registered."""
    rows.write_bytes(content)
    live.gate.seen.clear()
    said = run(CURATOR, "release", rows, *TERMS, code=7).stderr
    assert "100 rows read" in said
    assert "--yes" in said
    assert_untouched(run, live)
    assert "published" in run(CURATOR, "release", rows, *TERMS, "--yes").stdout
    run(None, "check", rows, *BOUNDS)


def test_a_file_that_loses_few_rows_is_published_without_a_question(run: Run, live: Live, rows: Path) -> None:
    """What becomes of the rows is said before the charge."""
    rows.write_bytes(FEW_BAD)
    said = run(CURATOR, "release", rows, *TERMS).stderr
    assert (
        said.index("100 rows read, 1 dropped, 0 clipped")
        < said.index(f"Registered {live.city}")
        < said.index("Ordered")
    )


def test_the_check_can_be_left_out_on_purpose(run: Run, rows: Path) -> None:
    """For a script that must not decide by rows: the service publishes any file that it can read."""
    rows.write_bytes(LETTERS)
    assert "100 read, 100 dropped" in run(CURATOR, "release", rows, *TERMS, "--no-check").stdout


@pytest.mark.parametrize(("reply", "code"), [("n", 1), ("", 1), ("y", 0)])
def test_a_person_is_asked_before_anything_is_registered(
    run: Run, live: Live, rows: Path, reply: str, code: int
) -> None:
    """At a real terminal; anything but a yes leaves everything as it was."""
    rows.write_bytes(HALF_BAD)
    live.gate.seen.clear()
    shown, ended = at_terminal(live, ["release", str(rows), *TERMS], reply)
    assert "50 dropped" in shown
    assert "all the same? [y/N]" in shown
    assert ended == code, shown
    if code:
        assert_untouched(run, live)
    else:
        assert "published" in shown


def test_an_attribute_that_is_not_there_registers_nothing(run: Run, live: Live, rows: Path) -> None:
    """A slip in --use is seen before the dataset takes its name for ever."""
    rows.write_bytes(FEW_BAD)
    live.gate.seen.clear()
    assert "'z'" in run(CURATOR, "release", rows, *TERMS, "--use", "z", code=2).stderr
    assert_untouched(run, live)


def test_an_order_is_checked_by_its_own_columns(run: Run, live: Live, rows: Path) -> None:
    """Going on with an order needs neither --use nor --out-of-range a second time."""
    rows.write_bytes(b"x,y\n1,2\n")
    live.gate.seen.clear()
    assert "no release" in run(CURATOR, "release", rows, *TERMS, "--order", "r0123456789abcdef", code=1).stderr
    assert_untouched(run, live)
    with live.client(CURATOR) as client:
        client.register_dataset(f"{live.city}-o", {"x": (0, 10), "y": (0, 10)}, budget="1")
        order = client.order(f"{live.city}-o", epsilon="0.5", clusters=2, attributes=["x"], out_of_range="drop").id
    rows.write_bytes(b"x\n" + b"1\n" * 99 + b"11\n")
    done = run(CURATOR, "release", rows, "--order", order)
    assert "100 rows read, 1 dropped, 0 clipped" in done.stderr


def at_terminal(live: Live, arguments: Sequence[str], reply: str) -> tuple[str, int]:
    """Run the command line in a terminal, answer its question, and give all that it showed and its exit code."""
    ours, theirs = pty.openpty()
    env = {name: value for name, value in os.environ.items() if not name.startswith("RUGNIK_")}
    env |= {"RUGNIK_URL": live.url, "RUGNIK_KEY": live.keys[CURATOR], "TERM": "dumb"}
    with subprocess.Popen(
        [sys.executable, "-m", "app.cli", *arguments], stdin=theirs, stdout=theirs, stderr=theirs, env=env
    ) as program:
        os.close(theirs)
        shown, answered = b"", False
        while True:
            try:
                part = os.read(ours, 4096)
            except OSError:  # how a terminal ends
                break
            if not part:
                break
            shown += part
            if not answered and (b"[y/N]" in shown or b"[Y/n]" in shown):
                answered = True
                os.write(ours, reply.encode() + b"\n")
        code = program.wait(timeout=60)
    os.close(ours)
    return shown.decode(), code
