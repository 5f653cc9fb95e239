"""Image: what the Dockerfile makes, without Docker. Its own lines are run, in a folder that stands for the root."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

from tests.support.deployment.unprivileged import base_python, give, library_path

ROOT = Path(__file__).parents[3]
_TOP = r"(?<![\w.])/(opt|wheel|build|var|run)\b"  # folders of the container, where a path begins with one


@dataclass(frozen=True)
class Instruction:
    """One line of a Dockerfile."""

    name: str
    rest: str

    @property
    def words(self) -> list[str]:
        """What follows the name, as a list: in JSON, or as a shell would split it."""
        return list(json.loads(self.rest)) if self.rest.startswith("[") else shlex.split(self.rest)


def instructions(text: str) -> list[Instruction]:
    """A Dockerfile without its comments, one instruction each."""
    kept = "\n".join(line for line in text.splitlines() if not line.startswith("#"))
    joined = re.sub(r"\\\n", " ", kept)
    return [Instruction(*line.split(None, 1)) for line in joined.splitlines() if line.strip()]


def tracked_files(tree: Path) -> list[str]:
    """What git knows of a checkout; where there is no git, every file that is not somebody's own."""
    listing = subprocess.run(["git", "ls-files", "-z"], cwd=tree, check=False, capture_output=True, text=True)
    if listing.returncode == 0 and listing.stdout:
        return [name for name in listing.stdout.split("\0") if name and (tree / name).is_file()]
    files = (path.relative_to(tree) for path in tree.rglob("*") if path.is_file())
    return [
        str(path) for path in files if not any(part.startswith(".") or part == "__pycache__" for part in path.parts)
    ]


def context(tree: Path, target: Path) -> Path:
    """What a build is given: the tracked files that .dockerignore lets through."""
    allowed = {line[1:] for line in (tree / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    for name in tracked_files(tree):
        if Path(name).parts[0] in allowed:
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(tree / name, target / name)
    return target


@dataclass
class Image:
    """A folder that stands for the root of a container, and what its image says about running in it."""

    root: Path
    python: Path
    environment: dict[str, str] = field(default_factory=dict)
    entrypoint: list[str] = field(default_factory=list)
    command: list[str] = field(default_factory=list)
    healthcheck: list[str] = field(default_factory=list)

    def note(self, step: Instruction) -> None:
        """What an instruction says about running; some say nothing about it."""
        match step.name:
            case "ENV":
                for name, _, value in (word.partition("=") for word in step.words):
                    self.environment[name] = value.replace("$PATH", self.environment["PATH"])
            case "ENTRYPOINT":
                self.entrypoint = step.words
            case "CMD":
                self.command = step.words
            case "HEALTHCHECK":
                self.healthcheck = list(json.loads(step.rest.partition("CMD ")[2]))

    def inside(self, text: str) -> str:
        """A text with the paths of the container as paths in the folder."""
        ours = re.escape(str(self.root))  # a path that is in the folder already stays as it is
        return re.sub(f"{ours}|{_TOP}", lambda match: f"{self.root}/{match[1]}" if match[1] else match[0], text)

    def path(self, inside: str) -> Path:
        """A path of the container in the folder."""
        return Path(self.inside(inside))

    def variables(self) -> dict[str, str]:
        """The environment of a process in the container: nothing of the caller's."""
        own = {name: self.inside(value) for name, value in self.environment.items()}
        return own | library_path(self.python)


def build_image(root: Path) -> Image:
    """Run the Dockerfile of this checkout on its tracked files."""
    given = context(ROOT, root / "context")
    image = Image(root=root, python=base_python(root / "usr"))
    tools = _tools(image)
    folder = root / "build"
    for step in instructions((ROOT / "Dockerfile").read_text()):
        match step.name:
            case "FROM":
                image.environment = {"PATH": f"{tools}:/usr/bin:/bin"}
            case "COPY" if not step.rest.startswith("--from"):
                _copy(given, folder, step.words)
            case "RUN" if "useradd" in step.rest:
                # No user is added to this machine: the folders go to the one who will run the service.
                for path in re.findall(r"/var/lib/\S+", step.rest.split("--mode", 1)[1]):
                    give(image.path(path))
            case "RUN":
                _run(image, step.rest, folder)
            case _:
                image.note(step)
    return image


def _tools(image: Image) -> Path:
    """`python` and `pip` as the base image has them."""
    tools = image.root / "usr" / "local" / "bin"
    tools.mkdir(parents=True)
    scripts = {
        "python": f'exec {image.python} "$@"',
        "pip": f'PYTHONPATH={ROOT} exec {sys.executable} -m tests.support.deployment.linked_pip "$@"',
    }
    for name, line in scripts.items():
        (tools / name).write_text(f"#!/bin/sh\n{line}\n")
        (tools / name).chmod(0o755)
    return tools


def _copy(given: Path, folder: Path, words: list[str]) -> None:
    *sources, target = words
    for source in sources:
        if (given / source).is_dir():
            shutil.copytree(given / source, folder / target)
        else:
            folder.mkdir(exist_ok=True)
            shutil.copy2(given / source, folder / target)


def _run(image: Image, line: str, folder: Path) -> None:
    # pip's own settings pass: they say where this machine gets its packages from.
    passed = {name: value for name, value in os.environ.items() if name.startswith(("PIP_", "SSL_")) or name == "HOME"}
    done = subprocess.run(
        ["/bin/sh", "-euc", image.inside(line)],
        cwd=folder,
        env=passed | image.variables(),
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, f"{line}\n{done.stdout}\n{done.stderr}"
