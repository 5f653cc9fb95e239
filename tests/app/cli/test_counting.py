"""`rugnik release` for files that are counted where they lie: what it says, and which rows of a person it keeps."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from app.access.permissions import Role
from app.cli.checking import bounds_of
from app.cli.counting import Place, count_and_send
from app.engines import counting
from app.engines.sending import BegunElsewhere
from rugnik import errors
from tests.app.cli.conftest import Run
from tests.app.cli.test_checking import at_terminal
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
    shown, code = at_terminal(live, [str(word) for word in (*release, *TERMS)], "")  # no question to say yes to
    assert (code, "counted from the same files" in " ".join(shown.split())) == (1, True), shown
    run(Role.CURATOR, *release, *TERMS, "--order", order)
    assert [step.value for step in steps] == ["base", "coarse", "coarse", "leaves"]
    again = json.loads(run(Role.CURATOR, *release, *TERMS, "--json", "--new-order").stdout)
    assert again["state"] == "published"
    assert len(keys) == 3
    assert keys[0] == keys[1] != keys[2]
    assert None not in keys


def test_two_commands_for_one_order_do_not_mix_their_rows(
    run: Run, live: Live, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One counts a step that the other draws meanwhile, then comes between two steps. Neither time does it draw."""
    visits = "".join(f"{patient},{patient % 40}\n" for patient in range(500))
    for month in ("january", "february"):
        (tmp_path / f"{month}.csv").write_text("patient,age\n" + visits)
    run(Role.CURATOR, "datasets", "new", live.city, *PERSONS)
    counted = counting.PersonEngine.count

    def first_step(engine: counting.PersonEngine, target: Any) -> Any:
        if target.step.value != "base":
            raise errors.NotReached("Interrupted.")
        return counted(engine, target)

    def late(engine: counting.PersonEngine, target: Any) -> Any:
        with pytest.raises(errors.NotReached):
            send("february", first_step)
        return counted(engine, target)

    def send(month: str, count: Callable[..., Any]) -> None:
        file, bounds = str(tmp_path / f"{month}.csv"), bounds_of(client.dataset(live.city))
        with monkeypatch.context() as patch:
            patch.setattr(counting.PersonEngine, "count", count)
            count_and_send(client, order, file, Place(None), bounds, media_type=None, is_continued=False)

    with live.client(Role.CURATOR) as client:
        order = client.order(live.city, epsilon="4", clusters=1, rule="adaptive", declared=2000).id
        with pytest.raises(errors.ReleaseEnded):
            send("january", late)
        with pytest.raises(BegunElsewhere, match=f"--order {order}"):
            send("january", counted)
        assert client.awaited(order).step == "coarse"
