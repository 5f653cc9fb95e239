"""docs/operations.md: every command in it is run, on real databases and a real service."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import psycopg
import pytest
from sqlalchemy.exc import DBAPIError

from app.errors import LedgerRewound
from app.ledger.book import read_book
from app.main import make_service
from app.operations.copies import CHECKPOINT_SUFFIX
from app.releases import ordering
from app.service import Service
from app.settings.settings import Settings
from app.storage.database import Database
from tests.support.databases.books import CURATOR, an_order, filled_ledger
from tests.support.deployment.composed import free_port
from tests.support.deployment.docker_stand_in import complaint
from tests.support.deployment.image import ROOT
from tests.support.documents import bash, blocks
from tests.support.processes.server import until_ready
from tests.support.service.api import frozen_clock

DEPLOYMENT, MONITORING, BACKUPS, UPGRADES = (
    blocks("docs/operations.md", heading) for heading in ("Deployment", "Monitoring", "Backups", "Upgrades")
)
METRICS_KEY = "m" * 32


@pytest.fixture
def tools(tmp_path: Path) -> dict[str, str]:
    """An environment whose `docker` checks what it is asked, and none of the caller's settings."""
    folder = tmp_path / "tools"
    folder.mkdir()
    scripts = {
        "docker": f'PYTHONPATH={ROOT} exec {sys.executable} -m tests.support.deployment.docker_stand_in "$@"',
        "python3": f'exec {sys.executable} "$@"',
        "rugnik": f'PYTHONPATH={ROOT} exec {sys.executable} -m app.cli "$@"',
    }
    for name, line in scripts.items():
        (folder / name).write_text(f"#!/bin/sh\n{line}\n")
        (folder / name).chmod(0o755)
    own = {name: value for name, value in os.environ.items() if not name.startswith(("RUGNIK_", "PG"))}
    return own | {"PATH": f"{folder}:{own['PATH']}"}


def test_the_secrets_that_compose_wants_are_made(tmp_path: Path, tools: dict[str, str]) -> None:
    """Closed to others by their folder, readable in a container, and long enough to be taken."""
    bash(DEPLOYMENT[0], tmp_path, tools)
    folder = tmp_path / "secrets"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()} == {0o444}
    settings = Settings(secrets_dir=folder)
    assert settings.admin_key is not None
    assert settings.database_password is not None
    assert settings.admin_key != settings.database_password


def test_the_upgrade_names_services_that_exist(tmp_path: Path, tools: dict[str, str]) -> None:
    """And the stand-in for docker would have said so if not."""
    bash(UPGRADES[0], tmp_path, tools)
    assert complaint(["compose", "run", "--rm", "migration"]) is not None
    assert complaint(["compose", "up", "--force"]) is not None
    assert complaint(["compose", "destroy"]) is not None


def test_an_installation_without_docker_serves(tmp_path: Path, tools: dict[str, str], postgresql_url: str) -> None:
    """Packages from their hashes, the wheel from the checkout, migrate, serve, health and metrics, SIGTERM."""
    install, serve = DEPLOYMENT[1:]
    (watch,) = MONITORING
    port, secrets = free_port(), tmp_path / "etc"
    secrets.mkdir()
    (secrets / "rugnik_metrics_key").write_text(METRICS_KEY)
    pip = f"PYTHONPATH={ROOT} {sys.executable} -m tests.support.deployment.linked_pip --python /opt/rugnik/bin/python"
    changes = {
        "python3 -m venv": "python3 -m venv --without-pip",  # its pip is the one below
        "/opt/rugnik/bin/pip": pip,
        "/opt/rugnik": str(tmp_path / "opt"),
        "/etc/rugnik": str(secrets),
        "postgresql+psycopg://rugnik@db.example/rugnik": f"'{postgresql_url}'",
        "serve --workers 4": f"serve --workers 1 --port {port}",  # several are the compose file's matter
        "127.0.0.1:8000": f"127.0.0.1:{port}",
    }
    for printed, here in changes.items():
        assert printed in install + serve + watch
        install, serve, watch = (block.replace(printed, here) for block in (install, serve, watch))
    bash(install, ROOT, tools)

    log = tmp_path / "log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            ["bash", "-euc", serve], cwd=tmp_path, env=tools, stdout=output, stderr=output, start_new_session=True
        )
    try:
        until_ready(process, f"http://127.0.0.1:{port}", log)
        assert "rugnik_requests_total" in bash(watch, tmp_path, tools | {"METRICS_KEY": METRICS_KEY})
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait(timeout=60)
    with pytest.raises(httpx.TransportError):
        httpx.get(f"http://127.0.0.1:{port}/healthz")


