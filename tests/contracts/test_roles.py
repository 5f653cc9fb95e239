"""Who may do what: every role against every route, and keys that are limited to some datasets."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, get_args

import pytest
from httpx import Response

from app.access.keys import issue_key
from app.access.permissions import Role
from app.access.principal import Principal
from tests.support.browser.visitors import Visitor, visitor
from tests.support.service.api import ATTRIBUTES, CSV, ROWS
from tests.support.service.counting import COUNTS, counts_body
from tests.support.service.questions import BY_ROUTE, Example
from tests.support.service.routes import Route, api_routes, operations, routes
from tests.support.service.world import World, opened_world

ADMIN, CURATOR, ANALYST, AUDITOR = Role.ADMIN, Role.CURATOR, Role.ANALYST, Role.AUDITOR
ALL = frozenset(Role)
OPEN = frozenset({*Role, None})
ORDER = {"epsilon": "0.1", "clusters": 2, "size": {"declared": 100}}


@dataclass(frozen=True)
class Rule:
    """Who may call a route, with which status they do, and a request that succeeds when it is allowed."""

    allowed: frozenset[Role | None]
    status: int
    request: Callable[[World], tuple[str, dict[str, Any]]]


def at(path: str, **options: Any) -> Callable[[World], tuple[str, dict[str, Any]]]:
    """The same request every time; `path` may name what a World holds."""
    return lambda world: (path.format(**vars(world)), options)


def only(*roles: Role) -> frozenset[Role | None]:
    return frozenset(roles)


def asking(example: Example) -> Rule:
    """A question to a published synopsis: as for every answer, of an analyst, a curator or an auditor."""
    path = f"/v1/releases/{{published}}/{example.address}"
    return Rule(only(ANALYST, CURATOR, AUDITOR), 200, at(path, **example.options))


def new_dataset(world: World) -> tuple[str, dict[str, Any]]:
    name = world.fresh()
    return "/v1/datasets", {"json": {"name": f"{name}.new", "attributes": ATTRIBUTES, "budget": "1"}}


def new_key(world: World) -> str:
    return issue_key(world.api.service, name="short", role=ANALYST, datasets=None)[0].principal.id


def fresh_counts(world: World) -> tuple[str, dict[str, Any]]:
    release = world.fresh_order()
    return f"/v1/releases/{release}/counts", {"content": counts_body(world.api, release), "headers": COUNTS}


def fresh_size(world: World) -> tuple[str, dict[str, Any]]:
    release = world.api.order(world.fresh(), size={"estimate": "0.05"}).json()["id"]
    return f"/v1/releases/{release}/size", {"json": {"rows": 500}}


# DESIGN.md, "The HTTP contract". A route that is missing here fails the first test below.
MATRIX: dict[Route, Rule] = {
    ("POST", "/v1/datasets"): Rule(only(CURATOR), 201, new_dataset),
    ("GET", "/v1/datasets"): Rule(ALL, 200, at("/v1/datasets")),
    ("GET", "/v1/datasets/{name}"): Rule(ALL, 200, at("/v1/datasets/city")),
    ("POST", "/v1/datasets/{name}/grants"): Rule(
        only(ADMIN), 201, at("/v1/datasets/city/grants", json={"epsilon": "0.1", "reason": "more"})
    ),
    ("POST", "/v1/datasets/{name}/close"): Rule(
        only(CURATOR), 200, lambda world: (f"/v1/datasets/{world.fresh()}/close", {})
    ),
    ("POST", "/v1/datasets/{name}/plans"): Rule(only(CURATOR), 200, at("/v1/datasets/city/plans", json=ORDER)),
    ("GET", "/v1/datasets/{name}/releases"): Rule(ALL, 200, at("/v1/datasets/city/releases")),
    ("POST", "/v1/datasets/{name}/releases"): Rule(only(CURATOR), 201, at("/v1/datasets/city/releases", json=ORDER)),
    ("GET", "/v1/datasets/{name}/latest"): Rule(ALL, 307, at("/v1/datasets/city/latest")),
    ("GET", "/v1/datasets/{name}/latest/{rest}"): Rule(
        only(ANALYST, CURATOR, AUDITOR), 307, at("/v1/datasets/city/latest/moments")
    ),
    ("POST", "/v1/datasets/{name}/latest/{rest}"): Rule(
        only(ANALYST, CURATOR, AUDITOR), 307, at("/v1/datasets/city/latest/counts")
    ),
    ("GET", "/v1/releases/{release_id}"): Rule(ALL, 200, at("/v1/releases/{published}")),
    ("DELETE", "/v1/releases/{release_id}"): Rule(
        only(CURATOR), 200, lambda world: (f"/v1/releases/{world.fresh_order()}", {})
    ),
    ("PUT", "/v1/releases/{release_id}/records"): Rule(
        only(CURATOR),
        200,
        lambda world: (f"/v1/releases/{world.fresh_order()}/records", {"content": ROWS, "headers": CSV}),
    ),
    ("GET", "/v1/releases/{release_id}/counts"): Rule(only(CURATOR), 200, at("/v1/releases/{ordered}/counts")),
    ("PUT", "/v1/releases/{release_id}/counts"): Rule(only(CURATOR), 200, fresh_counts),
    ("POST", "/v1/releases/{release_id}/size"): Rule(only(CURATOR), 200, fresh_size),
    ("POST", "/v1/datasets/{name}/rule"): Rule(
        only(ADMIN, CURATOR), 200, lambda world: (f"/v1/datasets/{world.fresh()}/rule", {"json": {"above": "0.5"}})
    ),
    ("GET", "/v1/requests"): Rule(only(ADMIN, AUDITOR, CURATOR), 200, at("/v1/requests")),
    ("GET", "/v1/requests/{request_id}"): Rule(
        only(ADMIN, AUDITOR, CURATOR), 200, lambda world: (f"/v1/requests/{world.fresh_request()}", {})
    ),
    ("POST", "/v1/requests/{request_id}/approve"): Rule(
        only(ADMIN, CURATOR), 200, lambda world: (f"/v1/requests/{world.fresh_request()}/approve", {})
    ),
    ("POST", "/v1/requests/{request_id}/refuse"): Rule(
        only(ADMIN, CURATOR), 200, lambda world: (f"/v1/requests/{world.fresh_request()}/refuse", {})
    ),
    **{route: asking(example) for route, example in BY_ROUTE.items()},
    ("GET", "/v1/releases/{release_id}/card"): Rule(
        only(ANALYST, CURATOR, AUDITOR), 200, at("/v1/releases/{published}/card")
    ),
    ("GET", "/v1/releases/{release_id}/receipt"): Rule(
        only(ANALYST, CURATOR, AUDITOR), 200, at("/v1/releases/{published}/receipt")
    ),
    ("GET", "/v1/releases/{release_id}/bundle"): Rule(
        only(ANALYST, CURATOR, AUDITOR), 200, at("/v1/releases/{published}/bundle")
    ),
    ("GET", "/log/checkpoint"): Rule(OPEN, 200, at("/log/checkpoint")),
    ("GET", "/log/policy"): Rule(OPEN, 200, at("/log/policy")),
    ("GET", "/log/tile/{level}/{place}"): Rule(only(ADMIN, AUDITOR), 200, at("/log/tile/0/000.p/1")),
    ("GET", "/v1/ledger/consistency"): Rule(only(ADMIN, AUDITOR), 200, at("/v1/ledger/consistency?old=1")),
    ("GET", "/v1/ledger"): Rule(only(ADMIN, AUDITOR, CURATOR), 200, at("/v1/ledger")),
    ("GET", "/v1/ledger/head"): Rule(only(ADMIN, AUDITOR), 200, at("/v1/ledger/head")),
    ("GET", "/v1/ledger/verify"): Rule(only(ADMIN, AUDITOR), 200, at("/v1/ledger/verify")),
    ("GET", "/v1/ledger/export"): Rule(only(ADMIN, AUDITOR), 200, at("/v1/ledger/export")),
    ("POST", "/v1/ledger/verifications"): Rule(only(ADMIN, AUDITOR), 200, at("/v1/ledger/verifications")),
    ("POST", "/v1/keys"): Rule(only(ADMIN), 201, at("/v1/keys", json={"name": "x", "role": "analyst"})),
    ("GET", "/v1/keys"): Rule(only(ADMIN), 200, at("/v1/keys")),
    ("DELETE", "/v1/keys/{key_id}"): Rule(only(ADMIN), 204, lambda world: (f"/v1/keys/{new_key(world)}", {})),
    ("GET", "/healthz"): Rule(OPEN, 200, at("/healthz")),
    ("GET", "/readyz"): Rule(OPEN, 200, at("/readyz")),
    ("GET", "/metrics"): Rule(only(ADMIN), 200, at("/metrics")),
}
# The dashboard: in no document, since pages are for people. Nobody is sent to sign in, a wrong role is told so.
PAGES: dict[Route, Rule] = {
    ("GET", "/"): Rule(ALL, 200, at("/")),
    ("GET", "/register"): Rule(only(CURATOR), 200, at("/register")),
    ("GET", "/datasets/{name}"): Rule(ALL, 200, at("/datasets/city")),
    ("GET", "/datasets/{name}/release"): Rule(only(CURATOR), 200, at("/datasets/city/release")),
    ("GET", "/datasets/{name}/compare"): Rule(only(ANALYST, CURATOR, AUDITOR), 200, at("/datasets/city/compare")),
    ("GET", "/releases/{release_id}"): Rule(ALL, 200, at("/releases/{published}")),
    ("GET", "/releases/{release_id}/card"): Rule(ALL, 200, at("/releases/{published}/card")),
    ("GET", "/releases/{release_id}/receipt"): Rule(
        only(ANALYST, CURATOR, AUDITOR), 200, at("/releases/{published}/receipt")
    ),
    ("GET", "/docs"): Rule(ALL, 200, at("/docs")),
    ("GET", "/log"): Rule(only(ADMIN, AUDITOR), 200, at("/log")),
    ("GET", "/ledger"): Rule(only(ADMIN, AUDITOR, CURATOR), 200, at("/ledger")),
    ("GET", "/keys"): Rule(only(ADMIN), 200, at("/keys")),
}
# For everybody: the way in and out, and the files that pages load. test_sessions.py looks at the first three.
WAYS_IN: set[Route] = {
    ("GET", "/sign-in"),
    ("POST", "/sign-in"),
    ("POST", "/sign-out"),
    ("GET", "/static/{version}/{name}"),
}
# In no document: the document itself.
UNLISTED = {"/openapi.json"}
CALLERS = [*Role, None]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """One application for the whole matrix; what a call uses up is made afresh for it."""
    with opened_world(tmp_path_factory.mktemp("world"), max_budget="100") as opened:
        assert opened.api.order("other").status_code == 201
        yield opened


@pytest.fixture(scope="module")
def visitors(world: World) -> dict[Role, Visitor]:
    """Somebody of each role who signed in."""
    return {role: visitor(world.api, role) for role in Role}


def named(route: Route) -> str:
    return " ".join(route)


def test_the_matrix_covers_every_route(world: World) -> None:
    """A route that somebody adds is refused here until it is decided who may call it."""
    assert set(operations(world.api.app)) == set(MATRIX)
    mounted = {(method, route.path_format) for route in routes(world.api.app) for method in route.methods - {"HEAD"}}
    mounted = {(method, path.replace(":path}", "}")) for method, path in mounted}
    assert {route for route in mounted if route[1] not in UNLISTED} == {*MATRIX, *PAGES, *WAYS_IN}


@pytest.mark.parametrize("caller", CALLERS, ids=str)
@pytest.mark.parametrize("route", MATRIX, ids=named)
def test_every_role_against_every_route(world: World, route: Route, caller: Role | None) -> None:
    """Those who may get their answer; a wrong role gets 403, nobody gets 401, and the ledger does not move for them."""
    rule = MATRIX[route]
    path, options = rule.request(world)
    before = world.head()
    reply = world.api.call(caller, route[0], path, **options)
    if caller in rule.allowed:
        assert reply.status_code == rule.status, reply.text
    else:
        assert reply.status_code == (401 if caller is None else 403), reply.text
        assert world.head() == before


@pytest.mark.parametrize("caller", CALLERS, ids=str)
@pytest.mark.parametrize("route", PAGES, ids=named)
def test_every_role_against_every_page(
    world: World, visitors: dict[Role, Visitor], route: Route, caller: Role | None
) -> None:
    """By key and by session alike; a refusal is a page in words, and whoever is nobody is sent to sign in."""
    rule = PAGES[route]
    path, _ = rule.request(world)
    replies = [world.api.call(caller, "GET", path)]
    if caller is not None:
        replies.append(visitors[caller].call("GET", path))
    for reply in replies:
        if caller in rule.allowed:
            assert reply.status_code == rule.status, reply.text
        elif caller is None:
            assert (reply.status_code, reply.headers["location"].partition("?")[0]) == (303, "/sign-in")
        else:
            assert reply.status_code == 403
        if caller is not None:
            assert reply.headers["content-type"].startswith("text/html")
            assert "unsafe-inline" not in reply.headers["content-security-policy"]
            assert "default-src 'none'; script-src 'self'" in reply.headers["content-security-policy"]


@pytest.mark.parametrize("caller", Role)
@pytest.mark.parametrize("route", MATRIX, ids=named)
def test_a_session_may_do_what_its_key_may(
    world: World, visitors: dict[Role, Visitor], route: Route, caller: Role
) -> None:
    """The same matrix by cookie and token; /metrics is for machines and takes a key."""
    rule = MATRIX[route]
    path, options = rule.request(world)
    reply = visitors[caller].call(route[0], path, **options)
    if route == ("GET", "/metrics"):
        assert reply.status_code == 401
    else:
        assert reply.status_code == (rule.status if caller in rule.allowed else 403), reply.text


PAGES_OF_A_DATASET = ["/datasets/{0}", "/datasets/{0}/compare", "/datasets/{0}/release", "/ledger?dataset={0}"]


@pytest.mark.parametrize("path", PAGES_OF_A_DATASET)
def test_pages_show_a_limited_key_its_own_datasets_only(world: World, path: str) -> None:
    """Another's dataset looks as one that was never there, and is on no page."""
    key = world.limited[CURATOR]
    hidden, missing = (world.api.call_with(key, "GET", path.format(name)) for name in ("city", "never"))
    assert hidden.status_code == missing.status_code == (200 if path.startswith("/ledger") else 404)
    assert hidden.text.replace('"city"', '"never"') == missing.text
    assert "/datasets/city" not in world.api.call_with(key, "GET", "/").text
    assert "/datasets/city" not in world.api.call_with(key, "GET", "/ledger").text


