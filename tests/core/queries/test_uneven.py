"""Questions on a grid whose axes have different numbers of cells, 3 x 7 and 3 x 7 x 2, against brute force.

Every expected number comes from the list of cells, one by one, and never from the code that is tested.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise, permutations, product

import numpy as np
import pytest
from numpy.typing import NDArray

from core.cells import Cells, DenseCells, ThresholdedCells
from core.domain.axis import UniformAxis
from core.domain.domain import Domain
from core.domain.grid import Grid
from core.domain.number import Number
from core.histogram import OccupiedCounts, cell_indices, count
from core.queries.boxes import Box, Range
from core.queries.denoise import CountsKind
from core.queries.edges import Edges
from core.queries.marginal import marginal, raw_marginal
from core.queries.moments import moments
from core.queries.quantile import quantile
from core.queries.range_count import RangeCounts, count_boxes, range_table
from core.records import OutOfRange
from core.synopsis import Synopsis
from tests.core.queries.worlds import drawn_rows, rows, synopsis_of
from tests.core.rows import take_rows

SHAPES = [(3, 7), (7, 3), (3, 7, 2), (1, 7, 2, 3), (2, 3, 2, 4, 2, 3)]
BOUNDS = [(0.0, 6.0), (-7.0, 7.0), (10.0, 11.0), (0.0, 1.0), (-1.0, 1.0), (2.0, 5.0)]
THRESHOLD = 4


def domain_of(shape: tuple[int, ...]) -> Domain:
    """An attribute for each axis, each with its own bounds."""
    return Domain(tuple(Number(name, *BOUNDS[x]) for x, name in enumerate("abcdef"[: len(shape)])))


def grid_of(shape: tuple[int, ...]) -> Grid:
    """The grid of that shape."""
    return Grid(tuple(map(UniformAxis, shape)))


def synopsis_with(cells: Cells, shape: tuple[int, ...]) -> Synopsis:
    """A synopsis of such cells; at epsilon 100 its noise is nothing."""
    return replace(synopsis_of(rows(10), 2), domain=domain_of(shape), cells=cells, size=int(cells.counts.sum()))


def both(shape: tuple[int, ...]) -> list[tuple[Synopsis, dict[tuple[int, ...], int]]]:
    """A dense and a thresholded synopsis, each with its counts by place."""
    places = list(product(*map(range, shape)))
    counts = np.random.default_rng(len(shape)).integers(0, 50, len(places))
    whole = DenseCells(grid_of(shape), counts)
    listed = whole.reaching(THRESHOLD)
    by_place = dict(zip(places, counts.tolist(), strict=True))
    kept = {place: number for place, number in by_place.items() if number >= THRESHOLD}
    return [(synopsis_with(whole, shape), by_place), (synopsis_with(listed, shape), kept)]


def edges_of(synopsis: Synopsis, x: int) -> list[float]:
    """The edges of an axis in the attribute's own units, by a loop."""
    attribute, m = synopsis.domain.attributes[x], synopsis.grid.shape[x]
    return [attribute.lower + attribute.width * j / m for j in range(m + 1)]


@pytest.mark.parametrize("shape", SHAPES)
def test_cells_are_numbered_with_the_last_attribute_fastest(shape: tuple[int, ...]) -> None:
    """Places and centres in the order of the product over axes."""
    grid = grid_of(shape)
    expected = list(product(*map(range, shape)))
    assert (grid.shape, grid.cell_count, grid.dimensions) == (shape, len(expected), len(shape))
    assert grid.places(np.arange(grid.cell_count)).tolist() == [list(place) for place in expected]
    centres = [[(2 * j + 1) / m - 1 for j, m in zip(place, shape, strict=True)] for place in expected]
    np.testing.assert_allclose(grid.centres(), centres, rtol=0, atol=1e-15)
    assert (grid.centres(np.array([grid.cell_count - 1])) == grid.centres()[-1:]).all()


@pytest.mark.parametrize("shape", SHAPES)
def test_every_row_is_counted_in_the_cell_that_holds_it(shape: tuple[int, ...]) -> None:
    """Exact counts, of every cell and of occupied ones, equal a tally row by row."""
    domain, grid = domain_of(shape), grid_of(shape)
    values = domain.lower + np.random.default_rng(1).random((300, len(shape))) * domain.width
    tally = np.zeros(shape, dtype=np.int64)
    for row in ((values - domain.lower) / domain.width).tolist():
        tally[tuple(int(t * m) for t, m in zip(row, shape, strict=True))] += 1
    records = take_rows(values, domain, OutOfRange.CLIP).records
    assert (count(records, grid).cells == tally.ravel()).all()
    assert cell_indices(records, grid).max() < grid.cell_count
    occupied = OccupiedCounts(grid)
    occupied.add(records)
    numbers, counts = occupied.occupied()
    assert (numbers == np.flatnonzero(tally.ravel())).all()
    assert (counts == tally.ravel()[numbers]).all()


