"""Which method serves, why, and what it says about its clusters."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from core.cells import DenseCells
from core.clustering.blocks import MOST_BLOCKS, block_means, block_numbers
from core.clustering.methods import Method, choose, place
from core.domain.domain import Domain
from core.domain.grid import Grid
from core.domain.number import Number
from core.queries.cluster_scan import scan
from core.queries.clusters import Clusters, find_clusters
from core.synopsis import Synopsis
from tests.core.queries.worlds import LEVEL, shaken, synopsis_of

MIDDLES = np.array([[2.0, -3.0], [8.0, 3.0], [8.0, -3.0]])


def groups(size: int = 600, seed: int = 0) -> np.ndarray:
    """Three groups far apart."""
    rng = np.random.default_rng(seed)
    return MIDDLES[rng.integers(3, size=size)] + rng.normal(0, 0.4, (size, 2))


def with_grid(m: int, d: int) -> Synopsis:
    """A synopsis of m^d cells with a few rows in each."""
    domain = Domain(tuple(Number(f"x{axis}", 0, 1) for axis in range(d)))
    counts = np.random.default_rng(0).integers(-3, 9, m**d)
    return replace(synopsis_of(groups(), 2), domain=domain, cells=DenseCells(Grid.uniform(m, d), counts), size=3 * m**d)


@pytest.mark.parametrize("method", Method)
def test_every_method_finds_clusters_that_are_there(method: Method) -> None:
    """Groups far apart at epsilon 1: each method has its centre within a cell of each group, and says it served."""
    answer = find_clusters(shaken(synopsis_of(groups(), 14), "1"), 3, level=LEVEL, seed=0, method=method)
    centres = np.array([cluster.centre for cluster in answer.clusters])
    assert np.abs(centres[:, None] - MIDDLES).max(axis=2).min(axis=1).max() < 10 / 14
    assert answer.choice.method is method
    assert answer.choice.reason.endswith(".")


@pytest.mark.parametrize(("m", "d", "k"), [(71, 2, 4), (49, 2, 33), (40, 2, 25), (1, 2, 1)])
def test_synopses_that_the_posterior_was_not_made_for_get_projected_counts(m: int, d: int, k: int) -> None:
    """Too many cells, clusters, both together, or a single cell: the reason says so."""
    synopsis = with_grid(m, d)
    assert choose(synopsis, k, Method.POSTERIOR).method is Method.PROJECTED
    answer = find_clusters(synopsis, k, level=LEVEL, seed=0)
    assert answer.choice.method is Method.PROJECTED
    assert "instead of the posterior" in answer.choice.reason
    assert "Only the posterior can say" in answer.choice.reason
    assert [cluster.noise_probability for cluster in answer.clusters] == [None] * k


@pytest.mark.parametrize(("width", "method"), [(0.3, Method.THRESHOLDED), (2.0, Method.PROJECTED)])
def test_past_the_limits_the_lower_raw_objective_decides(width: float, method: Method) -> None:
    """A narrow ring stands out of the noise of many empty cells; of a wide one a threshold leaves only the crest."""
    rng = np.random.default_rng(0)
    angles, radii = rng.uniform(0, 2 * np.pi, 40_000), rng.normal(3, width, 40_000)
    values = np.stack([5 + radii * np.cos(angles), radii * np.sin(angles)], axis=1)
    release = shaken(synopsis_of(np.clip(values, [0, -5], [10, 5]), 90), "0.7")
    placed = place(release, 20, Method.POSTERIOR, seed=0)
    both = {each: place(release, 20, each, seed=0).centres for each in (Method.PROJECTED, Method.THRESHOLDED)}
    apart = {each: np.square(placed.cells[:, None] - c).sum(axis=2).min(axis=1) for each, c in both.items()}
    left, best = sorted(both, key=lambda each: -float(apart[each] @ release.counts))
    assert best is method
    assert placed.choice.method is method
    assert np.array_equal(placed.centres, both[method])
    assert "20 clusters on 8,100 cells in 2 dimensions" in placed.choice.reason
    assert f"better than {left} ones" in placed.choice.reason
    assert "Only the posterior can say" in placed.choice.reason


def test_many_dimensions_are_clustered_by_the_cells_that_stand_out() -> None:
    """Two full cells among 4,096 noisy ones, most of whose positive noise is left out: the centres are those two."""
    synopsis = with_grid(4, 6)
    counts = np.zeros(4**6, dtype=np.int64)
    counts[[0, -1]] = 4000
    release = shaken(replace(synopsis, cells=DenseCells(synopsis.grid, counts), size=8000), "0.2")
    answer = find_clusters(release, 2, level=LEVEL, seed=0)
    assert answer.choice.method is Method.THRESHOLDED
    assert "four attributes" in answer.choice.reason
    centres = sorted(cluster.centre for cluster in answer.clusters)
    middles = synopsis.domain.from_unit(synopsis.grid.centres(np.array([0, 4**6 - 1])))
    assert np.abs(np.array(centres) - middles).max() < 0.1 * synopsis.domain.width.max()
    spread = find_clusters(release, 2, level=LEVEL, seed=0, method=Method.PROJECTED).inertia
    assert answer.inertia < spread
    assert scan(release, range(2, 4), seed=0).choice.method is Method.THRESHOLDED


def test_counts_that_contradict_the_model_overrule_it() -> None:
    """A dense corner that no mixture of normals fits, with much signal: the raw objective decides for the counts."""
    rng = np.random.default_rng(0)
    heap = np.clip(10 * (rng.gamma(1.2, 0.125, (20_000, 2))) + [0, -5], [0, -5], [10, 5])
    release = shaken(synopsis_of(heap, 28), "0.5")
    placed = place(release, 4, Method.POSTERIOR, seed=0)
    assert placed.choice.method is Method.PROJECTED
    assert "fit the counts badly" in placed.choice.reason
    assert np.array_equal(placed.centres, place(release, 4, Method.PROJECTED, seed=0).centres)


def answers(release: Synopsis, k: int) -> tuple[Clusters, Clusters]:
    """The same question twice."""
    first, second = (find_clusters(release, k, level=LEVEL, seed=5) for _ in range(2))
    return first, second


def test_an_answer_is_the_same_again() -> None:
    """Centres, intervals, noise and merges of one seed, to the last bit."""
    first, second = answers(shaken(synopsis_of(groups(), 8), "0.1"), 4)
    assert first == second


def test_regions_hold_their_intervals_and_centres() -> None:
    """A box is no smaller than the intervals of its sides, which hold the centre; all lie within the bounds."""
    answer = find_clusters(shaken(synopsis_of(groups(), 10), "0.2"), 4, level=LEVEL, seed=0)
    for cluster in answer.clusters:
        for x, (one, box) in enumerate(zip(cluster.centre_intervals, cluster.region, strict=True)):
            assert box.low <= one.low <= cluster.centre[x] <= one.high <= box.high
            assert (0, -5)[x] <= box.low <= box.high <= (10, 5)[x]
            assert (one.level, box.level) == (LEVEL, pytest.approx(1 - (1 - LEVEL) / 2))


def test_intervals_widen_with_the_noise() -> None:
    """Ten times less epsilon: every centre is less certain, and so is its region."""
    exact = synopsis_of(groups(), 10)
    widths = []
    for epsilon in ("1", "0.1"):
        answer = find_clusters(shaken(exact, epsilon), 3, level=LEVEL, seed=0)
        widths.append(np.mean([one.high - one.low for cluster in answer.clusters for one in cluster.centre_intervals]))
    assert widths[1] > 2 * widths[0]


@pytest.mark.parametrize(("epsilon", "m"), [("1", 7), ("0.2", 8)])
def test_posterior_intervals_cover_the_mean_of_the_rows_around_a_centre(epsilon: str, m: int) -> None:
    """On wide normal groups and on boxes, 6 fixed releases each: at least 95 % of the coordinates of all centres.

    At epsilon 1 the exact part alone, which is for gridded rows, holds two times of three on the former.
    """
    rng = np.random.default_rng(0)
    middles = MIDDLES[rng.integers(3, size=600)]
    held = []
    for values in (middles + rng.normal(0, 1.0, (600, 2)), middles + rng.uniform(-1, 1, (600, 2)) * [1.5, 0.8]):
        rows = np.clip(values, [0, -5], [10, 5])
        exact = synopsis_of(rows, m)
        for draw in range(6):
            answer = find_clusters(shaken(exact, epsilon, draw), 3, level=LEVEL, seed=0)
            centres = np.array([cluster.centre for cluster in answer.clusters])
            nearest = np.square(rows[:, None] - centres).sum(axis=2).argmin(axis=1)
            for i, cluster in enumerate(answer.clusters):
                mean = rows[nearest == i].mean(axis=0)
                held += [one.low <= t <= one.high for one, t in zip(cluster.centre_intervals, mean, strict=True)]
    assert np.mean(held) >= LEVEL


def test_clusters_that_may_be_only_noise_say_so() -> None:
    """No rows at all: most of the answer's clusters are likely noise; groups far apart at epsilon 1 are none."""
    nothing = replace(synopsis_of(np.empty((0, 2)), 8), size=1)
    doubtful = find_clusters(shaken(nothing, "0.5"), 4, level=LEVEL, seed=0)
    assert max(cluster.noise_probability or 0.0 for cluster in doubtful.clusters) > 0.5
    assert any("noise" in warning for warning in doubtful.warnings)
    certain = find_clusters(shaken(synopsis_of(groups(), 14), "1"), 3, level=LEVEL, seed=0)
    assert max(cluster.noise_probability or 0.0 for cluster in certain.clusters) < 0.01
    assert certain.warnings == ()


