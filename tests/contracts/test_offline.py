"""A bundle is asked where nothing of the service is installed: neither framework nor database, nor pyarrow."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from tests.support.bundles import bundle_with, stored
from tests.support.deployment.environments import closure

ROOT = Path(__file__).parents[2]
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
SERVICE = {"alembic", "fastapi", "sqlalchemy", "starlette", "structlog", "uvicorn"}
# The first argument names what cannot be imported; the second is a bundle.
BLOCKING = """
import sys
BLOCKED = set(sys.argv[1].split(","))
class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in BLOCKED:
            raise ModuleNotFoundError(f"{name} is not there", name=name)
sys.meta_path.insert(0, Blocked())
"""
ASKING = """
import rugnik
from rugnik import wire
opened = rugnik.open(sys.argv[2])
first = opened.synopsis().attributes[0].name
answers = [
    opened.count([f"{first}:.."]), opened.counts([[], [f"{first}:.."]]), opened.marginal([first]),
    opened.quantiles(first), opened.moments(level=0.9), opened.clusters(k=2), opened.scan_clusters(2, 3),
    opened.assign([[axis.edges[0] for axis in opened.synopsis().attributes]], k=2),
    opened.rows(3), opened.synopsis(),
]
assert {answer.synopsis_digest for answer in answers} == {opened.digest}
try:
    opened.download_synopsis("cells.csv")
except rugnik.Problem as problem:
    print(problem)
try:
    opened.count(level=2, where=[f"{first}:9..1"])
except rugnik.errors.InvalidRequest as problem:
    print(problem)
print(sorted({name.partition(".")[0] for name in sys.modules} & BLOCKED))
"""
OPENING = """
import rugnik
try:
    rugnik.open(sys.argv[2])
except rugnik.errors.MissingLibrary as error:
    print(error)
"""
COMMAND = """
sys.argv = ["rugnik", "query", "moments", sys.argv[2], "--json"]
from app.script import main
main()
"""


def importable(*requirements: str) -> set[str]:
    """The top-level modules of some distributions and of all that they need."""
    wanted = {name.lower().replace("_", "-") for name in closure([Requirement(each) for each in requirements])}
    return {
        module
        for module, owners in packages_distributions().items()
        if {owner.lower().replace("_", "-") for owner in owners} & wanted
    }


def run(script: str, allowed: set[str], bundle: Path) -> subprocess.CompletedProcess[str]:
    """A script in an interpreter that can import these modules of all that are installed, and ours."""
    at_start = {"_distutils_hack"}  # of setuptools, imported before the script
    blocked = set(packages_distributions()) - allowed - at_start - {"rugnik", "app", "core"}
    assert blocked >= SERVICE
    command = [sys.executable, "-c", BLOCKING + script, ",".join(sorted(blocked)), str(bundle)]
    return subprocess.run(command, check=False, capture_output=True, text=True, cwd=bundle.parent, env=ENV)


ENV = {"PYTHONPATH": str(ROOT), "OPENBLAS_NUM_THREADS": "1", "COLUMNS": "120"}


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    """A bundle in a folder of its own."""
    file = tmp_path / "x.rugnik"
    file.write_bytes(bundle_with(stored()).to_bytes())
    return file


def test_every_question_is_answered_with_the_extra_alone(bundle: Path) -> None:
    """`pip install rugnik[offline]`: questions, refusals, and a sentence about files that need pyarrow."""
    allowed = importable("httpx", *EXTRAS["offline"])
    assert not allowed & {"pyarrow", "pydantic", "typer"}
    done = run(ASKING, allowed, bundle)
    assert done.returncode == 0, done.stderr
    files, level, others = done.stdout.splitlines()
    assert "pip install pyarrow" in files
    assert level.startswith("'level': ")
    assert others == "[]"


def test_the_command_asks_a_bundle_with_two_extras(bundle: Path) -> None:
    """`pip install rugnik[cli,offline]`; no key, no address, no service."""
    allowed = importable("httpx", *EXTRAS["offline"], *EXTRAS["cli"])
    done = run(COMMAND, allowed, bundle)
    assert done.returncode == 0, done.stderr
    assert '"question": "moments"' in done.stdout


@pytest.mark.parametrize("missing", ["numpy", "scipy", "orjson"])
def test_every_library_of_the_extra_is_needed_and_named(bundle: Path, missing: str) -> None:
    """Without one of them the client works, and `rugnik.open` says what to install."""
    allowed = importable("httpx", *EXTRAS["offline"]) - {missing}
    done = run(OPENING, allowed, bundle)
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"Opening a bundle needs {missing}: pip install 'rugnik[offline]'.\n"


def test_to_import_the_client_imports_nothing_more_than_before() -> None:
    """`import rugnik` needs httpx: `rugnik.open` imports the rest when it is called."""
    code = "import sys, rugnik; print(sorted({name.partition('.')[0] for name in sys.modules} & set(sys.argv[1:])))"
    command = [sys.executable, "-c", code, "app", "core", "numpy", "orjson", "scipy"]
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=ENV)
    assert done.stdout == "[]\n"
