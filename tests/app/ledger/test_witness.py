"""The witness: an older database is refused at start-up, and the file only moves forward."""

from __future__ import annotations

import json
import shutil
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import text

from app.errors import CannotStart, LedgerRewound
from app.ledger.entries import head
from app.ledger.witness import Witness
from app.main import create_app, make_service
from app.releases import ordering
from app.settings.settings import Settings
from core.ledger.entry import EMPTY, Head
from tests.support.databases.books import CURATOR, an_order, filled_ledger, without_triggers
from tests.support.service.api import Api, frozen_clock


def test_a_restored_old_database_is_refused(sqlite_settings: Settings, tmp_path: Path) -> None:
    """Epsilon spent since a backup was taken cannot be had back by restoring it; the message says what to do."""
    service = make_service(sqlite_settings, frozen_clock)
    filled_ledger(service, orders=1)
    service.database.dispose()
    shutil.copytree(sqlite_settings.data_dir, tmp_path / "backup")
    service = make_service(sqlite_settings, frozen_clock)
    ordering.order(service, CURATOR, "a", an_order("1"), idempotency_key=None)
    service.database.dispose()
    shutil.rmtree(sqlite_settings.data_dir)
    shutil.copytree(tmp_path / "backup", sqlite_settings.data_dir)
    with pytest.raises(LedgerRewound, match="Restore the newest copy"):
        make_service(sqlite_settings, frozen_clock)


def test_an_empty_database_in_place_of_a_used_one_is_refused(sqlite_settings: Settings) -> None:
    """Deleting the data folder does not reset a budget."""
    service = make_service(sqlite_settings, frozen_clock)
    filled_ledger(service, orders=1)
    service.database.dispose()
    shutil.rmtree(sqlite_settings.data_dir)
    with pytest.raises(LedgerRewound):
        make_service(sqlite_settings, frozen_clock)


def test_a_rewritten_ledger_is_refused(sqlite_settings: Settings) -> None:
    """A chain of the same length with other hashes is not the one that the witness saw."""
    service = make_service(sqlite_settings, frozen_clock)
    filled_ledger(service, orders=1)
    with without_triggers(service) as tx:
        tx.execute(text("UPDATE ledger SET hash = 'f' WHERE seq = (SELECT max(seq) FROM ledger)"))
        tx.commit()
    service.database.dispose()
    with pytest.raises(LedgerRewound):
        make_service(sqlite_settings, frozen_clock)


def test_a_witness_that_fell_behind_catches_up(sqlite_settings: Settings) -> None:
    """A process that died between commit and witness leaves an older head, which is still in the ledger."""
    service = make_service(sqlite_settings, frozen_clock)
    filled_ledger(service, orders=1)
    behind = service.witness.path.read_bytes()
    ordering.order(service, CURATOR, "a", an_order("1"), idempotency_key=None)
    ahead = service.witness.path.read_bytes()
    service.witness.path.write_bytes(behind)
    service.database.dispose()
    service = make_service(sqlite_settings, frozen_clock)
    assert service.witness.path.read_bytes() == ahead
    service.database.dispose()


def test_a_damaged_witness_stops_the_start(sqlite_settings: Settings) -> None:
    """A witness that cannot be read is not taken for a missing one."""
    sqlite_settings.witness_path.write_text("?")
    with pytest.raises(CannotStart, match="damaged"):
        make_service(sqlite_settings, frozen_clock)


def test_the_witness_only_moves_forward(tmp_path: Path) -> None:
    """Heads that arrive late, from many writers at once, never take it back."""
    witness = Witness(tmp_path / "witness")
    assert witness.head() == EMPTY
    with ThreadPoolExecutor(8) as pool:
        list(
            pool.map(lambda seq: Witness(witness.path).advance(Head(seq=seq, hash=str(seq))), [5, 3, 9, 1, 7, 2, 8, 4])
        )
    assert witness.head() == Head(seq=9, hash="9")
    assert json.loads(witness.path.read_bytes()) == {"seq": 9, "hash": "9"}


