"""Kinds of attributes and privacy units: registered, shown, recorded in the ledger, planned and ordered over HTTP."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any, get_args

import pytest

from app.access.keys import authenticate
from app.access.permissions import Role
from app.access.principal import Principal
from app.releases import datasets, ordering
from app.releases.orders import ReleaseOrder
from core.budget import Epsilon
from core.domain.domain import Domain
from core.domain.integer import Integer
from core.domain.kinds import KINDS, attribute_of
from core.errors import InvalidDomain, InvalidOrder
from core.plan import DeclaredSize, Rule
from core.records import OutOfRange
from core.unit import MAX_ROWS, RECORD, Unit
from rugnik.wire import limits
from rugnik.wire.datasets import Kind
from rugnik.wire.kinds import KINDS as WORDS
from tests.support.service.api import Api

EVERY_KIND: list[dict[str, Any]] = [
    {"name": "income", "lower": 0.0, "upper": 250000.0},
    {"name": "height", "lower": 0.5, "upper": 2.5, "missing": "keep"},
    {"name": "age", "kind": "integer", "lower": 0, "upper": 110},
    {"name": "floor", "kind": "integer", "lower": -3, "upper": 40, "missing": "keep"},
    {"name": "arrived", "kind": "date", "lower": "2026-01-01", "upper": "2026-12-31"},
    {"name": "at", "kind": "datetime", "lower": "2026-01-01T00:00:00+01:00", "upper": "2027-01-01T00:00:00+01:00"},
    {"name": "sex", "kind": "category", "values": ["f", "m", "x"], "other": True},
    {"name": "smokes", "kind": "category", "values": ["true", "false"], "missing": "keep"},
]
PERSON = {"kind": "person", "column": "patient", "max_rows": 3}
SECRET = "zebra-7741"  # noqa: S105 - a canary in a body that is refused


def register(api: Api, attributes: list[dict[str, Any]], **changes: Any) -> Any:
    """The reply to a registration of a clinic."""
    body = {"name": "clinic", "attributes": attributes, "budget": "10"} | changes
    return api.curator("POST", "/v1/datasets", json=body)


@pytest.mark.parametrize("unit", [{"kind": "record"}, PERSON])
def test_every_kind_is_shown_as_it_was_registered(sqlite_api: Api, unit: dict[str, Any]) -> None:
    """Field by field: what has its default is left out, whether it was sent or not."""
    defaults = {"kind": "number", "other": False, "missing": "drop", "values": None}
    sent = [EVERY_KIND[0] | defaults, *EVERY_KIND[1:]]
    reply = register(sqlite_api, sent, unit=unit)
    assert reply.status_code == 201, reply.text
    shown = sqlite_api.analyst("GET", "/v1/datasets/clinic")
    assert reply.json() == shown.json()
    assert json.dumps(shown.json()["attributes"]) == json.dumps(EVERY_KIND)  # 0 and 0.0 differ here
    assert shown.json()["unit"] == unit
    assert sqlite_api.analyst("GET", "/v1/datasets").json()["datasets"] == [shown.json()]


def test_a_dataset_without_a_unit_protects_records(sqlite_api: Api) -> None:
    """The reply always says so."""
    assert register(sqlite_api, EVERY_KIND).json()["unit"] == {"kind": "record"}


@pytest.mark.parametrize("unit", [{"kind": "record"}, PERSON])
def test_the_ledger_holds_kinds_and_unit_and_gives_them_back_exactly(sqlite_api: Api, unit: dict[str, Any]) -> None:
    """The first grant has attributes and unit, every order the unit; what is read from them is what was registered."""
    register(sqlite_api, EVERY_KIND, unit=unit)
    assert sqlite_api.order("clinic", attributes=["age", "sex"]).status_code == 201
    grant, charge = sqlite_api.auditor("GET", "/v1/ledger?dataset=clinic").json()["entries"]
    assert grant["detail"]["unit"] == charge["detail"]["order"]["unit"] == unit
    assert [each if isinstance(each, list) else each["name"] for each in grant["detail"]["domain"]] == [
        ["income", "0.0", "250000.0"],
        *(each["name"] for each in EVERY_KIND[1:]),
    ]
    domain = Domain.from_json(grant["detail"]["domain"])
    assert [each.declaration() for each in domain.attributes] == EVERY_KIND
    assert ReleaseOrder.from_json(charge["detail"]["order"]).unit == Unit.from_json(unit)
    assert sqlite_api.auditor("GET", "/v1/ledger/verify").json()["valid"] is True


BAD_ATTRIBUTES: dict[str, dict[str, Any]] = {
    "unknown kind": {"kind": SECRET, "lower": 0, "upper": 1},
    "number with values": {"lower": 0, "upper": 1, "values": [SECRET]},
    "number without bounds": {},
    "number with a text": {"lower": 0, "upper": SECRET},
    "integer with a fraction": {"kind": "integer", "lower": 0.5, "upper": 7741},
    "integer with a text": {"kind": "integer", "lower": 0, "upper": SECRET},
    "integer beyond 2^52": {"kind": "integer", "lower": 0, "upper": 2**60},
    "integer with other": {"kind": "integer", "lower": 0, "upper": 7741, "other": True},
    "date with a number": {"kind": "date", "lower": 0, "upper": 7741},
    "date that no calendar has": {"kind": "date", "lower": "2026-02-30", "upper": "7741-01-01"},
    "dates in reverse": {"kind": "date", "lower": "7741-01-01", "upper": "2026-01-01"},
    "datetime without an offset": {"kind": "datetime", "lower": "2026-01-01T00:00:00", "upper": "2027-01-01T00:00:00"},
    "category without values": {"kind": "category"},
    "category with no values": {"kind": "category", "values": []},
    "category with bounds": {"kind": "category", "values": [SECRET], "lower": 0, "upper": 1},
    "category with a value twice": {"kind": "category", "values": [SECRET, SECRET]},
    "category with a comma": {"kind": "category", "values": [f"{SECRET},b"]},
    "category with a reserved label": {"kind": "category", "values": ["(missing)", SECRET]},
    "category with a number": {"kind": "category", "values": [7741]},
    "category with a long value": {"kind": "category", "values": [SECRET * 20]},
    "category with too many values": {"kind": "category", "values": [f"{SECRET}{i}" for i in range(10_001)]},
    "unknown way with missing values": {"lower": 0, "upper": 1, "missing": SECRET},
    "bounds that are lists": {"lower": [7741], "upper": [SECRET]},
    "an infinite bound": {"lower": 0, "upper": "inf"},
    "a bound that is not a number": {"lower": 0, "upper": "nan"},
}


@pytest.mark.parametrize("fields", BAD_ATTRIBUTES.values(), ids=list(BAD_ATTRIBUTES))
def test_a_refused_attribute_is_named_by_its_position_and_nothing_is_quoted(
    sqlite_api: Api, fields: dict[str, Any]
) -> None:
    """422 that points to the attribute; neither its name nor a value is repeated, and nothing is on record."""
    reply = register(sqlite_api, [EVERY_KIND[0], {"name": "quagga"} | fields])
    assert reply.status_code == 422, reply.text
    problem = reply.json()
    places = [place["loc"][:3] for place in problem.get("errors", [])]
    assert problem["detail"].startswith("attributes[1]: ") or ["body", "attributes", 1] in places
    assert "7741" not in reply.text
    assert "quagga" not in reply.text
    assert sqlite_api.auditor("GET", "/v1/datasets").json()["datasets"] == []


BAD_UNITS: dict[str, Any] = {
    "unknown kind": {"kind": "household"},
    "no kind": {"column": "patient", "max_rows": 3},
    "record with a column": {"kind": "record", "column": "patient"},
    "record with rows": {"kind": "record", "max_rows": 1},
    "person without a column": {"kind": "person", "max_rows": 3},
    "person without rows": {"kind": "person", "column": "patient"},
    "no rows": PERSON | {"max_rows": 0},
    "too many rows": PERSON | {"max_rows": MAX_ROWS + 1},
    "rows that are not whole": PERSON | {"max_rows": 2.5},
    "rows that are true": PERSON | {"max_rows": True},
    "column with a comma": PERSON | {"column": "a,b"},
    "column that is an attribute": PERSON | {"column": "age"},
    "unknown field": PERSON | {"salt": "x"},
    "a text": "person",
}


@pytest.mark.parametrize("unit", BAD_UNITS.values(), ids=list(BAD_UNITS))
def test_a_unit_that_cannot_be_kept_is_refused(sqlite_api: Api, unit: Any) -> None:
    """422 with a sentence, and nothing is on record. An id is no attribute."""
    reply = register(sqlite_api, EVERY_KIND, unit=unit)
    assert reply.status_code == 422, reply.text
    assert sqlite_api.auditor("GET", "/v1/datasets").json()["datasets"] == []


def test_a_plan_of_mixed_attributes_says_what_each_costs(sqlite_api: Api) -> None:
    """Shape, costs in words, and null where the paper says nothing."""
    register(sqlite_api, EVERY_KIND)
    body = {"attributes": ["age", "sex"], "epsilon": "0.01", "clusters": 3, "size": {"declared": 1000}}
    reply = sqlite_api.curator("POST", "/v1/datasets/clinic/plans", json=body).json()
    m = reply["grid"]["shape"][0]
    assert reply["grid"] == {"cells_per_axis": None, "dimensions": 2, "cells": 4 * m, "shape": [m, 4]}
    assert reply["attributes"] == [
        {"name": "age", "cells": m, "note": f"age has {m} cells"},
        {"name": "sex", "cells": 4, "note": "sex multiplies cells by 4"},
    ]
    assert (reply["predicted"]["theorem_range"], reply["predicted"]["inside_theorem"]) == (None, None)
    assert "people" not in reply
    alone = sqlite_api.curator("POST", "/v1/datasets/clinic/plans", json=body | {"attributes": ["sex", "smokes"]})
    assert alone.json()["grid"]["shape"] == [4, 3]
    assert alone.json()["predicted"]["expected_deviation"] is None


def test_a_plan_of_numbers_has_no_costs_and_no_people(sqlite_api: Api) -> None:
    """Costs and people are left out where they say nothing."""
    register(sqlite_api, EVERY_KIND[:1])
    body = {"epsilon": "0.5", "clusters": 3, "size": {"declared": 1000}}
    reply = sqlite_api.curator("POST", "/v1/datasets/clinic/plans", json=body).json()
    assert list(reply) == [
        "order",
        "grid",
        "threshold",
        "noise",
        "predicted",
        "warnings",
        "alternatives",
        "recommendation",
        "budget",
    ]


def test_a_plan_for_persons_shows_what_rows_cost(sqlite_api: Api) -> None:
    """The noise is that of epsilon / 3, also where a target is solved for; c = 1, 2, 5 and 10 are side by side."""
    register(sqlite_api, EVERY_KIND, unit=PERSON)
    body = {"attributes": ["age"], "epsilon": "0.9", "clusters": 3, "size": {"declared": 1000}}
    reply = sqlite_api.curator("POST", "/v1/datasets/clinic/plans", json=body).json()
    assert reply["order"]["unit"] == PERSON
    assert reply["noise"]["cell_sd"] == pytest.approx(2**0.5 / 0.3, rel=0.01)
    assert [cost["max_rows"] for cost in reply["people"]] == [1, 2, 3, 5, 10]
    assert all(cost["count_error"] > 0 for cost in reply["people"])
    deviations = [cost["cell_sd"] for cost in reply["people"]]
    assert deviations == sorted(deviations)
    target = {"attributes": ["age"], "target": {"count_error": 50}, "clusters": 3, "size": {"declared": 1000}}
    solved = sqlite_api.curator("POST", "/v1/datasets/clinic/plans", json=target).json()
    assert solved["predicted"]["count_error"] <= 50
    assert float(solved["order"]["epsilon"]) > 0


def test_a_grid_with_too_many_categories_is_refused_before_the_charge(sqlite_api: Api) -> None:
    """The refusal names the attributes and what they cost; nothing is spent."""
    many = {"name": "city", "kind": "category", "values": [f"c{i}" for i in range(9999)]}
    register(sqlite_api, [many, many | {"name": "street"}, EVERY_KIND[2]])
    reply = sqlite_api.order("clinic")
    assert reply.status_code == 422
    assert "city multiplies cells by 9,999; street multiplies cells by 9,999; age has" in reply.json()["detail"]
    assert sqlite_api.budget("clinic")["spent"] == "0"


def test_an_order_shows_its_grid_before_the_upload(sqlite_api: Api) -> None:
    """A declared size plans the same grid in the plan, in the order's reply and later."""
    register(sqlite_api, EVERY_KIND, unit=PERSON)
    body = {"attributes": ["age", "sex"], "epsilon": "0.9", "clusters": 3, "size": {"declared": 1000}}
    planned = sqlite_api.curator("POST", "/v1/datasets/clinic/plans", json=body).json()
    ordered = sqlite_api.curator("POST", "/v1/datasets/clinic/releases", json=body).json()
    shown = sqlite_api.curator("GET", f"/v1/releases/{ordered['id']}").json()
    for field in ("order", "grid", "noise"):
        assert planned[field] == ordered["plan"][field] == shown["plan"][field]


