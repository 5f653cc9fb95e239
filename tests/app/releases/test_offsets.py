"""Releases of seven attributes over HTTP: order, plan, ledger, answers and files know of offsets."""

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
    """A cell takes 16 bytes, and 4 more for each of eight sums: a third of the rows."""
    limits = Limits(max_wide_rows=3000)
    six, eight = (Domain(tuple(Number(f"x{i}", 0, 1) for i in range(d))) for d in (6, 8))
    assert (limits.most_wide_rows(six), limits.most_wide_rows(eight)) == (3000, 1000)
