"""Rules side by side: predictions that agree with the paper and with simulated noise, and a recommendation."""

from __future__ import annotations

import itertools
from dataclasses import replace
from math import sqrt

import numpy as np
import pytest

from core.adaptive.fusion import Fusion
from core.adaptive.layers import Layers
from core.adaptive.leaves import unit_boxes
from core.adaptive.release import LayerCounts
from core.adaptive.shares import LayerLaws
from core.alternatives import COMPARED_SHARES, Alternative, Comparison, Purpose, compare
from core.budget import Epsilon
from core.domain.category import Category
from core.domain.integer import Integer
from core.forecast import forecast
from core.histogram import Counts
from core.plan import DeclaredSize, EstimatedSize, Order, Plan, Rule, make_plan
from core.predictions import Layer, Picture, laplace, squares
from tests.core.rows import numbers, records_of

MAX_CELLS = 4_000_000
ORDER = Order(attributes=numbers(2), epsilon=Epsilon.parse("1"), clusters=5, size=DeclaredSize(100_000))
SEX = Category("sex", ("f", "m", "x"))


def compared(order: Order, purpose: Purpose = Purpose.CLUSTERS) -> Comparison:
    """The comparison of an order whose size is known."""
    comparison = compare(order, purpose=purpose, max_cells=MAX_CELLS)
    assert comparison is not None
    return comparison


def rule_of(order: Order, rule: str) -> Alternative:
    """The line of a rule."""
    return next(each for each in compared(order).alternatives if each.rule == rule)


def overlaps(lower: float, length: float, cells: int) -> np.ndarray:
    """The share of each of so many cells that a range along one axis covers, in cell units."""
    edges = np.arange(cells + 1)
    return np.clip(np.minimum(edges[1:], lower + length) - np.maximum(edges[:-1], lower), 0, 1)


@pytest.mark.parametrize(
    "attributes", [numbers(1), numbers(2), (*numbers(2), SEX), (Integer("hour", 0, 5), *numbers(1))]
)
@pytest.mark.parametrize("rule", [Rule.RUGNIK, Rule.EUGKM])
def test_rows_that_fill_the_space_have_the_deviation_and_the_cells_of_the_plan(attributes: tuple, rule: Rule) -> None:
    """The first picture is the paper's own, so a comparison never contradicts the plan beside it."""
    order = replace(ORDER, attributes=attributes, rule=rule)
    planned = forecast(order, max_cells=MAX_CELLS)
    assert planned is not None
    first = rule_of(order, rule.value).predictions[0]
    assert first.expected_deviation == pytest.approx(planned.expected_deviation)
    assert first.cells == planned.plan.grid.cell_count


@pytest.mark.parametrize("length", [0.2, 0.9, 1.0, 2.5, 7.0])
def test_the_squares_of_cut_shares_are_those_of_random_ranges(length: float) -> None:
    """An average over every place in a cell, by the midpoint rule."""
    places = 2 + (np.arange(2000) + 0.5) / 2000
    sums = [float((overlaps(place, length, 12) ** 2).sum()) for place in places]
    assert squares(length) == pytest.approx(np.mean(sums), rel=1e-4)


@pytest.mark.parametrize("rule", ["rugnik", "eugkm"])
@pytest.mark.parametrize("d", [1, 2, 3])
def test_the_predicted_noise_of_a_count_is_that_of_simulated_noise(rule: str, d: int) -> None:
    """Random boxes on grids of simulated noise, with a public seed: within a fifth."""
    order = replace(ORDER, attributes=numbers(d), size=DeclaredSize(20_000))
    prediction = rule_of(order, rule).predictions[0]
    m = round(prediction.cells ** (1 / d))
    rng = np.random.default_rng(d)
    for place, share in enumerate(COMPARED_SHARES):
        length, errors = m * share ** (1 / d), []
        for _ in range(20):
            noise = order.law.simulate((m,) * d, rng).astype(float)
            for _ in range(100):
                answer = noise
                for lower in rng.uniform(0, m - length, d):
                    answer = np.tensordot(overlaps(lower, length, m), answer, axes=(0, 0))
                errors.append(float(answer))
        assert prediction.counts is not None
        assert prediction.counts[place].noise == pytest.approx(np.sqrt(np.mean(np.square(errors))), rel=0.2)


