"""`rugnik backup`, `rugnik restore`, `rugnik ledger restore` and --read-only: old copies lose no charge."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from app.cli import main
from app.errors import CannotStart, LedgerRewound
from app.ledger.verification import verify_all
from app.main import create_app, make_service
from app.operations.copies import CHECKPOINT_SUFFIX, back_up
from app.settings.settings import Settings
from app.storage.database import Database
from core.budget import NOTHING
from core.canonical import canonical_json
from core.ledger.entry import LedgerEntry
from core.ledger.kinds import Kind
from core.log.checkpoint import Checkpoint
from core.log.ed25519 import SecretKey
from core.log.note import Note, SignatureType, SigningKey
from tests.support.databases.books import filled_ledger
from tests.support.databases.postgresql import new_database
from tests.support.processes.server import environment
from tests.support.service.api import Api, frozen_clock


def changed(settings: Settings, **changes: object) -> Settings:
    """The same settings with other values."""
    return Settings(**(settings.model_dump(exclude_unset=True) | changes))  # type: ignore[arg-type]


def nobody(_done: int, _total: int) -> None:
    """Progress that nobody looks at."""


def run(settings: Settings, *words: str, code: int = 0) -> str:
    """A command on these settings; what it printed."""
    done = CliRunner().invoke(main, list(words), env=environment(settings))
    assert done.exit_code == code, done.output
    return done.output


def test_a_copy_of_either_database_verifies_and_can_be_served(settings: Settings, tmp_path: Path) -> None:
    """One command: the copy has every entry and synopsis, and the signed checkpoint beside it has its root."""
    with Api(create_app(settings, frozen_clock)) as api:
        api.register()
        release = api.published()
        answer = api.analyst("GET", f"/v1/releases/{release}/clusters?k=2").json()
        copy = tmp_path / "copy.db"
        note = back_up(api.service, copy, nobody)
        assert Note.parse(copy.with_name(copy.name + CHECKPOINT_SUFFIX).read_text()) == note
        checkpoint = Checkpoint.of(note)
        assert (checkpoint.size, checkpoint.root) == (
            api.service.replay.tree.size,
            api.service.replay.tree.root(checkpoint.size),
        )
        keys = api.keys
    assert copy.stat().st_mode & 0o077 == 0
    served = changed(settings, database_url=f"sqlite:///{copy}", read_only=True)
    with Api(create_app(served, frozen_clock), keys) as api:
        assert verify_all(api.service).valid
        assert api.analyst("GET", f"/v1/releases/{release}/clusters?k=2").json() == answer


def test_a_copy_has_no_sessions_and_no_answers(sqlite_api: Api, tmp_path: Path) -> None:
    """Cookies and cached answers are of one service, and need no copy."""
    sqlite_api.register()
    key = sqlite_api.keys
    assert key
    back_up(sqlite_api.service, tmp_path / "copy.db", nobody)
    copy = Database(f"sqlite:///{tmp_path / 'copy.db'}")
    with copy.read_only() as tx:
        for table in ("sessions", "answers"):
            assert tx.exec_driver_sql(f"SELECT count(*) FROM {table}").scalar_one() == 0
    copy.dispose()


def test_a_copy_never_takes_the_place_of_a_file(sqlite_api: Api, tmp_path: Path) -> None:
    """An earlier copy is not overwritten."""
    (tmp_path / "copy.db").write_text("an earlier copy")
    with pytest.raises(CannotStart, match="exists"):
        back_up(sqlite_api.service, tmp_path / "copy.db", nobody)
    assert (tmp_path / "copy.db").read_text() == "an earlier copy"


def test_a_copy_is_restored_into_either_database(sqlite_settings: Settings, postgresql: str, tmp_path: Path) -> None:
    """The newest copy, restored, starts with its witness; into a database that is not empty it is refused."""
    service = make_service(sqlite_settings, frozen_clock)
    filled_ledger(service, orders=3)
    entries = service.replay.tree.size
    service.database.dispose()
    copy = tmp_path / "copy.db"
    assert f"{entries} entries" in run(sqlite_settings, "backup", str(copy))
    shutil.rmtree(sqlite_settings.data_dir)
    for target in (sqlite_settings, changed(sqlite_settings, database_url=new_database(postgresql))):
        assert f"{entries} entries" in run(target, "restore", str(copy))
        service = make_service(target, frozen_clock)
        assert verify_all(service).valid
        assert service.replay.tree.size == entries
        service.database.dispose()
        assert "not empty" in run(target, "restore", str(copy), code=2)


def test_a_copy_that_was_changed_is_not_restored(sqlite_settings: Settings, tmp_path: Path) -> None:
    """The checkpoint beside a copy is that of its entries."""
    service = make_service(sqlite_settings, frozen_clock)
    filled_ledger(service, orders=1)
    back_up(service, tmp_path / "old.db", nobody)
    filled = service.replay.tree.size
    service.database.dispose()
    with Api(create_app(sqlite_settings, frozen_clock)) as api:
        assert api.service.replay.tree.size > filled
        back_up(api.service, tmp_path / "new.db", nobody)
    shutil.copy(tmp_path / "new.db.checkpoint", tmp_path / "old.db.checkpoint")
    other = changed(sqlite_settings, data_dir=tmp_path / "other", witness=sqlite_settings.witness_path)
    assert "not the one" in run(other, "restore", str(tmp_path / "old.db"), code=2)


def test_entries_that_an_old_copy_lacks_come_back_from_an_export(sqlite_settings: Settings, tmp_path: Path) -> None:
    """Accepted only where the witnessed root results; then every charge is there again, and the loss is named."""
    with Api(create_app(sqlite_settings, frozen_clock)) as api:
        api.register()
        back_up(api.service, tmp_path / "old.db", nobody)
        lost = api.published()
        export = api.auditor("GET", "/v1/ledger/export").content
        budget, keys = api.budget(), api.keys
    shutil.rmtree(sqlite_settings.data_dir)
    run(sqlite_settings, "restore", str(tmp_path / "old.db"))
    with pytest.raises(LedgerRewound, match="rugnik ledger restore"):
        make_service(sqlite_settings, frozen_clock)
    path = tmp_path / "ledger.ndjson"
    lines = export.splitlines(keepends=True)
    for wrong in (
        lines[:-1],
        [*lines[:-1], lines[-1].replace(b'"seq":', b'"seq": ')],
        lines[1:],
        lines[:-2] + lines[-1:],
    ):
        path.write_bytes(b"".join(wrong))
        run(sqlite_settings, "ledger", "restore", str(path), code=2)
    path.write_bytes(export)
    printed = run(sqlite_settings, "ledger", "restore", str(path))
    assert "3 entries were put back" in printed
    assert lost in printed
    with Api(create_app(sqlite_settings, frozen_clock), keys) as api:
        assert api.budget() == budget
        assert api.auditor("GET", "/v1/ledger/export").content == export


def test_a_forged_export_is_refused(sqlite_settings: Settings, tmp_path: Path) -> None:
    """Entries that verify among themselves and were never witnessed do not get in."""
    with Api(create_app(sqlite_settings, frozen_clock)) as api:
        api.register()
        back_up(api.service, tmp_path / "old.db", nobody)
        api.order(epsilon="1")
    other = changed(sqlite_settings, data_dir=tmp_path / "other", witness=tmp_path / "other.witness")
    shutil.copy(f"{sqlite_settings.log_key_path}", f"{other.log_key_path}")
    run(other, "restore", str(tmp_path / "old.db"))
    with Api(create_app(other, frozen_clock), api.keys) as forger:
        forger.order(epsilon="0.1")
        forged = forger.auditor("GET", "/v1/ledger/export").content
    shutil.rmtree(sqlite_settings.data_dir)
    run(sqlite_settings, "restore", str(tmp_path / "old.db"))
    (tmp_path / "forged.ndjson").write_bytes(forged)
    printed = run(sqlite_settings, "ledger", "restore", str(tmp_path / "forged.ndjson"), code=2)
    assert "not the ledger that the witness saw" in printed


def forged_after(export: bytes) -> bytes:
    """An export with one entry more, which verifies: the chain needs no secret."""
    last = LedgerEntry.from_line(export.splitlines()[-1])
    assert last is not None
    fields = {"kind": Kind.CLOSE, "dataset": "city", "release": None, "epsilon": NOTHING, "detail": {}}
    forged = replace(last, seq=last.seq + 1, previous=last.hash, **fields).sealed()  # type: ignore[arg-type]
    return export + canonical_json(forged.to_json()) + b"\n"


def test_entries_after_the_witnessed_ones_are_refused(sqlite_settings: Settings, tmp_path: Path) -> None:
    """They verify, and nobody saw them."""
    with Api(create_app(sqlite_settings, frozen_clock)) as api:
        api.register()
        back_up(api.service, tmp_path / "old.db", nobody)
        api.order(epsilon="1")
        export = api.auditor("GET", "/v1/ledger/export").content
        size = api.service.replay.tree.size
    shutil.rmtree(sqlite_settings.data_dir)
    run(sqlite_settings, "restore", str(tmp_path / "old.db"))
    path = tmp_path / "ledger.ndjson"
    path.write_bytes(forged_after(export))
    printed = run(sqlite_settings, "ledger", "restore", str(path), code=2)
    assert "has entries that no witness saw" in printed
    path.write_bytes(export)
    assert f"has {size}, as the witness saw it." in run(sqlite_settings, "ledger", "restore", str(path))
    path.write_bytes(forged_after(export))
    assert "has entries that no witness saw" in run(sqlite_settings, "ledger", "restore", str(path), code=2)


def test_without_a_witness_a_signed_checkpoint_is_needed(sqlite_settings: Settings, tmp_path: Path) -> None:
    """Of exactly these entries, and by this log's key."""
    with Api(create_app(sqlite_settings, frozen_clock)) as api:
        api.register()
        old = back_up(api.service, tmp_path / "old.db", nobody)
        api.order(epsilon="1")
        export = api.auditor("GET", "/v1/ledger/export").content
        size = api.service.replay.tree.size
        note = api.service.checkpoint(size)
        origin = api.service.log.origin
    shutil.rmtree(sqlite_settings.data_dir)
    run(sqlite_settings, "restore", str(tmp_path / "old.db"))
    sqlite_settings.witness_path.unlink()
    path, checkpoint = tmp_path / "ledger.ndjson", tmp_path / "ledger.checkpoint"
    path.write_bytes(export)
    printed = run(sqlite_settings, "ledger", "restore", str(path), code=2)
    assert "There is no witness file" in printed
    assert "--checkpoint" in printed
    command = ("ledger", "restore", str(path), "--checkpoint", str(checkpoint))
    strange = SigningKey(origin, SignatureType.LOG, SecretKey.generate())
    for wrong, words in (
        ("hello", "cannot be read"),
        (str(Checkpoint.of(note).signed(strange)), "not signed by the key"),
        (str(old), "no witness saw"),
    ):
        checkpoint.write_text(wrong)
        assert words in run(sqlite_settings, *command, code=2)
    checkpoint.write_text(str(note))
    path.write_bytes(forged_after(export))
    assert "no witness saw" in run(sqlite_settings, *command, code=2)
    path.write_bytes(b"".join(export.splitlines(keepends=True)[:-1]))
    assert "ends before" in run(sqlite_settings, *command, code=2)
    path.write_bytes(export)
    assert f"has {size}, as the signed checkpoint says." in run(sqlite_settings, *command)
    make_service(sqlite_settings, frozen_clock).database.dispose()


