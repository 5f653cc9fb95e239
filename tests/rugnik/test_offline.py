"""`rugnik.open`: a release from a file, asked with the client's own methods."""

from __future__ import annotations

import socket
from inspect import signature
from pathlib import Path
from typing import Any

import pytest

import rugnik
from rugnik import OfflineRelease, errors, wire
from rugnik.asking import Asking
from tests.support.bundles import bundle_with, stored


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A bundle."""
    path = tmp_path / "x.rugnik"
    path.write_bytes(bundle_with(stored()).to_bytes())
    return path


@pytest.mark.parametrize("name", [name for name in vars(Asking) if not name.startswith("_")])
def test_every_question_of_the_client_is_one_of_a_release(name: str) -> None:
    """With the same parameters but for the release, and with the same help."""
    ours, theirs = getattr(OfflineRelease, name), getattr(Asking, name)
    _, release, *others = signature(theirs).parameters.values()
    assert release.name == "release"
    assert list(signature(ours).parameters.values())[1:] == others
    assert ours.__doc__


def test_a_bundle_tells_what_it_is(file: Path) -> None:
    """Names, the digest of the ledger, and every member as it is."""
    opened, written = rugnik.open(file), bundle_with(stored())
    assert (opened.id, opened.dataset, opened.digest) == ("dense_2", "clinic", written.digest)
    assert (opened.receipt, opened.card, opened.croissant) == (written.receipt, written.card, written.croissant)
    assert (opened.terms, opened.policy) == (written.terms, written.policy)
    assert "dense_2" in repr(opened)


def test_no_socket_is_opened(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not even to a proxy that the environment names."""
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:9")

    def refuse(*_: Any, **__: Any) -> Any:
        raise AssertionError("A socket was opened.")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    assert rugnik.open(file).count().epsilon_spent == "0"


def test_answers_and_errors_are_the_clients_own(file: Path, tmp_path: Path) -> None:
    """Typed answers, the tree of errors, and whole files."""
    opened = rugnik.open(file)
    first, second = (axis.name for axis in opened.synopsis().attributes)
    assert isinstance(opened.ask(wire.Moments, level=0.9), wire.Moments)
    assert opened.marginal([first], where={second: (None, None)}).counts
    with pytest.raises(errors.InvalidQuery, match="group_by"):
        opened.ask_by_group(wire.Count, first)
    with pytest.raises(errors.InvalidRequest) as invalid:
        opened.clusters(k=2, level=3)
    assert invalid.value.errors[0]["loc"] == ["query", "level"]
    assert opened.download_rows(tmp_path / "rows.csv", count=3) == (tmp_path / "rows.csv").stat().st_size
    with pytest.raises(errors.NotAcceptable):
        opened.download_rows(tmp_path / "rows.xlsx", format="xlsx")
    assert not list(tmp_path.glob("*.part"))


def test_a_file_that_is_no_bundle_is_refused(tmp_path: Path) -> None:
    """With the sentence of the reader; a file that is missing is missing."""
    (tmp_path / "x.rugnik").write_text("x,y\n")
    with pytest.raises(errors.UnfitBundle, match="no bundle"):
        rugnik.open(tmp_path / "x.rugnik")
    with pytest.raises(FileNotFoundError):
        rugnik.open(tmp_path / "y.rugnik")
