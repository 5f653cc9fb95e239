"""Plans: free, made of public numbers, and true: the grid they show is the grid that an order gets."""

from __future__ import annotations

from collections.abc import Iterator
from math import exp, expm1
from typing import Any

import pytest
from httpx import Response

from app.main import create_app
from app.settings.settings import Settings
from core.budget import Epsilon
from core.queries.clusters import MAX_CLUSTERS
from tests.support.service.api import Api, frozen_clock


def plan(api: Api, **changes: Any) -> Response:
    """A plan with a declared size, changed as asked; None leaves a field out."""
    body = {"epsilon": "0.5", "clusters": 4, "size": {"declared": 10_000}} | changes
    body = {name: value for name, value in body.items() if value is not None}
    return api.curator("POST", "/v1/datasets/city/plans", json=body)


def solve(api: Api, count_error: float, **changes: Any) -> Response:
    """A plan for a wanted error in place of an epsilon."""
    return plan(api, epsilon=None, target={"count_error": count_error}, **changes)


@pytest.fixture(scope="module")
def city(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    """A service with one dataset of two attributes, for plans and refused orders: these change nothing."""
    settings = Settings(data_dir=tmp_path_factory.mktemp("city") / "data", log_level="warning")
    with Api(create_app(settings, frozen_clock)) as opened:
        assert opened.register().status_code == 201
        yield opened


def test_plans_are_free(api: Api) -> None:
    """Any number of them, answered or refused: the ledger is byte for byte as it was, and so is the budget."""
    api.register()
    before = api.auditor("GET", "/v1/ledger/export").content
    for changes in (
        {},
        {"epsilon": "99"},
        {"size": None},
        {"epsilon": "0"},
        {"clusters": 10**9},
        {"attributes": ["x"]},
    ):
        assert plan(api, **changes).status_code in {200, 422}
    assert solve(api, 50).status_code == 200
    assert api.auditor("GET", "/v1/ledger/export").content == before
    assert api.budget()["spent"] == "0"
    assert api.curator("GET", "/v1/datasets/city").json()["releases"] == []


def test_a_plan_does_not_ask_what_is_left(sqlite_api: Api) -> None:
    """A curator may look at what they cannot afford, also once the dataset is closed."""
    sqlite_api.register()
    assert plan(sqlite_api, epsilon="50").status_code == 200
    sqlite_api.curator("POST", "/v1/datasets/city/close")
    assert plan(sqlite_api).status_code == 200


def test_a_plan_tells_what_an_order_would_give(city: Api) -> None:
    """Grid, noise, errors, memory, and the range of Theorem 2, for the terms as they were understood."""
    reply = plan(city).json()
    assert reply["order"] == {
        "attributes": ["age", "income"],
        "epsilon": "0.5",
        "clusters": 4,
        "size": {"declared": 10_000},
        "rule": "rugnik",
        "out_of_range": "clip",
        "unit": {"kind": "record"},
    }
    cells = reply["grid"]["cells_per_axis"]
    assert reply["grid"] == {"cells_per_axis": cells, "dimensions": 2, "cells": cells**2, "shape": [cells, cells]}
    assert reply["noise"]["mechanism"] == "discrete_laplace"
    assert (reply["noise"]["epsilon_histogram"], reply["noise"]["epsilon_size"]) == ("0.5", "0")
    assert reply["noise"]["size_sd"] is None
    assert reply["noise"]["cell_sd"] == pytest.approx(2.799, abs=0.001)
    predicted = reply["predicted"]
    assert (predicted["size"], predicted["memory_bytes"]) == (10_000, 16 * cells**2)
    assert predicted["count_error"] > predicted["cell_error"] > 0
    low, high = predicted["theorem_range"]
    assert predicted["inside_theorem"] is (low <= 0.5 <= high)


@pytest.mark.parametrize("size", [{"declared": 10_000}, {"estimate": "0.05", "guess": 10_000}, {"estimate": "0.05"}])
def test_the_noise_of_an_adaptive_plan_is_that_of_a_leaf(city: Api, size: dict[str, Any]) -> None:
    """Seven tenths of the epsilon of the cells buy it, also where nobody knows the size yet."""
    noise = plan(city, rule="adaptive", size=size).json()["noise"]
    leaf = Epsilon.parse(noise["epsilon_histogram"]).nano * 0.7e-9
    assert noise["cell_sd"] == pytest.approx((2 * exp(-leaf)) ** 0.5 / -expm1(-leaf))


def test_the_noise_of_an_adaptive_plan_with_few_rows_is_that_of_the_grid_that_serves(city: Api) -> None:
    """Below N epsilon / K = 100 no cell is cut, and all of the epsilon counts one layer."""
    few = {"size": {"declared": 500}}
    assert plan(city, rule="adaptive", **few).json()["noise"] == plan(city, **few).json()["noise"]


BAD: dict[str, dict[str, Any]] = {
    "epsilon 0": {"epsilon": "0"},
    "epsilon -1": {"epsilon": "-1"},
    "epsilon 1e3": {"epsilon": "1e3"},
    "epsilon of ten places": {"epsilon": "0.1234567891"},
    "epsilon as a number": {"epsilon": 0.5},
    "epsilon beyond the largest": {"epsilon": "100.000000001"},
    "epsilon NaN": {"epsilon": "NaN"},
    "empty epsilon": {"epsilon": ""},
    "no clusters": {"clusters": None},
    "K = 0": {"clusters": 0},
    "K = -1": {"clusters": -1},
    "K = 2.5": {"clusters": 2.5},
    "K as a text": {"clusters": "4"},
    "K as a truth": {"clusters": True},
    "K beyond what can be asked": {"clusters": 257},
    "unknown attribute": {"attributes": ["age", "shoe size"]},
    "attribute in another case": {"attributes": ["Age"]},
    "attribute twice": {"attributes": ["age", "age"]},
    "no attributes": {"attributes": []},
    "33 attributes": {"attributes": ["age"] * 33},
    "size 0": {"size": {"declared": 0}},
    "size -5": {"size": {"declared": -5}},
    "size as a float": {"size": {"declared": 10.0}},
    "size as a text": {"size": {"declared": "10"}},
    "size beyond all sizes": {"size": {"declared": 10**12 + 1}},
    "size as a number": {"size": 10_000},
    "declared and estimated": {"size": {"declared": 5, "estimate": "0.05"}},
    "declared with a guess": {"size": {"declared": 5, "guess": 5}},
    "share 0": {"size": {"estimate": "0"}},
    "share 1": {"size": {"estimate": "1"}},
    "share as a number": {"size": {"estimate": 0.05}},
    "guess 0": {"size": {"estimate": "0.05", "guess": 0}},
    "epsilon too small to be shared": {"epsilon": "0.000000001", "size": {"estimate": "0.05"}},
    "unknown rule": {"rule": "best"},
    "unknown way with outliers": {"out_of_range": "ignore"},
    "unknown field": {"seed": 7},
    "epsilon and target": {"target": {"count_error": 50}},
    "neither epsilon nor target": {"epsilon": None},
    "target 0": {"epsilon": None, "target": {"count_error": 0}},
    "target -1": {"epsilon": None, "target": {"count_error": -1}},
    "target as a text": {"epsilon": None, "target": {"count_error": "few"}},
    "target of another kind": {"epsilon": None, "target": {"error": 50}},
}


@pytest.mark.parametrize("bad", BAD)
def test_bad_terms_are_refused_alike_in_plans_and_orders(city: Api, bad: str) -> None:
    """422 for the plan, and for an order of the same terms, which then charges nothing."""
    before = city.auditor("GET", "/v1/ledger/export").content
    refused = plan(city, **BAD[bad])
    assert refused.status_code == 422, refused.text
    order = {name: value for name, value in BAD[bad].items() if value is not None}
    body = {"epsilon": "0.5", "clusters": 4, "size": {"declared": 10_000}} | order
    if bad in {"no clusters", "neither epsilon nor target"}:
        body.pop("clusters" if "clusters" in bad else "epsilon")
    assert city.curator("POST", "/v1/datasets/city/releases", json=body).status_code == 422
    assert city.auditor("GET", "/v1/ledger/export").content == before


@pytest.mark.parametrize(
    "changes",
    [
        {"clusters": 102},  # 101 cells at most: 10 per axis
        {"clusters": 10**12},
        {"size": {"declared": 10**9}, "epsilon": "10"},
        {"size": {"estimate": "0.05"}, "clusters": 102},
        {"size": {"estimate": "0.05", "guess": 50}, "clusters": 102},
        {"rule": "eugkm", "size": {"declared": 10**9}, "epsilon": "10"},
    ],
    ids=str,
)
def test_a_grid_beyond_the_limit_is_refused_by_name(sqlite_settings: Settings, changes: dict[str, Any]) -> None:
    """too-many-cells, with RUGNIK_MAX_CELLS, for a plan and, before anything is charged, for an order."""
    with Api(create_app(sqlite_settings.model_copy(update={"max_cells": 101}), frozen_clock)) as api:
        api.register(budget="20")
        for reply in (plan(api, **changes), api.order(**({"size": {"declared": 10_000}} | changes))):
            assert reply.status_code == 422
            problem = reply.json()
            assert problem["type"] == "urn:rugnik:problem:too-many-cells"
            assert (problem["setting"], problem["allowed"]) == ("RUGNIK_MAX_CELLS", 100)
            assert problem["wanted"] > 100
        assert api.budget()["spent"] == "0"
        assert plan(api, clusters=100, size={"estimate": "0.05", "guess": 50}).status_code == 200


def test_no_more_clusters_are_ordered_than_can_be_asked(city: Api) -> None:
    """The most that a question takes are planned and ordered; for one more, the sentence tells the limit."""
    assert plan(city, clusters=MAX_CLUSTERS).status_code == 200
    for refused in (plan(city, clusters=MAX_CLUSTERS + 1), city.order(clusters=MAX_CLUSTERS + 1)):
        assert refused.json()["detail"] == ("An order for 257 clusters: questions ask for 256 at most. Order no more.")


def test_no_more_clusters_are_ordered_than_there_are_values(city: Api) -> None:
    """Whole numbers have so many values, and each cluster needs one; beside a number there are any."""
    whole = {"kind": "integer", "lower": 1, "upper": 3}
    attributes = [{"name": "a", **whole}, {"name": "b", **whole}, {"name": "x", "lower": 0, "upper": 1}]
    city.register("whole", attributes=attributes)
    terms = {"epsilon": "0.5", "size": {"declared": 10_000}}

    def planned(*names: str, clusters: int) -> Response:
        body = terms | {"attributes": list(names), "clusters": clusters}
        return city.curator("POST", "/v1/datasets/whole/plans", json=body)

    assert planned("a", "b", clusters=9).status_code == 200
    assert "9 different values" in planned("a", "b", clusters=10).json()["detail"]
    assert planned("a", "b", "x", clusters=10).status_code == 200


def test_a_plan_tells_what_the_order_would_leave(sqlite_api: Api) -> None:
    """To the last billionth; null where the order would be refused, which is said, and then no rule is offered."""
    sqlite_api.register(budget="3")
    sqlite_api.order(epsilon="1.25")
    payable = plan(sqlite_api, epsilon="1.75").json()
    assert payable["budget"] == {"remaining": "1.75", "after": "0"}
    assert {"alternatives", "recommendation"} <= set(payable)
    beyond = plan(sqlite_api, epsilon="1.750000001").json()
    assert beyond["budget"] == {"remaining": "1.75", "after": None}
    assert (
        "Not enough epsilon: the order takes 1.750000001, and 1.75 is left. It would be refused." in beyond["warnings"]
    )
    assert not {"alternatives", "recommendation"} & set(beyond)
    assert sqlite_api.order(epsilon="1.750000001").status_code == 409
    assert plan(sqlite_api, epsilon="1").json()["budget"] == {"remaining": "1.75", "after": "0.75"}
    sqlite_api.curator("POST", "/v1/datasets/city/close")
    closed = plan(sqlite_api, epsilon="1").json()
    assert closed["budget"] == {"remaining": "1.75", "after": None}
    assert "The dataset is closed: it takes no more orders." in closed["warnings"]


def test_a_large_guess_is_clamped_with_a_warning(sqlite_settings: Settings) -> None:
    """An estimated size never leads to a refusal: that would select among draws. The plan says what it will cost."""
    with Api(create_app(sqlite_settings.model_copy(update={"max_cells": 101}), frozen_clock)) as api:
        api.register()
        reply = plan(api, size={"estimate": "0.05", "guess": 10**9}).json()
        assert reply["grid"]["cells_per_axis"] == 10
        assert any("coarser" in warning for warning in reply["warnings"])


# Away from a step of the grid: there a slightly smaller epsilon could mean fewer cells, and so a smaller error.
TARGETS = [
    (50.0, {}),
    (20.0, {}),
    (200.0, {"size": {"declared": 1_000_000}}),
    (50.0, {"size": {"estimate": "0.05", "guess": 10_000}}),
    (100.0, {"attributes": ["income"], "rule": "eugkm"}),
]


@pytest.mark.parametrize(("target", "changes"), TARGETS, ids=str)
def test_a_target_gives_close_to_the_least_epsilon(city: Api, target: float, changes: dict[str, Any]) -> None:
    """The predicted error meets it, and with 2 % less epsilon it would not."""
    solved = solve(city, target, **changes)
    assert solved.status_code == 200, solved.text
    reply = solved.json()
    epsilon = reply["order"]["epsilon"]
    assert reply["predicted"]["count_error"] <= target
    assert plan(city, epsilon=epsilon, **changes).json() == reply
    less = plan(city, epsilon=f"{0.98 * float(epsilon):.9f}", **changes).json()
    assert less["predicted"]["count_error"] > target


def test_a_target_that_fits_the_limit_on_cells_is_met(sqlite_settings: Settings) -> None:
    """The search must not give up because twice the answer would need too many cells."""
    with Api(create_app(sqlite_settings.model_copy(update={"max_cells": 400}), frozen_clock)) as api:
        api.register(budget="20")
        largest = 0.0
        for nano in range(10**7, 10**9, 10**7):
            reply = plan(api, epsilon=f"{nano / 10**9:.9f}")
            if reply.status_code == 422:
                break
            largest = nano / 10**9
            error = reply.json()["predicted"]["count_error"]
        assert 0.1 < largest < 0.9
        solved = solve(api, error)
        assert solved.status_code == 200, solved.text
        assert float(solved.json()["order"]["epsilon"]) <= largest


def test_a_target_needs_a_size(city: Api) -> None:
    """With an estimate and no guess there is nothing to predict from; the message says what to add."""
    for size in (None, {"estimate": "0.05"}, {}):
        reply = solve(city, 50, size=size)
        assert reply.status_code == 422
        assert "guess" in reply.json()["detail"]


@pytest.mark.parametrize("target", [1e-30, 1e-300])
def test_an_impossible_target_is_refused(city: Api, target: float) -> None:
    """No epsilon is large enough: a sentence, not an endless search."""
    reply = solve(city, target, clusters=1, size={"declared": 1})
    assert reply.status_code == 422
    assert reply.json()["type"] == "urn:rugnik:problem:invalid-order"
    assert "No epsilon" in reply.json()["detail"]


def test_any_error_is_met_by_the_least_epsilon(city: Api) -> None:
    """A target beyond every error ends at the smallest epsilon there is, not below it."""
    reply = solve(city, 1e300)
    assert reply.status_code == 200
    assert 0 < float(reply.json()["order"]["epsilon"]) <= 2e-9


def test_a_plan_compares_the_rules(city: Api) -> None:
    """Cells, errors of counts in parts and together, and deviations; the plan's own numbers are among them."""
    reply = plan(city, size={"declared": 100_000}).json()
    assert [each["rule"] for each in reply["alternatives"]] == ["rugnik", "eugkm", "adaptive"]
    everywhere = reply["alternatives"][0]["predictions"][0]
    assert everywhere["occupied"] == 1
    assert everywhere["cells"] == reply["grid"]["cells"]
    assert everywhere["expected_deviation"] == pytest.approx(reply["predicted"]["expected_deviation"])
    for count, share in zip(everywhere["counts"], (0.01, 0.1), strict=True):
        assert count["share"] == share
        assert count["error"] ** 2 == pytest.approx(count["noise"] ** 2 + count["discretisation"] ** 2)
    assert "sixteenth" in reply["recommendation"]["assumption"]


def test_the_purpose_of_a_plan_changes_its_recommendation_alone(city: Api) -> None:
    """Clusters where it is not said; the order that the plan shows knows no purpose."""
    unsaid = plan(city).json()
    recommended = {}
    for purpose in ("clusters", "counts"):
        reply = plan(city, purpose=purpose).json()
        recommended[purpose] = reply.pop("recommendation")
        assert recommended[purpose]["purpose"] == purpose
        assert reply == {name: value for name, value in unsaid.items() if name != "recommendation"}
    assert recommended["clusters"] == unsaid["recommendation"]
    assert plan(city, purpose="fun").status_code == 422
    order = {"epsilon": "0.5", "clusters": 4, "size": {"declared": 10_000}, "purpose": "counts"}
    assert city.curator("POST", "/v1/datasets/city/releases", json=order).status_code == 422


def test_a_plan_without_a_size_compares_nothing(city: Api) -> None:
    """There is nothing to predict from."""
    assert not {"alternatives", "recommendation"} & set(plan(city, size=None).json())


def test_a_weak_signal_is_warned_of(city: Api) -> None:
    """Few rows and little epsilon for many clusters: said before it is paid for, and not said otherwise."""

    def warned(**changes: Any) -> bool:
        return any("signal is weak" in warning for warning in plan(city, **changes).json()["warnings"])

    assert warned(size={"declared": 50}, epsilon="0.1")
    assert warned(size={"estimate": "0.05", "guess": 50}, epsilon="0.1")
    assert not warned()


def test_a_declared_size_is_warned_of(city: Api) -> None:
    """Declaring gives the number away; an estimate does not."""

    def warned(size: dict[str, Any]) -> bool:
        return any("declared size is public" in warning for warning in plan(city, size=size).json()["warnings"])

    assert warned({"declared": 10_000})
    assert not warned({"estimate": "0.05", "guess": 10_000})


def test_more_cells_for_more_clusters_are_warned_of(city: Api) -> None:
    """Where the rule alone would give fewer cells than clusters."""
    reply = plan(city, clusters=100, size={"declared": 1}, epsilon="0.01").json()
    assert reply["grid"]["cells"] >= 100
    assert any("clusters apart" in warning for warning in reply["warnings"])


def test_a_plan_without_a_size_shows_noise_and_asks_for_a_guess(city: Api) -> None:
    """The default is the estimate, at a share of 0.05; grid and prediction need a number."""
    reply = plan(city, size=None).json()
    assert (reply["grid"], reply["predicted"]) == (None, None)
    assert reply["order"]["size"] == {"estimate": "0.05"}
    assert (reply["noise"]["epsilon_size"], reply["noise"]["epsilon_histogram"]) == ("0.025", "0.475")
    assert reply["noise"]["size_sd"] > 0
    assert any("guess" in warning for warning in reply["warnings"])


@pytest.mark.parametrize("rule", ["rugnik", "eugkm"])
def test_a_plan_and_its_order_have_the_same_grid(api: Api, rule: str) -> None:
    """Declared terms give one grid: planned, ordered, and published."""
    api.register()
    terms = {"epsilon": "0.5", "clusters": 7, "size": {"declared": 2_000}, "rule": rule, "attributes": ["income"]}
    planned = plan(api, **terms).json()
    ordered = api.order(**terms).json()
    assert ordered["plan"]["grid"] == planned["grid"]
    assert (ordered["plan"]["order"], ordered["plan"]["noise"]) == (planned["order"], planned["noise"])
    published = api.upload(ordered["id"]).json()
    assert published["plan"] == ordered["plan"]
    assert api.analyst("GET", f"/v1/releases/{ordered['id']}").json()["plan"] == ordered["plan"]


def test_the_guess_never_changes_the_grid(sqlite_api: Api) -> None:
    """Orders that differ in their guess alone get grids that follow from the noisy size, which the guess is not in.

    With most of the epsilon on the size the noisy size is all but exact, so the grid is that of the true size.
    """
    sqlite_api.register()
    expected = plan(sqlite_api, epsilon="3", size={"estimate": "0.9", "guess": 500}).json()["grid"]
    grids = []
    for guess in (None, 1, 10**9):
        size = {"estimate": "0.9"} if guess is None else {"estimate": "0.9", "guess": guess}
        sqlite_api.admin("POST", "/v1/datasets/city/grants", json={"epsilon": "3", "reason": "r"})
        ordered = sqlite_api.order(epsilon="3", size=size).json()
        assert ordered["plan"]["grid"] is None
        published = sqlite_api.upload(ordered["id"]).json()["plan"]
        assert abs(published["size"] - 500) < 50
        grids.append(published["grid"]["cells_per_axis"])
    assert all(abs(cells_per_axis - expected["cells_per_axis"]) <= 1 for cells_per_axis in grids)


def test_the_limit_on_cells_is_the_one_of_the_order(sqlite_settings: Settings) -> None:
    """A service restarted with a smaller limit counts an open order on the grid that was ordered."""
    with Api(create_app(sqlite_settings, frozen_clock)) as api:
        api.register()
        ordered = api.order(size={"declared": 10_000}).json()
    assert ordered["plan"]["grid"]["cells"] > 16
    with Api(create_app(sqlite_settings.model_copy(update={"max_cells": 16}), frozen_clock)) as api:
        assert api.curator("GET", f"/v1/releases/{ordered['id']}").json() == ordered
        assert api.upload(ordered["id"]).json()["plan"]["grid"] == ordered["plan"]["grid"]