def test_a_copy_whose_checkpoint_this_log_did_not_sign_is_not_restored(
    sqlite_settings: Settings, tmp_path: Path
) -> None:
    """Its entries verify and have the root; so would those of anybody's. A machine without the key is told the key."""
    service = make_service(sqlite_settings, frozen_clock)
    filled_ledger(service, orders=1)
    note = back_up(service, tmp_path / "copy.db", nobody)
    verifier, origin = service.log.verifier, service.log.origin
    service.database.dispose()
    beside = tmp_path / "copy.db.checkpoint"
    strange = SigningKey(origin, SignatureType.LOG, SecretKey.generate())
    beside.write_text(str(Checkpoint.of(note).signed(strange)))
    target = changed(sqlite_settings, data_dir=tmp_path / "other", witness=sqlite_settings.witness_path)
    copy = str(tmp_path / "copy.db")
    assert "not signed by the key" in run(target, "restore", copy, code=2)
    assert "not signed by the key" in run(target, "restore", copy, "--log-key", str(verifier), code=2)
    beside.write_text(str(note))
    elsewhere = changed(target, witness=tmp_path / "elsewhere" / "witness")
    assert "--log-key" in run(elsewhere, "restore", copy, code=2)
    assert "not signed by the key" in run(elsewhere, "restore", copy, "--log-key", str(strange.verifier), code=2)
    assert "--log-key" in run(elsewhere, "restore", copy, "--log-key", "hello", code=2)
    assert "entries of" in run(elsewhere, "restore", copy, "--log-key", str(verifier))


