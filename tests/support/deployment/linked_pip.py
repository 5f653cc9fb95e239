"""pip, except that the packages of a lock are not fetched again: `python -m tests.support.deployment.linked_pip …`.

The development environment has them already, put there by pip from the same hashes (tests/contracts/test_locks.py
compares), so their files are linked: nothing but the lock's packages, in the lock's versions, in a second and offline.
Every other command is handed to the real pip.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from importlib.metadata import Distribution, distribution
from pathlib import Path

_PINNED = re.compile(r"^([A-Za-z0-9._-]+)(?:\[[^]]*\])?==(\S+)", re.MULTILINE)


def pinned(lock: Path) -> dict[str, str]:
    """The packages of a lock and their versions."""
    return dict(_PINNED.findall(lock.read_text()))


def main(arguments: list[str]) -> int:
    """Link the packages of the locks that are named, or run pip."""
    locks = [Path(word.removeprefix("--requirement=")) for word in arguments if word.endswith(".lock")]
    if not locks:
        return subprocess.run([sys.executable, "-m", "pip", *arguments], check=False).returncode
    assert "--require-hashes" in arguments
    target = packages_folder(arguments[arguments.index("--python") + 1])
    for lock in locks:
        for name, version in pinned(lock).items():
            package = distribution(name)
            assert package.version == version, f"{name} is {package.version} here and {version} in {lock}"
            link(package, target)
    return 0


def link(package: Distribution, target: Path) -> None:
    """A package's files in another environment: the same ones where the file system can, copies where it cannot."""
    for file in package.files or []:
        if ".." in file.parts:  # a script, whose first line names the environment it belongs to
            continue
        place = target / file
        place.parent.mkdir(parents=True, exist_ok=True)
        try:
            os.link(str(file.locate()), place)
        except FileExistsError:
            continue  # in both locks
        except OSError:
            shutil.copy2(str(file.locate()), place)


def packages_folder(python: str | Path) -> Path:
    """Where an interpreter has its packages."""
    ask = "import sysconfig; print(sysconfig.get_path('purelib'))"
    return Path(subprocess.run([python, "-c", ask], check=True, capture_output=True, text=True).stdout.strip())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
