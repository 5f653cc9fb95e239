"""Marginals, quantiles, synthetic rows and clusters: what they are made of, apart from their noise."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from core.budget import Epsilon
from core.cells import DenseCells
from core.clustering.kmeans import kmeans
from core.clustering.methods import Method, labels_of, restarts
from core.domain.domain import Domain
from core.domain.grid import Grid
from core.domain.number import Number
from core.errors import InvalidQuery
from core.queries.cluster_scan import scan
from core.queries.clusters import assign, find_clusters
from core.queries.denoise import CountsKind, nonnegative
from core.queries.marginal import marginal
from core.queries.quantile import quantile
from core.randomness import seeded
from tests.core.queries.worlds import drawn_rows, rows, shaken, synopsis_of

COUNTS = hnp.arrays(np.int64, st.integers(1, 60), elements=st.integers(-50, 200))


@given(COUNTS)
def test_nonnegative_counts_keep_their_sum_and_are_the_nearest(counts: np.ndarray) -> None:
    """The projection keeps a positive sum, is never negative, and shifts all that stays positive by the same amount."""
    weights = nonnegative(counts)
    assert (weights >= 0).all()
    total = max(0, int(counts.sum()))
    assert weights.sum() == pytest.approx(total, abs=1e-6)
    kept = weights > 0
    if kept.any():
        shift = (counts - weights)[kept]
        assert np.ptp(shift) <= 1e-6
        assert (counts[~kept] <= shift[0] + 1e-6).all()


def test_a_marginal_follows_the_order_asked_for() -> None:
    """Attributes may be named in any order; the sums and the axes go along."""
    domain = Domain(tuple(Number(name, 0, 1) for name in "abc"))
    cells = np.random.default_rng(0).integers(-5, 50, (4, 4, 4))
    synopsis = replace(synopsis_of(rows(10), 2), domain=domain, cells=DenseCells(Grid.uniform(4, 3), cells.ravel()))
    margin = marginal(synopsis, ("c", "a"), level=0.95, counts=CountsKind.RAW)
    assert np.array_equal(margin.counts.reshape(4, 4), cells.sum(axis=1).T)
    assert (margin.domain.names, margin.summed) == (("c", "a"), 4)
    with pytest.raises(InvalidQuery):
        marginal(synopsis, ("z",), level=0.95, counts=CountsKind.RAW)


def test_the_interval_of_a_quantile_holds_its_value_where_the_counts_contradict_it() -> None:
    """The value is read off counts that are not negative, the interval off raw ones: at low levels they may differ."""
    domain, cells = Domain((Number("a", 0, 5),)), DenseCells(Grid.uniform(5, 1), np.array([-7, -9, 12, -11, 14]))
    release = replace(synopsis_of(rows(10), 2), domain=domain, cells=cells, epsilon=Epsilon.parse("1"))
    median = quantile(release, "a", 0.5, level=0.5)
    assert median.cell == (2.0, 3.0)
    assert (median.interval.low, median.interval.high) == (2.0, 5.0)


def test_quantiles_without_noise_lie_in_their_cell() -> None:
    """Value, interval and cell agree with the rows; they rise with q, from bound to bound."""
    values = rows(500)
    synopsis = synopsis_of(values, 20)
    last = -np.inf
    for q in (0.0, 0.1, 0.5, 0.9, 1.0):
        estimate = quantile(synopsis, "a", q, level=0.95)
        truth = np.quantile(values[:, 0], q, method="inverted_cdf")
        assert estimate.cell[0] - 1e-9 <= truth <= estimate.cell[1] + 1e-9
        assert estimate.interval.low <= estimate.value <= estimate.interval.high
        assert estimate.value >= last
        last = estimate.value
    for bad in (-0.1, 1.1):
        with pytest.raises(InvalidQuery):
            quantile(synopsis, "a", bad, level=0.95)


def test_synthetic_rows_have_the_histogram_they_are_drawn_from() -> None:
    """The cells of many synthetic rows follow the non-negative counts, and blocks join without a seam."""
    synopsis = synopsis_of(rows(300), 6)
    drawn = drawn_rows(synopsis, 150_000, 1)
    assert drawn.shape == (150_000, 2)
    again = synopsis_of(drawn, 6).counts / 150_000
    assert np.abs(again - synopsis.counts / 300).max() < 0.01
    empty = replace(synopsis, cells=DenseCells(synopsis.grid, np.full(36, -3)))
    assert drawn_rows(empty, 10, 1).shape == (10, 2)


def test_clusters_find_what_is_there() -> None:
    """Four groups far apart: centres within half a cell of the groups' means, the largest first, all stable."""
    rng = np.random.default_rng(1)
    middles, sizes = np.array([[2.0, -3.0], [8.0, 3.0], [8.0, -3.0], [2.0, 3.0]]), [400, 300, 200, 100]
    values = np.concatenate([m + rng.normal(0, 0.3, (n, 2)) for m, n in zip(middles, sizes, strict=True)])
    release = shaken(synopsis_of(values, 20), "1")
    clustering = find_clusters(release, 4, level=0.95, seed=0)
    centres = np.array([cluster.centre for cluster in clustering.clusters])
    assert np.abs(centres - middles).max() < 0.5
    assert [round(cluster.size, -2) for cluster in clustering.clusters] == sizes
    assert clustering.stability > 0.95
    assert assign(release, clustering, middles).tolist() == [0, 1, 2, 3]


