"""Running a few lines in a fresh interpreter that sees the same core."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import core

ROOT = Path(core.__file__).parents[1]


def run_python(code: str) -> str:
    """What a new process prints; it must end well and without a warning."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise AssertionError(done.stderr)
    return done.stdout
