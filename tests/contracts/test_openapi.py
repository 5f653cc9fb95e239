"""The OpenAPI document is complete: whatever the service sends, it has declared, and whatever fits it, is answered."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from app.access.principal import Principal
from app.errors import UnsupportedMedia
from app.releases import reading
from core.errors import InvalidQuery
from tests.contracts.test_roles import MATRIX
from tests.support.service.failures import CANARY, FAILURES
from tests.support.service.routes import operation_of, operations
from tests.support.service.world import World, opened_world
from torture.fuzzing.requests import ROOM, fire, operations_of, require_sound

PROBLEM = "application/problem+json"
# Of no route, so of no route's document: the address or the method is wrong.
NO_ROUTE = {"unknown address", "unknown question", "wrong method"}


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """One application for the whole document."""
    with opened_world(tmp_path_factory.mktemp("world"), **ROOM) as opened:
        yield opened


def test_every_operation_has_a_name_of_its_own_and_says_what_it_does(world: World) -> None:
    """Clients are generated from these names; two alike would become one."""
    documented = operations(world.api.app)
    names = Counter(operation["operationId"] for operation in documented.values())
    assert set(names.values()) == {1}
    for route, operation in documented.items():
        assert operation["summary"], route
        assert operation["description"].endswith("."), route


def test_every_success_has_a_schema(world: World) -> None:
    """One 2xx for each operation, with a schema for its body in every form; 204 has none.

    And 202 with a request, where it may take a second person. A redirect has a Location in place of a body.
    """
    for route, operation in operations(world.api.app).items():
        if "/latest" in route[1]:
            assert "Location" in operation["responses"]["307"]["headers"]
            continue
        (status,) = [status for status in operation["responses"] if status.startswith("2") and status != "202"]
        if "202" in operation["responses"]:
            schema = operation["responses"]["202"]["content"]["application/json"]["schema"]
            assert schema["$ref"].endswith("/ApprovalRequest"), route
        content = operation["responses"][status].get("content", {})
        if status == "204":
            assert not content, route
        else:
            assert content, route
            assert all(media["schema"] for media in content.values()), route


def test_every_failure_is_declared_as_a_problem(world: World) -> None:
    """4xx and 5xx are application/problem+json and nothing else, because nothing else is ever sent."""
    schemas = world.api.app.openapi()["components"]["schemas"]
    for route, operation in operations(world.api.app).items():
        for status, response in operation["responses"].items():
            if status[0] in "45":
                assert list(response["content"]) == [PROBLEM], (route, status)
                schema = response["content"][PROBLEM]["schema"]
                schema = schemas[schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema
                assert {"type", "title", "status", "detail"} <= set(schema["required"])


def test_what_any_route_of_its_kind_can_send_is_declared(world: World) -> None:
    """401 and 403 where a key is needed, 404 where something is named, 400, 413 and 422 where a body is read."""
    for route, operation in operations(world.api.app).items():
        expected = set()
        if operation.get("security"):
            expected |= {"401", "403", "500"}
        if "{" in route[1]:
            expected |= {"404"}
        if "requestBody" in operation:
            expected |= {"400", "413", "422"}
        if operation.get("parameters"):
            expected |= {"422"}
        if route == ("PUT", "/v1/releases/{release_id}/records"):
            expected |= {"409", "415", "503"}
        if route == ("GET", "/readyz"):
            expected |= {"503"}
        assert expected <= set(operation["responses"]), route


@pytest.mark.parametrize("failure", sorted(set(FAILURES) - NO_ROUTE))
def test_every_failure_that_can_be_had_was_declared(world: World, failure: str) -> None:
    """Each way to be refused, sent for real, against the statuses of the route that it meets."""
    reply = FAILURES[failure].send(world)
    operation = operation_of(world.api.app, reply.request.method, reply.request.url.path)
    assert operation is not None
    assert str(reply.status_code) in operation["responses"]


def test_ranges_are_said_to_be_half_open(world: World) -> None:
    """Where a range is asked for, the document says which of its ends is counted."""
    document = world.api.app.openapi()
    (where,) = (
        parameter
        for parameter in document["paths"]["/v1/releases/{release_id}/count"]["get"]["parameters"]
        if parameter["name"] == "where"
    )
    boxes = document["components"]["schemas"]["CountsBody"]["properties"]["boxes"]
    for described in (where, boxes):
        assert "half-open, [lower, upper)" in described["description"]


LABELS = [" ".join(route) for route in MATRIX]


@pytest.fixture(scope="module")
def generated(world: World) -> dict[str, Any]:
    """The operations as schemathesis reads them."""
    return operations_of(world)


def test_the_generated_requests_reach_every_operation(generated: dict[str, Any]) -> None:
    """The list above is the document's own."""
    assert sorted(generated) == sorted(LABELS)


@pytest.mark.parametrize("label", LABELS)
def test_generated_requests_get_what_was_declared(world: World, generated: dict[str, Any], label: str) -> None:
    """100 requests that fit the document, break it, or would succeed, as everybody: `torture.fuzzing.requests`.

    No fault, declared statuses, media types and schemas, 401, 403 or 404 for whoever may not, nothing private, and a
    ledger that verifies. `make torture ONLY=fuzz` sends 2,000.
    """
    sent = fire(world, generated[label], 100)
    assert sent.times >= 100
    assert sent.broken == []
    require_sound(world)


def _raising(error: Exception) -> Callable[..., Any]:
    def fail(*_: Any) -> Any:
        raise error

    return fail


@pytest.mark.parametrize(
    ("where", "defect", "words"),
    [
        ((reading, "get"), _raising(KeyError("x")), "Server error"),
        ((reading, "get"), _raising(InvalidQuery(CANARY)), "repeats what was sent"),
        ((reading, "get"), _raising(UnsupportedMedia("No.")), "Undocumented status code"),
        ((Principal, "require"), lambda *_: None, "Who may not call this gets"),
        ((Principal, "may_see"), lambda *_: True, "sees what is hidden"),
    ],
    ids=["a fault", "a leak", "another status", "an open door", "a limit that is none"],
)
def test_what_generated_requests_look_for_is_noticed(
    world: World,
    generated: dict[str, Any],
    where: tuple[Any, str],
    defect: Callable[..., Any],
    words: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The checks above can fail: each defect is told of in its own words."""
    label = "POST /v1/ledger/verifications" if where[1] == "require" else "GET /v1/releases/{release_id}"
    monkeypatch.setattr(*where, defect)
    assert words in " ".join(fire(world, generated[label], 60).broken)