def test_clusters_of_nothing_but_noise_say_so() -> None:
    """Clusters that may be empty are warned of, and so is a k far from the planned one."""
    release = shaken(synopsis_of(np.empty((0, 2)), 8), "0.1")
    assert any("noise" in warning for warning in find_clusters(release, 4, level=0.95, seed=0).warnings)
    assert any("planned" in warning for warning in find_clusters(release, 30, level=0.95, seed=0).warnings)


def test_k_has_bounds() -> None:
    """k = 0 and k above the number of cells are refused, in a scan as well."""
    synopsis = synopsis_of(rows(20), 3)
    for k in (0, 10):
        with pytest.raises(InvalidQuery):
            find_clusters(synopsis, k, level=0.95, seed=0)
    with pytest.raises(InvalidQuery):
        scan(synopsis, range(8, 11), seed=0)
    assert [line.k for line in scan(synopsis, range(1, 4), seed=0).lines] == [1, 2, 3]


@pytest.mark.parametrize("k", [3, 8, 100])
def test_sizes_descend_and_are_those_of_the_centres_that_are_shown(k: int) -> None:
    """Whoever looks for the cells nearest to the centres of an answer finds its very sizes, however units round."""
    release = shaken(synopsis_of(rows(2000), 12), "0.3")
    far = Domain((Number("x", 1e9, 1e9 + 1), Number("y", 0, 1)))
    release = replace(release, domain=far)
    clustering = find_clusters(release, k, level=0.95, seed=0, method=Method.PROJECTED)
    shown = far.to_unit(np.array([cluster.centre for cluster in clustering.clusters]))
    labels = labels_of(release.grid.centres(), shown)
    sizes = [cluster.size for cluster in clustering.clusters]
    assert k == 100 or sizes == sorted(sizes, reverse=True)  # of so many some coincide, and the first gets all
    assert np.bincount(labels, weights=release.counts, minlength=k).tolist() == sizes


def test_ten_starts_and_one_for_each_cluster_are_enough() -> None:
    """On noisy grids like the paper's, four times as many starts lower the mean inertia by less than 2 %."""
    rng = np.random.default_rng(3)
    few, many = [], []
    for number in range(6):
        middles = rng.uniform(-0.8, 0.8, (8, 2)) * [5, 5] + [5, 0]
        values = middles[rng.integers(0, 8, 800)] + rng.normal(0, 0.4, (800, 2))
        release = shaken(synopsis_of(values, 14), "0.5", number)
        cells, weights = release.grid.centres(), nonnegative(release.counts)
        starts = restarts(cells, weights, 8)
        few.append(kmeans(cells, weights, 8, restarts=starts, rng=seeded(number)).inertia)
        many.append(kmeans(cells, weights, 8, restarts=4 * starts, rng=seeded(number)).inertia)
    assert np.mean(few) <= 1.02 * np.mean(many)


@pytest.mark.parametrize("cells", [1, 2, 3, 5, 12, 13, 40])
def test_a_coarser_marginal_adds_up_neighbours(cells: int) -> None:
    """At most so many cells on an axis; each is the sum of the finer ones between its edges."""
    no_cell_like_another = DenseCells(Grid.uniform(13, 2), np.arange(1, 170))
    synopsis = replace(synopsis_of(rows(), 13), cells=no_cell_like_another)
    fine, coarse = (
        marginal(synopsis, ("b", "a"), level=0.95, counts=CountsKind.RAW, cells=asked) for asked in (None, cells)
    )
    assert coarse.cells_per_axis <= max(1, cells)
    table = fine.counts.reshape(13, 13)
    told = coarse.counts.reshape((coarse.cells_per_axis,) * 2)
    edges = [coarse.edges(attribute) for attribute in coarse.domain.attributes]
    places = [np.searchsorted(fine.edges(a), e) for a, e in zip(fine.domain.attributes, edges, strict=True)]
    for i in range(coarse.cells_per_axis):
        for j in range(coarse.cells_per_axis):
            block = table[places[0][i] : places[0][i + 1], places[1][j] : places[1][j + 1]]
            assert told[i, j] == block.sum()
            assert block.size <= coarse.group**2
    assert told.sum() == table.sum()
    assert coarse.noise_sd == pytest.approx(fine.noise_sd * coarse.group)
    assert coarse.reach >= fine.reach
