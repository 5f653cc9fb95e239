"""`rugnik query … x.rugnik`: the same answers from a file, without a key, an address or a service."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from app.access.permissions import Role
from app.bundles.bundle import Bundle
from app.cli import demo_data, main
from app.ledger.book import read_book
from app.releases.reading import load_any, load_synopsis
from tests.app.cli.conftest import Run
from tests.app.cli.test_analyst import QUESTIONS
from tests.support.bundles import bundle_with
from tests.support.service.live import Live

Alone = Callable[..., Result]


@pytest.fixture(scope="module")
def release(live_server: Live) -> Iterator[str]:
    """A published release."""
    with live_server.client(Role.CURATOR) as client:
        client.register_dataset("trips", demo_data.SCHEMA["attributes"], budget=3)
        order = client.order("trips", epsilon=1, clusters=5, declared=2000)
        yield client.upload(order.id, demo_data.csv(2000), media_type="text/csv").id


@pytest.fixture(scope="module")
def bundle(live_server: Live, release: str) -> Bundle:
    """Its bundle."""
    with read_book(live_server.service) as book:
        return bundle_with(load_synopsis(book, load_any(book, release)).to_bytes())


@pytest.fixture
def alone(bundle: Bundle, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Alone:
    """Run `rugnik` in a folder that has the bundle, with nothing in the environment."""
    (tmp_path / "trips.rugnik").write_bytes(bundle.to_bytes())
    monkeypatch.chdir(tmp_path)
    for name in ("RUGNIK_URL", "RUGNIK_KEY"):
        monkeypatch.delenv(name, raising=False)

    def invoke(*arguments: object, code: int = 0) -> Result:
        done = CliRunner().invoke(main, [str(argument) for argument in arguments], env={"COLUMNS": "200"})
        assert done.exit_code == code, (done.output, done.exception)
        assert "Traceback" not in done.output
        return done

    return invoke


@pytest.mark.parametrize("question", QUESTIONS)
def test_every_question_prints_what_the_service_does(run: Run, alone: Alone, release: str, question: str) -> None:
    """Tables, remarks and JSON are the same."""
    options = QUESTIONS[question][0]
    for more in ([], ["--json"]):
        served = run(Role.ANALYST, "query", question, release, *options, *more)
        local = alone("query", question, "trips.rugnik", *options, *more)
        assert (local.stdout, local.stderr) == (served.stdout, served.stderr)


@pytest.mark.parametrize("name", ["cells.csv", "cells.parquet", "cells.arrow", "cells.json"])
def test_files_are_written_from_a_bundle(alone: Alone, run: Run, release: str, name: str, tmp_path: Path) -> None:
    """The same bytes as from the service."""
    alone("query", "synopsis", tmp_path / "trips.rugnik", "-o", name)
    local = (tmp_path / name).read_bytes()
    run(Role.ANALYST, "query", "synopsis", release, "-o", name)
    assert (tmp_path / name).read_bytes() == local


def test_a_part_is_asked_of_a_bundle(alone: Alone) -> None:
    """With the remark that says which cells were answered."""
    done = alone("query", "moments", "./trips.rugnik", "-w", "hour:7..12")
    assert "About the part hour:" in done.stderr
    assert json.loads(alone("query", "moments", "trips.rugnik", "-w", "hour:7..12", "--json").stdout)["slice"]


def test_a_refusal_is_one_sentence(alone: Alone) -> None:
    """In the service's words, with its exit code."""
    assert "level" in alone("query", "moments", "trips.rugnik", "--level", "2", code=1).stderr


def test_a_file_that_is_no_bundle_is_refused(alone: Alone, tmp_path: Path) -> None:
    """Exit code 7: the file does not fit."""
    whole = (tmp_path / "trips.rugnik").read_bytes()
    (tmp_path / "half.rugnik").write_bytes(whole[: len(whole) // 2])
    assert alone("query", "count", "half.rugnik", code=7).stderr == "This bundle is cut off.\n"


def test_a_bundle_that_is_not_there_is_missed(alone: Alone) -> None:
    """And not taken for a dataset that needs a key."""
    assert "There is no file elsewhere.rugnik" in alone("query", "count", "elsewhere.rugnik", code=2).stderr
