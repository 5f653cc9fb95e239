"""Releases with offsets over HTTP, by default or by choice: order, plan, ledger, answers and files know of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from app.ingest.limits import Limits
from app.releases.orders import ReleaseOrder
from core.domain.domain import Domain
from core.domain.number import Number
from rugnik import wire
from tests.support.service.api import Api

NAMES = [f"x{i}" for i in range(7)]
CENTRES = np.array([[1.3] * 7, [8.7] * 7])


def rows(count: int = 2000) -> bytes:
    """Two tight clusters."""
    rng = np.random.default_rng(0)
    values = CENTRES[np.arange(count) % 2] + rng.normal(0, 0.2, (count, 7))
    lines = [",".join(f"{value:.3f}" for value in row) for row in values]
    return "\n".join([",".join(NAMES), *lines, ""]).encode()


@pytest.fixture
def seven(sqlite_api: Api) -> Api:
    """A dataset of seven numbers."""
    attributes = [{"name": name, "lower": 0, "upper": 10} for name in NAMES]
    sqlite_api.register("seven", budget="20", attributes=attributes)
    return sqlite_api


def published(api: Api) -> str:
    """The id of a release with offsets."""
    reply = api.order("seven", epsilon="8", clusters=2, size={"estimate": "0.05"})
    assert reply.status_code == 201, reply.text
    release: str = reply.json()["id"]
    assert reply.json()["plan"]["order"]["offsets"] is True
    assert api.upload(release, rows()).status_code == 200
    return release


def asked(api: Api, release: str, question: str) -> Any:
    """An answer."""
    reply = api.analyst("GET", f"/v1/releases/{release}/{question}")
    assert reply.status_code == 200, reply.text
    return reply


def test_a_plan_says_how_epsilon_is_shared(seven: Api) -> None:
    """The parts add up; six attributes have no such part, in the plan or in the order."""
    body = {"epsilon": "1", "clusters": 2, "size": {"declared": 2000}}
    plan = seven.curator("POST", "/v1/datasets/seven/plans", json=body).json()
    assert (plan["noise"]["epsilon_histogram"], plan["noise"]["epsilon_offsets"]) == ("0.5", "0.5")
    assert plan["noise"]["offset_sd"] == pytest.approx(np.sqrt(24) / 0.5, rel=0.01)
    assert plan["threshold"] is not None
    assert any("mean place" in warning for warning in plan["warnings"])
    six = seven.curator("POST", "/v1/datasets/seven/plans", json=body | {"attributes": NAMES[:6]}).json()
    assert "epsilon_offsets" not in six["noise"]
    assert "offsets" not in six["order"]
    assert six["threshold"] is None


def test_answers_and_files_have_the_sums(seven: Api) -> None:
    """JSON, a data frame and Arrow have the same; centres and means are those of the rows; the record verifies."""
    release = published(seven)
    whole = asked(seven, release, "synopsis").json()
    assert whole["offsets"]["epsilon"] == whole["epsilon_histogram"] == "3.8"
    assert (whole["offsets"]["steps"], whole["offsets"]["attributes"]) == (256, NAMES)
    sums = np.array(whole["offsets"]["sums"])
    assert sums.shape == (len(whole["counts"]), 7)
    table = pa.ipc.open_stream(asked(seven, release, "synopsis?format=arrow").content).read_all()
    assert table.schema.metadata[b"offset_steps"] == b"256"
    frame = wire.Synopsis.of(whole).to_pandas()
    for x, name in enumerate(NAMES):
        assert table.column(f"{name}_offsets").to_pylist() == sums[:, x].tolist() == frame[f"{name}_offsets"].tolist()
    assert b"x6_offsets" in asked(seven, release, "synopsis?format=csv").content
    centres = np.array(asked(seven, release, "clusters?k=2").json()["centers"])
    assert np.abs(np.sort(centres[:, 0]) - CENTRES[:, 0]).max() < 0.2
    mean = asked(seven, release, "moments").json()["attributes"][0]["mean"]
    assert mean["value"] == pytest.approx(5, abs=0.2)
    part = asked(seven, release, "synopsis?where=x0:0..5").json()
    assert len(part["offsets"]["sums"]) == len(part["counts"]) < len(whole["counts"])
    assert seven.auditor("GET", "/v1/ledger/verify").json()["valid"]


def test_an_order_from_before_there_were_offsets_has_none() -> None:
    """It is read as it was written, and what it would write again is the same."""
    stored = {
        "attributes": NAMES,
        "epsilon": "1",
        "clusters": 2,
        "size": {"declared": 2000},
        "rule": "rugnik",
        "out_of_range": "clip",
        "unit": {"kind": "record"},
    }
    order = ReleaseOrder.from_json(stored)
    assert not order.offsets
    assert order.to_json() == stored
    assert ReleaseOrder.from_json(stored | {"offsets": True}).offsets


def test_rows_with_offsets_take_the_memory_of_rows_without() -> None:
    """A cell takes 16 bytes, and 4 more for each of six or eight sums: two fifths or a third of the rows."""
    limits = Limits(max_wide_rows=3000)
    six, eight = (Domain(tuple(Number(f"x{i}", 0, 1) for i in range(d))) for d in (6, 8))
    assert (
        limits.most_wide_rows(six, offsets=False),
        limits.most_wide_rows(six, offsets=True),
        limits.most_wide_rows(eight, offsets=True),
    ) == (3000, 1200, 1000)


def test_four_attributes_have_offsets_by_choice(sqlite_api: Api) -> None:
    """Records and persons: the plan warns, the order is on record with them, centres are those of the rows."""
    api = sqlite_api
    attributes = [{"name": name, "lower": 0, "upper": 10} for name in NAMES[:4]]
    api.register("four", "20", attributes)
    body = {"name": "people", "attributes": attributes, "budget": "20"}
    person = {"kind": "person", "column": "who", "max_rows": 2}
    assert api.curator("POST", "/v1/datasets", json=body | {"unit": person}).status_code == 201
    terms: dict[str, Any] = {"epsilon": "8", "clusters": 2, "size": {"estimate": "0.05", "guess": 2000}}
    for dataset in ("four", "people"):
        plan = api.curator("POST", f"/v1/datasets/{dataset}/plans", json=terms | {"offsets": True}).json()
        assert (plan["order"]["offsets"], plan["noise"]["epsilon_offsets"]) == (True, "3.8")
        assert plan["threshold"] is not None
        assert any("mean place" in warning and "twice the noise" in warning for warning in plan["warnings"])
        release = api.order(dataset, **terms, offsets=True).json()["id"]
        assert api.upload(release, with_persons(rows())).status_code == 200
        whole = asked(api, release, "synopsis").json()
        assert whole["offsets"]["attributes"] == NAMES[:4]
        centres = np.array(asked(api, release, "clusters?k=2").json()["centers"])
        assert np.abs(np.sort(centres, axis=0) - CENTRES[:, :4]).max() < 0.2
        order = api.analyst("GET", f"/v1/releases/{release}").json()["plan"]["order"]
        assert order["offsets"] is True
    assert api.auditor("GET", "/v1/ledger/verify").json()["valid"]


def with_persons(body: bytes) -> bytes:
    """The rows with a column of persons, two rows each."""
    header, *lines = body.decode().split()
    return "\n".join([f"who,{header}", *(f"p{at // 2},{line}" for at, line in enumerate(lines)), ""]).encode()


def test_seven_attributes_go_without_offsets_by_choice(seven: Api) -> None:
    """Every cell is kept where there is room, and the order on record is one without."""
    body = {"epsilon": "1", "clusters": 2, "size": {"declared": 2000}, "offsets": False}
    plan = seven.curator("POST", "/v1/datasets/seven/plans", json=body).json()
    assert "offsets" not in plan["order"]
    assert (plan["threshold"], plan["noise"].get("epsilon_offsets")) == (None, None)
    release = seven.order("seven", **body).json()
    assert "offsets" not in release["plan"]["order"]
    assert seven.upload(release["id"], rows()).status_code == 200
    assert "offsets" not in asked(seven, release["id"], "synopsis").json()


@pytest.mark.parametrize(
    ("attributes", "rule", "words"),
    [(3, "rugnik", "4 and more attributes"), (2, "adaptive", "no offsets"), (7, "adaptive", "1 to 3 attributes")],
)
def test_offsets_are_refused_where_they_cannot_be(seven: Api, attributes: int, rule: str, words: str) -> None:
    """By the plan and by the order, in a sentence, and nothing is charged."""
    terms = {"epsilon": "1", "clusters": 2, "size": {"declared": 2000}, "attributes": NAMES[:attributes], "rule": rule}
    for path in ("plans", "releases"):
        reply = seven.curator("POST", f"/v1/datasets/seven/{path}", json=terms | {"offsets": True})
        assert reply.status_code == 422, reply.text
        assert words in reply.json()["detail"]
    assert seven.budget("seven")["spent"] == "0"


def test_offsets_are_a_term_of_an_order(seven: Api) -> None:
    """The same Idempotency-Key with another choice is another order; the default and the same choice are one order."""
    terms: dict[str, Any] = {"epsilon": "1", "clusters": 2, "size": {"declared": 2000}}
    key = {"Idempotency-Key": "once"}
    first = seven.order("seven", headers=key, **terms)
    again = seven.order("seven", headers=key, **terms, offsets=True)
    other = seven.order("seven", headers=key, **terms, offsets=False)
    assert (first.status_code, again.status_code, other.status_code) == (201, 201, 422)
    assert "Idempotency-Key" in other.json()["detail"]
    assert first.json()["id"] == again.json()["id"]
    assert seven.budget("seven")["spent"] == "1"


def test_a_plan_recommends_offsets_for_clusters_alone(seven: Api) -> None:
    """Of four attributes both are in the comparison; counts keep every cell."""
    body = {"epsilon": "1", "clusters": 2, "size": {"declared": 2000}, "attributes": NAMES[:4]}
    plans = {
        purpose: seven.curator("POST", "/v1/datasets/seven/plans", json=body | {"purpose": purpose}).json()
        for purpose in ("clusters", "counts")
    }
    lines = [(each["rule"], each.get("offsets", False)) for each in plans["counts"]["alternatives"]]
    assert lines == [("rugnik", False), ("rugnik", True), ("eugkm", False), ("adaptive", False)]
    assert plans["clusters"]["recommendation"]["offsets"] is True
    assert "rugnik with offsets" in plans["clusters"]["recommendation"]["reason"]
    assert "offsets" not in plans["counts"]["recommendation"]
