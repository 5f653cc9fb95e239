"""Each mistake of an operator stops the start with one sentence to act on, and no traceback."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import uvicorn
from typer.testing import CliRunner, Result
from uvicorn.config import STARTUP_FAILURE

from app.cli import main
from app.main import app_from_environment
from app.operations.start_checks import serving_alone
from app.settings.settings import Settings
from app.storage.database import Database
from tests.support.processes.server import Server, environment

PASSWORD = "opensesame-opensesame"  # noqa: S105 - what no message may contain
DEAD = f"postgresql+psycopg://rugnik:{PASSWORD}@127.0.0.1:1/rugnik"


@pytest.fixture
def blocked(tmp_path: Path) -> Path:
    """A place where no folder can be made, for root neither: a file stands there."""
    (tmp_path / "file").touch()
    return tmp_path / "file" / "folder"


@pytest.fixture
def taken() -> Iterator[int]:
    """A port that somebody else listens on."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield listening.getsockname()[1]


@pytest.fixture(autouse=True)
def never_started(monkeypatch: pytest.MonkeyPatch) -> None:
    """A start that should have been refused fails the test, instead of serving until somebody comes to look."""

    def run(*_: object, **__: object) -> None:
        pytest.fail("The service started.")

    monkeypatch.setattr(uvicorn, "run", run)


def rugnik(*command: str, **variables: object) -> Result:
    """One command with these settings and no others, in a folder that is never used."""
    settings = {"data_dir": "/proc/nothing"} | variables
    env = {f"RUGNIK_{name.upper()}": str(value) for name, value in settings.items()}
    return CliRunner().invoke(main, list(command), env=env)


def assert_refused(result: Result, *words: str) -> None:
    """One line on standard error with these words, an exit code that scripts see, and no secret."""
    assert result.exit_code == 2, result.output
    assert isinstance(result.exception, SystemExit)
    lines = result.stderr.splitlines()
    assert len(lines) == 1, result.stderr
    assert not [word for word in words if word not in lines[0]], lines[0]
    assert PASSWORD not in result.output


@pytest.mark.parametrize("name", ["data_dir", "spool_dir"])
def test_a_folder_that_cannot_be_used_is_named(blocked: Path, tmp_path: Path, name: str) -> None:
    """Its variable, its path and the system's reason."""
    result = rugnik("serve", "--port", "0", **({"data_dir": tmp_path / "data"} | {name: blocked}))
    assert_refused(result, f"RUGNIK_{name.upper()}: {blocked} cannot be written to", "Not a directory")


def test_a_witness_that_cannot_be_written_is_named(blocked: Path, tmp_path: Path) -> None:
    """Before the first charge, not after it."""
    result = rugnik("serve", "--port", "0", data_dir=tmp_path / "data", witness=blocked / "head")
    assert_refused(result, f"RUGNIK_WITNESS: {blocked} cannot be written to")


def test_a_folder_in_place_of_the_witness_is_named(tmp_path: Path) -> None:
    """As Docker makes one when it mounts a file that is not there."""
    (tmp_path / "head").mkdir()
    result = rugnik("serve", "--port", "0", data_dir=tmp_path / "data", witness=tmp_path / "head")
    assert_refused(result, f"RUGNIK_WITNESS: {tmp_path / 'head'} cannot be read", "Is a directory")


@pytest.mark.parametrize("command", ["serve", "migrate"])
def test_a_database_that_is_down_is_named_without_its_password(tmp_path: Path, command: str) -> None:
    """Where it was looked for, and what the driver said."""
    settings = {"data_dir": tmp_path / "data", "database_url": DEAD}
    result = rugnik(command, *(["--port", "0"] if command == "serve" else []), **settings)
    assert_refused(result, "database cannot be used", "rugnik on 127.0.0.1, port 1", "Connection refused")


