"""Hot spots: found where rows lie close together, seldom where they lie evenly, with counts that hold."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from core.budget import Epsilon
from core.cells import DenseCells
from core.errors import InvalidQuery
from core.queries.hotspots import Hotspots, Region, hotspots
from core.synopsis import Synopsis
from core.unit import Unit
from tests.core.queries.layered import whole_world
from tests.core.queries.worlds import least_hits, rows, shaken, synopsis_of

DRAWS = 60


def even(size: int, seed: int) -> Synopsis:
    """Rows anywhere, without noise."""
    return synopsis_of(np.random.default_rng(seed).uniform([0, -5], [10, 5], (size, 2)), 12)


def spotted() -> Synopsis:
    """Even rows, and two crowds far from one another: about (2, 3) and (8, -3)."""
    rng = np.random.default_rng(7)
    crowds = [rng.normal(centre, 0.4, (2000, 2)) for centre in ((2, 3), (8, -3))]
    return synopsis_of(np.concatenate([rng.uniform([0, -5], [10, 5], (8000, 2)), *crowds]), 20)


def bounds_of(answer: Hotspots, region: Region) -> list[tuple[float, float]]:
    """The least and the greatest edge of a region, for each attribute."""
    edges = [answer.histogram.edges(each) for each in answer.histogram.domain.ordered]
    return [
        (own[min(along)], own[max(along) + 1])
        for own, along in zip(edges, zip(*region.cells, strict=True), strict=True)
    ]


def held(answer: Hotspots, exact: Synopsis) -> bool:
    """Whether every interval of an answer holds the exact number."""
    assert isinstance(exact.cells, DenseCells)
    table, size, number = exact.cells.table(), int(exact.counts.sum()), answer.histogram.counts.size
    if len(answer.histogram.shape) == 1:
        table = np.add.reduceat(table.sum(axis=1), np.arange(0, len(table), answer.histogram.group))
    for region in answer.regions:
        count = int(sum(table[cell] for cell in region.cells))
        excess = count - size * len(region.cells) / number
        if not region.count.interval.low <= count <= region.count.interval.high:
            return False
        if not region.excess.interval.low <= excess <= region.excess.interval.high:
            return False
    return answer.rows.interval.low <= size <= answer.rows.interval.high


@pytest.mark.parametrize(("size", "epsilon"), [(3000, "1"), (300, "0.5"), (3000, "0.05")])
def test_even_rows_seldom_have_a_hot_spot(size: int, epsilon: str) -> None:
    """In at most one of twenty releases at 95 %, rows and noise drawn anew for each."""
    quiet = sum(
        not hotspots(shaken(even(size, seed), epsilon, seed), ("a", "b"), level=0.95).regions for seed in range(DRAWS)
    )
    assert quiet >= least_hits(DRAWS)


@pytest.mark.parametrize("threshold", [None, 60])
def test_even_persons_seldom_have_a_hot_spot(threshold: int | None) -> None:
    """Persons whose ten rows all lie together: independent of one another, which their rows are not."""
    quiet, base = 0, synopsis_of(rows(10), 10)
    for seed in range(DRAWS):
        counts = 10 * np.random.default_rng(seed).multinomial(2000, np.full(100, 0.01))
        exact = replace(base, cells=DenseCells(base.grid, counts), unit=Unit("id", 10))
        release = replace(shaken(exact, "1", seed), epsilon=Epsilon.parse("10"))  # 10 / c is 1
        assert isinstance(release.cells, DenseCells)
        cells = release.cells if threshold is None else release.cells.reaching(threshold)
        quiet += not hotspots(replace(release, cells=cells), ("a", "b"), level=0.95).regions
    assert quiet >= least_hits(DRAWS)


def test_crowds_of_persons_are_found() -> None:
    """With up to five rows of each person, all of them together."""
    rng = np.random.default_rng(7)
    places = np.concatenate([rng.uniform([0, -5], [10, 5], (1600, 2)), rng.normal((2, 3), 0.4, (400, 2))])
    exact = replace(synopsis_of(np.repeat(np.clip(places, [0, -5], [10, 5]), 5, axis=0), 20), unit=Unit("id", 5))
    answer = hotspots(replace(shaken(exact, "1"), epsilon=Epsilon.parse("5")), ("a", "b"), level=0.95)
    assert len(answer.regions) == 1
    assert held(answer, exact)


def test_of_very_many_regions_those_with_the_largest_excess_are_listed() -> None:
    """A thousand of them, in order; how many there are in all is said."""
    counts = np.zeros((100, 100), dtype=np.int64)
    counts[::2, ::2] = 100_000 + np.arange(2500).reshape(50, 50)
    exact = replace(synopsis_of(rows(10), 100), cells=DenseCells(synopsis_of(rows(10), 100).grid, counts.ravel()))
    answer = hotspots(exact, ("a", "b"), level=0.95)
    assert answer.in_all == 2500
    assert [each.count.value for each in answer.regions] == list(range(102_499, 101_499, -1))
    assert all(sum(counts[cell] for cell in each.cells) == each.count.value for each in answer.regions)


def test_crowds_are_found_with_their_counts() -> None:
    """Two regions, in their places; the intervals hold although the regions were chosen by the same counts."""
    exact, held_in = spotted(), 0
    for seed in range(DRAWS):
        answer = hotspots(shaken(exact, "0.5", seed), ("a", "b"), level=0.95)
        held_in += held(answer, exact)
        largest = answer.regions[:2]
        assert all(each.excess.interval.low > 0.0 for each in largest)
        places = sorted(bounds_of(answer, each) for each in largest)
        for bounds, centre in zip(places, ((2, 3), (8, -3)), strict=True):
            assert all(low < middle < high for (low, high), middle in zip(bounds, centre, strict=True))
    assert held_in >= least_hits(DRAWS)


def test_intervals_hold_for_regions_that_luck_has_chosen() -> None:
    """Of 400 cells that lie about the threshold those with a lucky noise are listed; all of their intervals hold."""
    counts = np.full((40, 40), 20)
    counts[::2, ::2] = 170
    exact = synopsis_of(rows(), 40)
    exact = replace(exact, cells=DenseCells(exact.grid, counts.ravel()))
    answers = [hotspots(shaken(exact, "0.1", seed), ("a", "b"), level=0.5) for seed in range(DRAWS)]
    listed = np.mean([sum(len(region.cells) for region in answer.regions) for answer in answers])
    assert 40 < listed < 360, listed
    assert sum(held(answer, exact) for answer in answers) >= least_hits(DRAWS, level=0.5)


def test_one_attribute_and_cells_taken_together() -> None:
    """On a line a region is a range; cells are sums over the other attribute, the last one smaller."""
    exact = spotted()
    answer = hotspots(shaken(exact, "1"), ("a",), level=0.95, cells=6)
    assert answer.histogram.shape == (5,)
    assert sorted(bounds_of(answer, each) for each in answer.regions) == [[(0.0, 4.0)], [(6.0, 10.0)]]
    assert held(answer, exact)


@pytest.mark.parametrize("form", ["leaves", "threshold"])
def test_other_forms_of_release(form: str) -> None:
    """By bounds for all cells at once, of an adaptive release and of what a threshold left."""
    if form == "leaves":
        answer = hotspots(whole_world("two numbers").synopsis, ("x", "y"), level=0.95, cells=6)
        values = np.column_stack([whole_world("two numbers").values(name) for name in ("x", "y")])
        edges = [answer.histogram.edges(each) for each in answer.histogram.domain.ordered]
        table = np.histogram2d(*values.T, bins=edges)[0]
    else:
        exact = spotted()
        assert isinstance(exact.cells, DenseCells)
        release = shaken(exact, "1")
        assert isinstance(release.cells, DenseCells)
        answer = hotspots(replace(release, cells=release.cells.reaching(10)), ("a", "b"), level=0.95)
        table = exact.cells.table()
    assert answer.regions
    for each in answer.regions:
        assert each.count.interval.low <= sum(table[cell] for cell in each.cells) <= each.count.interval.high


def test_what_cannot_be_asked_is_refused_in_a_sentence() -> None:
    """Three attributes or none twice, an unknown one, a category, too high a level for bounds."""
    exact = synopsis_of(rows(), 6)
    cases = ((("a", "b", "c"), "one attribute"), (("a", "a"), "two different"), (("x",), "no attribute"))
    for names, word in cases:
        with pytest.raises(InvalidQuery, match=word):
            hotspots(exact, names, level=0.95)
    with pytest.raises(InvalidQuery, match="is a category"):
        hotspots(whole_world("whole values and a category").synopsis, ("sex",), level=0.95)
    with pytest.raises(InvalidQuery, match=r"answers levels up to 0\.99999 here"):
        hotspots(whole_world("two numbers").synopsis, ("x",), level=0.999999)
