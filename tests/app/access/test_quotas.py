"""Quotas and pages: nobody makes datasets, open orders or keys without end, and long lists come in pages."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from httpx import Response

from app.access.permissions import Role
from app.main import create_app
from app.settings.settings import Settings
from tests.support.service.api import Api, frozen_clock
from tests.support.service.live import Live


@pytest.fixture
def small(settings: Settings) -> Iterator[Api]:
    """A service with room for two datasets, two open orders and seven keys, four of them taken."""
    limits = {"max_datasets": 2, "max_open_orders": 2, "max_keys": 7}
    with Api(create_app(settings.model_copy(update=limits), frozen_clock)) as opened:
        yield opened


def assert_full(reply: Response, setting: str, limit: int) -> None:
    assert (reply.status_code, reply.json()["type"]) == (409, "urn:rugnik:problem:quota-reached"), reply.text
    assert (reply.json()["setting"], reply.json()["limit"]) == (setting, limit)
    assert setting in reply.json()["detail"]


def test_datasets_are_refused_beyond_the_limit(small: Api) -> None:
    """The third is refused, nothing is granted to it, and a taken name is still told as such."""
    assert [small.register(name).status_code for name in ("a", "b")] == [201, 201]
    assert_full(small.register("c"), "RUGNIK_MAX_DATASETS", 2)
    assert small.register("a").json()["type"] == "urn:rugnik:problem:name-taken"
    assert len(small.auditor("GET", "/v1/ledger", params={"kind": "grant"}).json()["entries"]) == 2


def test_orders_are_refused_beyond_the_limit_until_one_ends(small: Api) -> None:
    """Refused without a charge; a void or a publish makes room; a repeated order is not one more."""
    small.register()
    key = {"Idempotency-Key": "once"}
    first = small.order(epsilon="0.1", headers=key).json()["id"]
    second = small.order(epsilon="0.1").json()["id"]
    spent = small.budget()["spent"]
    assert_full(small.order(epsilon="0.1"), "RUGNIK_MAX_OPEN_ORDERS", 2)
    assert small.budget()["spent"] == spent
    assert small.order(epsilon="0.1", headers=key).json()["id"] == first
    assert small.curator("DELETE", f"/v1/releases/{first}").status_code == 200
    assert small.order(epsilon="0.1").status_code == 201
    assert_full(small.order(epsilon="0.1"), "RUGNIK_MAX_OPEN_ORDERS", 2)
    assert small.upload(second).status_code == 200
    assert small.order(epsilon="0.1").status_code == 201


def test_keys_are_refused_beyond_the_limit_until_one_is_revoked(small: Api) -> None:
    """Revoked keys stay listed and do not count."""

    def issue() -> Response:
        return small.admin("POST", "/v1/keys", json={"name": "x", "role": "analyst"})

    assert [issue().status_code for _ in range(3)] == [201, 201, 201]
    assert_full(issue(), "RUGNIK_MAX_KEYS", 7)
    newest = small.admin("GET", "/v1/keys").json()["keys"][-1]["id"]
    assert small.admin("DELETE", f"/v1/keys/{newest}").status_code == 204
    assert issue().status_code == 201
    assert len(small.admin("GET", "/v1/keys").json()["keys"]) == 8
    assert_full(issue(), "RUGNIK_MAX_KEYS", 7)


@pytest.mark.parametrize(("path", "field", "name"), [("/v1/datasets", "datasets", "name"), ("/v1/keys", "keys", "id")])
def test_pages_together_are_the_whole_list(api: Api, path: str, field: str, name: str) -> None:
    """In order, each entry once, whatever the size of a page; the last page has no `next`."""
    for number in range(5):
        assert api.register(f"d{number}").status_code == 201
        assert api.admin("POST", "/v1/keys", json={"name": "x", "role": "analyst"}).status_code == 201
    whole = api.admin("GET", path).json()
    assert whole["next"] is None
    for limit in (1, 2, 3, len(whole[field]), 1000):
        entries, after = [], ""
        while after is not None:
            reply = api.admin("GET", path, params={"limit": limit, "after": after}).json()
            assert len(reply[field]) <= limit
            entries += reply[field]
            after = reply["next"]
            assert after is None or after == entries[-1][name]
        assert entries == whole[field]


def test_a_page_of_a_limited_key_is_full_of_its_own(sqlite_api: Api) -> None:
    """What a key may not see takes no room in its pages, and its name is not given as `next`."""
    for name in ("a", "b", "c", "d"):
        sqlite_api.register(name)
    body = {"name": "x", "role": "analyst", "datasets": ["b", "d"]}
    key = sqlite_api.admin("POST", "/v1/keys", json=body).json()["key"]
    first = sqlite_api.call_with(key, "GET", "/v1/datasets?limit=1").json()
    second = sqlite_api.call_with(key, "GET", "/v1/datasets?limit=1&after=b").json()
    assert ([d["name"] for d in first["datasets"]], first["next"]) == (["b"], "b")
    assert ([d["name"] for d in second["datasets"]], second["next"]) == (["d"], None)


def test_a_page_after_an_unknown_key_is_refused(sqlite_api: Api) -> None:
    """404, rather than the first page once more."""
    assert sqlite_api.admin("GET", "/v1/keys?after=nobody").status_code == 404


def test_the_client_reads_every_page(live: Live) -> None:
    """More entries than one page has, by way of a real socket: all of them, each once."""
    with live.client(Role.CURATOR) as curator:
        for number in range(105):
            curator.register_dataset(f"{live.city}.{number:03}", {"x": (0, 1)}, budget="1")
        names = [dataset.name for dataset in curator.datasets()]
    assert [name for name in names if name.startswith(f"{live.city}.")] == [f"{live.city}.{n:03}" for n in range(105)]
    assert len(names) == len(set(names))
