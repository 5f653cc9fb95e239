"""An adaptive release as boxes: in JSON, in files, of parts, and with neighbours taken together, beside the truth."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from datetime import date
from hashlib import sha256
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from app.ledger.book import read_book
from app.ledger.verification import verify_all
from app.main import create_app
from app.releases import reading
from app.settings.settings import Settings
from core.adaptive.cells import AdaptiveCells
from core.adaptive.listing import merged
from rugnik import wire
from tests.support.service.api import Api, frozen_clock
from tests.support.service.mixed import ATTRIBUTES, Desk, csv_of, label_of, truth, value_of

NAMES = {"calendar": ["age", "sex", "arrived"], "moments": ["income", "at"]}
EXACT = 0.5  # next to no noise: whole counts round to the truth


@pytest.fixture(scope="module")
def desks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Desk]]:
    """One service with two adaptive releases of the same rows: next to no noise, all kinds of attributes."""
    settings = Settings(data_dir=tmp_path_factory.mktemp("adaptive") / "data", log_level="warning", max_budget="200")
    table = truth(1000)
    with Api(create_app(settings, frozen_clock)) as api:
        assert api.register("mixed", "200", ATTRIBUTES).status_code == 201
        yield {desk: Desk(api, published(api, names, csv_of(table)), table) for desk, names in NAMES.items()}


def published(api: Api, names: list[str], rows: bytes, **terms: Any) -> str:
    """An adaptive release."""
    order = {"epsilon": "40", "attributes": names, "rule": "adaptive", "size": {"declared": 1000}} | terms
    reply = api.order("mixed", **order)
    assert reply.status_code == 201, reply.text
    assert api.upload(reply.json()["id"], rows).status_code == 200
    return str(reply.json()["id"])


def synopsis_of(desk: Desk, **params: Any) -> wire.Synopsis:
    """The answer with its layers."""
    synopsis = wire.Synopsis.of(desk.asked("synopsis", **params))
    assert synopsis.layers is not None
    return synopsis


def rows_in_boxes(desk: Desk, axes: tuple[wire.Axis, ...], boxes: list[wire.cells.Box]) -> list[int]:
    """The exact number of rows in each box, from its ends alone."""
    inside = np.ones((len(boxes), len(desk.table)), dtype=bool)
    sides = iter(zip(*boxes, strict=True))
    for axis in axes:
        values = [row[axis.name] for row in desk.table]
        if axis.kind == "category":
            labels = np.array([label_of(value) for value in values])
            inside &= np.array(next(sides))[:, None] == labels
            continue
        places = np.array([number(axis.name, value) for value in values])
        low, high = (np.array([number(axis.name, end) for end in next(sides)])[:, None] for _ in range(2))
        top = axis.kind == "number" and axis.edges[-1]
        within = (low <= places) & ((places < high) | ((high == top) & (places == top)))
        inside &= np.where(np.isnan(low), np.isnan(places), within)
    return [int(each) for each in inside.sum(axis=1)]


def number(name: str, value: Any) -> float:
    """A value, or an end of a box, on a line; NaN where it is missing."""
    if value is None:
        return float("nan")
    value = value_of(name, value) if isinstance(value, str) else value
    return float(value.toordinal()) if type(value) is date else getattr(value, "timestamp", lambda: float(value))()


@pytest.mark.parametrize("desk", NAMES)
def test_every_layer_is_listed_with_the_rows_of_its_boxes(desks: dict[str, Desk], desk: str) -> None:
    """Base, coarse cells and leaves: each count as drawn is that of the rows in the box; leaves have estimates."""
    synopsis = synopsis_of(desks[desk])
    layers = synopsis.layers
    assert layers is not None
    named = dict(layers.named())
    assert list(named) == ["base", "coarse", "leaf"]
    for name, layer in named.items():
        exact = np.array(
            rows_in_boxes(desks[desk], synopsis.attributes, list(layers.boxes(layer, synopsis.attributes)))
        )
        off = np.abs(np.array(layer.counts) - exact)
        assert off.max() <= 40 * max(layer.noise_sd) + EXACT, name
        assert (layer.estimates is None) == (name != "leaf")
    leaf = layers.leaf
    assert synopsis.counts == leaf.counts
    assert synopsis.grid.leaves == len(leaf.counts)
    assert synopsis.grid.cells_per_axis is None
    assert (synopsis.noise_sd, synopsis.reach, synopsis.cells) == (None, None, None)
    assert sum(leaf.estimates or ()) == pytest.approx(1000, abs=5)


@pytest.mark.parametrize("desk", NAMES)
def test_files_have_the_boxes_of_all_layers_typed(desks: dict[str, Desk], desk: str) -> None:
    """CSV, Parquet and Arrow say the same as JSON; dates are dates, and gaps are gaps."""
    synopsis = synopsis_of(desks[desk])
    frame = synopsis.to_pandas()
    table = pa.parquet.read_table(pa.BufferReader(desks[desk].get("synopsis", params={"format": "parquet"}).content))
    stream = pa.ipc.open_stream(desks[desk].get("synopsis", params={"format": "arrow"}).content).read_all()
    assert stream.equals(table)
    assert table.column_names == list(frame.columns)
    assert table.column_names[-5:] == ["layer", "count", "noise_sd", "estimate", "sd"]
    kinds = {"age": pa.float64(), "arrived": pa.date32(), "income": pa.float64(), "at": pa.timestamp("us", tz="+01:00")}
    for name in NAMES[desk]:
        if name != "sex":
            assert table.schema.field(f"{name}_lower").type == table.schema.field(f"{name}_upper").type == kinds[name]
    assert json.loads(table.schema.metadata[b"layers"])["version"] == 2
    columns = table.to_pydict()
    assert columns["count"] == list(frame["count"])
    assert columns["layer"] == list(frame["layer"])
    assert all(
        (estimate is None) == (layer != "leaf")
        for estimate, layer in zip(columns["estimate"], columns["layer"], strict=True)
    )
    lines = list(csv.DictReader(io.StringIO(desks[desk].get("synopsis", params={"format": "csv"}).text)))
    assert [int(line["count"]) for line in lines] == columns["count"]
    first = NAMES[desk][-1]
    written = [line[f"{first}_lower"] for line in lines]
    assert [number(first, text) for text in written] == [number(first, value) for value in columns[f"{first}_lower"]]


def test_a_part_lists_the_parts_of_leaves_in_it(desks: dict[str, Desk]) -> None:
    """Boxes end where the part ends; a leaf that is cut has its share, and estimates add up to the size of the part."""
    synopsis = synopsis_of(desks["moments"], where=["income:150..720.5"])
    layers = synopsis.layers
    assert layers is not None
    assert (layers.base, layers.coarse) == (None, None)
    assert min(layers.edges[0]) == 150
    assert max(layers.edges[0]) == 720.5
    assert min(layers.leaf.shares or ()) < 1.0 == max(layers.leaf.shares or ())
    counted = desks["moments"].asked("count", where=["income:150..720.5"])
    assert sum(layers.leaf.estimates or ()) == pytest.approx(counted["count"], abs=1e-6)
    file = desks["moments"].get("synopsis", params={"format": "csv", "where": "income:150..720.5"}).text
    assert file.splitlines()[0].endswith('"sd","share"')
    assert len(file.splitlines()) == 1 + len(layers.leaf.counts)
    women = synopsis_of(desks["calendar"], where=["sex:f"])
    assert women.layers is not None
    assert {box[2] for box in women.boxes()} == {"f"}


@pytest.mark.parametrize("where", [[], ["income:150..720.5"]])
def test_neighbours_taken_together_keep_their_rows(desks: dict[str, Desk], where: list[str]) -> None:
    """Fewer boxes, the same rows in all."""
    desk = desks["moments"]
    every, few = synopsis_of(desk, where=where), synopsis_of(desk, where=where, cells=1600)
    assert every.layers is not None
    assert few.layers is not None
    leaf = few.layers.leaf
    assert len(leaf.counts) <= 1600 < len(every.counts)
    assert sum(leaf.summed or ()) == len(every.counts)
    assert sum(leaf.counts) == sum(every.counts)
    assert sum(leaf.estimates or ()) == pytest.approx(sum(every.layers.leaf.estimates or ()))
    if not where:
        exact = rows_in_boxes(desk, few.attributes, list(few.boxes()))
        assert np.abs(np.array(leaf.counts) - exact).max() <= EXACT + 40 * max(leaf.noise_sd)


def test_the_variance_of_neighbours_is_that_of_the_sum_of_their_leaves(desks: dict[str, Desk]) -> None:
    """By the covariances of all leaves."""
    cells = _cells(desks["moments"])
    listing = merged(cells, _release(desks["moments"]).domain, most=1600)
    assert listing.fused is not None
    assert listing.summed is not None
    low, high = (np.stack(ends, axis=1) for ends in (listing.low, listing.high))
    first, last = cells.layers.boxes(2)
    for place in range(0, len(listing), 37):
        weights = ((first >= low[place]) & (last <= high[place])).all(axis=1).astype(float)
        assert weights.sum() == listing.summed[place]
        assert listing.fused.deviations[place] ** 2 == pytest.approx(cells.variance(weights))


def _release(desk: Desk) -> Any:
    with read_book(desk.api.service) as book:
        release = reading.load_any(book, desk.release)
        return reading.load_synopsis(book, release)


def _cells(desk: Desk) -> AdaptiveCells:
    cells = _release(desk).cells
    assert isinstance(cells, AdaptiveCells)
    return cells


def test_taking_together_is_refused_where_nothing_can_be(desks: dict[str, Desk]) -> None:
    """A file has every cell, and a grid has no leaves."""
    desk = desks["moments"]
    assert desk.get("synopsis", params={"format": "csv", "cells": 10}).status_code == 422
    grid = published(desk.api, ["income"], csv_of(desk.table), rule="rugnik", epsilon="1")
    reply = desk.api.analyst("GET", f"/v1/releases/{grid}/synopsis", params={"cells": 10})
    assert reply.status_code == 422
    assert "has a grid" in reply.json()["detail"]


def test_replies_say_what_the_adaptive_rule_does(desks: dict[str, Desk]) -> None:
    """A plan and an order name the base; a published release has its leaves; too little signal is said in words."""
    api = desks["moments"].api
    terms = {
        "epsilon": "1",
        "clusters": 4,
        "attributes": ["income", "at"],
        "rule": "adaptive",
        "size": {"declared": 1500},
    }
    plan = api.curator("POST", "/v1/datasets/mixed/plans", json=terms).json()
    ordered = api.order("mixed", **terms).json()
    for reply in (plan, ordered["plan"]):
        assert reply["order"]["rule"] == "adaptive"
        assert reply["grid"] == {"cells_per_axis": None, "dimensions": 2, "cells": 64, "shape": [8, 8], "layered": True}
        assert "cut further" in reply["note"]
    assert api.upload(ordered["id"], csv_of(desks["moments"].table)).status_code == 200
    grid = api.analyst("GET", f"/v1/releases/{ordered['id']}").json()["plan"]["grid"]
    assert grid["leaves"] > 64
    weak = api.order("mixed", **terms | {"epsilon": "0.1"}).json()["plan"]
    assert "below 100" in weak["note"]
    assert "layered" not in weak["grid"]
    assert "note" not in api.order("mixed", **terms | {"epsilon": "0.1", "rule": "rugnik"}).json()["plan"]


def test_an_adaptive_release_is_what_the_ledger_says(desks: dict[str, Desk]) -> None:
    """The digest in the ledger is that of its canonical bytes, an ETag spares a second download, and all verifies."""
    desk = desks["calendar"]
    reply = desk.api.analyst("GET", f"/v1/releases/{desk.release}").json()
    assert reply["synopsis"]["digest"] == sha256(_release(desk).to_bytes()).hexdigest()
    file = desk.get("synopsis", params={"format": "arrow"})
    again = desk.get("synopsis", params={"format": "arrow"}, headers={"If-None-Match": file.headers["ETag"]})
    assert again.status_code == 304
    assert verify_all(desk.api.service).valid