def restore(copy: Path, settings: Settings) -> None:
    """Put an older copy into the database of a running service, as its own tools would."""
    with closing(sqlite3.connect(copy)) as source, closing(sqlite3.connect(settings.sqlite_path)) as target:
        source.backup(target)


def test_a_copy_restored_under_a_running_service_charges_nothing(sqlite_settings: Settings, tmp_path: Path) -> None:
    """Every append asks the witness: no second epsilon is had, and the witness keeps the proof of the rewind."""
    copy = tmp_path / "copy.db"
    with Api(create_app(sqlite_settings, frozen_clock)) as api:
        api.register(budget="1")
        with closing(sqlite3.connect(sqlite_settings.sqlite_path)) as live, closing(sqlite3.connect(copy)) as older:
            live.backup(older)
        assert api.order(epsilon="1").status_code == 201
        assert api.order(epsilon="1").status_code == 409
        witnessed = api.service.witness.head()
        restore(copy, sqlite_settings)
        for _ in range(3):
            refused = api.order(epsilon="1")
            assert (refused.status_code, refused.json()["type"]) == (503, "urn:rugnik:problem:not-ready")
            assert "older database" in refused.json()["detail"]
        assert api.register("another").status_code == 503
        assert api.service.witness.head() == witnessed
        assert api.call(None, "GET", "/readyz").status_code == 503
    with pytest.raises(LedgerRewound):
        make_service(sqlite_settings, frozen_clock)


def test_a_witness_tells_the_day_of_the_last_entry_and_no_more(sqlite_api: Api) -> None:
    """When it was written is when something was published, which is kept to the day."""
    sqlite_api.register()
    assert sqlite_api.service.witness.path.stat().st_mtime % 86_400 == 0


def test_nothing_is_charged_while_the_witness_cannot_be_read(sqlite_api: Api) -> None:
    """Neither is the service ready; both mend themselves once the file can be read and written again."""
    assert sqlite_api.call(None, "GET", "/readyz").status_code == 200
    witness = sqlite_api.service.witness.path
    witness.unlink(missing_ok=True)
    witness.mkdir()
    (witness / "in the way").touch()
    assert sqlite_api.register().status_code == 503
    assert sqlite_api.call(None, "GET", "/readyz").status_code == 503
    (witness / "in the way").unlink()
    witness.rmdir()
    assert sqlite_api.call(None, "GET", "/readyz").status_code == 200
    assert sqlite_api.register().status_code == 201
    assert sqlite_api.service.witness.head().seq == 5  # four keys and a grant


def test_a_full_witness_disk_refuses_every_charge(sqlite_settings: Settings) -> None:
    """Nothing is charged that a restored copy could forget: the next head is on that disk before the commit."""
    full = sqlite_settings.witness_path.with_name(sqlite_settings.witness_path.name + ".new")
    with Api(create_app(sqlite_settings, frozen_clock)) as api:
        api.register()
        full.symlink_to("/dev/full")  # opens, and takes no byte: ENOSPC, as from a disk without room
        refused = [api.order(epsilon="0.1") for _ in range(20)]
        assert [reply.status_code for reply in refused] == [503] * 20
        assert "witness" in refused[0].json()["detail"]
        assert api.budget()["spent"] == "0"
        full.unlink()
        assert api.order(epsilon="0.1").status_code == 201


def test_an_entry_that_the_witness_missed_is_witnessed_before_the_next(sqlite_settings: Settings) -> None:
    """A crash between commit and witness leaves one entry unwitnessed, never two: the next append catches up first."""
    full = sqlite_settings.witness_path.with_name(sqlite_settings.witness_path.name + ".new")
    with Api(create_app(sqlite_settings, frozen_clock)) as api:
        api.register()
        behind = api.service.witness.path.read_bytes()
        assert api.order(epsilon="0.1").status_code == 201
        api.service.witness.path.write_bytes(behind)
        full.symlink_to("/dev/full")
        assert api.order(epsilon="0.1").status_code == 503
        assert api.budget()["spent"] == "0.1"
        full.unlink()
        assert api.order(epsilon="0.1").status_code == 201
        with api.service.database.read_only() as tx:
            assert api.service.witness.head() == head(tx)