def test_clusters_that_merge_are_named() -> None:
    """Six centres asked of three groups: pairs within a group merge in some samples, groups far apart in none."""
    release = shaken(synopsis_of(groups(), 12), "0.3")
    assert find_clusters(release, 3, level=LEVEL, seed=0).merges == ()
    split = find_clusters(release, 6, level=LEVEL, seed=0)
    assert split.merges
    for merge in split.merges:
        i, j = merge.clusters
        assert 0 <= i < j < 6
        assert 0.1 <= merge.probability <= 1


def thresholded(values: np.ndarray, m: int, epsilon: str, threshold: int, seed: int = 0) -> Synopsis:
    """Noise for every cell, then only those that reach the threshold."""
    whole = shaken(synopsis_of(values, m), epsilon, seed)
    return replace(whole, cells=DenseCells(whole.grid, whole.counts).reaching(threshold))


@pytest.mark.parametrize("method", Method)
def test_a_thresholded_release_is_clustered_by_its_listed_cells(method: Method) -> None:
    """Centres within a cell of the groups, sizes that hold the number of rows, and a warning of what is not seen."""
    values, m = groups(), 30
    held = []
    for seed in range(20):
        release = thresholded(values, m, "1", 10, seed)
        answer = find_clusters(release, 3, level=LEVEL, seed=0, method=method)
        assert answer.choice.method is (Method.THRESHOLDED if method is Method.POSTERIOR else method)
        centres = np.array([cluster.centre for cluster in answer.clusters])
        assert any("threshold" in warning for warning in answer.warnings)
        if method is Method.LLOYD:  # its ten random starts may all miss a group
            continue
        assert np.abs(centres[:, None] - MIDDLES).max(axis=2).min(axis=1).max() < 0.5
        sizes = np.bincount(np.square(values[:, None] - centres).sum(axis=2).argmin(axis=1), minlength=3)
        held += [c.size_interval.low <= n <= c.size_interval.high for c, n in zip(answer.clusters, sizes, strict=True)]
    assert all(held)


