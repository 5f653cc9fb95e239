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

from app.errors import CannotStart, LedgerRewound, NotReady
from app.ledger.entries import head
from app.ledger.witness import NOTHING_SEEN, Seen, Witness
from app.main import create_app, make_service
from app.releases import ordering
from app.settings.settings import Settings
from tests.support.databases.books import CURATOR, an_order, filled_ledger, rewrite_from, without_triggers
from tests.support.service.api import Api, frozen_clock
from tests.support.signed_log import SignedLog, entries


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
    """A good chain of the same length with other hashes is not the one that the witness saw."""
    service = make_service(sqlite_settings, frozen_clock)
    filled_ledger(service, orders=1)
    rewrite_from(service, 2, actor="somebody else")
    service.database.dispose()
    with pytest.raises(LedgerRewound):
        make_service(sqlite_settings, frozen_clock)


def test_a_hash_that_was_overwritten_is_named_at_the_start(sqlite_settings: Settings) -> None:
    """The walk finds the entry, which says more than that the witness saw another ledger; a running service refuses."""
    with Api(create_app(sqlite_settings, frozen_clock)) as api:
        api.register()
        with without_triggers(api.service) as tx:
            tx.execute(text("UPDATE ledger SET hash = 'f' WHERE seq = (SELECT max(seq) FROM ledger)"))
            tx.commit()
        assert api.order().status_code == 503
        assert api.call(None, "GET", "/readyz").status_code == 503
    with pytest.raises(CannotStart, match="not good from entry 5 on: The entry does not match its hash"):
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
    """Checkpoints that arrive late, from many writers at once, never take it back."""
    witness, log = Witness(tmp_path / "witness"), SignedLog(entries(9))
    assert witness.seen() == NOTHING_SEEN
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda size: Witness(witness.path).advance(size, log.note), [5, 3, 9, 1, 7, 2, 8, 4]))
    assert witness.seen() == Seen(9, root=log.root(9), origin=log.key.name)
    assert witness.path.read_text() == str(log.note(9))


def test_a_witness_of_version_0_1_is_read_and_becomes_a_signed_checkpoint(sqlite_settings: Settings) -> None:
    """It names the hash of the last entry. A start compares that, and signs; another hash is refused."""
    service = make_service(sqlite_settings, frozen_clock)
    filled_ledger(service, orders=1)
    signed, last = service.witness.path.read_text(), service.replay.head
    service.database.dispose()
    for seq, hashed in ((last.seq, "0" * 64), (last.seq + 1, last.hash)):
        service.witness.path.write_text(json.dumps({"seq": seq, "hash": hashed}))
        with pytest.raises(LedgerRewound):
            make_service(sqlite_settings, frozen_clock)
    service.witness.path.write_text(json.dumps({"seq": last.seq, "hash": last.hash}))
    make_service(sqlite_settings, frozen_clock).database.dispose()
    assert service.witness.path.read_text() == signed


def test_the_witness_of_another_log_is_refused(sqlite_settings: Settings) -> None:
    """Same entries and another name: what this log signed would not be believed by those who know its name."""
    service = make_service(sqlite_settings, frozen_clock)
    filled_ledger(service, orders=1)
    service.database.dispose()
    note = service.witness.path.read_text()
    service.witness.path.write_text(note.replace(service.log.origin, "another.example/log"))
    with pytest.raises(CannotStart, match=r"is of the log another\.example/log"):
        make_service(sqlite_settings, frozen_clock)


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
        witnessed = api.service.witness.seen()
        restore(copy, sqlite_settings)
        for _ in range(3):
            refused = api.order(epsilon="1")
            assert (refused.status_code, refused.json()["type"]) == (503, "urn:rugnik:problem:not-ready")
            assert "older database" in refused.json()["detail"]
        assert api.register("another").status_code == 503
        assert api.service.witness.seen() == witnessed
        assert api.call(None, "GET", "/readyz").status_code == 503
    with pytest.raises(LedgerRewound):
        make_service(sqlite_settings, frozen_clock)


def test_a_copy_that_is_older_than_what_other_processes_spent_charges_nothing(
    sqlite_settings: Settings, tmp_path: Path
) -> None:
    """The memory of a process may be as old as the copy, and then the witness alone knows of what was spent since."""
    copy = tmp_path / "copy.db"
    service, other = (make_service(sqlite_settings, frozen_clock) for _ in range(2))
    filled_ledger(other, orders=1)
    service.replay.refresh()
    with closing(sqlite3.connect(sqlite_settings.sqlite_path)) as live, closing(sqlite3.connect(copy)) as older:
        live.backup(older)
    ordering.order(other, CURATOR, "a", an_order("1"), idempotency_key=None)
    other.database.dispose()
    restore(copy, sqlite_settings)
    with pytest.raises(NotReady, match="older database"):
        ordering.order(service, CURATOR, "a", an_order("1"), idempotency_key=None)
    service.database.dispose()


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
    assert sqlite_api.service.witness.seen().size == 5  # four keys and a grant


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
            assert api.service.witness.seen().size == head(tx).seq