def boxes_on(synopsis: Synopsis, rng: np.random.Generator) -> list[Box]:
    """Boxes that cut cells, end on edges, leave attributes free and reach beyond the bounds."""
    boxes: list[Box] = [()]
    for _ in range(25):
        ranges = []
        for x, attribute in enumerate(synopsis.domain.attributes):
            within = rng.uniform(attribute.lower, attribute.upper, 2).tolist()
            low, high = sorted(within) if rng.random() < 0.6 else edges_of(synopsis, x)[-2:]
            beyond = attribute.width * rng.integers(0, 2)
            if rng.random() < 0.8:
                ranges.append(Range(attribute.name, low, high + beyond))
        boxes.append(tuple(ranges))
    return boxes


def covered(synopsis: Synopsis, counts: dict[tuple[int, ...], int], box: Box) -> tuple[float, float, float]:
    """The count of a box by the share of each cell inside, of the cells inside, and of the cells that it touches."""
    ranges = {part.attribute: part for part in box}
    total = inside = touched = 0.0
    for place, number in counts.items():
        share, whole, touches = 1.0, True, True
        for x, j in enumerate(place):
            part = ranges.get(synopsis.domain.names[x], Range("any"))
            low, high = edges_of(synopsis, x)[j : j + 2]
            share *= max(0.0, min(high, part.upper) - max(low, part.lower)) / (high - low)
            whole &= part.lower <= low + 1e-9 and high <= part.upper + 1e-9
            touches &= (
                part.lower < high - 1e-9 and low <= part.upper + 1e-9
            )  # a cell that begins at the end is taken in
        total, inside, touched = total + share * number, inside + whole * number, touched + touches * number
    return total, inside, touched