@pytest.mark.parametrize("role", Role)
def test_the_explorer_is_for_those_who_may_ask(world: World, role: Role) -> None:
    """An admin sees what is on record; an order has no explorer, and for an analyst does not exist."""
    published = world.api.call(role, "GET", f"/releases/{world.published}").text
    assert ("explorer.js" in published) == (role is not ADMIN)
    ordered = world.api.call(role, "GET", f"/releases/{world.ordered}")
    assert ordered.status_code == (404 if role is ANALYST else 200)
    assert "explorer.js" not in ordered.text


def test_every_route_under_v1_names_its_callers_in_its_signature(world: World) -> None:
    """Deny by default: no function answers under /v1 without a Principal among its arguments."""
    checked_routes = 0
    for route in api_routes(world.api.app):
        if route.path.startswith("/v1"):
            annotations = [
                parameter.annotation
                for parameter in inspect.signature(route.endpoint, eval_str=True).parameters.values()
            ]
            assert any(Principal in get_args(annotation) for annotation in annotations), route.path
            checked_routes += route.methods != {"HEAD"}  # that is a GET without its body
    assert checked_routes == sum(path.startswith("/v1") for _, path in MATRIX)


OF_A_DATASET = [
    route for route in MATRIX if any(f"{{{of}}}" in route[1] for of in ("name", "release_id", "request_id"))
]


