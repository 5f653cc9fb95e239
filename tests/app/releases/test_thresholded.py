"""Releases of many attributes over HTTP: a grid that nobody could keep whole, and every question to what is kept."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from app.main import create_app
from app.settings.settings import Settings
from tests.support.service.api import Api, frozen_clock

NAMES = [f"x{i}" for i in range(6)]
CENTRES = np.array([[2.0] * 6, [8.0] * 6, [2.0, 8.0] * 3])


def rows(count: int = 6000) -> bytes:
    """Three tight clusters in six dimensions."""
    rng = np.random.default_rng(0)
    values = CENTRES[rng.integers(0, 3, count)] + rng.normal(0, 0.3, (count, 6))
    lines = [",".join(f"{value:.3f}" for value in row) for row in values]
    return "\n".join([",".join(NAMES), *lines, ""]).encode()


@pytest.fixture
def wide(settings: Settings) -> Iterator[Api]:
    """An application whose limit on cells is below what six attributes want, on each kind of database."""
    small = settings.model_copy(update={"max_cells": 1000, "max_wide_rows": 10_000})
    with Api(create_app(small, frozen_clock)) as api:
        attributes = [{"name": name, "lower": 0, "upper": 10} for name in NAMES]
        api.register("wide", budget="10", attributes=attributes)
        yield api


def order(api: Api, size: Any) -> dict[str, Any]:
    """An order of all six attributes."""
    reply = api.order("wide", epsilon="2", clusters=3, size=size)
    assert reply.status_code == 201, reply.text
    body: dict[str, Any] = reply.json()
    return body


@pytest.fixture
def ask(wide: Api) -> Callable[[str], Any]:
    """A question to a published release of the three clusters."""
    release = order(wide, {"declared": 6000})["id"]
    assert wide.upload(release, rows()).status_code == 200

    def asked(question: str) -> Any:
        reply = wide.analyst("GET", f"/v1/releases/{release}/{question}")
        assert reply.status_code == 200, reply.text
        return reply.json() if "json" in reply.headers["content-type"] else reply

    return asked


def test_a_plan_says_that_cells_will_be_left_out(wide: Api) -> None:
    """Threshold, grid and a warning in words, before anything is spent."""
    body = {"epsilon": "2", "clusters": 3, "size": {"declared": 6000}}
    plan = wide.curator("POST", "/v1/datasets/wide/plans", json=body).json()
    assert plan["grid"]["cells"] > 1000
    assert plan["threshold"] >= 2
    assert plan["predicted"]["count_error"] is None
    assert any("noisy count" in warning for warning in plan["warnings"])


@pytest.mark.parametrize("size", [{"declared": 6000}, {"estimate": "0.05"}])
def test_a_release_lists_the_cells_that_reach_its_threshold(wide: Api, size: Any) -> None:
    """Whether the size is declared or bought, the synopsis names its threshold, and no count is below it."""
    release = order(wide, size)["id"]
    published = wide.upload(release, rows()).json()
    threshold = published["plan"]["threshold"]
    synopsis = wide.analyst("GET", f"/v1/releases/{release}/synopsis").json()
    assert synopsis["threshold"] == threshold
    assert min(synopsis["counts"]) >= threshold
    assert len(synopsis["cells"]) == len(synopsis["counts"]) < synopsis["grid"]["cells"]
    assert synopsis["reach"]["each"] == synopsis["reach"]["all"]


def test_the_clusters_of_six_attributes_are_found(ask: Callable[[str], Any]) -> None:
    """Each true centre has one found within half a unit, and the method is named."""
    answer = ask("clusters?k=3")
    assert answer["method"] == "thresholded"
    centres = np.array(answer["centers"])
    distances = np.linalg.norm(CENTRES[:, None] - centres[None], axis=2).min(axis=1)
    assert distances.max() < 0.5
    assert sum(answer["sizes"]) == pytest.approx(6000, rel=0.1)


def test_every_question_is_answered_from_listed_cells(ask: Callable[[str], Any]) -> None:
    """Counts and marginals have bounds that hold, quantiles and moments intervals, rows and files come."""
    count = ask("count?where=x0:..5&where=x1:..5")
    assert count["interval"]["low"] <= 2000 <= count["interval"]["high"]
    side = ask("marginal?attributes=x0,x1")
    assert side["reach"] is None
    assert np.shape(side["bounds"]["each"]["low"]) == np.shape(side["counts"])
    middle = ask("quantiles?attribute=x0&q=0.5")["quantiles"][0]
    assert middle["interval"]["low"] <= 2.1 <= middle["interval"]["high"]
    moments = ask("moments")
    size = moments["size"]["interval"]
    assert size["low"] < 6000 < size["high"]
    mean = moments["attributes"][0]["mean"]["interval"]
    assert mean["low"] <= 4 <= mean["high"]
    assert len(ask("rows?count=50")["rows"]) == 50
    assert [line["k"] for line in ask("clusters/scan?k=2..4")["scan"]] == [2, 3, 4]
    table = pa.ipc.open_stream(ask("synopsis?format=arrow").content).read_all()
    assert table.schema.metadata[b"threshold"] == str(ask("synopsis")["threshold"]).encode()
    assert len(table) == len(ask("synopsis")["counts"])


def test_rows_beyond_the_cap_of_many_attributes_are_refused(wide: Api) -> None:
    """The refusal names its setting, comes before any draw, and the release can be tried again."""
    release = order(wide, {"estimate": "0.05"})["id"]
    refused = wide.upload(release, rows(10_001))
    assert (refused.status_code, refused.json()["setting"]) == (413, "RUGNIK_MAX_WIDE_ROWS")
    assert wide.upload(release, rows()).status_code == 200


@pytest.mark.parametrize("level", ["5e-324", "1e-300", "0.5", "0.999999"])
def test_no_level_is_too_much_for_listed_cells(ask: Callable[[str], Any], level: str) -> None:
    """From the least to the surest, every question is answered."""
    for question in ("count?", "marginal?attributes=x0&", "quantiles?attribute=x0&q=0.5&", "moments?", "clusters?k=3&"):
        assert ask(f"{question}level={level}")


def test_a_declaration_that_is_wrong_is_no_bound(wide: Api) -> None:
    """6,000 rows declared as 5,000: intervals of the size and of a mean hold the truth; a warning says why so wide."""
    release = order(wide, {"declared": 5000})["id"]
    assert wide.upload(release, rows()).status_code == 200
    moments = wide.analyst("GET", f"/v1/releases/{release}/moments").json()
    size, mean = moments["size"]["interval"], moments["attributes"][0]["mean"]["interval"]
    assert size["low"] < 6000 < size["high"]
    assert mean["low"] < 4 < mean["high"]
    warnings = wide.analyst("GET", f"/v1/releases/{release}/clusters?k=3").json()["warnings"]
    assert any("declared" in warning for warning in warnings)


def test_a_file_without_a_good_row_publishes_too(wide: Api) -> None:
    """Nothing but false cells, or nothing at all, is listed, and questions are still answered."""
    release = order(wide, {"declared": 6000})["id"]
    assert wide.upload(release, (",".join(NAMES) + "\n").encode()).status_code == 200
    for question in ("count", "moments", "marginal?attributes=x0", "quantiles?attribute=x0&q=0.5", "synopsis"):
        assert wide.analyst("GET", f"/v1/releases/{release}/{question}").status_code == 200
    assert wide.analyst("GET", f"/v1/releases/{release}/clusters?k=3").status_code in {200, 422}
