"""What changes is kept by no cache: every reply is no-store but answers and files that never change."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from app.dashboard import assets
from tests.contracts.test_roles import MATRIX, PAGES, named
from tests.support.service.failures import FAILURES
from tests.support.service.routes import Route
from tests.support.service.world import World, opened_world

OF_A_RELEASE = "/v1/releases/{release_id}/"
ANSWERS = {route for route in MATRIX if route[0] == "GET" and route[1].startswith(OF_A_RELEASE)}
ANSWERS -= {("GET", OF_A_RELEASE + "counts")}  # what is awaited changes with each step
ANSWERS -= {("GET", OF_A_RELEASE + "bundle")}  # the policy that it suggests may change
ANSWERS |= {("GET", "/log/tile/{level}/{place}")}


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """One application for all routes."""
    with opened_world(tmp_path_factory.mktemp("world"), max_budget="100") as opened:
        yield opened


UNSEALED = ("GET", "/v1/releases/{release_id}/receipt")


@pytest.mark.parametrize("route", MATRIX | PAGES, ids=named)
def test_every_route_says_whether_its_reply_may_be_kept(world: World, route: Route) -> None:
    """Answers to a GET are immutable and private; keys, ledger, datasets, releases and pages are no-store.

    A receipt without outside witnesses is asked for again each time, because one with their signatures may follow.
    """
    rule = (MATRIX | PAGES)[route]
    for role in sorted(rule.allowed - {None}) or [None]:
        path, options = rule.request(world)
        for _ in range(2):
            reply = world.api.call(role, route[0], path, **options)
            kept = "private, max-age=31536000, immutable" if route in ANSWERS else "no-store"
            if route == UNSEALED:
                kept = "private, no-cache"
            assert reply.headers.get_list("cache-control") == [kept]


@pytest.mark.parametrize("failure", FAILURES)
def test_no_failure_is_kept(world: World, failure: str) -> None:
    """A refusal of today may be an answer tomorrow."""
    assert FAILURES[failure].send(world).headers.get_list("cache-control") == ["no-store"]


def test_files_of_pages_are_kept_by_everybody(world: World) -> None:
    """Their address has their digest in it."""
    reply = world.api.call(None, "GET", assets.address("style.css"))
    assert reply.headers.get_list("cache-control") == ["public, max-age=31536000, immutable"]