def spent(service: Service) -> str:
    """What the dataset `a` has spent."""
    with read_book(service) as book:
        return str(book.budget("a").spent)


def test_an_old_copy_of_sqlite_is_refused_and_the_newest_starts(tmp_path: Path, tools: dict[str, str]) -> None:
    """Copied while the service runs, with the page's own lines."""
    copy, _, restore, _ = BACKUPS
    settings = Settings(data_dir=tmp_path / "rugnik-data", log_level="error")
    service = make_service(settings, frozen_clock)
    filled_ledger(service, orders=1)
    bash(copy, tmp_path, tools)
    for suffix in ("", CHECKPOINT_SUFFIX):
        (tmp_path / f"rugnik-copy.db{suffix}").rename(tmp_path / f"old.db{suffix}")
    ordering.order(service, CURATOR, "a", an_order("1"), idempotency_key=None)
    before = spent(service)
    bash(copy, tmp_path, tools)
    service.database.dispose()

    bash(restore.replace("rugnik-copy.db", "old.db"), tmp_path, tools)
    with pytest.raises(LedgerRewound, match="Restore the newest copy"):
        make_service(settings, frozen_clock)
    bash(restore, tmp_path, tools)
    service = make_service(settings, frozen_clock)
    assert spent(service) == before
    service.database.dispose()


@pytest.fixture
def rugnik_database(postgresql: str, tools: dict[str, str]) -> Iterator[str]:
    """A migrated PostgreSQL database that is called rugnik, as on the page, and the tools pointed at its server."""
    with psycopg.connect(postgresql, autocommit=True) as connection:
        connection.execute("CREATE DATABASE rugnik")
        (programs,) = connection.execute("SELECT setting FROM pg_config WHERE name = 'BINDIR'").fetchone()  # type: ignore[misc]
    tools |= {"PGHOST": postgresql.partition("host=")[2], "PGUSER": "postgres", "PATH": f"{programs}:{tools['PATH']}"}
    url = f"postgresql+psycopg://postgres@/rugnik?host={tools['PGHOST']}"
    database = Database(url)
    database.migrate()
    database.dispose()
    yield url
    with psycopg.connect(postgresql, autocommit=True) as connection:
        for name in ("rugnik", "rugnik_restored"):
            connection.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")


def test_an_old_copy_of_postgresql_is_refused_and_the_newest_starts(
    tmp_path: Path, tools: dict[str, str], rugnik_database: str, postgresql: str
) -> None:
    """pg_dump and pg_restore keep the ledger, its triggers and its hashes; the witness tells the copies apart."""
    _, copy, _, restore = BACKUPS
    settings = Settings(data_dir=tmp_path / "data", database_url=rugnik_database, log_level="error")
    restored = Settings(
        data_dir=tmp_path / "data", database_url=f"{rugnik_database.replace('/rugnik?', '/rugnik_restored?')}"
    )
    service = make_service(settings, frozen_clock)
    filled_ledger(service, orders=1)
    bash(copy, tmp_path, tools)
    (tmp_path / "rugnik.dump").rename(tmp_path / "old.dump")
    ordering.order(service, CURATOR, "a", an_order("1"), idempotency_key=None)
    before = spent(service)
    bash(copy, tmp_path, tools)
    service.database.dispose()

    bash(restore.replace("rugnik.dump", "old.dump"), tmp_path, tools)
    with pytest.raises(LedgerRewound, match="Restore the newest copy"):
        make_service(restored, frozen_clock)
    with psycopg.connect(postgresql, autocommit=True) as connection:
        connection.execute("DROP DATABASE rugnik_restored WITH (FORCE)")
    bash(restore, tmp_path, tools)
    service = make_service(restored, frozen_clock)
    assert spent(service) == before
    with pytest.raises(DBAPIError, match="never changed or removed"), service.database.transaction() as tx:
        tx.exec_driver_sql("DELETE FROM ledger")
    service.database.dispose()
