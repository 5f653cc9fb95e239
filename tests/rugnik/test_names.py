"""A release by its id, by the name of its dataset, or as it was returned; wrong arguments, answered with a sentence."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

import rugnik
from app.access.permissions import Role
from rugnik import Client, Retries, errors, wire
from rugnik.boxes import ranges
from tests.support.bundles import bundle_with, stored
from tests.support.service.api import ROWS
from tests.support.service.live import Live


@pytest.fixture
def published(curator: Client, order: str) -> str:
    """A published release of the dataset `live.city`."""
    return curator.upload(order, ROWS, media_type="text/csv").id


def test_the_name_of_a_dataset_means_its_newest_published_release(
    live: Live, curator: Client, published: str, tmp_path: Any
) -> None:
    """At each call anew, by one more GET; an order that waits is no release to ask."""
    assert curator.count(live.city).release == published
    assert curator.release(live.city).id == published
    later = curator.order(live.city, epsilon="0.5", clusters=4)
    assert curator.count(live.city).release == published
    curator.upload(later, ROWS, media_type="text/csv")
    live.gate.seen.clear()
    assert curator.counts(live.city, [{"age": (0, 50)}]).release == later.id
    assert [path for _, path in live.gate.seen] == [f"/v1/datasets/{live.city}", f"/v1/releases/{later.id}/counts"]
    live.gate.seen.clear()
    assert curator.count(later).release == curator.count(later.id).release == later.id
    assert [path for _, path in live.gate.seen] == [f"/v1/releases/{later.id}/count"] * 2
    curator.download_card(live.city, tmp_path / "card.json")
    curator.download_rows(live.city, tmp_path / "rows.csv", count=3)
    assert curator.card(live.city).on_record


def test_releases_are_a_list_with_the_newest_one(live: Live, curator: Client, published: str) -> None:
    """It can be gone through, counted and sliced as a list, and shown as one."""
    void = curator.void(curator.order(live.city, epsilon="0.25", clusters=4))
    listed = curator.releases(live.city)
    assert [each.state for each in listed] == ["published", "void"]
    assert listed.latest is not None
    assert (listed.latest.id, len(listed), listed[-1].id, listed[1:][0].id) == (published, 2, void.id, void.id)
    assert curator.count(listed.latest).release == published
    table = listed.to_pandas()
    assert (table["id"].tolist(), table["label"].tolist()) == ([published, void.id], [None, None])
    labelled = wire.ReleaseSummary.of({**listed[0].raw, "label": "May <b>"})
    html = rugnik.listing.Releases("city", [labelled], latest=None)._repr_html_()
    assert "May &lt;b&gt;" in html
    assert "latest" in repr(listed)


def test_a_name_that_is_neither_is_refused_with_names_like_it(live: Live, curator: Client) -> None:
    """NotFound, as for an id that is not there; the error of a dataset without a release says so."""
    with pytest.raises(errors.NotFound, match=f"neither the id of a release.*Did you mean '{live.city}'") as near:
        curator.count(f"{live.city}s".upper())
    assert live.city in near.value.fields["near"]
    with pytest.raises(errors.NotFound, match=f"no dataset.*Did you mean '{live.city}'"):
        curator.dataset(f"{live.city}s")
    with pytest.raises(errors.NotFound, match="neither"):
        curator.card("zzzz")
    with pytest.raises(errors.NotFound, match=f"{live.city} has no published release yet"):
        curator.moments(live.city)
    with pytest.raises(errors.NotFound):
        curator.count("r0123456789abcdef")


def test_a_bundle_is_asked_by_its_own_names(tmp_path: Any) -> None:
    """Its id, and its dataset; another name is refused without a network."""
    (tmp_path / "x.rugnik").write_bytes(bundle_with(stored()).to_bytes())
    opened = rugnik.open(tmp_path / "x.rugnik")
    assert opened.asking.count(opened.dataset) == opened.asking.count(opened.id) == opened.count()
    with pytest.raises(errors.NotFound, match="holds the release dense_2 of clinic, and not 'city'"):
        opened.asking.count("city")


def test_an_order_is_named_by_its_id_alone(live: Live, curator: Client, order: str) -> None:
    """A dataset has many: nothing is uploaded to, or voided, by guessing."""
    for act in (curator.void, curator.awaited, lambda name: curator.upload(name, ROWS, media_type="text/csv")):
        with pytest.raises(errors.UnfitArgument, match="the id of an order"):
            act(live.city)
    assert live.gate.seen == []
    assert curator.void(curator.release(order)).state == "void"


WRONG: dict[str, Callable[[Client], object]] = {
    "release is the id of a release.*given was None": lambda client: client.count(None),  # type: ignore[arg-type]
    "where has the part 'age', without a range": lambda client: client.count("city", "age"),
    "where is a box such as.*the number 5": lambda client: client.count("city", 5),  # type: ignore[arg-type]
    "age is a range.*a tuple of 3": lambda client: client.count("city", {"age": (1, 2, 3)}),  # type: ignore[dict-item]
    "age is a list: lists are for categories": lambda client: client.count("city", {"age": [1, 2]}),  # type: ignore[list-item]
    "age is a range.*given was None": lambda client: client.count("city", {"age": None}),  # type: ignore[dict-item]
    "A value of age is a number.*a dict": lambda client: client.count("city", {"age": ({}, 2)}),  # type: ignore[dict-item]
    "boxes is a list of boxes": lambda client: client.counts("city", {"age": (1, 2)}),
    "box 2 is a box": lambda client: client.counts("city", [{}, 3]),  # type: ignore[list-item]
    "k is a whole number.*the text 'five'": lambda client: client.clusters("city", "five"),  # type: ignore[arg-type]
    "high is a whole number.*2.5": lambda client: client.scan_clusters("city", 2, 2.5),  # type: ignore[arg-type]
    "attributes is the name.*the number 5": lambda client: client.marginal("city", 5),  # type: ignore[arg-type]
    "attribute is the name.*a list of 1": lambda client: client.quantiles("city", ["age"]),  # type: ignore[arg-type]
    "q is a number.*the text '0.5'": lambda client: client.quantiles("city", "age", "0.5"),  # type: ignore[arg-type]
    "points is a list of points": lambda client: client.assign("city", [1, 2], k=2),  # type: ignore[list-item]
    r'ask_by_group\(release, Quantiles, "sex"': lambda client: client.quantiles("city", "age", group_by="sex"),  # type: ignore[call-arg]
    r"ask_by_group\(release, Count, ": lambda client: client.ask("city", wire.Count, group_by="sex"),
    r"Client\.from_environment\(\)": lambda _: Client(),
    r"the address of a service: Client\(": lambda _: Client(None),  # type: ignore[arg-type]
    "answer is the type of an answer": lambda client: client.ask("city", "moments"),  # type: ignore[type-var]
    "Give either epsilon or count_error": lambda client: client.plan("city", clusters=3),
    "An epsilon is a decimal number": lambda client: client.plan("city", clusters=3, epsilon=[1]),  # type: ignore[arg-type]
    "clusters is a whole number": lambda client: client.order("city", epsilon=1, clusters="3"),  # type: ignore[arg-type]
    "An attribute is a pair of bounds.*of 3": lambda client: client.register_dataset(
        "x",
        {"age": (1, 2, 3)},  # type: ignore[dict-item]
        budget=1,
    ),
    "name is the name of a dataset": lambda client: client.dataset(None),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("sentence", WRONG)
def test_a_wrong_argument_is_answered_with_a_sentence(sentence: str) -> None:
    """What is expected and what was given, before anything is sent; it is a ValueError and a TypeError as well."""
    with Client("http://127.0.0.1:1", "key", retries=Retries(1)) as client:
        with pytest.raises(errors.UnfitArgument, match=sentence) as unfit:
            WRONG[sentence](client)
        assert isinstance(unfit.value, ValueError)
        assert isinstance(unfit.value, TypeError)


def test_arguments_of_other_libraries_are_taken(curator: Client, published: str) -> None:
    """Numbers of NumPy, a data frame of points, a single name or share in place of a list."""
    assert curator.clusters(published, np.int64(2)).sizes == curator.clusters(published, 2).sizes  # type: ignore[arg-type]
    assert curator.marginal(published, "age") == curator.marginal(published, ["age"])
    assert len(curator.quantiles(published, "age", 0.5).quantiles) == 1
    points = pd.DataFrame({"age": [20, 80], "income": [100.0, 900.0]})
    assert curator.assign(published, points, k=2) == curator.assign(published, points.to_numpy(), k=2)  # type: ignore[arg-type]
    assert ranges({"hour": 7, "age": (np.float64(1.5), None)}) == ["hour:7", "age:1.5.."]


def test_a_refused_key_says_where_it_came_from(live: Live, monkeypatch: pytest.MonkeyPatch) -> None:
    """The argument, or the variable; the key itself is in no message."""
    monkeypatch.setenv("RUGNIK_URL", live.url)
    monkeypatch.setenv("RUGNIK_KEY", live.keys[Role.ANALYST])
    with Client.from_environment() as client:
        client.datasets()
    monkeypatch.setenv("RUGNIK_KEY", "CANARY")
    with (
        Client.from_environment() as client,
        pytest.raises(errors.NotAuthenticated, match=r"^This key was refused: it came from the variable RUGNIK_KEY"),
    ):
        client.datasets()
    with (
        Client(live.url, "CANARY") as client,
        pytest.raises(errors.NotAuthenticated, match=r"^This key was refused: it came from the argument") as refused,
    ):
        client.datasets()
    assert "CANARY" not in str(refused.value)
    with Client(live.url) as client, pytest.raises(errors.NotAuthenticated, match=r"^No key was given"):
        client.datasets()
    for odd in ("CANARY\n", "CANARY CANARY", "CANARYé", b"CANARY"):
        with pytest.raises(errors.UnfitArgument, match="This is no key") as unfit:
            Client(live.url, odd)  # type: ignore[arg-type]
        assert "CANARY" not in str(unfit.value)
    monkeypatch.delenv("RUGNIK_KEY")
    with pytest.raises(errors.UnfitArgument, match="RUGNIK_KEY is not set"):
        Client.from_environment()


def test_a_service_that_is_not_there_is_named_with_what_to_do() -> None:
    """Its address, and the command that starts one; an address of another kind is told so."""
    for url, sentence in (
        ("http://127.0.0.1:1", r"http://127\.0\.0\.1:1 is not reached.*`rugnik serve`"),
        ("127.0.0.1:8000", "begins with http://"),
    ):
        with Client(url, "key", retries=Retries(1)) as client, pytest.raises(errors.NotReached, match=sentence):
            client.datasets()
