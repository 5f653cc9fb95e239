"""Each peer in an environment of its own, from its lock: `NAME.lock` beside this module, renewed by `make lock`.

What a peer needs (an older scikit-learn, say) stays out of the environment for work on rugnik. A script of this folder
runs there: it gets arrays in an .npz file and options as JSON, and gives arrays back.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.report import OUT

_HERE = Path(__file__).parent


def interpreter(peer: str) -> Path:
    """The Python of a peer's environment below bench/out, which is made if it is missing or its lock has changed."""
    lock, folder = _HERE / f"{peer}.lock", OUT / "peers" / peer
    python, made_from = folder / "bin" / "python", folder / "made-from.lock"
    if not made_from.exists() or made_from.read_bytes() != lock.read_bytes():
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(folder)], check=True)
        command = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--require-hashes"]
        subprocess.run([*command, "-r", str(lock)], check=True)
        made_from.write_bytes(lock.read_bytes())
    return python


def run(peer: str, script: str, arrays: Mapping[str, NDArray[Any]], **options: object) -> dict[str, NDArray[Any]]:
    """What a script of this folder makes of arrays, in the environment of a peer."""
    with tempfile.TemporaryDirectory() as folder:
        given, made = Path(folder) / "given.npz", Path(folder) / "made.npz"
        np.savez(given, **arrays)  # type: ignore[arg-type]
        command = [str(interpreter(peer)), str(_HERE / script), str(given), str(made), json.dumps(options)]
        subprocess.run(command, check=True)
        with np.load(made) as results:
            return dict(results)
