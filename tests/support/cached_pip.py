"""pip, except that the packages of a lock are fetched and installed once: `python -m tests.support.cached_pip …`.

What a lock gave is kept in the development environment, under the digest of the lock, and linked from there the next
time. Everything else is handed to the real pip.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

KEPT = Path(sys.prefix) / "locked"


def main(arguments: list[str]) -> int:
    """Run pip, or link what it did before."""
    locks = [Path(argument.partition("=")[2]) for argument in arguments if argument.startswith("--requirement=")]
    if not locks:
        return _pip(arguments)
    python = arguments[arguments.index("--python") + 1]
    version = subprocess.run([python, "-VV"], check=True, capture_output=True).stdout
    kept = KEPT / hashlib.sha256(version + " ".join(arguments[2:]).encode() + locks[0].read_bytes()).hexdigest()[:16]
    KEPT.mkdir(exist_ok=True)
    with (KEPT / "lock").open("wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # test processes that run side by side wait for the first
        if not kept.exists():
            if code := _pip(arguments):
                return code
            shutil.rmtree(kept.with_suffix(".new"), ignore_errors=True)
            link_tree(_packages(python), kept.with_suffix(".new"))
            kept.with_suffix(".new").rename(kept)
    link_tree(kept, _packages(python))
    return 0


def link_tree(source: Path, target: Path) -> None:
    """A copy of a folder that shares its files where the file system can."""
    shutil.copytree(source, target, copy_function=_link, dirs_exist_ok=True)


def _link(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except FileExistsError:
        pass
    except OSError:
        shutil.copy2(source, target)


def _packages(python: str) -> Path:
    ask = "import sysconfig; print(sysconfig.get_path('purelib'))"
    return Path(subprocess.run([python, "-c", ask], check=True, capture_output=True, text=True).stdout.strip())


def _pip(arguments: list[str]) -> int:
    return subprocess.run([sys.executable, "-m", "pip", *arguments], check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
