"""Performs the steps of Dockerfile and docker-compose.yml without Docker, as an unprivileged user."""

from __future__ import annotations

import json
import re
import secrets
import signal
import subprocess
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import psutil
import psycopg
import pytest

from app.settings.settings import Settings
from tests.support.databases.forwarder import Forwarder
from tests.support.deployment.composed import Deployment, free_port
from tests.support.deployment.image import ROOT, Image, build_image, tracked_files
from tests.support.deployment.unprivileged import AS_ROOT, IDENTITY, NOBODY, give
from tests.support.leaks.canaries import PARQUET, parquet
from tests.support.processes.server import until_ready
from tests.support.service.api import ATTRIBUTES


@pytest.fixture(scope="module")
def image() -> Iterator[Image]:
    """What the Dockerfile makes, where an unprivileged user can reach it."""
    with tempfile.TemporaryDirectory(prefix="rugnik-image-") as folder:
        Path(folder).chmod(0o755)
        yield build_image(Path(folder))


@pytest.fixture
def deployment(image: Image, postgresql: str) -> Iterator[Deployment]:
    """The compose file on a database of its own, reached over TCP by a user with a password."""
    name, password = f"d{secrets.token_hex(6)}", f"{secrets.token_hex(8)}@:/%{secrets.token_hex(8)}"
    with psycopg.connect(postgresql, autocommit=True) as connection:
        connection.execute(f"CREATE ROLE {name} LOGIN PASSWORD '{password}'")
        connection.execute(f"CREATE DATABASE {name} OWNER {name}")
        hba = Path(connection.execute("SHOW hba_file").fetchone()[0])  # type: ignore[index]
        hba.write_text(f"local all {name} scram-sha-256\n" + hba.read_text())
        connection.execute("SELECT pg_reload_conf()")
    with (
        tempfile.TemporaryDirectory(prefix="rugnik-volumes-") as volumes,
        Forwarder(f"{postgresql.partition('host=')[2]}/.s.PGSQL.5432") as forwarder,
    ):
        Path(volumes).chmod(0o755)
        yield Deployment(
            image=image,
            database_url=f"postgresql+psycopg://{name}@127.0.0.1:{forwarder.port}/{name}",
            secrets={"rugnik_database_password": password, "rugnik_admin_key": secrets.token_hex(32)},
            volumes=Path(volumes),
        )


@pytest.fixture
def running() -> Iterator[Callable[[subprocess.Popen[bytes]], subprocess.Popen[bytes]]]:
    """Processes that are ended with the test, whatever happens in it."""
    started: list[subprocess.Popen[bytes]] = []

    def keep(process: subprocess.Popen[bytes]) -> subprocess.Popen[bytes]:
        started.append(process)
        return process

    yield keep
    for process in started:
        if process.poll() is None:
            process.terminate()
            process.wait(timeout=60)


def files_of(folder: Path) -> dict[str, tuple[int, int]]:
    """Every file of the image with its size and time, without the folders that are meant to be written to."""
    entries = ((path, path.lstat()) for path in folder.rglob("*") if "/var/lib/" not in str(path))
    return {str(path): (stat.st_size, stat.st_mtime_ns) for path, stat in entries}


def test_the_wheel_holds_every_tracked_file(image: Image) -> None:
    """Modules, migrations, templates and static files alike: nothing is left behind, and nothing else comes along."""
    (wheel,) = image.path("/wheel").glob("*.whl")
    packaged = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    ours = ("rugnik/", "app/", "core/", "migrations/")
    assert packaged == {name for name in tracked_files(ROOT) if name.startswith(ours)}


