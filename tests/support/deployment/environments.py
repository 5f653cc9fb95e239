"""Environment: a virtual environment with the wheel of this checkout and chosen packages, made offline.

The packages are linked from the development environment, as linked_pip does, so each has the version of the locks.
"""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import dataclass
from importlib.metadata import distribution
from pathlib import Path

from packaging.requirements import Requirement

from tests.support.deployment.image import ROOT, context
from tests.support.deployment.linked_pip import link, packages_folder


def normalized(name: str) -> str:
    """The name of a package as indexes compare it (PEP 503)."""
    return re.sub(r"[-_.]+", "-", name).lower()


def closure(requirements: list[Requirement]) -> set[str]:
    """The packages that pip would install for some requirements, their dependencies included."""
    packages: set[str] = set()
    seen: set[tuple[str, frozenset[str]]] = set()
    waiting = list(requirements)
    while waiting:
        requirement = waiting.pop()
        name, extras = normalized(requirement.name), frozenset(requirement.extras)
        if (name, extras) in seen:
            continue
        seen.add((name, extras))
        packages.add(name)
        waiting += wanted(distribution(name).requires or [], extras)
    return packages


def wanted(lines: list[str], extras: frozenset[str]) -> list[Requirement]:
    """The requirements of a package that hold here, with some of its extras."""
    requirements = [Requirement(line) for line in lines]
    return [
        requirement
        for requirement in requirements
        if requirement.marker is None or any(requirement.marker.evaluate({"extra": extra}) for extra in extras | {""})
    ]


def build_wheel(folder: Path) -> Path:
    """The wheel of the tracked files of this checkout."""
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", folder / "wheel"],
        cwd=context(ROOT, folder / "sources"),
        check=True,
        capture_output=True,
    )
    (wheel,) = (folder / "wheel").glob("*.whl")
    return wheel


@dataclass(frozen=True)
class Environment:
    """A virtual environment without pip."""

    folder: Path

    @property
    def python(self) -> Path:
        """Its interpreter."""
        return self.folder / "bin" / "python"

    def installed(self) -> set[str]:
        """The packages in it, the wheel's own included."""
        metadata_folders = self.folder.rglob("*.dist-info")
        return {normalized(path.name.removesuffix(".dist-info").rpartition("-")[0]) for path in metadata_folders}

    def run(self, *words: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
        """Run one of its programs, with nothing of the caller's variables."""
        program, *arguments = words
        return subprocess.run(
            [self.folder / "bin" / program, *arguments],
            cwd=cwd,
            env={"PATH": "/usr/bin:/bin", "COLUMNS": "100"},
            check=False,
            capture_output=True,
            text=True,
        )


def make_environment(folder: Path, wheel: Path, *extras: str) -> Environment:
    """An environment with the wheel, and with what its metadata asks for with the extras: no package more."""
    environment = Environment(folder)
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    pip = [sys.executable, "-m", "pip", "--python", environment.python]
    install = [*pip, "install", "--quiet", "--disable-pip-version-check", "--no-index", "--no-deps", wheel]
    subprocess.run(install, check=True)
    (metadata,) = folder.rglob("rugnik-*.dist-info/METADATA")
    lines = re.findall(r"^Requires-Dist: (.*)$", metadata.read_text(), re.MULTILINE)
    for name in closure(wanted(lines, frozenset(extras))) - {"rugnik"}:
        link(distribution(name), packages_folder(environment.python))
    checked = subprocess.run([*pip, "check"], check=False, capture_output=True, text=True)
    assert checked.returncode == 0, checked.stdout
    return environment