@pytest.mark.parametrize("shape", SHAPES)
def test_boxes_are_counted_by_the_share_of_each_cell_inside(shape: tuple[int, ...]) -> None:
    """Counts, whole cells inside and cells touched, dense and thresholded, one at a time and all at once."""
    for synopsis, counts in both(shape):
        boxes = tuple(boxes_on(synopsis, np.random.default_rng(2)))
        answer = count_boxes(range_table(synopsis), boxes, level=0.95, simultaneous=False)
        expected = np.array([covered(synopsis, counts, box) for box in boxes])
        np.testing.assert_allclose(answer.count, expected[:, 0], rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(answer.without_cut, expected[:, 1], rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(answer.with_cut, expected[:, 2], rtol=1e-9, atol=1e-9)
        assert (answer.low <= expected[:, 1] + 1e-9).all()
        assert (answer.high >= expected[:, 2] - 1e-9).all()


@pytest.mark.parametrize("shape", SHAPES)
def test_snapped_boxes_end_on_the_edges_of_their_own_axis(shape: tuple[int, ...]) -> None:
    """Every end is a whole number of cells of its axis, and nothing is cut."""
    for synopsis, _counts in both(shape):
        boxes = tuple(boxes_on(synopsis, np.random.default_rng(3)))
        answer: RangeCounts = count_boxes(range_table(synopsis), boxes, level=0.95, simultaneous=True, snap=True)
        edges = Edges.of(boxes, synopsis.domain, synopsis.grid).nearest(synopsis.grid)
        assert (edges.low == np.round(edges.low)).all()
        assert (edges.high <= np.array(shape)).all()
        assert (edges.low < edges.high).all()
        assert (answer.count == answer.without_cut).all()


@pytest.mark.parametrize("shape", SHAPES[:4])
def test_marginals_sum_over_all_other_attributes(shape: tuple[int, ...]) -> None:
    """In every order of every choice of attributes, with neighbours taken together or not."""
    for synopsis, counts in both(shape):
        for chosen in (axes for size in (1, 2) for axes in permutations(range(len(shape)), size)):
            names = tuple(synopsis.domain.names[x] for x in chosen)
            for most in (None, 2):
                sizes = [1 if most is None else -(-shape[x] // most) for x in chosen]
                table = np.zeros([-(-shape[x] // size) for x, size in zip(chosen, sizes, strict=True)])
                for place, number in counts.items():
                    table[tuple(place[x] // size for x, size in zip(chosen, sizes, strict=True))] += number
                answer = marginal(synopsis, names, level=0.95, counts=CountsKind.RAW, cells=most)
                assert answer.shape == table.shape
                assert (answer.counts == table.ravel()).all()
                for x, size, number in zip(chosen, sizes, table.shape, strict=True):
                    edges = edges_of(synopsis, x)
                    kept = [*edges[:-1:size], edges[-1]]
                    assert len(kept) == number + 1
                    np.testing.assert_allclose(answer.edges(synopsis.domain.attributes[x]), kept, rtol=1e-12)
            assert raw_marginal(synopsis, names).sum() == sum(counts.values())


@pytest.mark.parametrize("shape", SHAPES[:4])
def test_quantiles_are_read_off_the_cells_of_their_own_axis(shape: tuple[int, ...]) -> None:
    """Without noise the value has the asked share of all rows below it, rows spread evenly within a cell."""
    for synopsis, counts in both(shape):
        for x, name in enumerate(synopsis.domain.names):
            edges, slabs = edges_of(synopsis, x), [0.0] * shape[x]
            for place, number in counts.items():
                slabs[place[x]] += number
            for q in (0.1, 0.5, 0.9):
                answer = quantile(synopsis, name, q, level=0.95)
                below = sum(
                    number * float(np.clip((answer.value - low) / (high - low), 0.0, 1.0))
                    for number, (low, high) in zip(slabs, pairwise(edges), strict=True)
                )
                assert below == pytest.approx(q * sum(slabs))
                assert answer.cell[0] <= answer.value <= answer.cell[1]
                assert answer.cell[1] - answer.cell[0] == pytest.approx(edges[1] - edges[0])
                assert answer.interval.low <= answer.cell[0]
                assert answer.cell[1] <= answer.interval.high


def weighted(synopsis: Synopsis, counts: dict[tuple[int, ...], int]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Cell centres in the attributes' own units by a loop, and counts."""
    centres = [[sum(edges_of(synopsis, x)[j : j + 2]) / 2 for x, j in enumerate(place)] for place in counts]
    return np.array(centres), np.array(list(counts.values()), dtype=np.float64)


@pytest.mark.parametrize("shape", SHAPES[:4])
def test_moments_are_those_of_the_cell_centres(shape: tuple[int, ...]) -> None:
    """Means, variances and covariances of rows at their cell's centre, and half a cell of the attribute's own axis."""
    for synopsis, counts in both(shape):
        centres, weights = weighted(synopsis, counts)
        mean = np.average(centres, axis=0, weights=weights)
        covariance = np.cov(centres.T, aweights=weights, ddof=0)
        answer = moments(synopsis, level=0.95)
        for x, attribute in enumerate(answer.attributes):
            assert attribute.mean.value == pytest.approx(mean[x])
            assert attribute.variance.value == pytest.approx(covariance[x, x], abs=1e-9)
            assert attribute.discretisation == pytest.approx(synopsis.domain.attributes[x].width / shape[x] / 2)
        for pair in answer.pairs:
            x, y = (synopsis.domain.names.index(name) for name in pair.names)
            assert pair.covariance.value == pytest.approx(covariance[x, y], abs=1e-9)


@pytest.mark.parametrize("shape", SHAPES[:3])
def test_synthetic_rows_fall_into_cells_as_often_as_the_counts_say(shape: tuple[int, ...]) -> None:
    """Each cell's share of many rows is its share of the counts, and no row lies in a cell without any."""
    for synopsis, counts in both(shape):
        drawn = drawn_rows(synopsis, 100_000, 5)
        numbers = cell_indices(take_rows(drawn, synopsis.domain, OutOfRange.DROP).records, synopsis.grid)
        seen = np.bincount(numbers, minlength=synopsis.grid.cell_count) / len(drawn)
        share = np.zeros(shape)
        for place, number in counts.items():
            share[place] = number / sum(counts.values())
        assert len(numbers) == len(drawn)
        assert np.abs(seen - share.ravel()).max() < 6 * np.sqrt(share.max() / len(drawn))
        assert (seen[share.ravel() == 0] == 0).all()


def test_both_kinds_of_cells_agree_where_every_cell_is_listed() -> None:
    """A threshold that every count reaches leaves the same numbers, places, marginals and centres."""
    grid = grid_of((3, 7))
    whole = DenseCells(grid, np.arange(1, 22))
    listed = whole.reaching(1)
    everywhere = np.arange(21)
    assert isinstance(listed, ThresholdedCells)
    assert (listed.numbers_at(everywhere) == whole.numbers_at(everywhere)).all()
    assert (listed.centres() == whole.centres()).all()
    for axes in ((0,), (1,), (1, 0), (0, 1)):
        assert (listed.marginal(axes) == whole.marginal(axes)).all()
    assert (whole.complete, whole.threshold, whole.listed) == (True, None, None)
    assert (listed.complete, listed.threshold) == (False, 1)


def test_what_is_uniform_only_says_so() -> None:
    """One number of cells for all axes exists on a uniform grid alone."""
    assert grid_of((4, 4)) == Grid.uniform(4, 2)
    assert grid_of((4, 4)).cells_per_axis == 4
    assert grid_of((3, 7)).cells_per_axis is None
