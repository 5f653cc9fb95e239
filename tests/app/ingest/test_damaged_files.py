"""Damaged files of every format, sent to a real service: refused with a sentence or published, never a fault.

100 of each format; `make torture ONLY=fuzz` sends 5,000.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from torture.fuzzing import uploads
from torture.fuzzing.files import FILES, FORMATS, GZIP, sent
from torture.fuzzing.upload_target import Service, running_service
from torture.fuzzing.uploads import fire, ledger_result, memory_result, warm


@pytest.fixture(scope="module")
def service() -> Iterator[Service]:
    """One process for all formats, as in the long run."""
    with running_service() as running:
        warm(running)
        yield running


@pytest.fixture(autouse=True)
def out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Files that break something are kept here."""
    monkeypatch.setattr(uploads, "OUT", tmp_path)
    return tmp_path


@pytest.mark.parametrize("name", FORMATS)
def test_a_damaged_file_is_published_or_refused_with_a_sentence(service: Service, name: str) -> None:
    """No fault, the same process, memory under the cap, and a ledger that holds what was acknowledged."""
    fired = fire(service, name, range(100))
    assert (fired.times, fired.broken) == (100, {})
    assert memory_result(service).failures == 0
    assert ledger_result(service).failures == 0


@pytest.mark.parametrize("name", [*FILES, GZIP])
def test_a_damaged_file_is_the_same_by_its_number(name: str) -> None:
    """What was seen once can be seen again."""
    assert [sent(name, number) for number in range(20)] == [sent(name, number) for number in range(20)]


def test_a_file_that_breaks_something_is_kept(service: Service, out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the command that sends it again: here a file is called too much for the memory that there is."""
    monkeypatch.setattr(uploads, "MEMORY_CAP", -service.peak)
    assert list(fire(service, "csv", range(1)).broken) == [0]
    assert (out / "csv-0.body").read_bytes() == sent("csv", 0).content
    assert (out / "csv-0.txt").read_text() == "python -m torture.fuzzing.replay torture/out/csv-0.body\n"
