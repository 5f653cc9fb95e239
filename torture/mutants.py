"""Mutants: one line that a promise hangs on is broken in a copy of the source, and a test has to fail.

`torture.broken` lists them by promise. First the tests that guard them run on the unbroken copy and have to pass. A
mutant that no test notices is a hole in the tests.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from torture.broken import PROMISES
from torture.console import ROOT, Result, progressing

_IMPATIENT = ("--timeout=120", "--timeout-method=thread")
_PASSED, _FAILED = 0, 1  # exit codes of pytest; any other means that the tests did not run

MUTANTS = tuple(mutant for promise in PROMISES for mutant in promise.mutants)


def run() -> Iterator[Result]:
    """Break the lines one by one."""
    with _copy() as tree:
        guards = sorted({test for mutant in MUTANTS for test in mutant.tests})
        unbroken = _run_tests(tree, guards)
        if unbroken != _PASSED:
            yield Result("the unbroken source", 1, 1, f"its tests ended with {unbroken}")
            return
        for mutant in progressing("mutants", MUTANTS):
            path = tree / mutant.file
            original = path.read_text()
            path.write_text(original.replace(mutant.before, mutant.after))
            code = _run_tests(tree, mutant.tests)
            path.write_text(original)
            seen = {_PASSED: "no test noticed", _FAILED: "a test failed"}.get(code, f"pytest ended with {code}")
            yield Result(mutant.name, 1, int(code != _FAILED), seen)


@contextmanager
def _copy() -> Iterator[Path]:
    """The tracked files of this checkout in a folder of their own."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True).stdout
    with tempfile.TemporaryDirectory() as folder:
        for name in filter(None, listed.decode().split("\0")):
            target = Path(folder, name)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, target)
        yield Path(folder)


def _run_tests(tree: Path, tests: tuple[str, ...] | list[str]) -> int:
    """The exit code of pytest, on the sources of that folder: `-m` puts it first on the path.

    A test that hangs has failed, whatever threads it leaves: pytest ends there and then.
    """
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *_IMPATIENT, *tests]
    return subprocess.run(
        command, cwd=tree, check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ).returncode