def drawn(plan: Plan, rows: np.ndarray, rng: np.random.Generator) -> tuple[Fusion, np.ndarray]:
    """An adaptive release of rows in the unit cube with public noise, and the exact counts of its leaves."""
    laws = LayerLaws.of(plan.order.histogram_epsilon, plan.order.unit)
    records = records_of((rows * 2**32).astype(np.uint32))
    base = Counts.zero(plan.grid)
    base.add(records)
    layers = Layers(plan.grid, laws, base.cells + laws.base.simulate(base.cells.shape, rng))
    layers.cut_base()
    coarse = LayerCounts(layers, leaves=False)
    coarse.add(records)
    counted = coarse.cells[layers.coarse_counted]
    layers.take_coarse(counted + laws.coarse.simulate(counted.shape, rng))
    layers.cut_coarse()
    leaves = LayerCounts(layers, leaves=True)
    leaves.add(records)
    noise = [laws.leaf(is_cut=is_cut).simulate(leaves.cells.shape, rng) for is_cut in (False, True)]
    layers.take_leaves(leaves.cells + np.where(layers.leaf_is_cut, noise[1], noise[0]))
    return Fusion(layers), leaves.cells


@pytest.mark.parametrize("occupied", [1.0, 1 / 16])
@pytest.mark.parametrize("d", [1, 2, 3])
def test_the_predicted_noise_and_cells_of_adaptive_releases_are_those_of_simulated_ones(
    d: int, occupied: float
) -> None:
    """Rows that fill a box evenly, public noise, random ranges in the box, fused counts: within a fifth."""
    order = replace(ORDER, attributes=numbers(d), size=DeclaredSize(20_000), rule=Rule.ADAPTIVE)
    prediction = next(each for each in rule_of(order, "adaptive").predictions if each.occupied == occupied)
    plan, rng, side = make_plan(order, max_cells=MAX_CELLS), np.random.default_rng(d), occupied ** (1 / d)
    errors: dict[float, list[float]] = {share: [] for share in COMPARED_SHARES}
    cells = []
    for _ in range(20):
        corner = rng.uniform(0, 1 - side, d)
        fusion, exact = drawn(plan, corner + side * rng.random((20_000, d)), rng)
        low, high = ((ends + 1) / 2 for ends in unit_boxes(fusion.layers, 2))
        cells.append(len(exact))
        for share, _ in itertools.product(COMPARED_SHARES, range(30)):
            length = side * share ** (1 / d)
            begin = corner + rng.uniform(0, side - length, d)
            inside = np.clip(np.minimum(high, begin + length) - np.maximum(low, begin), 0, None) / (high - low)
            errors[share].append(float(inside.prod(axis=1) @ (fusion.leaves - exact)))
    assert prediction.cells == pytest.approx(np.mean(cells), rel=0.2)
    for count in prediction.counts or ():
        assert count.noise == pytest.approx(np.sqrt(np.mean(np.square(errors[count.share]))), rel=0.2)


def test_the_constant_of_cut_cells_is_that_of_the_guideline() -> None:
    """For two attributes the sum of both errors is least at sqrt(N epsilon / 10) cells per axis."""

    def total(m: int) -> float:
        picture = Picture(
            size=10**6, occupied=1.0, categories=1, leaves=Layer(cells=(m, m), rate=1.0), whole=(False, False)
        )
        return sqrt(2 * 0.1) * m + picture.count_error(0.1, laplace).discretisation

    assert min(range(2, 2000), key=total) == pytest.approx(sqrt(10**6 / 10), rel=0.01)


