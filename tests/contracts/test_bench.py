"""`python -m bench`: a module that fails costs its own figures only, and FULL=1 chooses the complete sizes."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Literal

import pytest

from bench.__main__ import measure
from bench.peers.timed import started
from bench.report import Section, chosen, take_turns


def _good() -> list[Section]:
    return [Section("Good", ["A remark."], ["what"], [["figure"]])]


def _bad() -> list[Section]:
    raise LookupError


def test_a_module_that_fails_is_named_and_the_others_are_in_the_report(tmp_path: Path) -> None:
    """Also those that come after it, each with its time."""
    assert measure({"first": _good, "second": _bad, "third": _good}, out=tmp_path) == ["second"]
    report = (tmp_path / "report.md").read_text("utf-8")
    assert report.count("## Good") == 2
    assert [line.split("|")[3].strip() for line in report.splitlines() if "bench." in line] == ["", "failed", ""]


def test_an_interrupted_run_keeps_what_it_has(tmp_path: Path) -> None:
    """The report is written after each module."""

    def interrupted() -> list[Section]:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        measure({"first": _good, "second": interrupted}, out=tmp_path)
    assert "## Good" in (tmp_path / "report.md").read_text("utf-8")


@pytest.mark.parametrize(("value", "expected"), [("1", "all"), ("", "few"), (None, "few")])
def test_full_chooses_the_complete_sizes(value: str | None, expected: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As `make bench` passes it on: empty by default."""
    if value is None:
        monkeypatch.delenv("FULL", raising=False)
    else:
        monkeypatch.setenv("FULL", value)
    assert chosen("few", "all") == expected


PEER = """
import os
def prepare(first, step):
    calls = []
    def call():
        calls.append(first + step * len(calls))
        return [calls[-1], len(os.sched_getaffinity(0)), os.getpid()]
    return call
"""


@pytest.mark.parametrize(("cores", "expected"), [(1, 1), ("all", len(os.sched_getaffinity(0)))])
def test_a_peer_is_prepared_once_and_called_in_its_own_process(
    cores: Literal[1, "all"], expected: int, tmp_path: Path
) -> None:
    """Each measurement is one call; the cores of this process stay as they are; the peer ends with the block."""
    script, before = tmp_path / "peer.py", os.sched_getaffinity(0)
    script.write_text(PEER)
    with started(Path(sys.executable), script, cores=cores, first=5, step=2) as peer:
        pids = set()
        for last in (7, 11, 15):
            assert min(peer.cpu_seconds(), peer.wall_seconds()) >= 0
            assert isinstance(peer.result, list)
            assert peer.result[:2] == [last, expected]
            pids.add(peer.result[2])
        assert os.sched_getaffinity(0) == before
    assert len(pids) == 1
    assert os.getpid() not in pids
    with pytest.raises(ProcessLookupError):
        os.kill(pids.pop(), 0)


def test_the_first_round_is_not_counted_and_all_take_turns() -> None:
    """A median of the later rounds, one call of each in every round."""
    asked: list[str] = []
    seconds = {"first": iter([100.0, 1.0, 3.0, 2.0]), "second": iter([0.0, 8.0, 9.0, 9.0])}

    def timer(name: str) -> float:
        asked.append(name)
        return next(seconds[name])

    medians = take_turns({"first": lambda: timer("first"), "second": lambda: timer("second")}, repeats=3)
    assert medians == {"first": 2.0, "second": 9.0}
    assert asked == ["first", "second"] * 4
