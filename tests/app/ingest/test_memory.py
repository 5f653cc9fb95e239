"""Memory is bounded by the limits, whatever the file states or contains. Measured in a separate process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.app.ingest.memory_cases import CASES

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def growth() -> dict[str, int]:
    """Megabytes that each case adds to the peak of its process.

    Arrow's allocator gives freed memory back at once: by itself it waits for 10 ms, and how much of it waits depends on
    the load of the machine (up to 20 MB, measured). What is in use counts as ever.
    """
    program = [sys.executable, "-m", "tests.app.ingest.memory_cases"]
    at_once = os.environ | {"MIMALLOC_PURGE_DELAY": "0"}
    done = subprocess.run(program, cwd=ROOT, env=at_once, capture_output=True, check=True)
    measured: dict[str, int] = json.loads(done.stdout)
    return measured


@pytest.mark.parametrize("case", [case.__name__ for case in CASES])
def test_memory_stays_bounded_whatever_the_upload(case: str, growth: dict[str, int]) -> None:
    """Far below what the file would take as a whole; each case says what it tries."""
    assert growth[case] < 50
