"""Only the service's own user can read its files, also those of an earlier version; an open folder logs a warning."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

from app.cli.doctor import examine
from app.main import create_app
from app.settings.settings import Settings
from tests.support.processes.server import Server, environment
from tests.support.service.api import Api, frozen_clock


@pytest.fixture
def open_umask() -> Iterator[None]:
    """Whoever starts the service makes files that everybody may read and write."""
    before = os.umask(0)
    yield
    os.umask(before)


def files(folder: Path) -> dict[str, int]:
    """Every file below a folder, with its permissions."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    return {path.name: stat.S_IMODE(path.stat().st_mode) for path in files}


@pytest.mark.usefixtures("open_umask")
def test_every_file_of_a_running_service_is_private(tmp_path: Path, serve: Callable[..., Server]) -> None:
    """Database, write-ahead log, locks and witness of real workers: 0600 in folders of 0700."""
    settings = Settings(data_dir=tmp_path / "own" / "data", witness=tmp_path / "own" / "seen" / "head")
    server = serve(settings, workers=2)
    curator = {"Authorization": f"Bearer {server.issue_key('curator')}"}
    body = {"name": "city", "attributes": [{"name": "x", "lower": 0, "upper": 1}], "budget": "1"}
    assert httpx.post(f"{server.url}/v1/datasets", headers=curator, json=body).status_code == 201
    made = files(tmp_path / "own")
    assert {"rugnik.db", "rugnik.db-wal", "rugnik.db-shm", "rugnik.db.serving", "head", "head.lock"} <= set(made)
    assert set(made.values()) == {0o600}
    for folder in ("data", "seen"):
        assert stat.S_IMODE((tmp_path / "own" / folder).stat().st_mode) == 0o700


@pytest.mark.usefixtures("open_umask")
def test_migrating_makes_private_files(tmp_path: Path) -> None:
    """`rugnik migrate` may be the first to make the database."""
    settings = Settings(data_dir=tmp_path / "data")
    subprocess.run([sys.executable, "-m", "app.cli", "migrate"], env=environment(settings), check=True)
    assert files(tmp_path) == {"rugnik.db": 0o600}


def test_files_of_an_earlier_version_become_private_at_the_start(sqlite_settings: Settings) -> None:
    """The database and what lies beside it, and the witness."""
    with Api(create_app(sqlite_settings, frozen_clock)) as api:
        assert api.register().status_code == 201
    paths = [sqlite_settings.sqlite_path, sqlite_settings.witness_path]
    for path in paths:
        path.chmod(0o644)
    findings = [finding.observed for finding in examine(sqlite_settings) if finding.state == "mend"]
    assert any("rugnik.db: open to other users" in text for text in findings)
    with Api(create_app(sqlite_settings, frozen_clock)):
        assert {stat.S_IMODE(path.stat().st_mode) for path in paths} == {0o600}


@pytest.mark.parametrize(("mode", "warned"), [(0o700, False), (0o750, True), (0o705, True), (0o740, True)])
def test_a_data_folder_that_others_can_read_is_warned_of(
    sqlite_settings: Settings, capfd: pytest.CaptureFixture[str], mode: int, warned: bool
) -> None:
    """One line in the log at the start, with what to do; `rugnik doctor` says the same."""
    sqlite_settings.data_dir.mkdir(parents=True)
    sqlite_settings.data_dir.chmod(mode)
    with Api(create_app(sqlite_settings, frozen_clock)):
        said = [json.loads(line) for line in capfd.readouterr().err.splitlines()]
    lines = [line for line in said if line["event"] == "data_folder_open_to_others"]
    assert len(lines) == warned
    assert all(line["mend"] == f"chmod 700 {sqlite_settings.data_dir}" for line in lines)
    states = {finding.about: finding.state for finding in examine(sqlite_settings)}
    assert states["data folder"] == ("mend" if warned else "ok")