@pytest.mark.parametrize("route", OF_A_DATASET, ids=named)
def test_other_datasets_do_not_exist_for_a_limited_key(world: World, route: Route) -> None:
    """404 on every route that names a dataset or a release, word for word as for one that was never there."""
    rule = MATRIX[route]
    path, options = rule.request(world)
    parts = path.split("/")
    never = "/".join([*parts[:3], "never", *parts[4:]])
    if rule.status == 200 and route[0] == "GET":
        world.api.call(CURATOR, "GET", path)  # what was asked before by another must not help this one
    before = world.head()
    for role in rule.allowed & ALL:
        assert role is not None
        hidden = world.api.call_with(world.limited[role], route[0], path, **options)
        missing = world.api.call_with(world.limited[role], route[0], never, **options)
        assert hidden.status_code == 404, hidden.text
        assert (hidden.text, hidden.headers) == (missing.text, missing.headers)
    assert world.head() == before


@pytest.mark.parametrize("role", Role)
def test_lists_show_a_limited_key_its_own_datasets_only(world: World, role: Role) -> None:
    """/v1/datasets and /v1/ledger leave out what the key may not see; asking for it by name gives 404."""
    key = world.limited[role]
    listed = world.api.call_with(key, "GET", "/v1/datasets").json()["datasets"]
    assert [dataset["name"] for dataset in listed] == ["other"]
    assert world.api.call_with(key, "GET", "/v1/datasets/other").status_code == 200
    if role in MATRIX["GET", "/v1/ledger"].allowed:
        entries = world.api.call_with(key, "GET", "/v1/ledger").json()["entries"]
        assert {entry["dataset"] for entry in entries} == {"other"}
        assert len(entries) == 2
        assert world.api.call_with(key, "GET", "/v1/ledger?dataset=other").json()["entries"] == entries
        assert world.api.call_with(key, "GET", "/v1/ledger?dataset=city").status_code == 404


