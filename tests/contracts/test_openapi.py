"""The OpenAPI document is complete: whatever the service sends, it has declared, and whatever fits it, is answered."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from copy import deepcopy
from typing import Any
from urllib.parse import urlsplit

import pytest
import schemathesis
from httpx import Response
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from app.access.permissions import Role
from app.ingest.counts_stream import MEDIA_TYPE
from tests.support.service.failures import FAILURES
from tests.support.service.questions import BY_ROUTE
from tests.support.service.routes import operation_of, operations
from tests.support.service.world import World, opened_world

PROBLEM = "application/problem+json"
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]
schemathesis.serializer.alias(MEDIA_TYPE, "application/octet-stream")  # any bytes
# Of no route, so of no route's document: the address or the method is wrong.
NO_ROUTE = {"unknown address", "unknown question", "wrong method"}


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """One application for the whole document."""
    with opened_world(tmp_path_factory.mktemp("world")) as opened:
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

    And 202 with a request, where it may take a second person.
    """
    for route, operation in operations(world.api.app).items():
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


def caller(path: str) -> Role:
    """A role that the route admits."""
    if path.startswith(("/v1/ledger", "/log/")):
        return Role.AUDITOR
    if path.startswith(("/v1/keys", "/metrics")) or path.endswith("/grants"):
        return Role.ADMIN
    return Role.CURATOR


def send(world: World, case: Any, role: Role) -> Response:
    """A generated request, sent to the application in this process."""
    sent = case.as_transport_kwargs()
    options: dict[str, Any] = {"headers": dict(sent["headers"]), "params": sent.get("params")}
    if "json" in sent:
        options["json"] = sent["json"]
    elif sent.get("data") is not None:
        options["content"] = sent["data"]
    return world.api.call(role, sent["method"], urlsplit(sent["url"]).path, **options)


BY_ADDRESS = [
    "GET /healthz",
    "GET /metrics",
    "GET /readyz",
    "GET /v1/datasets",
    "GET /v1/datasets/{name}",
    "GET /v1/datasets/{name}/releases",
    "GET /v1/keys",
    "GET /log/checkpoint",
    "GET /log/policy",
    "GET /log/tile/{level}/{place}",
    "GET /v1/ledger/head",
    "GET /v1/ledger/verify",
    "GET /v1/releases/{release_id}",
    "GET /v1/releases/{release_id}/bundle",
    "GET /v1/releases/{release_id}/receipt",
    "GET /v1/requests/{request_id}",
    "DELETE /v1/keys/{key_id}",
    "DELETE /v1/releases/{release_id}",
    "POST /v1/datasets/{name}/close",
    "POST /v1/ledger/verifications",
    "POST /v1/requests/{request_id}/approve",
    "GET /v1/releases/{release_id}/counts",
    "PUT /v1/releases/{release_id}/counts",
    "PUT /v1/releases/{release_id}/records",  # any bytes are a body
]
WITH_FIELDS = [
    *(" ".join(route) for route in BY_ROUTE),
    "GET /v1/ledger",
    "GET /v1/ledger/consistency",
    "GET /v1/ledger/export",
    "GET /v1/requests",
    "GET /v1/releases/{release_id}/card",
    "POST /v1/datasets",
    "POST /v1/datasets/{name}/grants",
    "POST /v1/datasets/{name}/plans",
    "POST /v1/datasets/{name}/releases",
    "POST /v1/datasets/{name}/rule",
    "POST /v1/keys",
    "POST /v1/releases/{release_id}/size",
    "POST /v1/requests/{request_id}/refuse",
]
FITTING, BREAKING = schemathesis.GenerationMode.POSITIVE, schemathesis.GenerationMode.NEGATIVE
RUNS = [(label, FITTING) for label in BY_ADDRESS + WITH_FIELDS] + [(label, BREAKING) for label in WITH_FIELDS]


@pytest.fixture(scope="module")
def generated(world: World) -> dict[str, Any]:
    """The operations as schemathesis reads them; keys are ours to add, so it is not told of them."""
    document = deepcopy(world.api.app.openapi())
    for item in document["paths"].values():
        for operation in item.values():
            operation.pop("security", None)
    schema = schemathesis.openapi.from_dict(document)
    return {result.ok().label: result.ok() for result in schema.get_all_operations()}


def test_the_generated_requests_reach_every_operation(generated: dict[str, Any]) -> None:
    """The lists above are the document's own."""
    assert sorted(generated) == sorted(BY_ADDRESS + WITH_FIELDS)


@pytest.mark.parametrize(("label", "mode"), RUNS, ids=[f"{mode.value} {label}" for label, mode in RUNS])
def test_generated_requests_get_what_was_declared(
    world: World, generated: dict[str, Any], label: str, mode: schemathesis.GenerationMode
) -> None:
    """Requests that fit the document, and requests that break it: no 5xx, declared statuses, media types, schemas."""
    operation = generated[label]
    role = caller(operation.path)
    release = world.ordered if label.startswith("PUT") else world.published
    real = {"name": "shut" if label.endswith("/close") else "city", "release_id": release}
    if "{request_id}" in label:
        real["request_id"] = world.fresh_request()

    @settings(
        max_examples=15,
        database=None,
        derandomize=True,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy(generation_mode=mode), exists=st.booleans())
    def run(case: Any, exists: bool) -> None:
        if exists:
            case.path_parameters.update({name: real[name] for name in case.path_parameters if name in real})
        case.validate_response(send(world, case, role), checks=CHECKS)

    run()