def terms(**changes: Any) -> ReleaseOrder:
    """An order of one attribute."""
    usual = ReleaseOrder(
        attributes=("age",),
        epsilon=Epsilon.parse("1"),
        clusters=2,
        size=DeclaredSize(100),
        rule=Rule.RUGNIK,
        out_of_range=OutOfRange.CLIP,
    )
    return replace(usual, **changes)


def test_no_order_has_another_unit_than_its_dataset(sqlite_api: Api, curator: Principal) -> None:
    """Budgets of different units do not add up, so such an order is refused before its charge."""
    register(sqlite_api, EVERY_KIND, unit=PERSON)
    for unit in (RECORD, Unit("patient", 2), Unit("doctor", 3)):
        with pytest.raises(InvalidOrder, match="unit"):
            ordering.order(sqlite_api.service, curator, "clinic", terms(unit=unit), idempotency_key=None)
    assert sqlite_api.budget("clinic")["spent"] == "0"
    wanted = terms(unit=Unit("patient", 3))
    assert ordering.order(sqlite_api.service, curator, "clinic", wanted, idempotency_key=None).order == wanted


@pytest.fixture
def curator(sqlite_api: Api) -> Principal:
    """The curator of the service."""
    return authenticate(sqlite_api.service, sqlite_api.keys[Role.CURATOR])


def test_an_order_without_a_unit_is_one_of_records() -> None:
    """Version 0.1 wrote none, and there were no others."""
    stored = terms().to_json()
    assert stored.pop("unit") == {"kind": "record"}
    assert ReleaseOrder.from_json(stored) == terms()


def test_a_column_of_ids_is_no_attribute() -> None:
    """In core's words, whichever way a dataset is registered."""
    with pytest.raises(InvalidDomain, match="ids"):
        datasets.Schema(Domain((Integer("patient", 0, 9),)), Unit("patient", 3))


def test_the_wire_names_every_kind_of_core() -> None:
    """The list of kinds is spelled in both, because the wire imports nothing of core."""
    (_, choices, *_) = get_args(Kind)
    assert choices.choices == tuple(WORDS) == tuple(KINDS)
    assert limits.MAX_ROWS == MAX_ROWS


@pytest.mark.parametrize("kind", KINDS)
def test_the_wire_knows_which_fields_core_needs(kind: str) -> None:
    """The command line asks for these fields before anything is sent."""
    with pytest.raises(InvalidDomain) as refused:
        attribute_of({"name": "a", "kind": kind})
    assert str(refused.value) == f"An attribute of kind {kind} needs: {', '.join(WORDS[kind].fields)}."
