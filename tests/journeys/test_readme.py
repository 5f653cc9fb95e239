"""The README's journeys work as printed: on the command line, in Python and with curl, from `make demo`."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.processes.demo import Demo, running_demo

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
HERE = {"See it", "On the command line", "In Python", "With curl"}
ELSEWHERE = {"Running it in production", "Backups", "Upgrades"}  # tests/journeys/test_operations.py


def blocks(heading: str, language: str = "sh") -> list[str]:
    """The blocks of a language under one heading of the README."""
    section = README.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    return re.findall(rf"```{language}\n(.*?)```", section, re.DOTALL)


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Demo]:
    """The demo, in the folder that the README names."""
    folder = tmp_path_factory.mktemp("readme")
    with running_demo(folder / "rugnik-data-demo") as running:
        yield running


@pytest.fixture
def checkout(demo: Demo, tmp_path: Path) -> Path:
    """A folder that looks like the checkout after `make demo`; files that the journey writes land here."""
    for name, target in (
        (".venv-run", Path(sys.prefix)),
        ("examples", ROOT / "examples"),
        ("rugnik-data-demo", demo.folder),
    ):
        (tmp_path / name).symlink_to(target)
    return tmp_path


def bash(script: str, folder: Path) -> str:
    """What the lines print in a terminal where the two lines of "See it" were typed; each line must succeed."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("RUGNIK_")}
    prelude = "\n".join(blocks("See it")[1].splitlines()[:2])
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", f"{prelude}\n{script}"],
        check=False,
        capture_output=True,
        text=True,
        cwd=folder,
        env=env | {"COLUMNS": "160"},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_every_block_is_run_by_some_test() -> None:
    """A section with commands that no test knows of would rot."""
    sections = re.split(r"\n## ", README)[1:]
    with_blocks = {section.partition("\n")[0] for section in sections if re.search(r"```(sh|python)\n", section)}
    assert with_blocks >= HERE
    assert with_blocks - HERE <= ELSEWHERE


def test_a_newcomer_sees_something(checkout: Path) -> None:
    """`make demo` (tests/journeys/test_demo.py runs it), two lines, and a table of clusters."""
    first, second = blocks("See it")
    assert first.splitlines()[-1] == "make demo"
    printed = bash(second, checkout)
    assert all(heading in printed for heading in ("size between", "x", "y", "hour"))
    assert printed.count("…") >= 5 * 4


def test_the_journey_on_the_command_line(checkout: Path) -> None:
    """Checked, planned, published twice, asked, exported, verified."""
    printed = bash("\n".join(blocks("On the command line")), checkout)
    assert "rows read     5,000" in printed
    assert printed.count("published") >= 2
    assert "entries hold" in printed
    assert (checkout / "synthetic.csv").read_text().count("\n") == 1001


def test_the_journey_in_python(checkout: Path) -> None:
    """From a pandas frame to a table of clusters, and an error that says what is left."""
    (script,) = blocks("In Python", "python")
    (checkout / "journey.py").write_text(script)
    printed = bash("python -W error journey.py", checkout)
    assert "rows_read=5000" in printed
    assert "0.75 0.5" in printed
    assert "size_low" in printed


def test_the_journey_with_curl(checkout: Path) -> None:
    """Every line of the section runs, the upload publishes, and the exported ledger verifies without rugnik."""
    printed = bash("\n".join(blocks("With curl")), checkout)
    assert '"state":"published"' in printed
    assert '"valid":true' in printed
    assert "every entry holds" in printed


def test_the_example_is_released_by_one_short_line(checkout: Path) -> None:
    """`rugnik release examples/….csv --epsilon 0.5 --clusters 5` against a running service, and nothing more."""
    (line,) = re.findall(r"^rugnik release examples/bike-trips.csv --epsilon 0.5 --clusters 5$", README, re.MULTILINE)
    assert "5,000 read, 0 dropped" in bash(f"RUGNIK_KEY=$CURATOR {line}", checkout)


def test_the_clients_own_variables_are_explained() -> None:
    """RUGNIK_URL and RUGNIK_KEY are not settings of the service, so they stand apart from its table."""
    assert "`RUGNIK_URL` and `RUGNIK_KEY`" in README
