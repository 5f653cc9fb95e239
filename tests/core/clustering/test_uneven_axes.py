"""Clusters on grids whose axes differ: other numbers of cells, unequal cells, categories and missing values."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from numpy.typing import NDArray

from core.cells import DenseCells, ThresholdedCells
from core.clustering.blocks import MOST_POINTS, block_numbers
from core.clustering.centres_within_cells import within_cells
from core.clustering.fine_grid import FineGrid
from core.clustering.methods import Method, choose, labels_of
from core.clustering.posterior import posterior
from core.domain.attribute import Missing
from core.domain.axis import RunAxis, UniformAxis
from core.domain.category import Category
from core.domain.domain import Domain
from core.domain.grid import Grid
from core.domain.integer import Integer
from core.domain.number import Number
from core.errors import InvalidQuery
from core.queries.cluster_scan import scan
from core.queries.clusters import assign, find_clusters, require_k
from core.queries.effort import effort_of_clusters, effort_of_scan
from core.randomness import seeded
from core.synopsis import Synopsis
from tests.core.clustering.mixed import MIDDLES, groups, mixed_synopsis, synopsis_on
from tests.core.queries.worlds import LEVEL, shaken

UNEVEN = Grid((RunAxis((0, 1, 3, 8, 9, 20)), UniformAxis(4), RunAxis((0, 5, 10, 14))))


def region_means(synopsis: Synopsis, values: NDArray[np.float64], method: Method) -> tuple[NDArray[np.float64], ...]:
    """The centres of an answer, the means of the rows nearest to each, and whether its intervals hold the means."""
    answer = find_clusters(synopsis, 3, level=LEVEL, seed=0, method=method)
    labels = assign(synopsis, answer, values)
    centres = np.array([cluster.centre for cluster in answer.clusters])
    means = np.array([values[labels == i].mean(axis=0) for i in range(3)])
    ends = np.array([[(each.low, each.high) for each in cluster.centre_intervals] for cluster in answer.clusters])
    return centres, means, (ends[..., 0] <= means) & (means <= ends[..., 1])


@pytest.mark.parametrize("method", [Method.POSTERIOR, Method.PROJECTED, Method.THRESHOLDED])
def test_centres_of_whole_numbers_are_the_means_of_their_rows(method: Method) -> None:
    """With next to no noise: to 0.05 hours, where half a cell would be 0.5; to 0.3 days in runs of 4 or 5 days."""
    for seed in range(3):
        values = groups(6000, seed)
        centres, means, _held = region_means(shaken(mixed_synopsis(values), "8", seed), values, method)
        assert np.abs(centres - means).max(axis=0) == pytest.approx([0, 0, 0], abs=0.3)
        assert np.abs(centres - means)[:, 1].max() < 0.05
        assert np.abs(np.sort(centres, axis=0) - np.sort(MIDDLES, axis=0)).max() < 0.4


def test_intervals_on_mixed_axes_cover_the_means_of_their_rows() -> None:
    """At epsilon 1 and 0.3, 6 releases each, in at least 95 % of the coordinates; hours are in runs of 2 or 3."""
    held = []
    for epsilon, seed in product(("1", "0.3"), range(6)):
        values = groups(6000, seed)
        synopsis = shaken(mixed_synopsis(values, cells=(9, 10, 3, 7)), epsilon, seed)
        held.append(region_means(synopsis, values, Method.POSTERIOR)[2])
    assert np.mean(held) >= LEVEL


@pytest.mark.parametrize("method", [Method.PROJECTED, Method.LLOYD])
def test_without_noise_an_interval_is_the_mean_of_its_region(method: Method) -> None:
    """On axes of 13, 24 and 7 cells: the slabs of a region are those of its own axis."""
    for cluster in find_clusters(mixed_synopsis(groups(2000, 1)), 3, level=LEVEL, seed=0, method=method).clusters:
        for centre, interval in zip(cluster.centre, cluster.region, strict=True):
            assert (interval.low, interval.high) == pytest.approx((centre, centre), abs=0.01)


def brute_force(points: NDArray[np.float64], weights: NDArray[np.float64]) -> float:
    """The least weighted sum of squares over all ways to divide the points in two."""
    best = np.inf
    for sides in product((False, True), repeat=len(points) - 1):
        chosen = np.array([False, *sides])
        total = 0.0
        for part in (chosen, ~chosen):
            if weights[part].sum() > 0:
                mean = np.average(points[part], axis=0, weights=weights[part])
                total += float(weights[part] @ np.square(points[part] - mean).sum(axis=1))
        best = min(best, total)
    return best


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("method", [Method.PROJECTED, Method.THRESHOLDED])
def test_centres_on_uneven_cells_are_the_best_of_all(method: Method, seed: int) -> None:
    """Ten occupied cells of uneven runs: no way to divide them in two has less inertia. Places come from the values."""
    rng = np.random.default_rng(seed)
    declared = (Integer("a", 0, 10), Integer("b", -3, 3), Number("c", 0, 2))
    runs = ([(0, 2), (3, 5), (6, 8), (9, 10)], [(-3, -1), (0, 1), (2, 3)])  # see `RunAxis.even`
    values = np.stack([rng.integers(0, 11, 10), rng.integers(-3, 4, 10), rng.uniform(0, 2, 10)], axis=1)
    times = rng.integers(1, 40, 10)
    synopsis = synopsis_on(declared, (4, 3, 2), tuple(np.repeat(values, times, axis=0).T))
    middles = np.array(
        [
            [*((next(a + b for a, b in run if a <= v <= b)) / 2 for run, v in zip(runs, row, strict=False)), c]
            for row, c in zip(values, np.floor(values[:, 2]) + 0.5, strict=True)
        ]
    )
    unit = 2 * (middles - [-0.5, -3.5, 0]) / [11, 7, 2] - 1
    answer = find_clusters(synopsis, 2, level=LEVEL, seed=0, method=method)
    assert answer.inertia == pytest.approx(brute_force(unit, times.astype(float)))


def test_runs_of_equal_length_give_the_posterior_of_equal_cells() -> None:
    """The formulas for unequal cells agree with those for equal ones, which have code of their own."""
    values = groups(500, 1)[:, :2]
    equal = shaken(synopsis_on((Number("a", 0, 40), Number("b", 0, 40)), (8, 5), tuple(values.T + 9)), "0.5")
    runs = Domain((Integer("a", 0, 39), Integer("b", 0, 39)))
    other = replace(equal, domain=runs, cells=DenseCells(runs.grid([8, 5]), equal.counts))
    first, second = (posterior(synopsis, 3, rng=seeded(4)) for synopsis in (equal, other))
    np.testing.assert_allclose(first.weights, second.weights, rtol=1e-6)
    np.testing.assert_allclose(first.draws.places, second.draws.places, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(first.fine.centres(), second.fine.centres(), atol=1e-12)


def mixture_on(grid: Grid, size: int, seed: int) -> Synopsis:
    """Rows of two normal groups and a uniform background in [-1, 1]^d, counted on any grid."""
    rng, d = np.random.default_rng(seed), grid.dimensions
    values = np.array([[-0.5], [0.4]])[rng.integers(2, size=size)] + rng.normal(0, 0.15, (size, d))
    values[: size // 20] = rng.uniform(-1, 1, (size // 20, d))
    counts = np.histogramdd(np.clip(values, -1, 1), [axis.edges() for axis in grid.axes])[0]
    domain = Domain(tuple(Number(f"x{x}", -1, 1) for x in range(d)))
    cells = DenseCells(grid, counts.ravel().astype(np.int64))
    return replace(mixed_synopsis(groups(20, 0)), domain=domain, cells=cells, size=size, clusters=2)


def test_the_posterior_of_unequal_cells_adds_up_to_the_rows() -> None:
    """A mixture on cells of widths 1 to 11: all weights together are N, those of each cell are near its rows."""
    exact = mixture_on(UNEVEN, 4000, 0)
    density = posterior(shaken(exact, "1", 1), 2, rng=seeded(0))
    assert density.weights.sum() == pytest.approx(4000, rel=0.02)
    by_cell = density.fine.by_cell(density.weights[None])[0].sum(axis=1)
    noise = np.square(shaken(exact, "1", 1).counts - exact.counts).sum()
    assert np.square(by_cell - exact.counts).sum() < 0.8 * noise
    assert density.draws.counts.sum(axis=1).mean() == pytest.approx(4000, rel=0.02)
    places = density.draws.places
    for x, axis in enumerate(UNEVEN.axes):
        index = UNEVEN.places(np.arange(UNEVEN.cell_count))[:, x]
        edges = axis.edges()
        assert (places[:, :, x] >= edges[index] - 1e-9).all()
        assert (places[:, :, x] <= edges[index + 1] + 1e-9).all()


def test_a_background_is_shared_out_by_volume() -> None:
    """Uniform rows on unequal cells: the posterior has in each cell about the rows that its volume says."""
    rng = np.random.default_rng(2)
    values = rng.uniform(-1, 1, (20_000, 3))
    counts = np.histogramdd(values, [axis.edges() for axis in UNEVEN.axes])[0].ravel().astype(np.int64)
    exact = replace(mixture_on(UNEVEN, 100, 0), cells=DenseCells(UNEVEN, counts), size=20_000)
    fine = FineGrid.of(UNEVEN)
    assert (1 / fine.to_fill()).sum() == pytest.approx(1)
    shares = fine.by_cell(1 / fine.to_fill()[None])[0].sum(axis=1)
    assert shares == pytest.approx(
        np.prod(np.meshgrid(*(np.diff(a.edges()) / 2 for a in UNEVEN.axes), indexing="ij"), axis=0).ravel()
    )
    density = posterior(shaken(exact, "0.05", 1), 1, rng=seeded(0))
    cells = fine.by_cell(density.weights[None])[0].sum(axis=1)
    assert np.abs(cells - 20_000 * shares).sum() < 0.25 * 20_000


@pytest.mark.parametrize("grid", [UNEVEN, Grid((UniformAxis(2), RunAxis(tuple(range(31))), RunAxis((0, 2, 3))))])
def test_parts_of_unequal_cells_lie_in_their_cells(grid: Grid) -> None:
    """Around the centre, within the edges; the single value of a cell is the place of all its parts."""
    fine = FineGrid.of(grid)
    for x, axis in enumerate(grid.axes):
        index = grid.places(np.arange(grid.cell_count))[:, x]
        centres, widths = axis.centres()[index], np.diff(axis.edges())[index]
        places = fine.by_cell(fine.centres()[None, :, x])[0]
        assert places.mean(axis=1) == pytest.approx(centres)
        assert (np.abs(places - centres[:, None]) < widths[:, None] / 2).all()
        np.testing.assert_allclose(
            np.broadcast_to(fine.offsets(x), places.shape), places - centres[:, None], atol=1e-12
        )
        if isinstance(axis, RunAxis):
            single = np.diff(axis.starts)[index] == 1
            np.testing.assert_allclose(places[single], np.broadcast_to(centres[single, None], places[single].shape))
        np.testing.assert_allclose(fine.edges[x][:: fine.parts[x]], axis.edges(), atol=1e-15)
    assert (fine.by_axis(fine.by_cell(np.arange(float(fine.cell_count))[None])) == np.arange(fine.cell_count)).all()
    assert fine.cell_count <= 2**14


def narrow_groups(seed: int = 0) -> tuple[Synopsis, NDArray[np.float64]]:
    """Two groups narrower than most cells of an uneven grid of four axes, and their centres in unit coordinates."""
    rng = np.random.default_rng(seed)
    middles = np.array([[2.6, 40.0, 5.3, 71.0], [7.1, 63.0, 2.3, 22.0]])
    values = np.repeat(middles, 20_000, axis=0) + rng.normal(0, [0.35, 4.0, 0.2, 6.0], (40_000, 4))
    values = np.clip(values, [0, 0, 0, 0], [10, 99, 6, 99])
    values[:, 1:] = np.round(values[:, 1:])
    declared = (Number("a", 0, 10), Integer("b", 0, 99), Integer("c", 0, 6), Integer("d", 0, 99))
    synopsis = synopsis_on(declared, (5, 7, 7, 3), tuple(values.T))
    return synopsis, synopsis.domain.to_unit(np.stack([values[:20_000].mean(axis=0), values[20_000:].mean(axis=0)]))


@pytest.mark.parametrize("threshold", [None, 20])
def test_what_spills_into_unequal_cells_tells_where_a_cluster_lies(threshold: int | None) -> None:
    """Centres within cells come nearer to the rows than cell centres do, and single values stay where they are."""
    exact, middles = narrow_groups()
    synopsis = shaken(exact, "1")
    if threshold is not None:
        synopsis = replace(synopsis, cells=DenseCells(synopsis.grid, synopsis.counts).reaching(threshold))
    cells = synopsis.cells.centres()
    labels = labels_of(cells, middles)
    weights = np.where(synopsis.counts >= 20, synopsis.counts, 0)
    start = np.stack([np.average(cells[labels == i], axis=0, weights=weights[labels == i]) for i in range(2)])
    moved = within_cells(synopsis, start, labels_of(cells, start))
    before, after = np.abs(start - middles), np.abs(moved - middles)
    assert after[:, [0, 1, 3]].mean() < 0.6 * before[:, [0, 1, 3]].mean()
    assert after[:, 2].max() < 0.01


def test_listed_cells_that_differ_in_their_categories_alone_are_summed() -> None:
    """Ten rows of each listed cell have another category: centres within cells stay where they were."""
    exact, middles = narrow_groups()
    plain = replace(exact, cells=DenseCells(exact.grid, exact.counts).reaching(20))
    domain = Domain((*exact.domain.attributes, Category("sex", ("f", "m"))))
    grid = domain.grid([*exact.grid.shape, 2])
    numbers = np.stack([2 * plain.cells.numbers_at(np.arange(len(plain.counts))) + sex for sex in (0, 1)], axis=1)
    counts = np.stack([plain.counts - 10, np.full_like(plain.counts, 10)], axis=1)
    divided = replace(plain, domain=domain, cells=ThresholdedCells(grid, numbers.ravel(), counts.ravel(), 10))
    first, second = (within_cells(each, middles, labels_of(each.cells.centres(), middles)) for each in (plain, divided))
    assert (first != middles).any()
    np.testing.assert_allclose(first, second, atol=1e-4)


def test_very_many_cells_of_uneven_axes_are_taken_in_blocks() -> None:
    """3 x 400 x 50 cells: no more blocks than points allowed, each a box of neighbours, short axes left whole."""
    grid = Grid((UniformAxis(3), UniformAxis(400), UniformAxis(50)))
    counts = np.random.default_rng(0).integers(1, 9, grid.cell_count)
    synopsis = replace(mixture_on(UNEVEN, 10, 0), cells=DenseCells(grid, counts))
    blocks = block_numbers(synopsis, grid.cell_count, MOST_POINTS)
    assert blocks is not None
    number = len(np.unique(blocks))
    assert MOST_POINTS / 4 < number <= MOST_POINTS
    places = grid.places(np.arange(grid.cell_count))
    low, high = (np.stack([each(places[:, x], blocks) for x in range(3)]) for each in (_least, _most))
    assert ((high - low).max(axis=1) == [0, 1, 0]).all()


def _least(values: NDArray[np.int64], owners: NDArray[np.int64]) -> NDArray[np.int64]:
    least = np.full(int(owners.max()) + 1, 10**6)
    np.minimum.at(least, owners, values)
    return least[np.unique(owners)]


def _most(values: NDArray[np.int64], owners: NDArray[np.int64]) -> NDArray[np.int64]:
    return -_least(-values, owners)


def test_an_axis_of_a_single_cell_is_served_by_projected_counts() -> None:
    """Its attribute says nothing about places; the centres lie in the middle of it."""
    values = groups(500, 0)
    synopsis = shaken(synopsis_on((Number("a", 0, 13), Integer("b", 0, 23)), (9, 1), tuple(values[:, :2].T)), "1")
    choice = choose(synopsis, 3, Method.POSTERIOR)
    assert choice.method is Method.PROJECTED
    assert "a single cell" in choice.reason
    assert {c.centre[1] for c in find_clusters(synopsis, 3, level=LEVEL, seed=0).clusters} == {11.5}


def test_rows_without_a_value_on_an_ordered_attribute_are_left_out() -> None:
    """500 rows lack their hour: the sizes of all clusters together are those of the other rows, in every method."""
    values = groups(3000, 3)
    synopsis = mixed_synopsis(values, Missing.KEEP, absent=500)
    assert synopsis.counts.sum() == 3000
    for method in Method:
        answer = find_clusters(synopsis, 3, level=LEVEL, seed=0, method=method)
        assert sum(cluster.size for cluster in answer.clusters) == 2500
        assert all(len(cluster.centre) == len(cluster.region) == 3 for cluster in answer.clusters)
    lines = scan(synopsis, range(2, 4), seed=0).lines
    assert [line.k for line in lines] == [2, 3]


@pytest.mark.parametrize("missing", Missing)
def test_listed_cells_of_categories_are_clustered_where_they_lie(missing: Missing) -> None:
    """A thresholded release with a category: three groups, sizes that hold the rows, intervals around the centres."""
    values = groups(60_000, 5)
    whole = shaken(mixed_synopsis(values, missing, absent=500), "2")
    synopsis = replace(whole, cells=DenseCells(whole.grid, whole.counts).reaching(12))
    answer = find_clusters(synopsis, 3, level=LEVEL, seed=0)
    assert answer.choice.method is Method.THRESHOLDED
    centres = np.array([cluster.centre for cluster in answer.clusters])
    assert np.abs(centres[:, None] - MIDDLES).max(axis=2).min(axis=0).max() < 0.6
    labels = assign(synopsis, answer, values[500:])
    for cluster, rows in zip(answer.clusters, np.bincount(labels, minlength=3), strict=True):
        assert cluster.size_interval.low <= rows <= cluster.size_interval.high
        for centre, interval in zip(cluster.centre, cluster.centre_intervals, strict=True):
            assert interval.low <= centre <= interval.high


def test_k_is_at_most_the_number_of_cells_of_ordered_axes() -> None:
    """Cells of categories and of missing values are no places for a centre."""
    declared = (Number("a", 0, 1, Missing.KEEP), Category("sex", ("f", "m", "x")))
    synopsis = synopsis_on(declared, (4, 3), (np.linspace(0, 1, 50), np.arange(50.0) % 3))
    require_k(synopsis, 4)
    with pytest.raises(InvalidQuery, match="between 1 and 4"):
        require_k(synopsis, 5)
    assert len(find_clusters(synopsis, 4, level=LEVEL, seed=0).clusters) == 4


def test_categories_alone_have_no_clusters() -> None:
    """Every question about clusters says so."""
    synopsis = synopsis_on((Category("sex", ("f", "m")),), (2,), (np.arange(50.0) % 2,))
    questions = (
        lambda: find_clusters(synopsis, 1, level=LEVEL, seed=0),
        lambda: scan(synopsis, range(1, 3), seed=0),
        lambda: effort_of_clusters(synopsis, k=1, asked=Method.POSTERIOR),
        lambda: effort_of_scan(synopsis, ks=range(1, 3)),
    )
    for question in questions:
        with pytest.raises(InvalidQuery, match="at least one attribute that is no category"):
            question()


def test_effort_counts_the_cells_that_centres_are_placed_on() -> None:
    """A category more costs a pass over its cells, not the work of as many more points."""
    values = groups(2000, 0)
    mixed = mixed_synopsis(values)
    declared = tuple(attribute for attribute in mixed.domain.attributes if attribute.is_ordered)
    plain = synopsis_on(declared, (13, 24, 7), tuple(values.T))
    for method in Method:
        with_category, without = (effort_of_clusters(each, k=3, asked=method).seconds for each in (mixed, plain))
        assert without < with_category < 1.1 * without
