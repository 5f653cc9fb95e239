"""Ranges are [a, b), and the interval of a count covers its whole error: noise and the cells that the box cuts."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from math import inf

import numpy as np
import pytest
from numpy.typing import NDArray

from app.cli import demo_data
from core.budget import Epsilon
from core.cells import DenseCells
from core.domain.domain import Domain
from core.domain.grid import Grid
from core.domain.number import Number
from core.errors import InvalidQuery
from core.histogram import count
from core.intervals.radius import equal_radius
from core.mechanisms.discrete_laplace import DiscreteLaplace
from core.plan import DeclaredSize, Order, make_plan
from core.queries.boxes import Box, Range
from core.queries.edges import Edges
from core.queries.range_count import RangeCounts, SummedArea, count_boxes, range_table
from core.records import OutOfRange
from core.synopsis import Synopsis
from tests.core.intervals import test_listed
from tests.core.queries.worlds import LEVEL, least_hits, noisy, rows, synopsis_of
from tests.core.rows import numbers, take_rows

HOURS = Domain((Number("hour", 0, 24),))
TRIPS = Domain(tuple(Number(a["name"], a["lower"], a["upper"]) for a in demo_data.SCHEMA["attributes"]))
Floats = NDArray[np.float64]


def gridded(values: Floats, domain: Domain, grid: Grid) -> Synopsis:
    """A synopsis without noise of any rows."""
    counts = count(take_rows(values, domain, OutOfRange.CLIP).records, grid).cells
    return replace(synopsis_of(rows(10), 2), domain=domain, cells=DenseCells(grid, counts), size=len(values))


def whole_hours(cells: int) -> Synopsis:
    """Hours 0 to 23 with 1,000 rows each, without noise."""
    return gridded(np.repeat(np.arange(24.0), 1000)[:, None], HOURS, Grid.uniform(cells, 1))


def ask(synopsis: Synopsis, *box: Range, snap: bool = False) -> RangeCounts:
    """One box."""
    return count_boxes(SummedArea(synopsis), (box,), level=LEVEL, simultaneous=False, snap=snap)


def moved(synopsis: Synopsis, part: Range) -> tuple[float, float]:
    """The cells that a range of the only attribute is moved to."""
    edges = Edges.of(((part,),), synopsis.domain, synopsis.grid).nearest(synopsis.grid)
    return float(edges.low[0, 0, 0]), float(edges.high[0, 0, 0])


@cache
def demo_trips() -> Floats:
    """The rows of the demo, as its file spells them."""
    return np.array([[round(x, 3), round(y, 3), round(hour, 2)] for x, y, hour in demo_data.trips(20_000)])


@cache
def demo_grid() -> Grid:
    """The grid that the demo's order gives: epsilon 1, five clusters, twenty thousand rows."""
    order = Order(attributes=numbers(3), epsilon=Epsilon.parse("1"), clusters=5, size=DeclaredSize(20_000))
    return make_plan(order, max_cells=10**6).grid


def whole_number_box(seed: int) -> Box:
    """A box of the demo with whole-number ends on one to three attributes."""
    rng = np.random.default_rng(seed)
    names = rng.choice(3, rng.integers(1, 4), replace=False)
    ends = [np.sort(rng.choice(int(TRIPS.width[x]) + 1, 2, replace=False)).tolist() for x in names]
    return tuple(Range(TRIPS.names[x], float(a), float(b)) for x, (a, b) in zip(names, ends, strict=True))


def rows_in(values: Floats, box: Box, *, closed: bool) -> int:
    """Rows in [a, b) on every attribute, or in [a, b]. An attribute's own upper bound is always included."""
    inside = np.ones(len(values), dtype=bool)
    for name, lower, upper in box:
        x = TRIPS.names.index(name)
        at_most = closed or upper >= TRIPS.attributes[x].upper
        inside &= (values[:, x] >= lower) & ((values[:, x] <= upper) if at_most else (values[:, x] < upper))
    return int(inside.sum())


