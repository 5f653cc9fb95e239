"""A bought size makes counts of large boxes more precise, by weights that the counts do not decide."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from core.budget import NOTHING, Epsilon
from core.cells import DenseCells
from core.mechanisms.discrete_laplace import DiscreteLaplace
from core.queries.bought import BoughtSize, normal_laplace_radius
from core.queries.boxes import Box, Range
from core.queries.edges import Edges
from core.queries.moments import moments
from core.queries.range_count import RangeCounts, count_boxes, range_table
from core.queries.size import Part, noisy_size, size_interval, sum_radius
from core.queries.slices import slice_of
from core.synopsis import Synopsis
from tests.core.queries.test_size import BOUGHT, EPSILON, bought
from tests.core.queries.worlds import least_hits, rows, shaken, synopsis_of

LARGE: Box = (Range("a", 0.0, 7.3),)  # cuts cells
WHOLE: Box = (Range("a", 0.0, 8.0),)  # of a grid of 5 or 20 cells
SMALL: Box = (Range("a", 0.0, 0.25), Range("b", -5.0, -4.8))  # within a cell


def ask(synopsis: Synopsis, *boxes: Box, level: float = 0.95) -> RangeCounts:
    """Counts of boxes."""
    return count_boxes(range_table(synopsis), boxes, level=level, simultaneous=False)


def inside(values: np.ndarray, box: Box) -> int:
    """The rows of the test data in a box of the first attribute."""
    return int(((values[:, 0] >= box[0].lower) & (values[:, 0] < box[0].upper)).sum())  # type: ignore[union-attr]


@pytest.mark.parametrize("m", [5, 20])
def test_counts_of_large_boxes_scatter_less_are_unbiased_and_covered(m: int) -> None:
    """Over releases of the same rows, on small grids and larger ones; boxes of whole cells, and boxes that cut some."""
    draws, truth = 400, inside(rows(600), WHOLE)
    counted = [ask(release, WHOLE, LARGE) for release in bought(600, draws, m)]
    values = np.array([each.count[0] for each in counted])
    sd = counted[0].noise_sd[0]
    plain = DiscreteLaplace.at(EPSILON - BOUGHT).standard_deviation * np.sqrt(0.8) * m
    assert sd < 0.8 * plain
    assert values.std() == pytest.approx(sd, rel=0.2)
    assert abs(values.mean() - truth) < 5 * sd / np.sqrt(draws)
    assert sum(each.low[0] <= truth <= each.high[0] for each in counted) >= least_hits(draws)
    cut = inside(rows(600), LARGE)
    assert sum(each.low[1] <= cut <= each.high[1] for each in counted) >= least_hits(draws)
    assert counted[0].size_weight[1] > 0.0


def test_weights_and_widths_depend_on_nothing_that_was_drawn() -> None:
    """Two releases of other rows with the same grid and the same charge: only counts differ."""
    first, second = (next(bought(size, 1, 20)) for size in (600, 5000))
    ours, theirs = (ask(release, LARGE, WHOLE, SMALL, ()) for release in (first, second))
    assert ours.size_weight.tolist() == theirs.size_weight.tolist()
    assert (ours.noise_high - ours.noise_low) == pytest.approx(theirs.noise_high - theirs.noise_low)
    levels = [ask(first, LARGE, WHOLE, SMALL, (), level=level).count.tolist() for level in (0.5, 0.999999)]
    assert levels[0] == levels[1] == ours.count.tolist()


def test_a_small_box_is_a_plain_sum_and_a_box_of_all_cells_is_the_size() -> None:
    """The combination is there where it gains something."""
    release = next(bought(600, 1, 20))
    counted = ask(release, SMALL, ())
    declared = ask(replace(release, size_declared=True, size_epsilon=NOTHING, epsilon=EPSILON - BOUGHT), SMALL)
    assert counted.size_weight[0] == 0.0
    assert (counted.count[0], counted.low[0], counted.high[0]) == (declared.count[0], declared.low[0], declared.high[0])
    size = moments(release, level=0.95).size
    assert size.value == pytest.approx(counted.count[1])
    assert counted.high[1] - counted.low[1] == pytest.approx(size.interval.high - size.interval.low, rel=1e-6)


def test_counts_add_up() -> None:
    """The weight is in proportion to the cells of a box, so that disjoint boxes have the sum of their counts."""
    release = next(bought(600, 1, 20))
    halves = ask(release, (Range("a", 0.0, 5.0),), (Range("a", 5.0, 10.0),), ())
    assert (halves.size_weight > 0.0).all()
    assert halves.count[0] + halves.count[1] == pytest.approx(halves.count[2])


def test_a_declared_size_changes_no_count() -> None:
    """It is a statement that nobody checked."""
    release = shaken(synopsis_of(rows(600), 20), "0.5")
    for declared in (1, 10**9):
        counted = ask(replace(release, size=declared), WHOLE, ())
        assert counted.size_weight.tolist() == [0.0, 0.0]
        assert counted.count.tolist() == ask(release, WHOLE, ()).count.tolist()


def test_a_size_that_was_raised_to_one_bounds_nothing_from_below() -> None:
    """Of an empty release: the combination may be too high, so its interval begins at zero or below."""
    empty = replace(next(bought(600, 1, 20)), size=1)
    release = replace(empty, cells=DenseCells(empty.grid, np.full(400, 3)))
    counted = ask(release, WHOLE, ())
    assert (counted.size_weight > 0.0).all()
    assert (counted.low <= 0.0).all()


@pytest.mark.parametrize("alpha", [0.2, 0.05, 1e-3, 1e-5, 1e-8, 1e-12])
def test_radii_of_cut_boxes_are_hardly_wider_than_the_law_says(alpha: float) -> None:
    """Against the exact law of all parts: never too small, and not much too wide where boxes are asked for."""
    rng = np.random.default_rng(3)
    exact = synopsis_of(rows(600), 24)
    for epsilon in ("0.05", "1", "4"):
        amount = Epsilon.parse(epsilon)
        release = replace(exact, epsilon=amount, size_epsilon=Epsilon(amount.nano // 20), size_declared=False)
        size = BoughtSize.of(release)
        assert size is not None
        box: Box = (Range("a", 0.0, float(rng.uniform(5, 10))),)
        weights, served = size.weights(Edges.of((box,), release.domain, release.grid))
        assert served.tolist() == [0]
        w, cells = float(weights.size[0]), float(weights.inside[0]) / 24
        whole, share = int(cells), cells % 1
        assert size.size_law is not None
        parts = [
            Part(size.size_law, w, 1),
            Part(size.law, 1 - w, 24 * whole),
            Part(size.law, abs(share - w), 24),
            Part(size.law, w, 24 * (23 - whole)),
        ]
        reach = float(size.radii(weights, alpha)[0])
        if alpha < 1e-9:  # no transform resolves it
            assert reach > float(size.radii(weights, 1e-8)[0])
            continue
        law = sum_radius(tuple(part for part in parts if part.times and part.weight > 0.0), alpha)
        assert 0.995 * law <= reach <= (1.15 if alpha >= 1e-3 else 1.35) * law


def test_the_radius_of_normal_and_laplace_noise_together() -> None:
    """By simulation of a million draws: the tail beyond the radius is alpha."""
    rng, n = np.random.default_rng(0), 10**6
    for s, b in ((1.0, 0.1), (1.0, 1.0), (5.0, 2.0)):
        drawn = np.abs(s * rng.normal(size=n) + rng.laplace(scale=1 / b, size=n))
        for alpha in (0.2, 0.01):
            reach = float(normal_laplace_radius(np.array([s]), np.array([b]), alpha)[0])
            assert (drawn > reach).mean() == pytest.approx(alpha, abs=6 * np.sqrt(alpha / n))


def test_the_size_of_a_part_uses_what_was_bought_for_the_whole() -> None:
    """The bought size less all cells outside is a second estimate: less noise, and the interval holds."""
    draws, truth, hits = 400, inside(rows(600), WHOLE), 0
    values = []
    for release in bought(600, draws):
        part = slice_of(release, WHOLE)
        size, interval = noisy_size(part), size_interval(part, 0.95, alpha=0.05)
        values.append(size.rows)
        hits += interval.low <= truth <= interval.high
        assert size.rows == pytest.approx(ask(release, WHOLE).count[0])
    assert size.noise_sd < 0.8 * DiscreteLaplace.at(EPSILON - BOUGHT).standard_deviation * np.sqrt(20)
    assert abs(np.mean(values) - truth) < 5 * size.noise_sd / np.sqrt(draws)
    assert hits >= least_hits(draws)
