"""Numbers on the terminal have the digits that their intervals leave."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from app.cli.output import figure, rounded
from tests.support.documents import ROOT


@pytest.mark.parametrize(
    ("values", "shown"),
    [
        ((633.938, 612.41, 655.49), [634, 612, 655]),
        ((0.12345, 0.12301, 0.12389), [0.12345, 0.12301, 0.12389]),
        ((151.20931, 151.1, 151.3), [151.21, 151.1, 151.3]),
        ((12_345.6, 10_000.2, 15_000.9), [12_346, 10_000, 15_001]),
        ((5.0, 5.0, 5.0), [5.0, 5.0, 5.0]),
        (("2026-03-01", "2026-02-01", "2026-04-01"), ["2026-03-01", "2026-02-01", "2026-04-01"]),
        ((12.345, None, None), [12.3, None, None]),
    ],
    ids=str,
)
def test_an_interval_decides_the_digits(values: tuple[Any, ...], shown: list[Any]) -> None:
    """Two digits of its width, and whole numbers stay whole."""
    assert rounded(values, *values[1:]) == shown


@pytest.mark.parametrize(("value", "shown"), [(2.94949, 2.95), (105.491, 105), (0.0012345, 0.00123), (0, 0)])
def test_a_prediction_has_three_digits(value: float, shown: float) -> None:
    """And no fraction from 100 on."""
    assert figure(value) == shown


def test_a_reader_that_leaves_early_is_told_nothing() -> None:
    """As after `rugnik query … | head`: no message of a broken pipe."""
    command = [sys.executable, "-c", "from app.cli import main; main()", "check", "examples/bike-trips.csv"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=ROOT) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
