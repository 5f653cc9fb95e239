"""Suites: tests of `make test` again, each promise many times over.

Property tests run with 25 times their examples (50,000 pairs of neighbouring uploads among them), others several times.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass

from torture.console import ROOT, Result, progressing
from torture.services import times

_OUTCOME = re.compile(r"(\d+) (passed|failed|error)")


@dataclass(frozen=True, slots=True)
class Suite:
    """Tests that run `repeats` times; property tests with `factor` times their examples."""

    trial: str
    tests: tuple[str, ...]
    repeats: int = 50
    factor: int = 1


SUITES = (
    Suite("neighbouring uploads, every reader", ("tests/app/ingest/test_mixed_neighbours.py",), repeats=1, factor=25),
    Suite("SIGKILL at each step of a quorum's signatures", ("tests/journeys/test_log_crash.py",), repeats=5),
    Suite("clients that do not read their replies", ("tests/app/http/test_streams.py",), repeats=20),
    Suite("periods of the log under any clock", ("tests/app/log/test_ticks.py",), repeats=1, factor=25),
    Suite("memory of hostile uploads", ("tests/app/ingest/test_memory.py",), repeats=5),
)


def run() -> Iterator[Result]:
    """One suite after the other."""
    for suite in SUITES:
        repeats = times(suite.repeats)
        passed = failed = 0
        for _ in progressing(suite.trial, range(repeats)):
            good, bad = _run_tests(suite)
            passed, failed = passed + good, failed + bad
        yield Result(suite.trial, repeats, failed, f"{passed:,} tests passed")


def _run_tests(suite: Suite) -> tuple[int, int]:
    """How many tests passed and failed; one failure where they did not run."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--timeout=0", *suite.tests]
    own = {**os.environ, "TORTURE": str(suite.factor), "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(command, cwd=ROOT, env=own, check=False, capture_output=True, text=True)
    outcome = {
        name: int(number) for number, name in _OUTCOME.findall(done.stdout.splitlines()[-1] if done.stdout else "")
    }
    failed = outcome.get("failed", 0) + outcome.get("error", 0)
    return outcome.get("passed", 0), failed if done.returncode in (0, 1) else max(1, failed)