@pytest.mark.parametrize("command", ["serve", "migrate"])
@pytest.mark.parametrize(
    ("variable", "value", "words"),
    [
        ("database_url", f"postgresql://rugnik:{PASSWORD}@{PASSWORD}@host/rugnik", "written %40"),
        ("database_url", f"mysql://rugnik:{PASSWORD}@host/rugnik", "postgresql+psycopg://"),
        ("database_url", PASSWORD, "not a database URL"),
        ("admin_key", PASSWORD, "at least 32 characters"),
        ("secrets_dir", "/proc/nothing", "RUGNIK_SECRETS_DIR: /proc/nothing is not a folder"),
        ("max_uploads", "0", "greater than or equal to 1"),
        ("log_level", "loud", "'debug', 'info', 'warning' or 'error'"),
    ],
)
def test_a_wrong_setting_is_named_and_its_value_is_not(command: str, variable: str, value: str, words: str) -> None:
    """A value may be a secret, or one in the wrong place."""
    assert_refused(rugnik(command, **{variable: value}), "A setting is wrong", f"RUGNIK_{variable.upper()}", words)


def test_a_postgresql_without_tables_names_the_command(tmp_path: Path, postgresql_url: str) -> None:
    """Nothing is migrated behind an administrator's back."""
    result = rugnik("serve", "--port", "0", data_dir=tmp_path / "data", database_url=postgresql_url)
    assert_refused(result, "run 'rugnik migrate' first")


def test_a_database_that_is_not_there_is_told_in_the_servers_words(tmp_path: Path, postgresql_url: str) -> None:
    """Only its first line, which is a sentence."""
    url = Database(postgresql_url).url.set(database="nowhere").render_as_string(hide_password=False)
    assert_refused(rugnik("migrate", data_dir=tmp_path, database_url=url), '"nowhere" does not exist')


@pytest.mark.parametrize("command", ["serve", "migrate"])
def test_a_file_that_is_no_database_is_told(tmp_path: Path, command: str) -> None:
    """And left as it is."""
    (tmp_path / "rugnik.db").write_text("not a database, and long enough to be looked at" * 100)
    result = rugnik(command, *(["--port", "0"] if command == "serve" else []), data_dir=tmp_path)
    assert_refused(result, "rugnik.db", "file is not a database")


def test_a_port_that_is_taken_is_told_before_anything_is_made(tmp_path: Path, taken: int) -> None:
    """No database, no admin key: the next try is still the first start."""
    result = rugnik("serve", "--port", str(taken), data_dir=tmp_path / "data")
    assert_refused(result, f"Port {taken} on 127.0.0.1 is taken", "--port")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("host", ["203.0.113.7", "no such host"])
def test_an_address_that_is_not_ours_is_told(tmp_path: Path, host: str) -> None:
    """An address of another machine, a name that does not exist."""
    assert_refused(rugnik("serve", "--host", host, data_dir=tmp_path / "data"), f"Cannot listen on {host}")


def test_a_second_service_on_one_sqlite_file_is_refused(
    sqlite_settings: Settings, serve: Callable[..., Server]
) -> None:
    """It names the file and --workers, the first one goes on, and once that has stopped another may start."""
    first = serve(sqlite_settings)
    result = rugnik("serve", "--port", "0", data_dir=sqlite_settings.data_dir)
    assert_refused(result, "Another rugnik serves", str(sqlite_settings.sqlite_path), "--workers")
    assert first.process.poll() is None
    first.stop()
    with serving_alone(Database(sqlite_settings.url)):
        pass


def test_a_worker_that_cannot_start_has_its_parent_stop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """With one line in the log and the exit code that means it, instead of being started again for ever."""
    monkeypatch.setenv("RUGNIK_DATA_DIR", str(tmp_path))
    monkeypatch.setenv("RUGNIK_DATABASE_URL", DEAD)
    with pytest.raises(SystemExit) as stopped:
        app_from_environment()
    assert stopped.value.code == STARTUP_FAILURE
    (line,) = capfd.readouterr().err.splitlines()
    assert json.loads(line)["event"] == "cannot_start"
    assert PASSWORD not in line


def test_a_real_process_prints_the_sentence_and_nothing_else(blocked: Path, tmp_path: Path) -> None:
    """What a terminal shows: no traceback, no log line, one sentence."""
    done = subprocess.run(
        [sys.executable, "-m", "app.cli", "serve", "--port", "0"],
        env=environment(Settings(data_dir=blocked)),
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"RUGNIK_DATA_DIR: {blocked} cannot be written to (Not a directory).\n"
