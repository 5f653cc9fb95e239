"""The doctor reports every fault with its repair, ends with an exit code, and changes nothing."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest
from typer.testing import CliRunner

from app.access.secret_file import make_secret_file
from app.cli import doctor, main
from app.ledger.witness import Witness
from app.main import make_service
from app.operations import server
from app.releases import datasets
from app.settings.settings import Settings
from core.budget import Epsilon
from core.log.ed25519 import SecretKey
from tests.support.databases.books import CURATOR, DOMAIN, filled_ledger
from tests.support.processes.server import environment
from tests.support.signed_log import SignedLog, entries


def examined(settings: Settings, code: int) -> dict[str, tuple[str, str, str]]:
    """The doctor's output by subject: state, finding and advice; the worst if a subject has two."""
    done = CliRunner().invoke(main, ["doctor", "--json"], env=environment(settings))
    assert done.exit_code == code, done.output
    findings: dict[str, tuple[str, str, str]] = {}
    for finding in json.loads(done.stdout):
        if findings.get(finding["about"], ("ok",))[0] != "mend":
            findings[finding["about"]] = (finding["state"], finding["observed"], finding["mend"])
    return findings


@pytest.fixture
def healthy(sqlite_settings: Settings) -> Settings:
    """A service that has been at work on SQLite, with a secret by file as a container wants it."""
    secrets = sqlite_settings.data_dir.with_name("secrets")
    secrets.mkdir(mode=0o700)
    (secrets / "rugnik_metrics_key").write_text("m" * 32)
    (secrets / "rugnik_metrics_key").chmod(0o444)
    own = sqlite_settings.model_dump(exclude_unset=True)
    settings = Settings(**(own | {"max_spool_bytes": 2**20, "secrets_dir": secrets}))
    service = make_service(settings)
    filled_ledger(service, orders=1)
    service.database.dispose()
    return settings


def test_a_service_that_is_well_is_told_so(settings: Settings) -> None:
    """On each kind of database: every finding is good, and the code is 0."""
    well = Settings(**(settings.model_dump(exclude_unset=True) | {"max_spool_bytes": 2**20}))
    service = make_service(well)
    filled_ledger(service, orders=1)
    service.database.dispose()
    findings = examined(well, 0)
    assert {about: state for about, (state, _, _) in findings.items()} == dict.fromkeys(
        ("data folder", "database", "migrations", "witness", "log key", "ledger", "clock", "entropy", "spool"), "ok"
    )
    readable = CliRunner().invoke(main, ["doctor"], env=environment(well))
    assert "agrees with the ledger" in readable.stdout


@pytest.mark.parametrize("command", [("log", "key"), ("log", "rotate"), ("backup", "copy.db")], ids=" ".join)
def test_a_command_about_a_service_makes_none(
    sqlite_settings: Settings, tmp_path: Path, command: tuple[str, ...]
) -> None:
    """Run in another folder than the service, it would make a log of its own and print a key that signs nothing."""
    done = CliRunner().invoke(main, list(command), env=environment(sqlite_settings))
    assert (done.exit_code, "There is no service in" in done.stderr) == (2, True)
    assert ("/log/policy" in done.stderr) == (command == ("log", "key"))
    assert list(tmp_path.iterdir()) == []


def test_before_the_first_start_nothing_is_wrong_and_nothing_is_made(sqlite_settings: Settings, tmp_path: Path) -> None:
    """What is not there yet is said; the doctor makes no folder and no database."""
    findings = examined(sqlite_settings, 0)
    assert findings["database"][0] == findings["data folder"][0] == "look"
    assert "rugnik serve" in findings["database"][2]
    assert list(tmp_path.iterdir()) == []


def _open_folder(settings: Settings) -> None:
    settings.data_dir.chmod(0o755)


def _open_keys(settings: Settings) -> None:
    (settings.data_dir / "keys.env").write_text("export ADMIN=x\n")
    (settings.data_dir / "keys.env").chmod(0o644)


def _open_secrets(settings: Settings) -> None:
    folder = settings.data_dir.with_name("secrets")
    folder.chmod(0o755)


def _open_witness(settings: Settings) -> None:
    settings.witness_path.chmod(0o666)


def _other_witness(settings: Settings) -> None:
    Witness(settings.witness_path).advance(1000, SignedLog(entries(1000)).note)


def _damaged_witness(settings: Settings) -> None:
    settings.witness_path.write_text("{")


def _unmigrated(settings: Settings) -> None:
    service = make_service(settings)
    with service.database.transaction() as tx:
        tx.exec_driver_sql("UPDATE alembic_version SET version_num = '0'")
    service.database.dispose()


def _smaller_charge(settings: Settings) -> None:
    with closing(sqlite3.connect(settings.sqlite_path)) as file:
        file.execute("DROP TRIGGER ledger_no_update")
        file.execute("UPDATE ledger SET epsilon_nano = 1 WHERE kind = 'charge'")
        file.commit()


def _open_secret(settings: Settings) -> None:
    settings.secret_path.chmod(0o644)


def _garbage(settings: Settings) -> None:
    for path in settings.data_dir.glob("rugnik.db*"):
        path.write_bytes(b"not a database" * 1000)


