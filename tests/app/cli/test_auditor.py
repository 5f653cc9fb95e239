"""An auditor at the command line: the ledger listed, exported, and verified with and without the service."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from app.access.permissions import Role
from core.ledger.entry import LedgerEntry
from tests.app.cli.conftest import Run
from tests.support.databases.books import filled_ledger
from tests.support.service.live import Live

AUDITOR, CURATOR = Role.AUDITOR, Role.CURATOR


@pytest.fixture(scope="module", autouse=True)
def _filled(live_server: Live) -> None:
    """A ledger with every kind of entry."""
    filled_ledger(live_server.service, orders=4)


@pytest.fixture
def exported(run: Run, tmp_path: Path) -> Path:
    """An export of the ledger."""
    run(AUDITOR, "ledger", "export", "-o", tmp_path / "ledger.ndjson")
    return tmp_path / "ledger.ndjson"


def test_the_ledger_is_listed(run: Run) -> None:
    """As a table or as JSON, all of it or some; a curator may read it too."""
    assert "publish" in run(CURATOR, "ledger", "list").stdout
    entries = json.loads(run(AUDITOR, "ledger", "list", "--dataset", "b", "--kind", "close", "--json").stdout)
    assert [entry["kind"] for entry in entries] == ["close"]


def test_the_service_verifies_its_ledger(run: Run, live: Live) -> None:
    """0 and a sentence with the head; a head that was noted earlier must be in it."""
    printed = run(AUDITOR, "ledger", "verify").stdout
    assert "entries hold" in printed
    head = printed.split()[-1].rstrip(".")
    with live.client(AUDITOR) as client:
        assert client.ledger_head().hash == head
    run(AUDITOR, "ledger", "verify", "--head", head)
    assert "not among them" in run(AUDITOR, "ledger", "verify", "--head", "0" * 64, code=5).stderr
    assert json.loads(run(AUDITOR, "ledger", "verify", "--json").stdout)["valid"] is True


def test_an_export_is_verified_without_the_service(run: Run, exported: Path) -> None:
    """No key, no address: the file alone."""
    printed = run(None, "ledger", "verify", exported).stdout
    head = json.loads(exported.read_text().splitlines()[-1])["hash"]
    assert head in printed
    run(None, "ledger", "verify", exported, "--head", head)
    assert run(AUDITOR, "ledger", "export").stdout == exported.read_text()


def test_every_change_to_an_export_is_found(run: Run, exported: Path) -> None:
    """An entry changed, left out, moved, spelt otherwise or made unreadable: 5, and which one is the first bad one."""
    lines = exported.read_bytes().splitlines(keepends=True)
    first = next(number for number, line in enumerate(lines) if b'"kind":"grant"' in line)
    keys, grant, others = lines[:first], lines[first], lines[first + 1 :]
    changed = {
        "a digit": [grant.replace(b'"epsilon":"9"', b'"epsilon":"8"'), *others],
        "left out": [grant, *others[1:]],
        "moved": [others[0], grant, *others[1:]],
        "spelt otherwise": [grant.replace(b'"9"', b'"9.0"'), *others],
        "a field more": [grant.replace(b"{", b'{"a":1,', 1), *others],
        "not JSON": [b"{\n", *others],
        "an empty line": [b"\n", grant, *others],
        "deep": [b"[" * 100_000 + b"\n", *others],
    }
    for change, content in changed.items():
        exported.write_bytes(b"".join([*keys, *content]))
        error = run(None, "ledger", "verify", exported, code=5).stderr
        assert f"from entry {first + (2 if change == 'left out' else 1)} on" in error, change
    exported.write_bytes(b"".join(lines[:-1]))  # cut short: only a head that was noted tells
    run(None, "ledger", "verify", exported)
    run(None, "ledger", "verify", exported, "--head", json.loads(lines[-1])["hash"], code=5)


def test_a_line_is_an_entry_only_byte_for_byte(exported: Path) -> None:
    """What is read back is what was written."""
    for line in exported.read_bytes().splitlines():
        entry = LedgerEntry.from_line(line)
        assert entry is not None
        assert entry.entry_hash() == entry.hash
        assert LedgerEntry.from_line(line + b" ") is None


def test_a_file_that_is_not_there_is_one_sentence(run: Run, tmp_path: Path) -> None:
    """With its name."""
    assert "nowhere.ndjson" in run(None, "ledger", "verify", tmp_path / "nowhere.ndjson", code=1).stderr
