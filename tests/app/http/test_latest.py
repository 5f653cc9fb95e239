"""`latest` leads to the release of a dataset that was published last, and tells nothing else."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from app.access.permissions import Role
from tests.support.service.world import World, opened_world

BY = "/v1/datasets/city/latest"


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """One application for this file, whose bundles are there at once."""
    with opened_world(tmp_path_factory.mktemp("world"), checkpoint_seconds=0) as opened:
        yield opened


@pytest.mark.parametrize("method", ["GET", "HEAD"])
@pytest.mark.parametrize("rest", ["", "/moments", "/clusters/scan?k=2..4", "/synopsis?format=csv", "/card", "/bundle"])
def test_it_leads_to_what_was_published_last(world: World, method: str, rest: str) -> None:
    """307, kept by nobody, to the same question of that release."""
    reply = world.api.analyst(method, BY + rest)
    assert (reply.status_code, reply.content) == (307, b"")
    assert reply.headers["location"] == f"/v1/releases/{world.published}{rest}"
    assert reply.headers["cache-control"] == "no-store"
    if method == "GET":
        assert world.api.analyst("GET", reply.headers["location"]).status_code == 200


def test_the_query_is_kept_byte_for_byte(world: World) -> None:
    """What is encoded stays so, and what is not stays so as well."""
    query = "where=age%3a20..40&where=x:%22y%22,|z&&a=&b=+%2B%20;'\"<>\\^`{}"
    location = world.api.analyst("GET", f"{BY}/count?{query}").headers["location"]
    sent = str(world.api.analyst("GET", f"{BY}/count?{query}").request.url.query, "ascii")
    assert location == f"/v1/releases/{world.published}/count?{sent}"


def test_a_question_with_a_body_is_asked_there(world: World) -> None:
    """307 keeps method and body, so a client that follows it sends both again."""
    body = {"boxes": [["age:20..40"]]}
    reply = world.api.analyst("POST", f"{BY}/counts", json=body)
    assert reply.status_code == 307
    assert world.api.analyst("POST", reply.headers["location"], json=body).status_code == 200


def test_the_last_publication_counts_and_not_the_last_order(world: World) -> None:
    """An order that is placed first and published last is the newest."""
    name = world.fresh("2")
    first, second = (str(world.api.order(name).json()["id"]) for _ in range(2))
    for release in (second, first):
        assert world.api.upload(release).status_code == 200
    world.api.order(name)
    for role in (Role.ANALYST, Role.CURATOR):
        latest = world.api.call(role, "GET", f"/v1/datasets/{name}/latest")
        assert latest.headers["location"] == f"/v1/releases/{first}"
        assert world.api.call(role, "GET", f"/v1/datasets/{name}").json()["newest_published"]["id"] == first


def test_whoever_takes_a_name_for_an_id_is_told_where_the_newest_release_is(world: World) -> None:
    """The address of `latest`, and nothing of what was sent; the same for a release out of this key's reach."""
    replies = [world.api.analyst("GET", f"/v1/releases/{name}/count") for name in ("city", "r0000000000000000")]
    replies.append(world.api.call_with(world.limited[Role.ANALYST], "GET", f"/v1/releases/{world.published}/count"))
    for reply in replies:
        assert (reply.status_code, reply.content) == (404, replies[0].content)
        assert reply.json()["detail"] == (
            "There is no release of this id. "
            "GET /v1/datasets/{name}/latest/count leads to the newest release of a dataset."
        )


@pytest.mark.parametrize("rest", ["", "/moments"])
def test_nothing_published_looks_like_no_dataset(world: World, rest: str) -> None:
    """A dataset without a release, one that the key may not see and one that was never there: the same 404."""
    empty = world.fresh()
    ordered = world.api.analyst("GET", f"/v1/datasets/shut/latest{rest}")
    replies = [world.api.analyst("GET", f"/v1/datasets/{name}/latest{rest}") for name in (empty, "never")]
    replies.append(world.api.call_with(world.limited[Role.ANALYST], "GET", BY + rest))
    for reply in replies:
        assert reply.status_code == 404
        assert (reply.text, reply.headers) == (ordered.text, ordered.headers)
    assert "published release" in ordered.json()["detail"]


@pytest.mark.parametrize("rest", ["records", "size", "nothing", "../../keys", "moments/", "", "%2e%2e/receipt"])
def test_only_what_is_read_of_a_release_is_reached(world: World, rest: str) -> None:
    """No other address is built from what a client sends."""
    reply = world.api.curator("GET", f"{BY}/{rest}")
    assert reply.status_code == 404, reply.headers
    assert "location" not in reply.headers


@pytest.mark.parametrize(
    ("method", "rest"), [("PUT", "/records"), ("PUT", "/counts"), ("DELETE", ""), ("POST", ""), ("POST", "/moments")]
)
def test_an_upload_names_its_order(world: World, method: str, rest: str) -> None:
    """Nothing that changes a release is redirected: 405, which says what is allowed."""
    reply = world.api.curator(method, BY + rest)
    assert (reply.status_code, "location" in reply.headers) == (405, False)
    assert "GET" in reply.headers["allow"]


def test_a_body_to_a_question_without_one_is_refused_and_so_is_the_reverse(world: World) -> None:
    """`counts` is asked with POST; its GET is a curator's and belongs to an order."""
    reply = world.api.curator("GET", f"{BY}/counts")
    assert (reply.status_code, reply.headers["allow"]) == (405, "POST")
