"""An address that leads nowhere names the route that was probably meant, and nothing of what was sent."""

from __future__ import annotations

import pytest

from app.http.nearest import methods_at, nearest
from tests.support.service.api import Api

ROUTES = [
    ("POST", "/v1/datasets"),
    ("GET", "/v1/datasets"),
    ("GET", "/v1/datasets/{name}"),
    ("GET", "/v1/releases/{release_id}/moments"),
    ("POST", "/v1/releases/{release_id}/clusters/assign"),
]


@pytest.mark.parametrize(
    ("path", "route"),
    [
        ("/v1/dataset", "GET /v1/datasets"),
        ("/v1/dataset", "POST /v1/datasets"),
        ("/v1/datasets/", "GET /v1/datasets"),
        ("/v1/releases/r0123/moment", "GET /v1/releases/{release_id}/moments"),
        ("/v1/release/r0123/moments", "GET /v1/releases/{release_id}/moments"),
        ("/v1/releases/r0123/cluster/assign", "POST /v1/releases/{release_id}/clusters/assign"),
        ("/v1/something/else", None),
        ("/v1/releases/" + "r" * 900 + "/moment", "GET /v1/releases/{release_id}/moments"),  # compared without it
        ("/v1/releases" + "s" * 100, None),
        ("/v1/datasets/" + "n" * 5000, None),  # too long to look at
    ],
)
def test_the_nearest_route_is_found(path: str, route: str | None) -> None:
    """By the words of the route; an id is right whatever it is."""
    assert nearest(route.split()[0] if route else "GET", path, ROUTES) == route


def test_a_long_address_costs_no_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """The server does nothing else meanwhile, and anybody may send one: it is not even cut into its parts."""

    def never(*_: object) -> None:
        raise AssertionError

    monkeypatch.setattr("app.http.nearest._likeness", never)
    monkeypatch.setattr("app.http.nearest._leads", never)
    for path in ("/v1" + "/" * 32_000, "/v1/" + "a/" * 16_000):
        assert nearest("GET", path, ROUTES) is None
        assert methods_at(path, ROUTES) == []


def test_the_routes_are_those_of_the_document(sqlite_api: Api) -> None:
    """Read off the routers, because the document takes half a second to make."""
    paths = sqlite_api.app.openapi()["paths"]
    expected = {(method.upper(), path) for path, operations in paths.items() for method in operations}
    assert set(sqlite_api.app.state.documented_routes) == expected


def test_a_wrong_address_or_method_says_what_is_right(sqlite_api: Api) -> None:
    """In the sentence, for people who do not look at headers; whether somebody is signed in or not."""
    for role in (None, *sqlite_api.keys):
        wrong = sqlite_api.call(role, "GET", "/v1/releases/r0/momets?x=1")
        assert wrong.json()["detail"].endswith("Is it GET /v1/releases/{release_id}/moments?")
    method = sqlite_api.analyst("DELETE", "/v1/datasets")
    assert method.json()["detail"] == "This address does not take this method. It takes GET, POST."
    assert method.headers["allow"] == "GET, POST"
    assert "Is it" not in sqlite_api.analyst("GET", "/v1/quite/other/words/here").json()["detail"]