def test_fusing_a_planning_layer_is_least_squares() -> None:
    """The variance of a range of whole base cells and of a part of one, against the normal equations."""
    picture = Picture(
        size=1000,
        occupied=1.0,
        categories=1,
        leaves=Layer(cells=(16.0,), rate=0.7),
        whole=(False,),
        planning=(Layer(cells=(8.0,), rate=0.2), Layer(cells=(2.0,), rate=0.1)),
    )
    rows = [np.eye(16) * sqrt(1 / laplace(0.7))]
    for cells, rate in ((8, 0.2), (2, 0.1)):
        rows.append(np.kron(np.eye(cells), np.ones(16 // cells)) * sqrt(1 / laplace(rate)))
    covariance = np.linalg.inv(np.vstack(rows).T @ np.vstack(rows))
    places = (np.arange(4000) + 0.5) / 4000 * 8  # of a range of half of the axis
    weights = np.array([overlaps(place, 8.0, 16) for place in places])
    exact = np.mean(np.einsum("ij,jk,ik->i", weights, covariance, weights))
    assert picture.count_error(0.5, laplace).noise ** 2 == pytest.approx(exact, rel=0.02)


def test_noise_in_the_box_of_the_rows_counts_on_its_scale_and_noise_beyond_it_on_that_of_the_space() -> None:
    """The deviation of k-means for rows in a sixteenth of the space, written out for two attributes."""
    prediction = rule_of(ORDER, "rugnik").predictions[1]
    cells, size, clusters, box = prediction.cells, 100_000, 5, 1 / 16
    noise = sqrt(2 * cells * (box * box**2 + 1 - box)) / clusters
    cross = 2 * sqrt(size / 3 / cells) * sqrt(box / clusters)
    assert prediction.expected_deviation == pytest.approx(2 / clusters * (noise + cross + size / 3 / cells))


def test_the_purpose_changes_the_recommendation_alone() -> None:
    """All numbers stay; in five attributes counts want another grid than clusters."""
    order = replace(ORDER, attributes=numbers(5), size=DeclaredSize(10_000))
    clusters, counts = compared(order, Purpose.CLUSTERS), compared(order, Purpose.COUNTS)
    assert clusters.alternatives == counts.alternatives
    assert (clusters.recommended, counts.recommended) == ("rugnik", "eugkm")
    assert (clusters.offsets, counts.offsets) == (True, False)
    assert "For counts: eugkm." in counts.reason


@pytest.mark.parametrize("d", [4, 6, 7])
def test_from_four_attributes_on_the_rule_stands_with_and_without_offsets(d: int) -> None:
    """Whatever the order itself says; with them no count is predicted, and half of the epsilon makes the grid."""
    order = replace(ORDER, attributes=numbers(d))
    lines = {each.title: each for each in compared(order).alternatives}
    assert list(lines.values()) == list(compared(replace(order, offsets=True)).alternatives)
    assert next(iter(lines)) == ("rugnik" if d < 7 else "rugnik with offsets")
    half = rule_of(replace(order, attributes=numbers(d), epsilon=Epsilon.parse("0.5")), "rugnik").predictions[0]
    offsets, plain = lines["rugnik with offsets"].predictions[0], lines["rugnik"].predictions[0]
    assert offsets.counts is None
    assert plain.counts is not None
    assert offsets.cells < plain.cells
    if d < 7:
        assert offsets.cells == half.cells
    note = lines["rugnik with offsets"].note or ""
    assert "Half of the epsilon" in note


def test_offsets_are_recommended_for_clusters_by_measurement_and_never_for_counts() -> None:
    """From four ordered attributes on; three of them with a category are compared only if the order asks for it."""
    for d in (4, 5, 6, 7):
        order = replace(ORDER, attributes=numbers(d))
        clusters, counts = (compared(order, purpose) for purpose in Purpose)
        assert (clusters.recommended, clusters.offsets, counts.offsets) == ("rugnik", True, False)
        assert "made-up rows" in clusters.reason
        assert "unknown" not in counts.reason
    mixed = replace(ORDER, attributes=(*numbers(3), SEX))
    assert not any(each.offsets for each in compared(mixed).alternatives)
    asked = compared(replace(mixed, offsets=True))
    assert [each.title for each in asked.alternatives] == ["rugnik", "rugnik with offsets", "eugkm", "adaptive"]
    assert not asked.offsets


def test_an_epsilon_that_cannot_be_shared_is_said_beside_the_others() -> None:
    """One billionth is too little for counts and offsets."""
    order = replace(ORDER, attributes=numbers(4), epsilon=Epsilon(1))
    line = next(each for each in compared(order).alternatives if each.offsets)
    assert line.predictions == ()
    assert "too small" in (line.note or "")
    assert compared(order).alternatives[0].predictions


def test_adaptive_cells_are_recommended_where_rows_may_lie_close_together() -> None:
    """Many rows, two attributes: its counts are closer in a sixteenth of the space, and no worse everywhere."""
    for purpose in Purpose:
        assert compared(ORDER, purpose).recommended == "adaptive"
    adaptive, rugnik = rule_of(ORDER, "adaptive").predictions, rule_of(ORDER, "rugnik").predictions
    assert adaptive[1].counts[0].total < rugnik[1].counts[0].total / 2


def test_a_weak_signal_falls_back_to_the_grid_of_the_paper() -> None:
    """The line says so, has the same numbers, and is not recommended over the rule that it falls back to."""
    order = replace(ORDER, size=DeclaredSize(400))
    adaptive = rule_of(order, "adaptive")
    assert adaptive.predictions == rule_of(order, "rugnik").predictions
    assert "rugnik" in (adaptive.note or "")
    assert compared(order).recommended == "rugnik"


@pytest.mark.parametrize("attributes", [numbers(4), (SEX,)])
def test_adaptive_cells_need_one_to_three_ordered_attributes(attributes: tuple) -> None:
    """Otherwise the line says why there is nothing to predict."""
    line = rule_of(replace(ORDER, attributes=attributes), "adaptive")
    assert line.predictions == ()
    assert "1 to 3 attributes" in (line.note or "")


def test_categories_alone_have_one_grid() -> None:
    """Every combination is a cell: no range cuts one, and there is no distance."""
    comparison = compared(replace(ORDER, attributes=(SEX,)))
    assert comparison.recommended == "rugnik"
    for line in comparison.alternatives[:2]:
        prediction = line.predictions[0]
        assert (prediction.cells, prediction.expected_deviation) == (3, None)
        assert all(count.discretisation == 0 for count in prediction.counts or ())


def test_a_cell_for_each_value_is_never_cut() -> None:
    """Whole numbers of few values."""
    order = replace(ORDER, attributes=(Integer("hour", 0, 23),))
    for line in compared(order).alternatives:
        assert all(count.discretisation == 0 for count in line.predictions[0].counts or ())


def test_a_rule_whose_grid_is_too_large_says_so_beside_the_others() -> None:
    """The comparison goes on without it."""
    order = replace(ORDER, size=DeclaredSize(10**9), clusters=4)
    comparison = compare(order, purpose=Purpose.COUNTS, max_cells=10**7)
    assert comparison is not None
    rugnik, eugkm, _ = comparison.alternatives
    assert len(rugnik.predictions) == 2
    assert eugkm.predictions == ()
    assert "cells" in (eugkm.note or "")


def test_without_a_size_there_is_nothing_to_compare() -> None:
    """A guess serves; without it the answer is None."""
    assert compare(replace(ORDER, size=EstimatedSize()), purpose=Purpose.COUNTS, max_cells=MAX_CELLS) is None
    assert compared(replace(ORDER, size=EstimatedSize(guess=1000))).alternatives
