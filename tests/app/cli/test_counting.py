"""`rugnik release` for files that are counted where they lie: what it says, and which rows of a person it keeps."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from app.access.permissions import Role
from app.engines import counting
from rugnik import errors
from tests.app.cli.conftest import Run
from tests.support.service.live import Live

PERSONS = ("--person", "patient:1", "-a", "age:0..100", "--budget", "9")
TERMS = ("--epsilon", "4", "--clusters", "1", "--rule", "adaptive", "--declared", "2000")


def test_a_release_that_is_gone_on_with_keeps_the_same_rows(
    run: Run, live: Live, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Interrupted after its first step, repeated with --order: one key, and one that no other release has."""
    (tmp_path / "visits").mkdir()
    for part in range(2):
        rows = "".join(f"{patient},{20 * part + patient % 40}\n" for patient in range(500))
        (tmp_path / f"visits/{part}.csv").write_text("patient,age\n" + rows)
    keys: list[bytes | None] = []
    steps: list[Any] = []
    opened, counted = counting.open_engine, counting.PersonEngine.count

    def noting(*arguments: Any, **options: Any) -> Any:
        keys.append(options["person_key"])
        return opened(*arguments, **options)

    def stopping(engine: counting.PersonEngine, target: Any) -> Any:
        steps.append(target.step)
        if len(steps) == 2:
            raise errors.NotReached("Interrupted.")
        return counted(engine, target)

    monkeypatch.setattr(counting, "open_engine", noting)
    monkeypatch.setattr(counting.PersonEngine, "count", stopping)
    release = ("release", tmp_path / "visits", "--dataset", live.city, "--no-check")
    failed = run(Role.CURATOR, *release, *TERMS, *PERSONS, code=3)
    order = failed.stderr.split("--order ")[1].split("'")[0]
    run(Role.CURATOR, *release, *TERMS, "--order", order)
    assert [step.value for step in steps] == ["base", "coarse", "coarse", "leaves"]
    again = json.loads(run(Role.CURATOR, *release, *TERMS, "--json", "--new-order").stdout)
    assert again["state"] == "published"
    assert len(keys) == 3
    assert keys[0] == keys[1] != keys[2]
    assert None not in keys
