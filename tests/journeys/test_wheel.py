"""The wheel in an environment of its own: the client needs httpx alone, and the command says which extra it misses."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from packaging.requirements import Requirement

import rugnik
from app.access.permissions import Role
from tests.support.bundles import bundle_with, stored
from tests.support.deployment.environments import Environment, build_wheel, closure, make_environment
from tests.support.service.live import Live


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this checkout."""
    return build_wheel(tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def plain(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """`pip install rugnik`."""
    return make_environment(tmp_path_factory.mktemp("plain") / "venv", wheel)


@pytest.fixture(scope="module")
def command(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """`pip install 'rugnik[cli]'`."""
    return make_environment(tmp_path_factory.mktemp("cli") / "venv", wheel, "cli")


@pytest.fixture
def crowded(tmp_path: Path) -> Iterator[Path]:
    """A working folder of somebody who has modules with the names of ours; importing one of them fails."""
    for name in ("app", "core", "migrations"):
        (tmp_path / f"{name}.py").write_text(f"raise AssertionError('{name} of the working folder was imported')\n")
    return tmp_path


@pytest.fixture
def city(live: Live) -> str:
    """The name of a dataset of a service that listens."""
    with live.client(Role.CURATOR) as curator:
        return curator.register_dataset(live.city, {"age": (0, 100)}, budget=1).name


def test_the_client_brings_httpx_and_its_dependencies_only(plain: Environment) -> None:
    """What pip would install for httpx, and rugnik itself."""
    assert plain.installed() == closure([Requirement("httpx")]) | {"rugnik"}


def test_the_client_works_beside_modules_with_the_names_of_ours(
    plain: Environment, crowded: Path, live: Live, city: str
) -> None:
    """Neither theirs nor ours is imported: `app`, `core` and `migrations` are names that people use."""
    (crowded / "mine.py").write_text(
        """
import json, sys
from rugnik import Client
with Client(sys.argv[1], sys.argv[2]) as client:
    names = [client.dataset(sys.argv[3]).name]
print(json.dumps([names, sorted({name.partition(".")[0] for name in sys.modules} & {"app", "core", "migrations"})]))
"""
    )
    done = plain.run("python", "mine.py", live.url, live.keys[Role.ANALYST], city, cwd=crowded)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == [[city], []]


def test_the_client_is_typed() -> None:
    """PEP 561: type checkers read our annotations only if the marker is there; the wheel holds every tracked file."""
    assert (Path(rugnik.__file__).parent / "py.typed").read_bytes() == b""


def test_the_public_names_exist() -> None:
    """Each name of `__all__`, once and in order; the Python reference is generated from the same list."""
    assert [name for name in rugnik.__all__ if not hasattr(rugnik, name)] == []
    assert rugnik.__all__ == sorted(set(rugnik.__all__))


def test_the_command_without_its_extra_says_what_to_install(plain: Environment, tmp_path: Path) -> None:
    """One sentence, exit code 2, no traceback."""
    done = plain.run("rugnik", "--help", cwd=tmp_path)
    (sentence,) = done.stderr.splitlines()
    assert "pip install 'rugnik[server]'" in sentence
    assert (done.returncode, done.stdout) == (2, "")


def test_the_light_command_asks_a_service_elsewhere(command: Environment, crowded: Path, live: Live, city: str) -> None:
    """Two packages and their dependencies are enough to ask, even beside modules with the names of ours."""
    assert command.installed() == closure([Requirement(name) for name in ("httpx", "rich", "typer")]) | {"rugnik"}
    options = ["--url", live.url, "--key", live.keys[Role.ANALYST]]
    done = command.run("rugnik", "datasets", "list", *options, cwd=crowded)
    assert (done.returncode, done.stderr) == (0, "")
    assert city in done.stdout


def test_a_bundle_is_asked_with_its_extra_and_the_command(wheel: Path, tmp_path: Path) -> None:
    """`pip install 'rugnik[cli,offline]'`: three packages more than the command, no key and no service."""
    offline = make_environment(tmp_path / "venv", wheel, "cli", "offline")
    names = ("httpx", "numpy", "orjson", "rich", "scipy", "typer")
    assert offline.installed() == closure([Requirement(name) for name in names]) | {"rugnik"}
    (tmp_path / "x.rugnik").write_bytes(bundle_with(stored()).to_bytes())
    done = offline.run("rugnik", "query", "moments", "x.rugnik", "--json", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["release"] == "dense_2"


def test_the_command_without_the_extra_says_what_a_bundle_needs(command: Environment, tmp_path: Path) -> None:
    """One sentence."""
    (tmp_path / "x.rugnik").write_bytes(bundle_with(stored()).to_bytes())
    done = command.run("rugnik", "query", "moments", "x.rugnik", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (1, "Opening a bundle needs numpy: pip install 'rugnik[offline]'.\n")


@pytest.mark.parametrize("name", ["serve", "migrate", "doctor"])
def test_a_command_of_the_service_without_the_service_says_what_to_install(
    command: Environment, tmp_path: Path, name: str
) -> None:
    """Exit code 2 and one sentence, and nothing is left behind."""
    done = command.run("rugnik", name, cwd=tmp_path)
    (sentence,) = done.stderr.splitlines()
    assert sentence.endswith("pip install 'rugnik[server]'.")
    assert (done.returncode, list(tmp_path.iterdir())) == (2, [])