@pytest.mark.parametrize(
    ("harm", "about", "advice"),
    [
        (_open_folder, "data folder", "chmod 700"),
        (_open_keys, "key file", "chmod 600"),
        (_open_secrets, "secrets", "chmod 700"),
        (_open_witness, "witness", "chmod 600"),
        (_other_witness, "witness", "restore the newest copy"),
        (_damaged_witness, "witness", "bring back a copy"),
        (_unmigrated, "migrations", "rugnik migrate"),
        (_smaller_charge, "ledger", "newest good copy"),
        (_open_secret, "secret", "chmod 600"),
        (_garbage, "database", "check address"),
    ],
)
def test_what_is_wrong_is_found_and_the_cure_is_told(
    healthy: Settings, harm: Callable[[Settings], None], about: str, advice: str
) -> None:
    """1, and the one finding that needs mending, with how."""
    harm(healthy)
    findings = examined(healthy, 1)
    assert {name for name, (state, _, _) in findings.items() if state == "mend"} == {about}
    assert advice in findings[about][2]


def test_a_database_that_is_not_reached_is_told(sqlite_settings: Settings) -> None:
    """Where nothing listens, that is what must be mended."""
    url = "postgresql+psycopg://nobody@127.0.0.1:1/rugnik"
    settings = Settings(data_dir=sqlite_settings.data_dir, database_url=url)
    assert examined(settings, 1)["database"][0] == "mend"


def test_a_clock_that_lags_behind_the_ledger_is_found(healthy: Settings) -> None:
    """An entry of the future means that the clock is wrong, now or then."""
    later = make_service(healthy, clock=lambda: datetime(2999, 1, 1, tzinfo=UTC))
    datasets.register(later, CURATOR, name="c", description="", domain=DOMAIN, budget=Epsilon.parse("1"))
    later.database.dispose()
    findings = examined(healthy, 1)
    assert (findings["clock"][0], findings["witness"][0]) == ("mend", "ok")


def test_a_spool_without_room_or_rights_is_told(healthy: Settings, tmp_path: Path) -> None:
    """Too little room is worth a look, a folder that is not there must be mended."""
    base = healthy.model_dump(exclude_unset=True)
    assert examined(Settings(**(base | {"max_spool_bytes": 2**60})), 0)["spool"][0] == "look"
    assert examined(Settings(**(base | {"spool_dir": tmp_path / "nowhere"})), 1)["spool"][0] == "mend"


def test_a_log_key_that_is_missing_or_another_is_found(healthy: Settings) -> None:
    """As a start would refuse it; no key is made."""
    key = healthy.log_key_path
    key.rename(key.with_name("kept"))
    state, observed, mend = examined(healthy, 1)["log key"]
    assert (state, observed) == ("mend", "The log's key is missing")
    assert mend.startswith(f"Bring it back ({key})")
    assert not key.exists()
    make_secret_file(key, SecretKey.generate().to_pem())
    assert "is not the one that this log signs with" in examined(healthy, 1)["log key"][1]


def test_a_wrong_setting_is_named_in_one_sentence() -> None:
    """With one full stop."""
    done = CliRunner().invoke(main, ["doctor"], env={"RUGNIK_MAX_BUDGET": "five"})
    assert done.exit_code == 2
    assert "RUGNIK_MAX_BUDGET" in done.stderr
    assert ".." not in done.stderr


def test_a_witness_beside_the_database_is_worth_a_look(healthy: Settings) -> None:
    """They would be lost, or restored, together."""
    beside = Settings(**(healthy.model_dump(exclude_unset=True) | {"witness": healthy.data_dir / "head"}))
    shutil.copy(healthy.log_key_path, beside.log_key_path)
    make_service(beside).database.dispose()
    assert examined(beside, 0)["witness"][0] == "look"


def test_entropy_that_is_not_there_yet_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """An operating system that would have to wait says so."""

    def none_yet(_count: int, _flags: int) -> bytes:
        raise BlockingIOError

    monkeypatch.setattr("os.getrandom", none_yet)
    assert doctor._entropy().state == "mend"


def test_the_doctor_reads_and_writes_nothing(healthy: Settings) -> None:
    """The ledger, the witness and every file are what they were."""

    def seen() -> list[tuple[str, int]]:
        files = [*healthy.data_dir.rglob("*"), healthy.witness_path]
        return sorted((str(path), path.stat().st_size) for path in files if not path.name.endswith(("-shm", "-wal")))

    before = seen()
    examined(healthy, 0)
    assert seen() == before


def test_a_misspelt_variable_is_named_with_the_one_that_is_meant(sqlite_settings: Settings) -> None:
    """It would mean SQLite, unseen. Its value may hold a password, and is not shown."""
    env = environment(sqlite_settings) | {"RUGNIK_DATABSE_URL": "postgresql://u:secret@db/x", "RUGNIK_URL": "http://x"}
    found = CliRunner().invoke(main, ["doctor"], env=env).stdout
    assert "RUGNIK_DATABSE_URL is no setting" in found
    assert "rename it, if RUGNIK_DATABASE_URL is meant" in found
    assert "secret" not in found
    assert "RUGNIK_URL is no" not in found


def test_a_misspelt_variable_is_named_at_the_start(
    sqlite_settings: Settings, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Before the first request, without its value."""
    monkeypatch.setenv("RUGNIK_DATABSE_URL", "postgresql://u:secret@db/x")
    monkeypatch.setattr(server.uvicorn, "run", lambda *_arguments, **_options: None)
    server.serve(sqlite_settings, host="127.0.0.1", port=0, workers=1, show_key=lambda _key: None)
    said = capfd.readouterr().err
    assert "RUGNIK_DATABSE_URL is no setting: was RUGNIK_DATABASE_URL meant?" in said
    assert "secret" not in said
