"""Clusters of adaptive releases: which method serves, weights of leaves, and what the noise leaves certain."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from core.adaptive.cells import AdaptiveCells
from core.clustering.blocks import MOST_POINTS, block_numbers
from core.clustering.choice import choose
from core.clustering.leaf_noise import redrawn
from core.clustering.leaf_regions import Regions
from core.clustering.leaf_weights import nonnegative_leaves, outstanding_leaves
from core.clustering.methods import Method, labels_of, place
from core.queries.boxes import Chosen, Range
from core.queries.cluster_scan import scan
from core.queries.clusters import assign, find_clusters
from core.queries.denoise import nonnegative
from core.queries.effort import effort_of_clusters, effort_of_scan
from core.queries.slices import numeric_part, slice_of
from core.synopsis import Synopsis
from tests.core.clustering.seeded_layers import cells_of_release, seeded_release
from tests.core.queries.layered import DOMAINS, layered, made_up, whole_world
from tests.core.queries.worlds import LEVEL

MIDDLES = np.array([[0.2, 0.25], [0.8, 0.8], [0.75, 0.2]])


def groups(size: int = 2000, seed: int = 0) -> np.ndarray:
    """Three groups in the unit square."""
    rng = np.random.default_rng(seed)
    return np.clip(MIDDLES[rng.integers(3, size=size)] + rng.normal(0, 0.03, (size, 2)), 0, 1)


@pytest.mark.parametrize("method", Method)
def test_every_method_finds_clusters_on_leaves(method: Method) -> None:
    """Groups far apart: each centre is near the mean of a group, and each size near its rows; sizes have intervals."""
    values = groups()
    release = seeded_release(values, "1")
    answer = find_clusters(release, 3, level=LEVEL, seed=0, method=method)
    assert answer.choice.method is method
    own = assign(release, answer, values)
    for i, cluster in enumerate(answer.clusters):
        rows = values[own == i]
        assert np.abs(np.array(cluster.centre) - rows.mean(axis=0)).max() < 0.02
        assert cluster.size == pytest.approx(len(rows), abs=80)
        assert cluster.size_interval.low < cluster.size < cluster.size_interval.high
        assert all(each.low <= value <= each.high for each, value in zip(cluster.region, cluster.centre, strict=True))
        assert all(0 < shift < 0.05 for shift in cluster.discretisation)
    assert answer.stability > 0.95
    assert (answer.clusters[0].noise_probability is None) == (method is not Method.POSTERIOR)


def test_an_answer_on_leaves_is_the_same_again() -> None:
    """Also after the release was written and read."""
    release = seeded_release(groups(), "0.5")
    first, again = (
        find_clusters(each, 3, level=LEVEL, seed=4) for each in (release, Synopsis.from_bytes(release.to_bytes()))
    )
    assert repr(first) == repr(again)


def test_intervals_cover_the_means_and_sizes_of_their_regions() -> None:
    """Of the gridded rows, over 16 releases: in at least 93 % of them, with a level of 95 %."""
    held, sized = [], []
    values = groups(1500)
    for seed in range(16):
        release = seeded_release(values, "0.3", seed)
        cells = cells_of_release(release)
        answer = find_clusters(release, 3, level=LEVEL, seed=0, method=Method.PROJECTED)
        leaves = (
            (values[:, None] >= (cells.leaves.low + 1) / 2) & (values[:, None] < (cells.leaves.high + 1) / 2)
        ).all(axis=2)
        exact, middles = leaves.sum(axis=0), (cells.centres() + 1) / 2
        labels = labels_of(cells.centres(), 2 * np.array([cluster.centre for cluster in answer.clusters]) - 1)
        for i, cluster in enumerate(answer.clusters):
            mean = exact[labels == i] @ middles[labels == i] / exact[labels == i].sum()
            held += [each.low <= value <= each.high for each, value in zip(cluster.centre_intervals, mean, strict=True)]
            sized.append(cluster.size_interval.low <= exact[labels == i].sum() <= cluster.size_interval.high)
    assert np.mean(held) >= 0.93
    assert np.mean(sized) >= 0.93


def test_too_many_leaves_or_clusters_get_projected_estimates() -> None:
    """And a reason; the estimate of the effort is then that of k-means."""
    release = seeded_release(groups(), "1")
    choice = choose(release, 33, Method.POSTERIOR)
    assert choice.method is Method.PROJECTED
    assert "at most 32 clusters" in choice.reason
    many = seeded_release(np.random.default_rng(0).uniform(0, 1, (60_000, 2)), "1")
    placed = place(many, 4, Method.POSTERIOR, seed=0)
    assert placed.choice.method is Method.PROJECTED
    assert "longer than the few seconds" in placed.choice.reason
    assert effort_of_clusters(many, k=4, asked=Method.POSTERIOR).seconds < effort_of_scan(many, ks=range(2, 9)).seconds
    assert scan(many, range(2, 4), seed=0).choice.method is Method.PROJECTED


def test_leaves_of_several_categories_and_cut_leaves_are_not_modelled() -> None:
    """Leaves of categories overlap, and slices cut leaves: their estimates serve. Rows without a value are left out."""
    world = whole_world("a number with missing values")
    for asked in (world.synopsis, slice_of(world.synopsis, (Chosen("sex", ("m",)), Range("y", -4.91, 3.3)))):
        part = numeric_part(asked)
        choice = choose(part, 3, Method.POSTERIOR)
        assert choice.method is Method.PROJECTED
        assert "overlap" in choice.reason
        answer = find_clusters(asked, 3, level=LEVEL, seed=0)
        assert isinstance(part.cells, AdaptiveCells)
        assert sum(cluster.size for cluster in answer.clusters) == pytest.approx(part.cells.estimates.sum())


def test_a_single_category_is_modelled() -> None:
    """The leaves of a category do not overlap, and all of its layers count."""
    domain = DOMAINS["a number with missing values"]
    world = layered(domain, made_up(domain, 1500), "2")
    part = slice_of(world.synopsis, (Chosen("sex", ("f",)),))
    assert choose(numeric_part(part), 3, Method.POSTERIOR).method is Method.POSTERIOR
    assert np.isfinite([cluster.centre for cluster in find_clusters(part, 3, level=LEVEL, seed=0).clusters]).all()


def test_nonnegative_leaves_are_the_nearest_by_their_variances() -> None:
    """They keep the sum; the gap to an estimate is tau v where they are positive, else less (Karush-Kuhn-Tucker)."""
    rng = np.random.default_rng(0)
    estimates, variances = rng.normal(2, 5, (3, 400)), rng.uniform(0.5, 9, 400)
    weights = nonnegative_leaves(estimates, variances)
    np.testing.assert_allclose(weights.sum(axis=1), estimates.sum(axis=1))
    for row, estimate in zip(weights, estimates, strict=True):
        gaps, heavy = (estimate - row) / variances, row > 0
        assert 0 < heavy.sum() < 400
        assert np.ptp(gaps[heavy]) < 1e-9
        assert (gaps[~heavy] <= gaps[heavy].mean() + 1e-9).all()
    whole = rng.integers(-5, 20, 300)
    np.testing.assert_allclose(nonnegative_leaves(whole.astype(np.float64), np.full(300, 2.0)), nonnegative(whole))
    assert not nonnegative_leaves(np.array([-3.0, 1.0]), np.ones(2)).any()
    both = nonnegative_leaves(np.stack([estimates, -np.abs(estimates)]), variances)
    np.testing.assert_array_equal(both[0], weights)
    assert not both[1].any()


def test_few_empty_leaves_stand_out() -> None:
    """Of 20,000 leaves without rows about 5, and of those with many rows all."""
    noise = np.random.default_rng(0).laplace(0, 2, 20_000)
    assert 0 < np.count_nonzero(outstanding_leaves(noise, np.full(20_000, 8.0))) < 20
    assert np.count_nonzero(outstanding_leaves(noise + 100, np.full(20_000, 8.0))) == 20_000


def test_regions_have_the_sums_and_covariances_of_their_leaves() -> None:
    """Against the weights of each region by themselves."""
    cells = cells_of_release(seeded_release(groups(), "0.5"))
    labels = labels_of(cells.centres(), 2 * MIDDLES - 1)
    regions = Regions.of(cells, labels, 3)
    heights = (cells.centres() + 1) / 2
    for i in range(3):
        inside = (labels == i).astype(np.float64)
        assert regions.rows[i] == pytest.approx(inside @ cells.estimates)
        assert regions.deviations[i] ** 2 == pytest.approx(cells.variance(inside))
        for x, along in enumerate(heights.T):
            assert regions.sums[i, x] == pytest.approx((inside * along) @ cells.estimates)
            assert regions.variances[i, x] == pytest.approx(cells.variance(inside * along))
            assert regions.covariances[i, x] == pytest.approx(cells.covariance(inside * along, inside))


def test_the_bounds_of_a_mean_are_where_the_test_of_fieller_turns() -> None:
    """At both ends (S - m n)^2 is q^2 times the variance of S - m n; a region that may be empty has the whole axis."""
    cells = cells_of_release(seeded_release(groups(), "0.5"))
    labels = labels_of(cells.centres(), 2 * MIDDLES - 1)
    regions = Regions.of(cells, labels, 4)  # the last has no leaf
    low, high = regions.mean_bounds(0.05)
    rows, reach = regions.rows[:3, None], (regions.bounds(0.05)[1] - regions.rows)[:3, None]
    q = reach / regions.deviations[:3, None]
    for end in (low[:3], high[:3]):
        spread = regions.variances[:3] - 2 * end * regions.covariances[:3] + end**2 * regions.deviations[:3, None] ** 2
        np.testing.assert_allclose((regions.sums[:3] - end * rows) ** 2, q**2 * spread, rtol=1e-6)
    assert (low[:3] < regions.means[:3]).all()
    assert (regions.means[:3] < high[:3]).all()
    assert (low[3].tolist(), high[3].tolist()) == ([0, 0], [1, 1])


def test_fresh_noise_has_the_variance_of_the_estimates() -> None:
    """Of leaves and coarse cells within 15 %; of the sum of all, which the base has a part in, within 30 %."""
    cells = cells_of_release(seeded_release(groups(20_000), "0.5"))
    rng, whole = np.random.default_rng(0), np.ones(len(cells.estimates))
    noise = np.stack([redrawn(cells, rng) for _ in range(400)]) - cells.estimates
    assert np.square(noise).mean() == pytest.approx(cells.variances.mean(), rel=0.15)
    coarse = np.add.reduceat(noise, cells.layers.leaves.first[:-1], axis=1)
    assert np.square(coarse).mean() == pytest.approx(cells.fusion.coarse_variances.mean(), rel=0.15)
    assert noise.sum(axis=1).var() == pytest.approx(cells.variance(whole), rel=0.3)


def test_blocks_of_leaves_are_their_coarse_cells() -> None:
    """Only where leaves are too many."""
    release = seeded_release(groups(), "0.5")
    cells = cells_of_release(release)
    assert block_numbers(release, MOST_POINTS) is None
    blocks = block_numbers(release, MOST_POINTS + 1)
    assert blocks is not None
    assert np.array_equal(blocks, cells.layers.leaf_coarse)


def test_fewer_blocks_of_leaves_are_boxes_of_coarse_cells() -> None:
    """Each lies in one base cell and has the same coarse cells along each axis, but for the last ones."""
    release = seeded_release(groups(), "1")
    layers = cells_of_release(release).layers
    most = len(layers.coarse) - 1
    blocks = block_numbers(release, MOST_POINTS + 1, most)
    assert blocks is not None
    assert len(layers.base_counts) <= len(np.unique(blocks)) <= most
    begin, width = layers.coarse.spans()
    volumes = width.prod(axis=1)[layers.leaf_coarse]
    first_leaf = np.isin(np.arange(len(blocks)), layers.leaves.first[:-1])
    for block in np.unique(blocks):
        inside = (blocks == block) & first_leaf
        assert len(np.unique(layers.leaf_base[inside])) == 1
        coarse = layers.leaf_coarse[inside]
        sides = (begin[coarse] + width[coarse]).max(axis=0) - begin[coarse].min(axis=0)
        assert sides.prod() == volumes[inside].sum()


def test_a_declared_size_that_the_counts_rule_out_is_not_used() -> None:
    """Clusters of a release with a wrong declaration have the sizes of the counts."""
    release = replace(seeded_release(groups(), "1"), size=9000)
    answer = find_clusters(release, 3, level=LEVEL, seed=0)
    assert sum(cluster.size for cluster in answer.clusters) == pytest.approx(2000, abs=150)