def test_the_installed_service_needs_nothing_of_the_checkout(image: Image) -> None:
    """Its packages come from the environment alone, which has the locked ones, no pip and nothing of development."""
    probe = """
import importlib.util, json, sys, app.main, core, migrations, rugnik
print(json.dumps({
    "ours": [module.__file__ for module in (app, core, migrations, rugnik)],
    "theirs": [name for name in ("tests", "bench", "pip", "pytest", "hatchling") if importlib.util.find_spec(name)],
    "path": sys.path}))"""
    python = image.path("/opt/rugnik/bin/python")
    done = subprocess.run(
        [python, "-c", probe], env=image.variables(), cwd="/", check=True, capture_output=True, **IDENTITY
    )
    paths = json.loads(done.stdout)
    assert all(path.startswith(f"{image.root}/opt/rugnik/lib/") for path in paths["ours"])
    assert paths["theirs"] == []
    assert not [path for path in paths["path"] if path.startswith(f"{ROOT}/")]
    locked = set(re.findall(r"^([a-z0-9-]+)==", (ROOT / "requirements.lock").read_text(), re.MULTILINE))
    installed = {path.name.split("-")[0] for path in python.parent.parent.rglob("*.dist-info")}
    assert {re.sub(r"[._]", "-", name.lower()) for name in installed} == {*locked, "rugnik"}


def test_the_installed_wheel_gives_a_demo(
    image: Image, running: Callable[[subprocess.Popen[bytes]], subprocess.Popen[bytes]], tmp_path: Path
) -> None:
    """One command, where nothing can be written but its folder: a release that its analyst can ask, until Ctrl-C."""
    log, port = tmp_path / "log", free_port()
    with tempfile.TemporaryDirectory(prefix="rugnik-demo-") as folder, log.open("wb") as output:
        Path(folder).chmod(0o755)
        data = Path(folder) / "home" / "data"
        give(data.parent)
        process = running(
            subprocess.Popen(
                [image.path("/opt/rugnik/bin/rugnik"), "demo", "--port", str(port), "--data-dir", data],
                env=image.variables(),
                cwd="/",
                stdout=output,
                stderr=output,
                **IDENTITY,
            )
        )
        until_ready(process, f"http://127.0.0.1:{port}", log)
        own = dict(re.findall(r"^export (\w+)=(.+)$", (data / "keys.env").read_text(), re.MULTILINE))
        reply = httpx.get(
            f"{own['RUGNIK_URL']}/v1/releases/{own['RELEASE']}/moments",
            headers={"Authorization": f"Bearer {own['ANALYST']}"},
            timeout=60,
        )
        assert (reply.status_code, reply.json()["epsilon_spent"]) == (200, "0")
        # A page whose template or static file was left out of the wheel would be a 500.
        assert httpx.get(f"{own['RUGNIK_URL']}/", follow_redirects=True, timeout=60).status_code == 200
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=120) == 0
    assert f"http://127.0.0.1:{port}/" in log.read_text()
    assert "Traceback" not in log.read_text()


def padded(body: bytes) -> bytes:
    """A Parquet file with as many bytes between its pages and its footer as an upload may hold in memory."""
    footer = len(body) - 8 - int.from_bytes(body[-8:-4], "little")
    return body[:footer] + bytes(Settings.model_fields["upload_memory_bytes"].default) + body[footer:]


def journey(url: str, admin_key: str) -> tuple[dict[str, str], str]:
    """Register, order, upload, verify; the curator's headers and the address of a question."""
    with httpx.Client(base_url=url, headers={"Authorization": f"Bearer {admin_key}"}, timeout=60) as admin:
        keys = {
            role: admin.post("/v1/keys", json={"name": role, "role": role}).json()["key"]
            for role in ("curator", "auditor")
        }
    headers = {"Authorization": f"Bearer {keys['curator']}"}
    with httpx.Client(base_url=url, headers=headers, timeout=60) as curator:
        dataset = {"name": "city", "attributes": ATTRIBUTES, "budget": "1"}
        assert curator.post("/v1/datasets", json=dataset).status_code == 201
        order = curator.post("/v1/datasets/city/releases", json={"epsilon": "0.5", "clusters": 4}).json()
        # Parquet is read from its end, so it is held until then: in memory, and beyond that in the sealed spool.
        upload = curator.put(f"/v1/releases/{order['id']}/records", content=padded(parquet(500)), headers=PARQUET)
        assert (upload.status_code, upload.json()["state"]) == (200, "published"), upload.text
    verified = httpx.get(f"{url}/v1/ledger/verify", headers={"Authorization": f"Bearer {keys['auditor']}"}).json()
    assert (verified["valid"], verified["entries"]) == (True, len(keys) + 4)  # grant, charge, draw and publish
    return headers, f"{url}/v1/releases/{order['id']}/clusters?k=3"