def test_seven_to_nine_holds_both_readings_of_whole_hours() -> None:
    """2,000 rows lie in [7, 9) and 3,000 in [7, 9]: the interval holds both, on fine and coarse grids."""
    for cells in (24, 12, 8, 7):
        exact = whole_hours(cells)
        hits = 0
        for release in noisy(exact, "1"):
            counted = ask(release, Range("hour", 7, 9))
            hits += bool(counted.low[0] <= 2000) and bool(counted.high[0] >= 3000)
        assert hits >= least_hits(), cells


def test_the_lower_end_and_the_upper_bound_are_not_widened() -> None:
    """A row at a is in [a, b), and the last cell is closed: nothing of the next cell could be meant."""
    exact = whole_hours(24)
    counted = ask(exact, Range("hour", 22, 24))
    assert (counted.low[0], counted.count[0], counted.high[0]) == (2000, 2000, 2000)
    inner = ask(exact, Range("hour", 7, 9))
    assert (inner.low[0], inner.count[0], inner.high[0]) == (2000, 2000, 3000)
    assert (inner.without_cut[0], inner.with_cut[0]) == (2000, 3000)
    assert (inner.noise_low[0], inner.noise_high[0]) == (2000, 2000)


@pytest.mark.parametrize("closed", [False, True])
def test_whole_number_boxes_of_the_demo_hold_the_truth(closed: bool) -> None:
    """300 boxes, each of a release of its own: at least as often as the level says.

    [a, b) of the rows as they are; [a, b] of the same rows as whole numbers.
    """
    values = np.floor(demo_trips()) if closed else demo_trips()
    exact = gridded(values, TRIPS, demo_grid())
    hits, boxes = 0, 300
    for seed, release in enumerate(noisy(exact, "1", boxes)):
        box = whole_number_box(seed)
        counted = ask(release, *box)
        hits += bool(counted.low[0] <= rows_in(values, box, closed=closed) <= counted.high[0])
    assert hits >= least_hits(boxes)


def test_simultaneous_intervals_hold_the_whole_error_together() -> None:
    """All of 20 boxes of one release at once, at the level; the count that is shown lies in every one of them."""
    values = demo_trips()
    exact = gridded(values, TRIPS, demo_grid())
    boxes = tuple(whole_number_box(seed) for seed in range(20))
    truth = np.array([rows_in(values, box, closed=False) for box in boxes])
    together = 0
    for release in noisy(exact, "0.5", 100):
        counted = count_boxes(SummedArea(release), boxes, level=LEVEL, simultaneous=True)
        together += bool(((counted.low <= truth) & (truth <= counted.high)).all())
        assert (counted.low <= counted.count).all()
        assert (counted.count <= counted.high).all()
    assert together >= least_hits(100)


@pytest.mark.parametrize("world", ["concentrated", "at the threshold", "bare"])
def test_a_thresholded_release_holds_the_whole_error_too(world: str) -> None:
    """Rows at the lower corner of their cell, of which a share would be wrong: [a, b) and [a, b] both, at the level."""
    rng = np.random.default_rng(3)
    truth = test_listed.WORLDS[world](rng)
    places = test_listed.GRID.places(np.arange(len(truth)))
    boxes: tuple[Box, ...] = (*test_listed.BOXES, (Range("a", 2.5, 4), Range("d", 1, 6.5)))
    readings = np.zeros((2, len(boxes)))
    for i, box in enumerate(boxes):
        at_most, below = np.ones((2, len(truth)), dtype=bool)
        for name, lower, upper in box:
            value = places[:, "abcd".index(name)]
            at_most &= (value >= lower) & (value <= upper)
            below &= (value >= lower) & (value < upper)
        readings[:, i] = truth[at_most].sum(), truth[below].sum()
    draws, hits = 100, np.zeros((2, len(boxes)))
    for _ in range(draws):
        release = test_listed.listed_synopsis(truth, "1", rng, declared=False, threshold=test_listed.LOW.get(world))
        counted = count_boxes(range_table(release), boxes, level=LEVEL, simultaneous=False)
        hits += (counted.low <= readings) & (readings <= counted.high)
    assert hits.min() >= least_hits(draws), hits


