"""`rugnik demo` and `make demo`: something to look at from nothing, and the same again the second time."""

from __future__ import annotations

import os
import re
import signal
import socket
import stat
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from app.cli import demo, demo_data
from app.ledger.entries import entries_until
from app.main import make_service
from core.ledger.kinds import Kind
from tests.support.deployment.environments import Environment
from tests.support.deployment.linked_pip import pinned
from tests.support.processes.demo import Demo, running_demo

ROOT = Path(__file__).parents[2]


def pasted(running: Demo) -> list[str]:
    """The lines that the demo prints for another terminal: curl, rugnik and python, after the one with the keys."""
    after = running.printed.split("In another terminal:")[1].split("Ctrl-C")[0]
    keys, *commands = [block.strip() for block in after.split("\n\n") if block.strip()]
    return [f"{keys}\n{command}" for command in commands]


def bash(script: str, folder: Path) -> str:
    """What a pasted line prints in a terminal that knows nothing yet."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("RUGNIK_")}
    env["PATH"] = f"{Path(sys.executable).parent}:{env['PATH']}"
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script], check=False, capture_output=True, text=True, cwd=folder, env=env
    )
    assert done.returncode == 0, (script, done.stderr)
    return done.stdout


def test_the_demo_is_ready_usable_and_gone_on_with(tmp_path: Path) -> None:
    """URLs that answer, lines that work as pasted, keys in a private file; Ctrl-C ends it, `make demo` reuses it."""
    folder = tmp_path / "demo"
    with running_demo(folder) as running:
        url = running.variables["RUGNIK_URL"]
        shown = re.findall(r"^  (?:Explore it|Dashboard|HTTP API) +(\S+)$", running.printed, re.MULTILINE)
        paths = [f"/releases/{running.variables['RELEASE']}", "/", "/docs"]
        assert [address.removeprefix(url) for address in shown] == paths
        second = subprocess.run(
            [sys.executable, "-m", "app.cli", "demo", "--port", "0", "--data-dir", str(folder)],
            check=False,
            capture_output=True,
            text=True,
        )
        assert (second.returncode, "serves" in second.stderr) == (2, True)  # one folder, one service
        assert httpx.get(shown[2]).status_code == 200
        headers = {"Authorization": f"Bearer {running.variables['ANALYST']}"}
        release = httpx.get(f"{url}/v1/releases/{running.variables['RELEASE']}", headers=headers).json()
        assert release["state"] == "published"
        curl, rugnik, python = (bash(script, tmp_path) for script in pasted(running))
        assert '"epsilon_spent":"0"' in curl
        assert "size between" in rugnik
        assert python.startswith("Count(")
        health = bash(f"RUGNIK_DATABASE_URL=sqlite:////nowhere.db rugnik doctor --data-dir {folder}/data", tmp_path)
        assert "agrees with the ledger at entry 8" in health
        assert f"{folder}/data is yours alone" in health
        assert "there is none yet" not in health
        assert stat.S_IMODE((folder / "keys.env").stat().st_mode) == 0o600
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        first = running.variables
        assert all(first[role.upper()] in running.printed for role in ("admin", "curator", "analyst", "auditor"))
        assert running.stop() == 0
    assert "Traceback" not in "".join(running.complaints)
    assert {path.name for path in tmp_path.iterdir()} == {"demo"}
    environment = Environment(tmp_path / "venv")
    # pip, but offline: the lock's packages are linked from the environment of the tests.
    pip = f"RUN_PIP={sys.executable} -m tests.support.deployment.linked_pip --python {environment.python}"
    make = ["make", "--no-print-directory", "demo", f"RUN={environment.folder}", pip, "DEMO="]
    with running_demo(folder, *make) as again:
        same = {name: value for name, value in again.variables.items() if name != "RUGNIK_URL"}
        assert same == {name: value for name, value in first.items() if name != "RUGNIK_URL"}
        headers = {"Authorization": f"Bearer {first['AUDITOR']}"}
        assert httpx.get(f"{again.variables['RUGNIK_URL']}/v1/ledger/head", headers=headers).json()["seq"] == 8
        os.killpg(again.process.pid, signal.SIGINT)  # Ctrl-C reaches every process of a terminal
        again.process.wait(timeout=60)
    assert "Traceback" not in "".join(again.complaints)
    assert any("has stopped" in line for line in again.complaints)
    locked = pinned(ROOT / "requirements.lock") | pinned(ROOT / "requirements-build.lock")
    assert environment.installed() - {"pip", "setuptools"} == {*locked, "rugnik"}  # nothing of development


def test_a_port_that_is_taken_is_one_sentence(tmp_path: Path) -> None:
    """Told before anything is made, with what to type instead."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        command = [sys.executable, "-m", "app.cli", "demo", "--port", str(port), "--data-dir", str(tmp_path / "demo")]
        done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert done.returncode == 2
    assert (
        f"Port {port} is taken, perhaps by a demo that already runs: look at http://127.0.0.1:{port}/." in done.stderr
    )
    assert f"rugnik demo --port {port + 1} --data-dir rugnik-data-demo-2" in done.stderr
    assert f'make demo DEMO="--port {port + 1} --data-dir rugnik-data-demo-2"' in done.stderr
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "demo").exists()


def test_what_an_interrupted_run_left_undone_is_made_up_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An order without its upload is gone on with and charged once; keys that are lost are issued anew."""
    settings = demo._settings(tmp_path / "demo")

    def interrupted(_count: int) -> bytes:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(demo_data, "csv", interrupted)
        with pytest.raises(KeyboardInterrupt):
            demo._prepare(settings, "http://127.0.0.1")
    first = demo._prepare(settings, "http://127.0.0.1")
    first.env.unlink()
    second = demo._prepare(settings, "http://127.0.0.1")
    assert second.release == first.release
    assert set(second.keys.values()).isdisjoint(first.keys.values())
    service = make_service(settings)
    entries = entries_until(service, service.replay.head)
    kinds = [entry.kind for entry in entries if entry.kind is not Kind.ISSUE]
    assert kinds == [Kind.GRANT, Kind.CHARGE, Kind.DRAW, Kind.PUBLISH]
    service.database.dispose()


def test_the_demo_is_not_swayed_by_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever service is set up in this shell, the demo leaves it alone."""
    monkeypatch.setenv("RUGNIK_DATABASE_URL", "postgresql+psycopg://production/rugnik")
    monkeypatch.setenv("RUGNIK_WITNESS", "/nowhere/head")
    monkeypatch.setenv("RUGNIK_MAX_BUDGET", "nonsense")
    settings = demo._settings(tmp_path / "demo")
    assert settings.database_url is None
    assert settings.witness_path == tmp_path / "demo" / "data.witness"


def test_the_example_is_made_by_the_demos_own_generator() -> None:
    """examples/ is what anybody gets from the public seed, small, and within bounds that are those of a city."""
    rows = (ROOT / "examples" / "bike-trips.csv").read_bytes()
    assert rows == demo_data.csv(5000)
    assert len(rows) < 300_000
    for x, y, hour in demo_data.trips(2000):
        assert 0 <= x <= 10
        assert 0 <= y <= 10
        assert 0 <= hour <= 24