@pytest.mark.parametrize("role", [AUDITOR, ADMIN])
@pytest.mark.parametrize("path", ["/v1/ledger/head", "/v1/ledger/verify", "/v1/ledger/export"])
def test_the_whole_ledger_needs_a_key_without_limits(world: World, role: Role, path: str) -> None:
    """Head, verification and export speak of every dataset: 403 for a limited key."""
    assert world.api.call_with(world.limited[role], "GET", path).status_code == 403


def test_counters_need_a_key_without_limits(world: World) -> None:
    """/metrics tells of every dataset's routes: 403 for an admin who is limited to some."""
    assert world.api.call_with(world.limited[ADMIN], "GET", "/metrics").status_code == 403
    assert world.api.admin("GET", "/metrics").status_code == 200


def test_a_limited_curator_registers_only_names_on_its_list(world: World) -> None:
    """403 for another name, whether it is taken or not; 201 for its own."""
    names = ["mine"]
    stored, key = issue_key(world.api.service, name="m", role=CURATOR, datasets=frozenset(names))
    assert stored.principal.datasets == {"mine"}

    def register(name: str) -> Response:
        body = {"name": name, "attributes": ATTRIBUTES, "budget": "1"}
        return world.api.call_with(key, "POST", "/v1/datasets", json=body)

    taken, free = register("city"), register("yours")
    assert (taken.status_code, free.status_code) == (403, 403)
    assert taken.text == free.text
    assert register("mine").status_code == 201


