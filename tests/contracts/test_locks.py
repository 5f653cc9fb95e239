"""The locks: every package pinned and hashed, and the image's the very ones that the tests run with."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[2]
LOCKS = ["requirements.lock", "requirements-build.lock", "requirements-dev.lock"]
INPUTS = [str(path.relative_to(ROOT)) for path in sorted((ROOT / "bench" / "peers").glob("*.in"))]
PEERS = [str(lock.relative_to(ROOT)) for lock in sorted((ROOT / "bench" / "peers").glob("*.lock"))]


def hashes(name: str) -> dict[str, set[str]]:
    """What a lock allows for each `package==version`."""
    allowed: dict[str, set[str]] = {}
    package = ""
    for line in (ROOT / name).read_text().splitlines():
        if match := re.match(r"^([a-z0-9._-]+)(?:\[[^]]*\])?(==\S+)", line):
            package = match[1] + match[2]
            allowed[package] = set()
        allowed.setdefault(package, set()).update(re.findall(r"--hash=(sha256:[0-9a-f]{64})", line))
    return allowed


@pytest.mark.parametrize("name", [*LOCKS, *PEERS])
def test_every_package_is_pinned_and_hashed(name: str) -> None:
    """pip takes no other file for it, wherever that comes from; and no lock tells where ours came from."""
    assert all(hashes(name).values())
    assert not re.search(r"https?:|file:|--index|--find-links", (ROOT / name).read_text())


@pytest.mark.parametrize("name", LOCKS[:2])
def test_what_is_deployed_is_what_was_tested(name: str) -> None:
    """The same version of every package, and the same hashes."""
    tested, deployed = hashes("requirements-dev.lock"), hashes(name)
    assert {package: tested.get(package) for package in deployed} == deployed


def test_the_build_lock_holds_what_the_build_needs() -> None:
    """The backend that pyproject.toml names, and none of what the service runs with."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    needed = {re.split(r"[<>=~]", requirement)[0] for requirement in project["build-system"]["requires"]}
    locked = {package.partition("==")[0] for package in hashes("requirements-build.lock")}
    assert needed == set(project["dependency-groups"]["build"])
    assert needed <= locked


def test_the_client_needs_httpx_and_the_runtime_lock_holds_what_the_service_needs() -> None:
    """`pip install rugnik` brings one package with its dependencies; the image gets all that the extras name."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert [Requirement(line).name for line in project["dependencies"]] == ["httpx"]
    extras = project["optional-dependencies"]
    named = {Requirement(line).name for line in [*extras["server"], *extras["cli"], "httpx"]} - {"rugnik"}
    assert "rugnik[cli]" in extras["server"]
    assert named <= {package.partition("==")[0] for package in hashes("requirements.lock")}


def test_every_peer_of_the_benchmarks_has_a_lock_of_what_it_needs() -> None:
    """NAME.in says what, NAME.lock which files."""
    assert [str(Path(name).with_suffix(".lock")) for name in INPUTS] == PEERS
    for name in INPUTS:
        lines = [line.partition("#")[0].strip() for line in (ROOT / name).read_text().splitlines()]
        needed = {Requirement(line).name for line in lines if line}
        locked = {package.partition("==")[0] for package in hashes(str(Path(name).with_suffix(".lock")))}
        assert needed
        assert needed <= locked, name
