"""An address that leads nowhere names the route that was probably meant, and nothing of what was sent."""

from __future__ import annotations

import pytest

from app.http.nearest import nearest
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
        ("/v1/releases/" + "r" * 5000 + "/moment", "GET /v1/releases/{release_id}/moments"),  # compared without it
        ("/v1/releases" + "s" * 100, None),
    ],
)
def test_the_nearest_route_is_found(path: str, route: str | None) -> None:
    """By the words of the route; an id is right whatever it is."""
    assert nearest(route.split()[0] if route else "GET", path, ROUTES) == route


def test_a_wrong_address_or_method_says_what_is_right(sqlite_api: Api) -> None:
    """In the sentence, for people who do not look at headers; whether somebody is signed in or not."""
    for role in (None, *sqlite_api.keys):
        wrong = sqlite_api.call(role, "GET", "/v1/releases/r0/momets?x=1")
        assert wrong.json()["detail"].endswith("Is it GET /v1/releases/{release_id}/moments?")
    method = sqlite_api.analyst("DELETE", "/v1/datasets")
    assert method.json()["detail"] == "This address does not take this method. It takes GET, POST."
    assert method.headers["allow"] == "GET, POST"
    assert "Is it" not in sqlite_api.analyst("GET", "/v1/quite/other/words/here").json()["detail"]
