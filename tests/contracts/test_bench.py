"""`python -m bench`: a module that fails costs its own figures only, and FULL=1 chooses the complete sizes."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.__main__ import measure
from bench.report import Section, chosen


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
