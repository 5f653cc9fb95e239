"""The client needs httpx and nothing of the server: it runs where none of the server's packages can be imported."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import requires, version
from pathlib import Path

import rugnik
from app.access.permissions import Role
from rugnik import Client
from tests.support.service.api import ROWS
from tests.support.service.live import Live

# What the service is made of, by the names that are imported.
NAMES = {"psycopg[binary]": "psycopg", "uvicorn[standard]": "uvicorn", "prometheus-client": "prometheus_client"}

SCRIPT = """
import sys
class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in BLOCKED or name == "core" or name.startswith("core."):
            raise ImportError(f"{name} is not there")
BLOCKED = set(sys.argv[1].split(","))
sys.meta_path.insert(0, Blocked())
from rugnik import errors
from rugnik import Client
with Client(sys.argv[2], sys.argv[3]) as client:
    release = client.order(sys.argv[5], epsilon="0.5", clusters=4)
    client.upload(release.id, sys.argv[4])
    print(client.count(release.id).epsilon_spent, client.clusters(release.id, 2).method)
    try:
        client.rows(release.id, 5).to_pandas()
    except errors.MissingLibrary as missing:
        print(missing)
    import httpx
print(sorted(name for name in sys.modules if name.partition(".")[0] in BLOCKED | {"core"}))
"""


def server_packages() -> set[str]:
    """Every dependency of the project but httpx, and the libraries for tables."""
    named = {line.split(";")[0].split(">=")[0].strip().replace("-", "_") for line in requires("rugnik") or []}
    packages = {NAMES.get(name.replace("_", "-"), name.partition("[")[0]) for name in named}
    return (packages | {"pandas", "polars", "starlette", "app.main"}) - {"httpx", "typer", "rich", "rugnik"}


def test_the_client_runs_without_the_servers_packages(live: Live, curator: Client, tmp_path: Path) -> None:
    """Order, upload and ask in an interpreter where fastapi, sqlalchemy, numpy, pyarrow and the rest are blocked."""
    blocked = server_packages()
    assert {"fastapi", "sqlalchemy", "numpy", "pyarrow", "pydantic", "psycopg", "pandas"} <= blocked
    file = tmp_path / "rows.csv"
    file.write_bytes(ROWS)
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, ",".join(blocked), live.url, live.keys[Role.CURATOR], str(file), live.city],
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    first, missing, modules = done.stdout.splitlines()
    assert first.startswith("0 ")
    assert "pip install pandas" in missing
    assert modules == "[]"
    assert curator.dataset(live.city).newest is not None


def test_the_package_tells_its_version() -> None:
    """As every package does; a name that is not there is an AttributeError, as everywhere."""
    assert rugnik.__version__ == version("rugnik")
    assert not hasattr(rugnik, "__versions__")