@pytest.mark.parametrize("method", Method)
def test_a_release_that_lists_nothing_is_served(method: Method) -> None:
    """No cell reaches the threshold: centres in the middle, sizes that may be zero, and a warning."""
    release = thresholded(groups(30), 20, "1", 1000)
    answer = find_clusters(release, 2, level=LEVEL, seed=0, method=method)
    assert all(cluster.centre == (5.0, 0.0) for cluster in answer.clusters)
    assert all(cluster.size_interval.low == 0.0 for cluster in answer.clusters)
    assert any("noise" in warning for warning in answer.warnings)
    assert scan(release, range(1, 3), seed=0).lines[0].k == 1


def test_a_scan_says_how_it_was_had() -> None:
    """Projected counts for every k, whatever a single question would use."""
    answer = scan(shaken(synopsis_of(groups(), 8), "1"), range(2, 5), seed=0)
    assert answer.choice.method is Method.PROJECTED
    assert [line.k for line in answer.lines] == [2, 3, 4]


def test_clusters_of_very_many_cells_are_found_by_blocks_of_them() -> None:
    """On 250,000 cells the centres, finished on the cells, are those of 10,000; sums over blocks lose no weight."""
    rng = np.random.default_rng(4)
    values = np.clip(MIDDLES[rng.integers(3, size=200_000)] + rng.normal(0, 0.5, (200_000, 2)), [0, -5], [10, 5])
    fine = find_clusters(shaken(synopsis_of(values, 500), "4"), 3, level=LEVEL, seed=0)
    coarse = find_clusters(shaken(synopsis_of(values, 100), "4"), 3, level=LEVEL, seed=0)
    centres = [np.array(sorted(cluster.centre for cluster in answer.clusters)) for answer in (fine, coarse)]
    assert np.abs(centres[0] - centres[1]).max() < 0.1
    assert fine.stability > 0.99
    release = shaken(synopsis_of(values, 500), "4")
    blocks = block_numbers(release, release.grid.cell_count)
    assert blocks is not None
    places, masses = block_means(release.grid.centres(), np.abs(release.counts).astype(float), blocks)
    assert len(masses) <= MOST_BLOCKS
    assert masses.sum() == pytest.approx(np.abs(release.counts).sum())
    assert (masses @ places) == pytest.approx(np.abs(release.counts) @ release.grid.centres(), rel=1e-9, abs=1e-6)


@pytest.mark.parametrize("method", Method)
@pytest.mark.parametrize("seed", range(3))
def test_centres_lie_inside_their_intervals(method: Method, seed: int) -> None:
    """Also where a method leaves out counts that look like noise, or moves centres within cells wider than clusters."""
    rng, (m, d) = np.random.default_rng(seed), (5, 4)
    middles = np.array([[2.0] * d, [8.0] * d, [2.0, 8.0] * (d // 2)])
    values = middles[rng.integers(3, size=20_000)] + rng.normal(0, 0.4, (20_000, d))
    places = np.clip((values / 10 * m).astype(int), 0, m - 1)
    counts = np.bincount(np.ravel_multi_index(tuple(places.T), (m,) * d), minlength=m**d)
    domain = Domain(tuple(Number(f"x{axis}", 0, 10) for axis in range(d)))
    exact = replace(with_grid(m, d), domain=domain, cells=DenseCells(Grid.uniform(m, d), counts), size=20_000)
    for cluster in find_clusters(shaken(exact, "1", seed), 3, level=LEVEL, seed=0, method=method).clusters:
        for intervals in (cluster.centre_intervals, cluster.region):
            for centre, interval in zip(cluster.centre, intervals, strict=True):
                assert interval.low < centre < interval.high
