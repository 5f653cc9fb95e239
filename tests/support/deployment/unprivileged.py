"""A user without rights, and a Python that this user can run: as root, nobody; otherwise, whoever runs the tests."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

NOBODY = 65534
AS_ROOT = os.geteuid() == 0
# For subprocess: who runs it.
IDENTITY: dict[str, Any] = {"user": NOBODY, "group": NOBODY, "extra_groups": []} if AS_ROOT else {}


def give(path: Path) -> None:
    """Make a folder that the user owns and nobody else may look into."""
    path.mkdir(parents=True, exist_ok=True, mode=0o755)
    path.chmod(0o700)
    if AS_ROOT:
        os.chown(path, NOBODY, NOBODY)


def base_python(folder: Path) -> Path:
    """The interpreter under this environment, or a copy of it in the folder where the user cannot reach it."""
    base = Path(sys._base_executable)
    if _runs(base, {}):
        return base
    # An interpreter in a home folder that only its owner may enter, root's for one.
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    copy = folder / "bin" / version
    copy.parent.mkdir(parents=True)
    shutil.copy2(base.resolve(), copy)
    unneeded = shutil.ignore_patterns("site-packages", "test", "tests", "idlelib", "tkinter", "config-*", "__pycache__")
    shutil.copytree(sysconfig.get_path("stdlib"), folder / "lib" / version, ignore=unneeded)
    for library in Path(sysconfig.get_config_var("LIBDIR")).glob(f"lib{version}*.so*"):
        shutil.copy2(library, folder / "lib" / library.name)
    assert _runs(copy, library_path(copy)), f"{copy} does not run as another user"
    return copy


def library_path(python: Path) -> dict[str, str]:
    """Where a copied interpreter finds its library."""
    return {"LD_LIBRARY_PATH": str(python.parent.parent / "lib")}


def _runs(python: Path, variables: dict[str, str]) -> bool:
    """Whether the user gets this very version of Python, with its own standard library, from the interpreter."""
    probe = "import json, sys; print(sys.version, json.__file__)"
    try:
        done = subprocess.run(
            [python, "-I", "-c", probe], env=variables, check=False, capture_output=True, text=True, cwd="/", **IDENTITY
        )
    except OSError:
        return False
    return done.stdout.startswith(sys.version)