def test_a_box_of_whole_cells_has_the_exact_interval_of_its_noise() -> None:
    """Nothing is cut and nothing added: the sum of n draws, at the level, on both sides of the count."""
    release = next(noisy(synopsis_of(rows(600), 10), "0.5"))
    for box, cells in (((), 100), ((Range("a", lower=8),), 20), ((Range("a", lower=8), Range("b", lower=4)), 2)):
        counted = ask(release, *box)
        reach = equal_radius(DiscreteLaplace.at(Epsilon.parse("0.5")), cells, alpha=1 - LEVEL) * (1 + 1e-9)
        ends = (counted.count[0] - reach, counted.count[0] + reach)
        assert (counted.low[0], counted.high[0]) == pytest.approx(ends, abs=1e-6)  # a count may equal its reach
        assert (counted.noise_low[0], counted.noise_high[0]) == (counted.low[0], counted.high[0])
        assert counted.without_cut[0] == counted.with_cut[0] == counted.count[0]


@pytest.mark.parametrize(
    ("ranges", "told"),
    [
        ([Range("hour", 9, 9)], "The range of hour is empty"),
        ([Range("hour", 9, 7)], "The range of hour is empty"),
        ([Range("hour", float("nan"), 7)], "The range of hour is empty"),
        ([Range("hour", 24, 24)], "The range of hour is empty"),
        ([Range("hour", 1, 5), Range("hour", 5, 9)], "The ranges of hour have no value in common"),
        ([Range("hour", 25, 30)], "outside its bounds, 0 to 24"),
        ([Range("hour", -9, -1)], "outside its bounds, 0 to 24"),
        ([Range("hour", -inf, 0)], "outside its bounds, 0 to 24"),
    ],
)
def test_a_range_that_holds_nothing_is_refused_with_a_sentence(ranges: list[Range], told: str) -> None:
    """Rather than answered by a zero that looks like knowledge; of many boxes the sentence says which one."""
    table = SummedArea(whole_hours(24))
    with pytest.raises(InvalidQuery, match=told) as alone:
        ask(whole_hours(24), *ranges)
    assert not str(alone.value).startswith("Box")
    with pytest.raises(InvalidQuery, match=f"Box 2 of 2: {told}|Box 2 of 2: .*{told}"):
        count_boxes(table, ((), tuple(ranges)), level=LEVEL, simultaneous=False)


def test_a_range_that_sticks_out_is_clipped() -> None:
    """To the public bounds; one that begins at the upper bound may hold rows of the last cell, and says so."""
    exact = whole_hours(24)
    assert ask(exact, Range("hour", 20, 99)).count[0] == ask(exact, Range("hour", 20, 24)).count[0] == 4000
    assert ask(exact, Range("hour", -5, 2)).count[0] == 2000
    last = ask(gridded(np.full((500, 1), 24.0), HOURS, Grid.uniform(24, 1)), Range("hour", 24, 30))
    assert (last.low[0], last.high[0]) == (0, 500)


def test_a_snapped_box_is_exact_on_the_edges_it_names() -> None:
    """Ends move to the nearest edges: no cell is cut, none added, and the interval is that of the noise."""
    exact = whole_hours(8)  # edges every 3 hours
    counted = ask(exact, Range("hour", 7, 14), snap=True)
    assert moved(exact, Range("hour", 7, 14)) == (2, 5)  # 6 to 15
    assert (counted.low[0], counted.count[0], counted.high[0]) == (9000, 9000, 9000)
    assert counted.without_cut[0] == counted.with_cut[0] == 9000
    release = next(noisy(exact, "0.5"))
    snapped = ask(release, Range("hour", 7, 14), snap=True)
    assert (snapped.low[0], snapped.high[0]) == (snapped.noise_low[0], snapped.noise_high[0])


@pytest.mark.parametrize(("ends", "cells"), [((7.1, 7.2), (2, 3)), ((5.9, 6.05), (1, 2)), ((23.9, 30), (7, 8))])
def test_a_range_smaller_than_a_cell_snaps_to_the_cell_of_its_middle(
    ends: tuple[float, float], cells: tuple[int, int]
) -> None:
    """Both ends may be nearest to one edge; a box without a cell would be no answer."""
    assert moved(whole_hours(8), Range("hour", *ends)) == cells
