"""Long questions: estimated beforehand, stopped on the way, and bounded in memory."""

from __future__ import annotations

import tracemalloc
from dataclasses import replace

import numpy as np
import pytest

from core.cells import DenseCells, ThresholdedCells
from core.clustering import kmeans
from core.clustering.kmeans import lloyd
from core.clustering.methods import Method
from core.domain.grid import Grid
from core.errors import InvalidQuery
from core.queries.cluster_scan import scan
from core.queries.clusters import find_clusters
from core.queries.effort import effort_of_boxes, effort_of_clusters, effort_of_hotspots, effort_of_scan
from core.synopsis import Synopsis
from tests.core.queries.worlds import synopsis_of


class Stop(Exception):
    """Raised by the checkpoint of these tests."""


def cells(per_axis: int, dimensions: int = 2) -> Synopsis:
    """A synopsis with a few rows on a grid of some size."""
    small = synopsis_of(np.random.default_rng(1).uniform(-1, 1, (400, dimensions)), 2)
    grid = Grid.uniform(per_axis, dimensions)
    counts = np.random.default_rng(2).integers(-3, 9, grid.cell_count)
    return replace(small, cells=DenseCells(grid, counts))


@pytest.mark.parametrize(("method", "per_axis"), [*((method, 14) for method in Method), (Method.PROJECTED, 200)])
def test_every_method_stops_at_its_next_checkpoint(method: Method, per_axis: int) -> None:
    """Wherever it is when nobody wants the answer any more; and it looks often."""
    asked, calls, stop_at = cells(per_axis), [0], [10**9]

    def checkpoint() -> None:
        calls[0] += 1
        if calls[0] >= stop_at[0]:
            raise Stop

    whole = find_clusters(asked, 5, level=0.95, seed=1, method=method, checkpoint=checkpoint)
    in_all = calls[0]
    assert in_all > 10
    for last in {1, in_all // 2, in_all}:
        calls[0], stop_at[0] = 0, last
        with pytest.raises(Stop):
            find_clusters(asked, 5, level=0.95, seed=1, method=method, checkpoint=checkpoint)
        assert calls[0] == last
    assert repr(find_clusters(asked, 5, level=0.95, seed=1, method=method)) == repr(whole)


def test_a_scan_stops_too() -> None:
    """Between two values of k at the latest."""
    with pytest.raises(Stop):
        scan(cells(14), range(2, 5), seed=1, checkpoint=lambda: (_ for _ in ()).throw(Stop))


def test_blocks_change_no_bit_of_lloyd(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sums go on from block to block in the order of the points, so that they round as without blocks."""
    rng = np.random.default_rng(3)
    points, weights, starts = rng.uniform(-1, 1, (5000, 3)), rng.uniform(0, 9, 5000), rng.uniform(-1, 1, (4, 7, 3))
    whole = lloyd(points, weights, starts)
    for at_once in (1000, 4096, 4 * 4999):
        monkeypatch.setattr(kmeans, "IN_MEMORY", at_once)
        assert np.array_equal(lloyd(points, weights, starts), whole)


def test_the_memory_of_lloyd_does_not_grow_with_points_times_runs() -> None:
    """Ten runs on 400,000 points need little more than the points themselves, and not ten numbers for each of them."""
    rng = np.random.default_rng(4)
    points, weights, starts = rng.uniform(-1, 1, (400_000, 2)), np.ones(400_000), rng.uniform(-1, 1, (10, 3, 2))
    tracemalloc.start()
    lloyd(points, weights, starts, iterations=1)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4 * points.nbytes  # as many numbers for each point as there are runs would be five times as much


def test_hot_spots_are_no_quick_answer_where_there_may_be_many_regions() -> None:
    """Each region has an interval of its own and is written down; so they are not worked out while others wait."""
    efforts = [effort_of_hotspots(cells(per_axis), ("a", "b"), None).seconds for per_axis in (30, 100, 300)]
    assert 0.02 < efforts[0] < 0.2
    assert 0.1 < efforts[1] < efforts[2] < 1


def test_a_question_that_takes_minutes_is_known_beforehand() -> None:
    """The paper's Lloyd with 256 clusters on three million cells took five minutes; on a planned grid it takes less."""
    vast, planned = cells(1732), cells(14)
    for k, asked in ((256, Method.LLOYD), (64, Method.LLOYD)):
        assert effort_of_clusters(vast, k=k, asked=asked).seconds > 60
    assert effort_of_clusters(vast, k=8, asked=Method.PROJECTED).seconds < 60
    assert effort_of_scan(vast, ks=range(2, 34)).seconds > 60
    for method in Method:
        assert effort_of_clusters(planned, k=32, asked=method).seconds < 10
    assert effort_of_scan(planned, ks=range(2, 34)).seconds < 10
    assert effort_of_boxes(vast, 10_000).seconds < 1


def test_effort_grows_with_what_is_asked() -> None:
    """More clusters, boxes or cells never take less."""
    for method in (Method.PROJECTED, Method.THRESHOLDED, Method.LLOYD):
        for small, large in ((cells(14), cells(40)), (cells(100), cells(700))):
            few, many, wide = (
                effort_of_clusters(synopsis, k=k, asked=method).seconds
                for synopsis, k in ((small, 2), (small, 100), (large, 100))
            )
            assert few < many < wide
    whole = cells(14)
    thresholded = replace(whole, cells=ThresholdedCells(whole.grid, np.arange(3), np.full(3, 5), 4))
    assert effort_of_boxes(cells(14), 5).seconds < effort_of_boxes(thresholded, 5).seconds
    with pytest.raises(InvalidQuery):
        effort_of_clusters(cells(14), k=0, asked=Method.LLOYD)


def test_past_the_limits_both_methods_that_are_compared_are_estimated() -> None:
    """Beyond the posterior's limits, an answer takes the time of projected and of thresholded centres."""
    vast = cells(100)
    parts = [effort_of_clusters(vast, k=8, asked=method).seconds for method in (Method.PROJECTED, Method.THRESHOLDED)]
    assert effort_of_clusters(vast, k=8, asked=Method.POSTERIOR).seconds == pytest.approx(sum(parts))
