"""Which requests leave a trace: none of a curator's, on any route, by any way, whether it succeeds or fails."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from prometheus_client import generate_latest

from app.access.keys import issue_key
from app.access.permissions import Role
from app.http.middleware.observe_requests import is_noted
from tests.contracts.test_roles import MATRIX, PAGES, UNLISTED, WAYS_IN, named
from tests.support.browser.visitors import FORM, Visitor, visitor
from tests.support.service.failures import JSON
from tests.support.service.routes import Route
from tests.support.service.world import World, opened_world

Capture = pytest.CaptureFixture[str]
RULES = MATRIX | PAGES
CANARY = "CANARY-7f3a"


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """One application at its most talkative."""
    with opened_world(tmp_path_factory.mktemp("world"), max_budget="100", log_level="debug") as opened:
        yield opened


@pytest.fixture(scope="module")
def curator(world: World) -> Visitor:
    """A curator who signed in."""
    return visitor(world.api, Role.CURATOR)


def counted(world: World) -> list[str]:
    """Every counter, read without a request; but for refused keys, which are counted without a route or a caller."""
    text = generate_latest(world.api.app.state.metrics.registry).decode()
    return [line for line in text.splitlines() if "keys_refused" not in line]


def lines(said: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in said.splitlines()]


@pytest.mark.parametrize("route", RULES, ids=named)
def test_no_request_of_a_curator_is_noted(world: World, curator: Visitor, capfd: Capture, route: Route) -> None:
    """By key and by session, the first time and again from memory: no line, and no counter moves."""
    method = route[0]
    calls = [RULES[route].request(world) for _ in range(2)]
    capfd.readouterr()
    before = counted(world)
    for path, options in calls:
        world.api.curator(method, path, **options)
        world.api.curator(method, path, **options)
        curator.call(method, path, **options)
        curator.call(method, path, **options)
    assert lines(capfd.readouterr().err) == []
    assert counted(world) == before


@pytest.mark.parametrize("route", RULES, ids=named)
def test_a_request_that_fails_before_its_caller_is_clear_is_not_noted(
    world: World, curator: Visitor, capfd: Capture, route: Route
) -> None:
    """A wrong method, a slash too many, a body that is no JSON or too large, a missing or wrong key: no line."""
    method = route[0]
    path, options = RULES[route].request(world)
    unreadable = {"content": b'{"name": "' + CANARY.encode(), "headers": JSON}
    wrong = "PATCH" if method != "PATCH" else "TRACE"
    capfd.readouterr()
    before = counted(world)
    for call in (world.api.curator, curator.call):
        call(wrong, path)
        call(method, f"{path.partition('?')[0]}/nowhere/at/all")
        call(method, f"{path.partition('?')[0]}/")
        if method in {"POST", "PUT", "DELETE"}:
            call(method, path, **unreadable)
            call(method, path, content=b"[" * (2**23 + 1), headers=JSON)
    world.api.call(None, method, path, **options)
    world.api.call_with(CANARY, method, path, **options)
    world.api.call_with(world.revoked, method, path, **options)
    world.api.call(None, method, path, **(options | {"headers": {"Cookie": f"rugnik={CANARY}"}}))
    assert lines(capfd.readouterr().err) == []
    assert counted(world) == before


@pytest.mark.parametrize("path", [*UNLISTED, *(path for _, path in WAYS_IN)])
def test_an_open_address_is_not_noted(world: World, capfd: Capture, path: str) -> None:
    """Pages to sign in, files and the document are fetched by curators too, and nothing says by whom."""
    capfd.readouterr()
    before = counted(world)
    for method in ("GET", "POST"):
        world.api.curator(method, path, headers=FORM, content="")
    said = [line for line in lines(capfd.readouterr().err) if line["event"] != "sign_in_failed"]
    assert said == []
    assert counted(world) == before


NOTED = [route for route in RULES if route[0] != "PUT" and None not in RULES[route].allowed]


@pytest.mark.parametrize("route", NOTED, ids=named)
def test_every_request_of_another_role_is_noted(world: World, capfd: Capture, route: Route) -> None:
    """The tests above could not fail otherwise: admins, analysts and auditors have a line and a count each time."""
    rule = RULES[route]
    for role in (Role.ADMIN, Role.ANALYST, Role.AUDITOR):
        stored, key = issue_key(world.api.service, name="noted", role=role, datasets=None)
        path, options = rule.request(world)
        capfd.readouterr()
        before = counted(world)
        replies = [world.api.call_with(key, route[0], path, **options) for _ in range(2)]
        said = [line for line in lines(capfd.readouterr().err) if line["event"] == "request"]
        assert [(line["route"], line["status"], line["key"]) for line in said] == [
            (route[1], reply.status_code, stored.principal.id) for reply in replies
        ]
        assert counted(world) != before


def test_the_rule_denies_by_default() -> None:
    """Without a caller, or for rows whoever sends them, nothing is noted."""
    assert not is_noted({"method": "GET"})
    assert not is_noted({"method": "GET", "state": {}})
