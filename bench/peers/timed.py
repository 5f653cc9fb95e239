"""Calls of a peer, measured inside its own process, which stays until the measurement is over.

So a call costs what it costs there: no start of Python, no import, nothing sent to and fro. A peer takes turns with
rugnik call by call (`bench.report.take_turns`), so that other work on the machine slows both.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from bench.peers.environments import interpreter

Floats = NDArray[np.float64]

_HERE = Path(__file__).parent


class Timed:
    """The call of a script of this folder that is ready in the environment of a peer."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self.result: object = None  # of the last call

    def _measured(self) -> tuple[float, float]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write("again\n")
        self._process.stdin.flush()
        cpu, wall, self.result = json.loads(self._process.stdout.readline())
        return cpu, wall

    def cpu_seconds(self) -> float:
        """Call once: CPU time, of all threads."""
        return self._measured()[0]

    def wall_seconds(self) -> float:
        """Call once: time on the clock."""
        return self._measured()[1]


@contextmanager
def timed(peer: str, script: str, *, cores: Literal[1, "all"], **options: object) -> Iterator[Timed]:
    """A script of this folder in the environment of a peer."""
    with started(interpreter(peer), _HERE / script, cores=cores, **options) as call:
        yield call


@contextmanager
def started(python: Path, script: Path, *, cores: Literal[1, "all"], **options: object) -> Iterator[Timed]:
    """A process that waits to be measured, on one core from its start if so asked: its libraries then start one thread.

    It gets what the script's `prepare` takes, and ends with the block.
    """
    command = [str(python), str(_HERE / "stopwatch.py"), str(script), json.dumps(options)]
    allowed = os.sched_getaffinity(0)
    if cores == 1:
        os.sched_setaffinity(0, {min(allowed)})  # which the process inherits
    try:
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    finally:
        os.sched_setaffinity(0, allowed)
    with process:  # its end closes standard input, at which the peer stops
        yield Timed(process)


@contextmanager
def timed_kmeans(pairs: Sequence[tuple[Floats, Floats]], clusters: int) -> Iterator[Timed]:
    """scikit-learn's KMeans with ten starts, on one core: each call for the next points and weights."""
    with tempfile.NamedTemporaryFile(suffix=".npz") as file:
        arrays = {f"points{number}": points for number, (points, _) in enumerate(pairs)}
        arrays |= {f"weights{number}": weights for number, (_, weights) in enumerate(pairs)}
        np.savez(file, **arrays)  # type: ignore[arg-type]
        file.flush()
        with timed("scikit-learn", "scikit_learn_kmeans.py", cores=1, path=file.name, clusters=clusters) as peer:
            yield peer