@pytest.mark.parametrize("datasets", [None, ["city"], ["other", "city"]], ids=str)
def test_a_limited_admin_cannot_issue_a_key_that_reaches_further(world: World, datasets: list[str] | None) -> None:
    """A limit that its holder can lift is none."""
    body = {"name": "wider", "role": "curator", "datasets": datasets}
    reply = world.api.call_with(world.limited[ADMIN], "POST", "/v1/keys", json=body)
    assert reply.status_code == 403, reply.text


def test_analysts_see_published_releases_only(world: World) -> None:
    """An order and a void one are in no list of theirs, and by id they do not exist."""
    everyone = {role: world.api.call(role, "GET", "/v1/datasets/city").json()["releases"] for role in Role}
    assert {release["state"] for release in everyone[ANALYST]} == {"published"}
    assert world.published in {release["id"] for release in everyone[ANALYST]}
    for role in (ADMIN, CURATOR, AUDITOR):
        assert {release["state"] for release in everyone[role]} == {"ordered", "published", "void"}
    in_lists = [
        release["state"]
        for dataset in world.api.analyst("GET", "/v1/datasets").json()["datasets"]
        for release in dataset["releases"]
    ]
    assert set(in_lists) == {"published"}
    for release in (world.ordered, world.void):
        for question in ("", "/synopsis", "/moments", "/rows", "/count"):
            hidden, missing = (world.api.analyst("GET", f"/v1/releases/{r}{question}") for r in (release, "r0"))
            assert hidden.status_code == 404
            assert hidden.text == missing.text
        assert world.api.auditor("GET", f"/v1/releases/{release}").status_code == 200
