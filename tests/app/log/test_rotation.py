"""The log's key: made once, outside the database; rotated on the record; never replaced in silence."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from app.bundles.bundle import Bundle
from app.cli import main
from app.errors import CannotStart
from app.log import checkpoints, rotation
from app.log.signing import previous_key_path
from app.main import create_app, make_service
from app.settings.settings import Settings
from core.log.note import InvalidNote, Note
from core.log.policy import Policy
from core.log.receipt import Receipt
from tests.support.processes.server import environment
from tests.support.service.api import Api, frozen_clock


def run(settings: Settings, *words: str, code: int = 0) -> str:
    """A command on these settings; its standard output."""
    done = CliRunner().invoke(main, list(words), env=environment(settings))
    assert done.exit_code == code, done.output
    return done.stdout if code == 0 else done.output


@pytest.fixture
def timeless(settings: Settings) -> Settings:
    """Publications show up in the log at once."""
    return Settings(**(settings.model_dump(exclude_unset=True) | {"checkpoint_seconds": 0}))


def test_a_new_key_is_on_record_and_the_old_one_signs_as_well(timeless: Settings) -> None:
    """Policies with either key accept checkpoints during the overlap; receipts from before keep their bytes."""
    with Api(create_app(timeless, frozen_clock)) as api:
        api.register()
        release = api.published()
        receipt = api.analyst("GET", f"/v1/releases/{release}/receipt").text
        old = Policy.parse(api.call(None, "GET", "/log/policy").text)
        keys = api.keys
    printed = run(timeless, "log", "rotate")
    with Api(create_app(timeless, frozen_clock), keys) as api:
        new = Policy.parse(api.call(None, "GET", "/log/policy").text)
        assert str(new.logs[0]) in printed
        assert new.logs != old.logs
        note = Note.parse(api.call(None, "GET", "/log/checkpoint").text)
        assert new.require(note).checkpoint == old.require(note).checkpoint
        assert api.analyst("GET", f"/v1/releases/{release}/receipt").text == receipt
        assert Receipt.parse(receipt).require(old)
        assert api.auditor("GET", "/v1/ledger?kind=key").json()["entries"][0]["detail"]["verifier"] == str(new.logs[0])
    previous_key_path(timeless.log_key_path).unlink()
    with Api(create_app(timeless, frozen_clock), keys) as api:
        note = Note.parse(api.call(None, "GET", "/log/checkpoint").text)
        assert new.require(note)
        with pytest.raises(InvalidNote):
            old.require(note)


def test_a_missing_or_other_key_stops_the_start(sqlite_settings: Settings, tmp_path: Path) -> None:
    """A service never begins to sign with a key that is not on record."""
    make_service(sqlite_settings, frozen_clock).database.dispose()
    path = sqlite_settings.log_key_path
    assert path.stat().st_mode & 0o077 == 0
    kept = path.read_bytes()
    path.unlink()
    with pytest.raises(CannotStart, match=r"is missing.*rugnik log rotate --lost"):
        make_service(sqlite_settings, frozen_clock)
    other = Settings(data_dir=tmp_path / "other", log_level="error")
    make_service(other, frozen_clock).database.dispose()
    path.write_bytes(other.log_key_path.read_bytes())
    with pytest.raises(CannotStart, match="not the one that this log signs with"):
        make_service(sqlite_settings, frozen_clock)
    path.write_bytes(kept)
    make_service(sqlite_settings, frozen_clock).database.dispose()


def test_a_lost_key_is_replaced_on_the_record(timeless: Settings) -> None:
    """Without the old one: only the new key signs, and the ledger says since when."""
    with Api(create_app(timeless, frozen_clock)) as api:
        api.register()
        keys = api.keys
    timeless.log_key_path.unlink()
    run(timeless, "log", "rotate", code=2)
    printed = run(timeless, "log", "rotate", "--lost")
    assert not previous_key_path(timeless.log_key_path).exists()
    with Api(create_app(timeless, frozen_clock), keys) as api:
        policy = Policy.parse(api.call(None, "GET", "/log/policy").text)
        assert printed == f"log {policy.logs[0]}\n"
        assert policy.require(Note.parse(api.call(None, "GET", "/log/checkpoint").text))
        assert api.auditor("GET", "/v1/ledger/verify").json()["valid"]


def test_a_worker_with_the_old_key_knows_the_checkpoints_of_the_new_one(timeless: Settings) -> None:
    """Though it has not read the entry about the key yet, and the old key does not sign any more."""
    worker = make_service(timeless, frozen_clock)
    run(timeless, "log", "rotate")
    previous_key_path(timeless.log_key_path).unlink()
    with Api(create_app(timeless, frozen_clock)) as api:
        api.register()
        release = api.published()
        assert api.analyst("GET", f"/v1/releases/{release}/receipt").status_code == 200
        size = api.service.replay.head.seq
    assert checkpoints.pinned(worker, size).note
    worker.database.dispose()


@pytest.mark.parametrize("crash_at", ["before the files", "between the files"])
@pytest.mark.parametrize("options", [(), ("--lost",)])
def test_a_rotation_that_was_interrupted_is_finished_by_the_next(
    sqlite_settings: Settings, monkeypatch: pytest.MonkeyPatch, crash_at: str, options: tuple[str, ...]
) -> None:
    """A crash after the entry: the same key takes its place, the old one signs as well, no second entry is written."""
    service = make_service(sqlite_settings, frozen_clock)
    path = sqlite_settings.log_key_path
    old = path.read_bytes()

    def crash(_path: Path) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(rotation, "previous_key_path" if crash_at == "before the files" else "sync_folder", crash)
        with pytest.raises(KeyboardInterrupt):
            rotation.rotate(service)
    assert path.exists() == (crash_at == "before the files")
    recorded, size = service.replay.books.log_key, service.replay.tree.size
    service.database.dispose()
    with pytest.raises(CannotStart, match="un 'rugnik log rotate' again"):
        make_service(sqlite_settings, frozen_clock)
    assert run(sqlite_settings, "log", "rotate", *options) == f"log {recorded}\n"
    assert previous_key_path(path).read_bytes() == old
    service = make_service(sqlite_settings, frozen_clock)
    assert (str(service.log.verifier), service.replay.tree.size) == (recorded, size)
    assert service.log.next is None
    service.database.dispose()
    assert run(sqlite_settings, "log", "rotate") != f"log {recorded}\n"


def test_a_key_that_is_not_on_record_yet_waits(sqlite_settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    """A crash before the entry: the service starts with the old key, and the next rotation takes the new one."""
    service = make_service(sqlite_settings, frozen_clock)

    def crash(_service: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(rotation, "open_book", crash)
        with pytest.raises(KeyboardInterrupt):
            rotation.rotate(service)
    first = service.log.verifier
    service.database.dispose()
    service = make_service(sqlite_settings, frozen_clock)
    assert service.log.verifier == first
    waiting = service.log.next
    service.database.dispose()
    assert run(sqlite_settings, "log", "rotate") == f"log {waiting}\n"


def test_a_bundle_has_the_keys_that_signed_its_receipt(timeless: Settings) -> None:
    """After a rotation as well: its own policy verifies its own receipt, and the newest key is not among them."""
    with Api(create_app(timeless, frozen_clock)) as api:
        api.register()
        release = api.published()
        receipt = api.analyst("GET", f"/v1/releases/{release}/receipt").text
        before = Bundle.from_bytes(api.analyst("GET", f"/v1/releases/{release}/bundle").content)
        keys = api.keys
    run(timeless, "log", "rotate")
    previous_key_path(timeless.log_key_path).unlink()
    with Api(create_app(timeless, frozen_clock), keys) as api:
        bundle = Bundle.from_bytes(api.analyst("GET", f"/v1/releases/{release}/bundle").content)
        assert bundle.receipt.decode() == receipt
        assert Receipt.parse(receipt).require(Policy.parse(bundle.policy))
        assert bundle.policy == before.policy
        newer = api.published()
        bundle = Bundle.from_bytes(api.analyst("GET", f"/v1/releases/{newer}/bundle").content)
        assert Receipt.parse(bundle.receipt.decode()).require(Policy.parse(bundle.policy))
        assert bundle.policy != before.policy


def test_the_origin_is_fixed_at_the_first_start(sqlite_settings: Settings) -> None:
    """Another name later is refused; without one, a random name is kept."""
    service = make_service(sqlite_settings, frozen_clock)
    origin = service.log.origin
    service.database.dispose()
    own = sqlite_settings.model_dump(exclude_unset=True)
    with pytest.raises(CannotStart, match="RUGNIK_ORIGIN"):
        make_service(Settings(**(own | {"origin": "example.org/other"})), frozen_clock)
    service = make_service(Settings(**(own | {"origin": origin})), frozen_clock)
    assert service.log.origin == origin
    service.database.dispose()
