"""Every question is answered for an adaptive release too: the whole of it, parts of it and each of its groups."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from app.main import create_app
from app.settings.settings import Settings
from tests.support.service.api import Api, frozen_clock
from tests.support.service.questions import EXAMPLES, GETS, Example

GROUPED = [{"name": "age", "lower": 0, "upper": 100, "missing": "keep"}, {"name": "income", "lower": 0, "upper": 1000}]
SEX = {"name": "sex", "kind": "category", "values": ["f", "m"]}
_lines = [b"age,income,sex", *(b"%d,%d,%s" % (i % 37, i * i % 1000, b"f" if i % 3 else b"m") for i in range(1500))]
SEXED = b"\n".join(_lines + [b",500,f"] * 40)


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    """An application on SQLite for all tests here."""
    settings = Settings(data_dir=tmp_path_factory.mktemp("adaptive") / "data", log_level="warning")
    with Api(create_app(settings, frozen_clock)) as api:
        api.register()
        api.register("town", attributes=[*GROUPED, SEX], budget="6")
        yield api


@pytest.fixture(scope="module")
def release(opened: Api) -> str:
    """A published release of `city`."""
    return opened.published(epsilon="2", rule="adaptive")


@pytest.fixture(scope="module")
def grouped(opened: Api) -> str:
    """A release with a category and missing values; its size was bought."""
    order = opened.order("town", epsilon="4", clusters=3, rule="adaptive", size={"estimate": "0.1"})
    release_id = str(order.json()["id"])
    assert opened.upload(release_id, SEXED).status_code == 200
    return release_id


def asked(api: Api, release: str, example: Example, more: str = "") -> dict[str, Any]:
    """The answer to an example with more parameters."""
    address = example.address + ("&" if example.query else "?") + more if more else example.address
    reply = api.analyst(example.method, f"/v1/releases/{release}/{address}", **example.options)
    assert reply.status_code == 200, reply.text
    answer: dict[str, Any] = reply.json()
    return answer


@pytest.mark.parametrize("example", EXAMPLES, ids=str)
def test_every_question_is_answered(opened: Api, release: str, grouped: str, example: Example) -> None:
    """As its type says."""
    for each in (release, grouped):
        body = asked(opened, each, example)
        assert list(example.answer.of(body).raw) == list(body)


@pytest.mark.parametrize("example", GETS, ids=str)
def test_every_question_is_answered_of_a_part(opened: Api, release: str, grouped: str, example: Example) -> None:
    """Whose ranges cut leaves; the answer says which part it is about, exactly as it was asked for."""
    if example.answer.path == "count":
        return  # it has a `where` of its own
    for each, more in ((release, "where=age:13.7..61"), (grouped, "where=age:13.7..31&where=sex:m")):
        assert asked(opened, each, example, more)["slice"]["age"] in ("13.7..61", "13.7..31")


@pytest.mark.parametrize("example", [each for each in GETS if each.answer.path not in ("rows", "synopsis")], ids=str)
def test_every_question_is_answered_by_group(opened: Api, grouped: str, example: Example) -> None:
    """One answer for each category."""
    answer = asked(opened, grouped, example, "group_by=sex")
    assert [each["value"] for each in answer["groups"]] == ["f", "m"]


def test_a_part_of_missing_values_is_a_part(opened: Api, grouped: str) -> None:
    """Forty rows have no age, which an interval at the highest level misses once in a million releases."""
    moments = opened.analyst("GET", f"/v1/releases/{grouped}/moments?where=age:(missing)&level=0.999999").json()
    assert moments["size"]["interval"]["low"] <= 40 <= moments["size"]["interval"]["high"]
    assert [each["name"] for each in moments["attributes"]] == ["income"]
