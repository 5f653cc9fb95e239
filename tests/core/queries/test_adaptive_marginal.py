"""Histograms of adaptive releases: bins with bounds that hold for the rows in them."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from numpy.typing import NDArray

from core.adaptive.cells import AdaptiveCells
from core.domain.attribute import Ordered
from core.domain.category import Category
from core.domain.domain import Domain
from core.errors import InvalidQuery
from core.queries.boxes import Chosen, Range
from core.queries.denoise import CountsKind
from core.queries.marginal import Marginal, marginal
from core.queries.slices import slice_of
from tests.core.queries.layered import DOMAINS, Layered, X, layered, made_up, whole_world
from tests.core.queries.worlds import least_hits

RAW = CountsKind.RAW
DRAWS = 60


def rows_in_bins(world: Layered, histogram: Marginal, rows: NDArray[np.bool_] | None = None) -> NDArray[np.int64]:
    """How many rows lie in each bin, row by row."""
    kept = np.ones(len(world.columns[0]), dtype=bool) if rows is None else rows
    owners = np.zeros(int(kept.sum()), dtype=np.int64)
    for attribute, axis in zip(histogram.domain.attributes, histogram.grid.axes, strict=True):
        if isinstance(attribute, Ordered):
            values = world.values(attribute.name)[kept]
            places = np.searchsorted(attribute.edges(axis), values, side="right") - 1
            places = np.where(np.isnan(values), axis.value_cells, np.clip(places, 0, axis.value_cells - 1))
        else:
            assert isinstance(attribute, Category)
            places = np.array([attribute.labels.index(label) for label in world.labels(attribute.name)[kept]])
        owners = owners * axis.cells + places
    return np.bincount(owners, minlength=histogram.grid.cell_count)


@pytest.mark.parametrize("cells", [None, 7])
@pytest.mark.parametrize("name", DOMAINS)
def test_without_noise_bounds_hold_the_rows_of_every_bin(name: str, cells: int | None) -> None:
    """Of one attribute and of two, whichever leaves the bins cut; and no row is lost."""
    world = whole_world(name)
    for names in [*((each,) for each in world.domain.names), *combinations(world.domain.names, 2)]:
        histogram = marginal(world.synopsis, names, level=0.95, counts=RAW, cells=cells)
        exact = rows_in_bins(world, histogram)
        assert histogram.bounds is not None
        assert histogram.bounds_all is not None
        low, high = histogram.bounds
        assert ((low <= exact + 0.1) & (exact <= high + 0.1)).all()
        assert ((histogram.bounds_all[0] <= low) & (histogram.bounds_all[1] >= high)).all()
        assert ((low <= histogram.counts) & (histogram.counts <= high)).all()
        assert histogram.counts.sum() == pytest.approx(len(world.columns[0]), abs=0.1)


@pytest.mark.parametrize("name", ["one number", "whole values and a category", "times"])
def test_bins_of_the_release_cut_no_narrow_leaf(name: str) -> None:
    """Bins along all ordered attributes are base cells halved: without noise they are exact where leaves are finer."""
    world = whole_world(name)
    histogram = marginal(world.synopsis, world.domain.names, level=0.95, counts=RAW)
    exact = rows_in_bins(world, histogram)
    crowded = exact > 20
    np.testing.assert_allclose(histogram.counts[crowded], exact[crowded], atol=0.1)


def test_as_many_bins_as_are_asked_for() -> None:
    """Of whole kinds no more than they have values; by default a bin for each hour."""
    synopsis = whole_world("whole values and a category").synopsis
    shapes = [marginal(synopsis, ("hour", "age"), level=0.95, counts=RAW, cells=n).shape for n in (1, 5, 30)]
    assert shapes == [(1, 2), (5, 6), (24, 31)]
    assert marginal(synopsis, ("hour",), level=0.95, counts=RAW).shape == (24,)
    assert marginal(whole_world("two numbers").synopsis, ("y", "x"), level=0.95, counts=RAW).shape == (32, 32)


def test_bounds_hold_at_little_epsilon() -> None:
    """For a bin that was chosen beforehand; and for all bins at once."""
    domain = DOMAINS["two numbers"]
    columns = made_up(domain, 1200)
    hits, all_hold = np.zeros(6, dtype=int), 0
    for _ in range(DRAWS):
        world = layered(domain, columns, "0.7")
        histogram = marginal(world.synopsis, ("x",), level=0.95, counts=RAW, cells=6)
        exact = rows_in_bins(world, histogram)
        assert histogram.bounds is not None
        assert histogram.bounds_all is not None
        hits += (histogram.bounds[0] <= exact) & (exact <= histogram.bounds[1])
        all_hold += bool(((histogram.bounds_all[0] <= exact) & (exact <= histogram.bounds_all[1])).all())
    assert min(hits.min(), all_hold) >= least_hits(DRAWS, 0.9)


def test_bins_of_a_slice_are_parts_of_it() -> None:
    """Its bounds are their outermost edges, and rows that the slice cuts off are within the bounds."""
    world = whole_world("a number with missing values")
    part = slice_of(world.synopsis, (Range("y", -4.4, -1.3), Chosen("sex", ("f", "m"))))
    inside = (world.values("y") >= -4.4) & (world.values("y") < -1.3) & np.isin(world.labels("sex"), ["f", "m"])
    for names in (("y",), ("sex", "x"), ("x", "y")):
        histogram = marginal(part, names, level=0.95, counts=RAW)
        exact = rows_in_bins(world, histogram, inside)
        assert histogram.bounds is not None
        assert ((histogram.bounds[0] <= exact + 0.1) & (exact <= histogram.bounds[1] + 0.1)).all()
    y = part.domain.ordered[1]
    edges = marginal(part, ("y",), level=0.95, counts=RAW).edges(y)
    assert (edges[0], edges[-1]) == (-4.4, -1.3)


def test_counts_that_are_not_negative_have_the_same_sum() -> None:
    """With the bounds of the raw ones."""
    domain = DOMAINS["two numbers"]
    world = layered(domain, made_up(domain, 1200), "0.7")
    raw = marginal(world.synopsis, ("x", "y"), level=0.95, counts=RAW)
    kept = marginal(world.synopsis, ("x", "y"), level=0.95, counts=CountsKind.NONNEGATIVE)
    assert raw.counts.min() < 0 <= kept.counts.min()
    assert kept.counts.sum() == pytest.approx(raw.counts.sum())
    assert isinstance(world.synopsis.cells, AdaptiveCells)


def test_bins_that_would_be_too_many_are_fewer() -> None:
    """At most as many as were asked for, and a million in all. Categories stay as they are."""
    synopsis = whole_world("two numbers").synopsis
    shape = marginal(synopsis, ("x", "y"), level=0.95, counts=RAW, cells=2**16).shape
    assert shape[0] == shape[1] >= 250
    letters = Domain((X, Category("letter", tuple("abcdefghij"))))
    table = layered(letters, made_up(letters, 1500))
    assert marginal(table.synopsis, ("letter",), level=0.95, counts=RAW).shape == (10,)


@pytest.mark.parametrize("names", [("u",), ("x", "x")])
def test_a_histogram_of_no_attributes_is_refused(names: tuple[str, ...]) -> None:
    """As of every release."""
    with pytest.raises(InvalidQuery):
        marginal(whole_world("two numbers").synopsis, names, level=0.95, counts=RAW)
