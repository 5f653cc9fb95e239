"""Datasets: what cannot be registered, granted or closed, and that a budget, once named, is never reset."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from app.main import create_app
from app.settings.settings import Settings
from tests.support.service.api import ATTRIBUTES, Api, frozen_clock

AGE = {"name": "age", "lower": 0, "upper": 100}
NOTHING: tuple[list[bytes], str] = ([], '{"datasets":[],"next":null}')
GOOD = {"name": "city", "attributes": ATTRIBUTES, "budget": "3"}


def attributes(count: int) -> list[dict[str, Any]]:
    return [{"name": f"a{x}", "lower": 0, "upper": 1} for x in range(count)]


def everything(api: Api) -> tuple[list[bytes], str]:
    """The ledger of the datasets byte for byte, and the datasets as they are shown."""
    lines = api.auditor("GET", "/v1/ledger/export").content.splitlines()
    return [line for line in lines if b'"dataset":null' not in line], api.auditor("GET", "/v1/datasets").text


BAD: dict[str, dict[str, Any]] = {
    "no name": {"name": None},
    "empty name": {"name": ""},
    "name with a space": {"name": "the city"},
    "name with a slash": {"name": "a/b"},
    "name that starts with a dot": {"name": ".."},
    "name with an accent": {"name": "Zürich"},
    "name with a newline": {"name": "city\n"},
    "name of 65 characters": {"name": "c" * 65},
    "name that is a number": {"name": 7},
    "no attributes": {"attributes": []},
    "33 attributes": {"attributes": attributes(33)},
    "attributes of one name": {"attributes": [AGE, AGE]},
    "attribute without a name": {"attributes": [AGE | {"name": ""}]},
    "attribute name with a comma": {"attributes": [AGE | {"name": "a,b"}]},
    "attribute name with a colon": {"attributes": [AGE | {"name": "a:b"}]},
    "attribute name with a quote": {"attributes": [AGE | {"name": 'a"b'}]},
    "attribute name with a NUL": {"attributes": [AGE | {"name": "a\0b"}]},
    "attribute name with a space at its end": {"attributes": [AGE | {"name": "age "}]},
    "attribute name of 65 characters": {"attributes": [AGE | {"name": "a" * 65}]},
    "attribute without an upper bound": {"attributes": [{"name": "age", "lower": 0}]},
    "reversed bounds": {"attributes": [AGE | {"lower": 100, "upper": 0}]},
    "equal bounds": {"attributes": [AGE | {"lower": 5, "upper": 5}]},
    "bounds too close for a cell": {"attributes": [AGE | {"lower": 1, "upper": 1 + 2**-52}]},
    "bounds too far apart": {"attributes": [AGE | {"lower": -1.7e308, "upper": 1.7e308}]},
    "bounds too far apart to be squared": {"attributes": [AGE | {"lower": 0, "upper": 1e80}]},
    "bounds too close to be squared": {"attributes": [AGE | {"lower": 0, "upper": 1e-80}]},
    "bounds that are texts": {"attributes": [AGE | {"upper": "ten"}]},
    "bounds that are null": {"attributes": [AGE | {"upper": None}]},
    "unknown field": {"rows": 3},
    "unknown field of an attribute": {"attributes": [AGE | {"mean": 40}]},
    "no budget": {"budget": None},
    "budget 0": {"budget": "0"},
    "budget 0.000000000": {"budget": "0.000000000"},
    "budget -1": {"budget": "-1"},
    "budget +1": {"budget": "+1"},
    "budget 1e3": {"budget": "1e3"},
    "budget 1e0": {"budget": "1e0"},
    "budget of ten places": {"budget": "0.1234567891"},
    "budget with a space": {"budget": " 1"},
    "budget with a newline": {"budget": "1\n"},
    "budget in other digits": {"budget": "\u0661"},
    "budget with a comma": {"budget": "1,5"},
    "budget without digits": {"budget": "."},
    "budget without a whole part": {"budget": ".5"},
    "budget NaN": {"budget": "NaN"},
    "budget as a number": {"budget": 1},
    "budget as a float": {"budget": 0.5},
    "budget beyond the limit": {"budget": "20.000000001"},
    "budget beyond all limits": {"budget": "9999"},
    "description with a control character": {"description": "a\x07b"},
    "description of 2,001 characters": {"description": "d" * 2001},
}


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    """A service without a dataset, for registrations that are refused: these change nothing."""
    settings = Settings(data_dir=tmp_path_factory.mktemp("bare") / "data", log_level="warning")
    with Api(create_app(settings, frozen_clock)) as opened:
        yield opened


@pytest.mark.parametrize("bad", BAD)
def test_a_bad_registration_is_refused_and_leaves_nothing(bare: Api, bad: str) -> None:
    """422, and the ledger is still empty."""
    body = {name: value for name, value in (GOOD | BAD[bad]).items() if value is not None}
    reply = bare.curator("POST", "/v1/datasets", json=body)
    assert reply.status_code == 422, reply.text
    assert everything(bare) == NOTHING


def test_a_refused_name_is_still_free(sqlite_api: Api) -> None:
    """A registration that failed late, at the limit on budgets, does not take the name with it."""
    assert sqlite_api.register(budget="500").status_code == 422
    assert everything(sqlite_api) == NOTHING
    assert sqlite_api.register().status_code == 201


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999", "-1e999", "1" + "0" * 400])
@pytest.mark.parametrize("bound", ["lower", "upper"])
def test_a_bound_that_is_not_finite_is_refused(bare: Api, bound: str, number: str) -> None:
    """Whatever spelling a JSON reader would let through."""
    text = json.dumps(GOOD).replace(f'"{bound}": {AGE[bound]},', f'"{bound}": {number},', 1)
    text = text.replace(f'"{bound}": {AGE[bound]}}}', f'"{bound}": {number}}}', 1)
    assert number in text
    reply = bare.curator("POST", "/v1/datasets", content=text.encode(), headers={"Content-Type": "application/json"})
    assert reply.status_code == 422, reply.text
    assert everything(bare) == NOTHING


def test_what_is_registered_is_what_is_shown(api: Api) -> None:
    """Sixteen attributes, awkward but lawful names and bounds, a budget to the last billionth."""
    odd = [
        {"name": "Größe (cm)", "lower": -0.0, "upper": 2.5e2},
        {"name": "a.b/c%20", "lower": -1e60, "upper": 1e60},
        {"name": "'; DROP TABLE ledger; --", "lower": 0.1, "upper": 0.2},
        *attributes(13),
    ]
    body = {"name": "a.B-c_9", "description": "  élan  ", "attributes": odd, "budget": "0.123456789"}
    reply = api.curator("POST", "/v1/datasets", json=body)
    assert reply.status_code == 201, reply.text
    expected = {
        "name": "a.B-c_9",
        "description": "élan",
        "state": "open",
        "attributes": odd,
        "unit": {"kind": "record"},
        "budget": {"granted": "0.123456789", "spent": "0", "remaining": "0.123456789"},
        "releases": [],
    }
    assert reply.json() == expected
    assert api.analyst("GET", "/v1/datasets/a.B-c_9").json() == expected
    assert api.analyst("GET", "/v1/datasets").json() == {"datasets": [expected], "next": None}


def test_registration_is_a_grant_on_the_record(api: Api) -> None:
    """The first entry of a dataset names who registered it, with the public box and the budget."""
    api.register(budget="2.5")
    (entry,) = api.auditor("GET", "/v1/ledger?dataset=city").json()["entries"]
    assert (entry["kind"], entry["dataset"], entry["epsilon"], entry["release"]) == ("grant", "city", "2.5", None)
    assert entry["actor"].startswith("curator [k")
    assert len(bytes.fromhex(entry["detail"].pop("salt"))) == 16
    assert entry["detail"] == {
        "reason": "registration",
        "domain": [["age", "0.0", "100.0"], ["income", "0.0", "1000.0"]],
        "unit": {"kind": "record"},
        "description": "",
    }


def test_a_name_is_taken_for_ever(api: Api) -> None:
    """A second registration is refused while the dataset is open and after it is closed: no budget is reset."""
    api.register(budget="1")
    api.order(epsilon="1")
    before = everything(api)
    assert api.register(budget="2").status_code == 409
    assert everything(api) == before
    assert api.curator("POST", "/v1/datasets/city/close").status_code == 200
    before = everything(api)
    again = api.register(budget="2")
    assert (again.status_code, again.json()["type"]) == (409, "urn:rugnik:problem:name-taken")
    assert everything(api) == before
    assert api.budget() == {"granted": "1", "spent": "1", "remaining": "0"}


def test_nothing_is_ever_deleted(api: Api) -> None:
    """There is no way to remove a dataset, a grant or an entry: 405, or no such address."""
    api.register()
    before = everything(api)
    for path in ("/v1/datasets/city", "/v1/datasets", "/v1/datasets/city/grants", "/v1/ledger", "/v1/ledger/1"):
        for role_call in (api.admin, api.curator):
            for method in ("DELETE", "PUT", "PATCH"):
                assert role_call(method, path).status_code in {404, 405}, (method, path)
    assert everything(api) == before


BAD_GRANTS: dict[str, dict[str, Any]] = {
    "nothing": {"epsilon": "0"},
    "less than nothing": {"epsilon": "-1"},
    "scientific": {"epsilon": "1e3"},
    "ten places": {"epsilon": "0.1234567891"},
    "a number": {"epsilon": 1},
    "one billionth too much": {"epsilon": "17.000000001"},
    "no reason": {"reason": None},
    "an empty reason": {"reason": ""},
    "a blank reason": {"reason": "   "},
    "a reason on two lines": {"reason": "a\nb"},
    "a reason of 501 characters": {"reason": "r" * 501},
    "unknown field": {"until": "2030"},
}


def test_a_bad_grant_is_refused_and_leaves_nothing(sqlite_api: Api) -> None:
    """422, and the ledger byte for byte as it was."""
    sqlite_api.register()
    before = everything(sqlite_api)
    for bad, changes in BAD_GRANTS.items():
        body = {"epsilon": "1", "reason": "more"} | changes
        body = {name: value for name, value in body.items() if value is not None}
        reply = sqlite_api.admin("POST", "/v1/datasets/city/grants", json=body)
        assert reply.status_code == 422, (bad, reply.text)
        assert everything(sqlite_api) == before, bad


def test_a_grant_raises_the_budget_on_the_record(api: Api) -> None:
    """By exactly that much, with its reason and its giver."""
    api.register(budget="1")
    assert api.order(epsilon="1").status_code == 201
    assert api.order(epsilon="0.000000001").status_code == 409
    reply = api.admin("POST", "/v1/datasets/city/grants", json={"epsilon": "0.000000001", "reason": "one more"})
    assert (reply.status_code, reply.json()["budget"]["remaining"]) == (201, "0.000000001")
    entry = api.auditor("GET", "/v1/ledger", params={"kind": "grant"}).json()["entries"][-1]
    assert len(bytes.fromhex(entry["detail"].pop("salt"))) == 16
    assert entry["detail"] == {"reason": "one more"}
    assert entry["actor"].startswith("admin [k")
    assert api.order(epsilon="0.000000001").status_code == 201


def test_the_limit_holds_for_registration_and_grants_together(sqlite_settings: Settings) -> None:
    """RUGNIK_MAX_BUDGET is reached to the last billionth and not passed by one; what was spent does not count back."""
    capped = sqlite_settings.model_copy(update={"max_budget": "1.000000001"})

    def grant(epsilon: str) -> tuple[int, Any]:
        reply = api.admin("POST", "/v1/datasets/city/grants", json={"epsilon": epsilon, "reason": "r"})
        return reply.status_code, reply.json().get("limit")

    with Api(create_app(capped, frozen_clock)) as api:
        assert api.register(budget="1.000000002").status_code == 422
        assert api.register(budget="0.4").status_code == 201
        assert grant("0.600000002") == (422, "1.000000001")
        assert grant("0.6") == (201, None)
        api.published(epsilon="0.9")
        assert grant("0.000000002") == (422, "1.000000001")
        assert grant("0.000000001") == (201, None)
        assert grant("0.000000001") == (422, "1.000000001")
        assert api.budget() == {"granted": "1.000000001", "spent": "0.9", "remaining": "0.100000001"}
        assert api.register("town", budget="1.000000001").status_code == 201  # the limit is each dataset's own


def test_closing_is_on_the_record_and_changes_nothing_else(api: Api) -> None:
    """One entry; what was published, spent and granted is shown as before."""
    api.register()
    release_id = api.published()
    before = api.analyst("GET", "/v1/datasets/city").json()
    closed = api.curator("POST", "/v1/datasets/city/close")
    assert (closed.status_code, closed.json()["state"]) == (200, "closed")
    assert api.analyst("GET", "/v1/datasets/city").json() == before | {"state": "closed"}
    assert api.analyst("GET", f"/v1/releases/{release_id}").status_code == 200
    entry = api.auditor("GET", "/v1/ledger").json()["entries"][-1]
    assert len(bytes.fromhex(entry["detail"].pop("salt"))) == 16
    assert (entry["kind"], entry["epsilon"], entry["detail"]) == ("close", "0", {})
