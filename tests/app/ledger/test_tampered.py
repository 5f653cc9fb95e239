"""A ledger with every kind of entry, edited behind the triggers' back: found, and at the right entry.

A sample of what `make torture ONLY=tamper` does with each of 200 rows and with every column of every table.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from app.main import make_service
from app.settings.settings import Settings
from tests.support.databases.used import COLUMNS, Used, require_usual
from tests.support.service.api import frozen_clock
from torture.tampering.attempts import Attempts
from torture.tampering.beside import TABLES, edits, rows_of
from torture.tampering.edits import naive
from torture.tampering.fates import BY_TABLE, fate_of
from torture.tampering.forged import clever
from torture.tampering.inside import broken_open
from torture.tampering.judged import Honest, Judge
from torture.tampering.made import make

ENTRIES = 60
# SQLite keeps any type in any column; a size of no entry, and a version that is no version. Some have no effect.
ODD = {
    ("alembic_version", "version_num: an empty one"),
    ("checkpoints", "note: bytes"),
    ("checkpoints", "size: an empty one"),
    ("log", "origin: bytes"),
    ("log", "verifier: bytes"),
    *(("checkpoints", f"size: {value} in the last row") for value in ("'x'", "b'x'", "b''", "2.5")),
    *(("checkpoints", f"sealed: {value} in the last row") for value in ("'x'", "b'x'", "2.5")),
    ("log", "origin: b'x' in the last row"),
    ("periods", "start: 'x' in the last row"),
    ("periods", "size: b'' in the last row"),
    ("cosignatures", "size: 'x' in the last row"),
    ("cosignatures", "line: b'x' in the last row"),
}


@pytest.fixture
def judge(settings: Settings) -> Iterator[Judge]:
    """Of a ledger with checkpoints, on each kind of database."""
    settings = settings.model_copy(update={"checkpoint_seconds": 0})
    make(settings, ENTRIES)
    service = make_service(settings, frozen_clock)
    with broken_open(service) as connection:
        yield Judge(service, connection, Honest.of(connection))
    service.database.dispose()


def test_an_edit_of_the_ledger_is_found_at_the_right_entry(judge: Judge) -> None:
    """Flipped, deleted, doubled, inserted, reordered, cut off; as it comes, or with all later hashes forged."""
    rows = judge.honest.rows
    assert len(rows) == ENTRIES
    assert len(judge.honest.signed) >= 2
    places = [0, 7, 20, ENTRIES // 2, ENTRIES - 1]
    as_it_comes = naive(rows, places, bytes_too=judge.service.database.is_sqlite)
    failures = [judge.naive(edit) for edit in as_it_comes]
    for edit in clever(rows, places):
        failures += [judge.clever(edit, drops_signatures=drops) for drops in (False, True)]
    assert len(failures) > 250
    assert [failure for failure in failures if failure is not None] == []


@pytest.fixture(scope="module")
def attempts(tmp_path_factory: pytest.TempPathFactory) -> Attempts:
    """On a service with something in every table."""
    used = Used(tmp_path_factory.mktemp("used") / "it")
    made = Attempts(used, {})
    with made.copied() as settings, used.opened(settings) as api:
        untouched = used.deeds(api)
    require_usual(untouched)
    return Attempts(used, untouched)


@pytest.mark.parametrize(("table", "about"), sorted(ODD))
def test_a_value_that_no_service_writes_has_the_fate_that_is_said(attempts: Attempts, table: str, about: str) -> None:
    """And breaks nothing: a sentence, no error of the program."""
    with attempts.copied() as settings:
        (chosen,) = [each for each in TABLES if each.name == table]
        (edit,) = [each for each in edits(chosen, rows_of(chosen, settings), any_type=True) if each.about == about]
    assert attempts.failure(edit) is None


def test_every_column_beside_the_ledger_has_a_fate() -> None:
    """What comes of an edit is said of each, and of nothing that there is not."""
    columns = {(table, column) for table, column in COLUMNS if table != "ledger"}
    assert {table for table, _ in columns} == set(BY_TABLE)
    for table, column in columns:
        assert fate_of(table, column)
    said = {(table, what) for table, fates in BY_TABLE.items() for what in fates if what.islower() and " " not in what}
    assert said <= columns