def test_a_copy_of_a_changed_database_is_not_signed(sqlite_settings: Settings, tmp_path: Path) -> None:
    """Not one that has other entries than the service verified, and none by a service that is read-only."""
    with Api(create_app(sqlite_settings, frozen_clock)) as api:
        api.register()
        back_up(api.service, tmp_path / "old.db", nobody)
        api.order(epsilon="1")
        service, keys = api.service, api.keys
        other = changed(sqlite_settings, data_dir=tmp_path / "other", witness=tmp_path / "other.witness")
        shutil.copy(sqlite_settings.log_key_path, other.log_key_path)
        run(other, "restore", str(tmp_path / "old.db"))
        with Api(create_app(other, frozen_clock), keys) as forger:
            forger.order(epsilon="0.1")
            with pytest.raises(CannotStart, match="other entries than this service verified"):
                back_up(replace(service, database=forger.service.database), tmp_path / "new.db", nobody)
    assert not (tmp_path / "new.db").exists()
    read_only = make_service(changed(sqlite_settings, read_only=True), frozen_clock)
    with pytest.raises(CannotStart, match="read-only"):
        back_up(read_only, tmp_path / "new.db", nobody)
    read_only.database.dispose()


def test_a_read_only_service_answers_from_an_old_copy_and_charges_nothing(settings: Settings, tmp_path: Path) -> None:
    """Questions go on; whatever would be an entry gets 503 in a sentence; the witness stays where it is."""
    with Api(create_app(settings, frozen_clock)) as api:
        api.register()
        release = api.published()
        back_up(api.service, tmp_path / "old.db", nobody)
        waiting = api.order().json()["id"]
        keys = api.keys
    witnessed = settings.witness_path.read_bytes()
    old = changed(settings, database_url=f"sqlite:///{tmp_path / 'old.db'}")
    with pytest.raises(LedgerRewound, match="--read-only"):
        make_service(old, frozen_clock)
    with Api(create_app(changed(old, read_only=True), frozen_clock), keys) as api:
        assert api.analyst("GET", f"/v1/releases/{release}/clusters?k=2").status_code == 200
        assert api.call(None, "GET", "/readyz").status_code == 200
        for refused in (
            api.order(),
            api.register("other"),
            api.admin("POST", "/v1/datasets/city/grants", json={"epsilon": "1", "reason": "more"}),
            api.admin("POST", "/v1/keys", json={"name": "x", "role": "analyst"}),
        ):
            assert refused.status_code == 503, refused.json()
            assert "read-only" in refused.json()["detail"]
        assert api.upload(waiting).status_code == 503  # before anything is read
    assert settings.witness_path.read_bytes() == witnessed
