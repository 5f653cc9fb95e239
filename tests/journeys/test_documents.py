"""README, quickstart and tutorial work as printed: each page's commands are one session against one running demo."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.support.documents import ROOT, as_script, bash, code_blocks, pages
from tests.support.processes.demo import Demo, running_demo

PRINTED: dict[str, tuple[str, ...]] = {
    "README.md": ("size between", '"epsilon_spent":"0"', "epsilon spent: 0"),
    "docs/quickstart.md": ("size between", "Count(", '"epsilon_spent":"0"'),
    "docs/tutorial/curator.md": (
        "rows read     5,000",
        "rows_read=5000",
        "0.75 0.5",
        '"state":"void"',
        "rugnik_analyst_",
    ),
    "docs/tutorial/analyst.md": ("correlation", "without_cut_cells", "size_low", "stability"),
    "docs/tutorial/tables.md": ("rows kept", "rows per person", "(missing)", "Count(", "181,2026-11-03,12.5"),
    "docs/engines.md": (
        "9 cells on each of 3 axes",
        "0.5 spent, 2.5 left",
        "0.4 spent, 2.1 left",
        "counted by threads: published",
    ),
    "docs/receipts.md": (
        "is the release that epsilon 1 was charged for",
        "epsilon 1 was charged to bike-trips on 20",
        "Signature Verified Successfully",
    ),
    "docs/check-your-data.md": ("bike-trips.csv is the release that epsilon 1 was charged for", "— "),
    "docs/two-persons.md": (
        "exit code 8",
        "is approved: order r",
        "1 spent, 2 left",
        "request",
        "entries hold",
        "rule {'above': None} waiting",
        "refused",
    ),
    "docs/cards.md": ("| Unit of privacy |", "on record: True", "equal but for one row"),
    "docs/witnesses.md": ("quorum none", "witness w1 w1+", "— w1 ", "0 new entries hold", "only grew"),
    "docs/tutorial/auditor.md": ("publish", '"valid":true', "every entry holds", "entries hold", "True"),
}
ELSEWHERE = {"docs/operations.md", "docs/bundles.md"}  # tests/journeys/test_operations.py, test_bundles.py
WITHOUT_ACCOUNT = {"docs/check-your-data.md"}


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Demo]:
    """One demo for all pages, in the folder that they name."""
    with running_demo(tmp_path_factory.mktemp("documents") / "rugnik-data-demo") as running:
        yield running


@pytest.fixture
def checkout(demo: Demo, tmp_path: Path) -> Path:
    """A folder that looks like the checkout after `make demo`; files that a page writes land here."""
    for name, target in (
        (".venv-run", Path(sys.prefix)),
        ("docs", ROOT / "docs"),
        ("examples", ROOT / "examples"),
        ("rugnik-data-demo", demo.folder),
    ):
        (tmp_path / name).symlink_to(target)
    return tmp_path


def given(demo: Demo, folder: Path) -> dict[str, str]:
    """What a person was given who has no account: a file, its receipt, a policy, and the address of the service."""
    url, analyst = demo.variables["RUGNIK_URL"], {"Authorization": f"Bearer {demo.variables['ANALYST']}"}
    (release,) = httpx.get(f"{url}/v1/datasets/bike-trips", headers=analyst).json()["releases"][:1]
    for name, path in (
        ("bike-trips.csv", f"/v1/releases/{release['id']}/synopsis?format=csv"),
        ("bike-trips.csv.tlog-proof", f"/v1/releases/{release['id']}/receipt"),
        ("city.policy", "/log/policy"),
    ):
        reply = httpx.get(url + path, headers=analyst)
        assert reply.status_code == 200, reply.text
        (folder / name).write_bytes(reply.content)
    return {"RUGNIK_URL": url, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}


@pytest.mark.parametrize("page", PRINTED)
def test_the_commands_of_a_page_work_as_printed(page: str, demo: Demo, checkout: Path) -> None:
    """From the top of the page to its end, in one terminal where nothing was typed before."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("RUGNIK_")}
    if page in WITHOUT_ACCOUNT:
        env |= given(demo, checkout)
    printed = bash(as_script(pages()[page]), checkout, env | {"COLUMNS": "160"})
    assert [text for text in PRINTED[page] if text not in printed] == []


def test_every_page_with_commands_is_run_by_a_test() -> None:
    """A page with commands that no test knows of would go stale."""
    with_commands = {
        page for page, text in pages().items() if {"sh", "python"} & {name for name, _ in code_blocks(text)}
    }
    assert with_commands == PRINTED.keys() | ELSEWHERE


@pytest.mark.parametrize("page", ["README.md", "docs/quickstart.md"])
def test_a_newcomer_begins_with_the_demo(page: str) -> None:
    """The one block that is not run here ends with the command that `tests/journeys/test_demo.py` runs."""
    (start,) = [content for _, content in code_blocks(pages()[page]) if "make demo" in content]
    assert start.splitlines()[-1] == "make demo"


def test_the_example_is_released_by_one_short_line() -> None:
    """`rugnik release examples/….csv --epsilon 0.5 --clusters 5`, and nothing more."""
    line = r"^rugnik release examples/bike-trips.csv --epsilon 0.5 --clusters 5$"
    assert re.search(line, pages()["docs/tutorial/curator.md"], re.MULTILINE)


def test_the_clients_own_variables_are_explained() -> None:
    """RUGNIK_URL and RUGNIK_KEY are not settings of the service, so they stand apart from its table."""
    assert "`RUGNIK_URL` and `RUGNIK_KEY`" in pages()["docs/settings.md"]
    assert "`RUGNIK_URL` and `RUGNIK_KEY`" in pages()["docs/cli.md"]


def test_the_verifier_is_printed_as_it_is() -> None:
    """The page about receipts has the whole script, so that nobody need look for it."""
    (printed,) = [content for language, content in code_blocks(pages()["docs/receipts.md"]) if language == "py"]
    assert printed == (ROOT / "docs" / "verify_receipt.py").read_text(encoding="utf-8")