def test_the_compose_file_serves_a_journey_and_the_same_answer_after_a_restart(
    deployment: Deployment,
    running: Callable[[subprocess.Popen[bytes]], subprocess.Popen[bytes]],
    tmp_path: Path,
) -> None:
    """Migrate once, serve with several workers, publish, stop on SIGTERM, start again: one answer, no secret."""
    logs = {name: tmp_path / name for name in ("migrate", "first", "second", "health")}
    url = f"http://127.0.0.1:{deployment.port}"
    before = files_of(deployment.image.root)

    assert running(deployment.start("migrate", logs["migrate"])).wait(timeout=120) == 0, logs["migrate"].read_text()

    def serve_and(log: Path, work: Callable[[], Any]) -> Any:
        """Start the service, do something, and stop it as a supervisor does."""
        process = running(deployment.start("api", log))
        until_ready(process, url, log)
        family = [psutil.Process(process.pid), *psutil.Process(process.pid).children(recursive=True)]
        assert len(family) >= 5  # four workers and their parent
        if AS_ROOT:
            assert {member.uids().effective for member in family} == {NOBODY}
        done = work()
        assert deployment.check_health("api", logs["health"]) == 0, logs["health"].read_text()
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=120) == 0
        assert psutil.wait_procs(family, timeout=60)[1] == []
        return done

    def first() -> tuple[dict[str, str], str, bytes]:
        headers, question = journey(url, deployment.secrets["rugnik_admin_key"])
        return headers, question, httpx.get(question, headers=headers).raise_for_status().content

    headers, question, answer = serve_and(logs["first"], first)
    again = serve_and(logs["second"], lambda: httpx.get(question, headers=headers).raise_for_status().content)
    assert again == answer
    assert deployment.check_health("api", logs["health"]) != 0  # nobody serves any more

    assert files_of(deployment.image.root) == before
    assert [path.name for path in (deployment.volumes / "spool").iterdir()] == []
    kept = sorted(path.name for path in (deployment.volumes / "witness").iterdir())
    assert kept == ["head", "head.key", "head.lock", "head.log-key"]
    written = "".join(log.read_text() for log in logs.values())
    assert not [name for name, secret in deployment.secrets.items() if secret in written]
    for name in ("first", "second"):
        assert all("level" in json.loads(line) for line in logs[name].read_text().splitlines())


def test_a_secret_that_is_wrong_or_missing_is_told_without_being_quoted(
    deployment: Deployment,
    running: Callable[[subprocess.Popen[bytes]], subprocess.Popen[bytes]],
    tmp_path: Path,
) -> None:
    """The server's word on the password, the path of the file: one line each, and not a character of a secret."""
    right = dict(deployment.secrets)
    deployment.secrets["rugnik_database_password"] = "wrong" + right["rugnik_database_password"]
    assert running(deployment.start("migrate", tmp_path / "wrong")).wait(timeout=120) == 2
    (line,) = (tmp_path / "wrong").read_text().splitlines()
    assert "password authentication failed" in line
    assert right["rugnik_database_password"] not in line
    deployment.secrets.update(right, rugnik_database_password="")
    assert running(deployment.start("migrate", tmp_path / "missing")).wait(timeout=120) == 2
    (line,) = (tmp_path / "missing").read_text().splitlines()
    assert "rugnik_database_password is empty" in line


@pytest.mark.parametrize(("volume", "variable"), [("witness", "RUGNIK_WITNESS"), ("spool", "RUGNIK_SPOOL_DIR")])
def test_a_volume_that_the_service_cannot_write_stops_the_start(
    deployment: Deployment,
    running: Callable[[subprocess.Popen[bytes]], subprocess.Popen[bytes]],
    tmp_path: Path,
    volume: str,
    variable: str,
) -> None:
    """One that belongs to somebody else, as a folder of the host does when it is mounted: named before any charge."""
    (deployment.volumes / volume).mkdir(mode=0o555)
    assert running(deployment.start("api", tmp_path / "log")).wait(timeout=120) == 2
    (line,) = (tmp_path / "log").read_text().splitlines()
    assert line == f"{variable}: {deployment.volumes / volume} cannot be written to (Permission denied)."
