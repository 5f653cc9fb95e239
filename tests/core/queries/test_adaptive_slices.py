"""Slices of adaptive releases: the rows of the box that was asked for, in its own bounds."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import numpy as np
import pytest

from core.adaptive.cells import AdaptiveCells
from core.domain.attribute import MISSING_LABEL
from core.domain.category import Category
from core.domain.dates import Datetime
from core.errors import InvalidQuery
from core.noisy_histogram import NoisyHistogram
from core.queries.boxes import Box, Chosen, Range
from core.queries.slices import group, numeric_part, part_of, slice_of, with_values
from tests.core.queries.layered import DOMAINS, MOMENT, Layered, layered, made_up, whole_world

SECONDS = MOMENT.timestamp()


def estimates(histogram: NoisyHistogram) -> float:
    """The sum over the leaves of a slice."""
    assert isinstance(histogram.cells, AdaptiveCells)
    return float(histogram.cells.estimates.sum())


def between(world: Layered, name: str, low: float, high: float) -> int:
    """Rows with low <= value < high."""
    values = world.values(name)
    return int(((values >= low) & (values < high)).sum())


def labelled(world: Layered, *labels: str) -> int:
    """Rows with one of these labels of `sex`."""
    return int(np.isin(world.labels("sex"), labels).sum())


TWO, WHOLE = "two numbers", "whole values and a category"


@pytest.mark.parametrize(
    ("domain", "box", "rows"),
    [
        (TWO, (Range("x", 1.25, 5.0),), lambda w: between(w, "x", 1.25, 5.0)),
        (TWO, (Range("x", 1.3, 4.1), Range("x", 0, 2.1)), lambda w: between(w, "x", 1.3, 2.1)),
        (WHOLE, (Range("hour", 2, 5),), lambda w: between(w, "hour", 2, 6)),
        (WHOLE, (Range("age", upper=124),), lambda w: between(w, "age", 0, 125)),
        (WHOLE, (Chosen("sex", ("f", "(other)")),), lambda w: labelled(w, "f", "(other)")),
        (WHOLE, (Chosen("age", (MISSING_LABEL,)),), lambda w: int(np.isnan(w.values("age")).sum())),
        ("times", (Range("at", SECONDS, SECONDS + 648000),), lambda w: between(w, "at", 0, SECONDS + 648000)),
    ],
)
def test_a_slice_has_the_rows_of_its_box(domain: str, box: Box, rows: Callable[[Layered], int]) -> None:
    """Without noise but for what cut leaves leave open, which is little."""
    world = whole_world(domain)
    expected = rows(world)
    assert estimates(slice_of(world.synopsis, box)) == pytest.approx(expected, abs=0.02 * len(world.columns[0]))


def test_leaves_inside_count_whole_and_cut_leaves_by_their_share() -> None:
    """A slice and the two beside it add up to the whole, leaf by leaf."""
    world = whole_world("two numbers")
    parts = [slice_of(world.synopsis, (Range("x", *ends),)) for ends in ((0, 1.3), (1.3, 4.7), (4.7, 10))]
    shares = np.zeros(len(world.cells.layers.leaves))
    for part in parts:
        assert isinstance(part.cells, AdaptiveCells)
        leaves = part.cells.leaves
        np.add.at(shares, leaves.numbers, leaves.shares)
        assert ((leaves.shares > 0) & (leaves.shares <= 1)).all()
        assert leaves.low.min() == -1
        assert leaves.high.max() == 1
    np.testing.assert_allclose(shares, 1.0, atol=1e-9)


def test_a_slice_is_told_by_the_bounds_that_were_asked_for() -> None:
    """Numbers exactly; of whole kinds, the first and the last value."""
    two, whole, times = (whole_world(name) for name in ("two numbers", "whole values and a category", "times"))
    box: Box = (Range("x", 1.3, 99), Range("y", upper=-2))
    assert slice_of(two.synopsis, box).where == {"x": "1.3..10", "y": "-5..-2"} == part_of(two.synopsis, box).where
    assert slice_of(whole.synopsis, (Range("hour", 6, 9), Chosen("sex", ("m",)))).where == {"hour": "6..9", "sex": "m"}
    part = slice_of(times.synopsis, (Range("at", SECONDS + 60),))
    (at,) = (each for each in part.domain.ordered if isinstance(each, Datetime))
    assert at.lower == MOMENT + timedelta(seconds=60)
    assert part.where["at"].startswith("2026-01-01T00:01:00Z..")


@pytest.mark.parametrize("lower", [10, 9.9999999999])
def test_a_range_of_hardly_any_width_is_a_slice(lower: float) -> None:
    """The upper bound of a number alone is a range; it has leaves, and a width."""
    part = slice_of(whole_world("two numbers").synopsis, (Range("x", lower),))
    assert isinstance(part.cells, AdaptiveCells)
    assert len(part.cells.leaves.numbers)
    assert part.domain.ordered[0].width > 0


def test_slices_of_slices_are_slices_of_both() -> None:
    """In either order."""
    world = whole_world("whole values and a category")
    one: Box = (Range("age", 20, 300),)
    other: Box = (Chosen("sex", ("f",)), Range("age", 100, 900))
    twice = slice_of(slice_of(world.synopsis, one), other)
    once = slice_of(world.synopsis, one + other)
    assert isinstance(twice.cells, AdaptiveCells)
    assert isinstance(once.cells, AdaptiveCells)
    assert twice.where == once.where == {"age": "100..300", "sex": "f"}
    np.testing.assert_array_equal(twice.cells.leaves.numbers, once.cells.leaves.numbers)
    np.testing.assert_allclose(twice.cells.leaves.shares, once.cells.leaves.shares)
    np.testing.assert_allclose(twice.cells.leaves.low, once.cells.leaves.low, atol=1e-9)
    assert twice.cells.box == one + other


def test_groups_are_the_leaves_of_each_category() -> None:
    """Together they are the whole."""
    world = whole_world("whole values and a category")
    groups = group(world.synopsis, "sex")
    assert [label for label, _ in groups] == ["f", "m", "(other)", MISSING_LABEL]
    for label, part in groups:
        assert estimates(part) == pytest.approx((world.labels("sex") == label).sum(), abs=1)
    assert sum(estimates(part) for _, part in groups) == pytest.approx(float(world.cells.estimates.sum()))


def test_rows_without_a_value_are_left_out_where_values_are_needed() -> None:
    """With their leaves; all others stay as they are, categories with them."""
    world = whole_world("a number with missing values")
    part = with_values(world.synopsis, ("x", "y"))
    assert isinstance(part.cells, AdaptiveCells)
    assert not np.isnan(part.cells.leaves.low).any()
    assert estimates(part) == pytest.approx((~np.isnan(world.values("x"))).sum(), abs=1)
    assert with_values(world.synopsis, ("y",)) is world.synopsis
    numeric = numeric_part(world.synopsis)
    assert isinstance(numeric.cells, AdaptiveCells)
    np.testing.assert_array_equal(numeric.cells.leaves.numbers, part.cells.leaves.numbers)


def test_missing_values_alone_have_no_place_on_a_line() -> None:
    """Their attribute becomes a category of one cell; the others keep their columns."""
    part = slice_of(whole_world("a number with missing values").synopsis, (Chosen("x", (MISSING_LABEL,)),))
    assert isinstance(part.cells, AdaptiveCells)
    assert isinstance(part.domain.attributes[1], Category)
    assert part.cells.leaves.low.shape == (len(part.cells.leaves.numbers), 1)
    assert part.grid.shape[1] == 1
    assert not np.isnan(part.cells.leaves.low).any()


@pytest.mark.parametrize(
    "box", [(Range("x", 11, 12),), (Range("x", 3, 2),), (Chosen("x", (MISSING_LABEL,)),), (Range("u", 0, 1),)]
)
def test_a_box_that_makes_no_sense_is_refused(box: Box) -> None:
    """As of every release."""
    with pytest.raises(InvalidQuery):
        slice_of(whole_world("two numbers").synopsis, box)


def test_a_part_takes_memory_for_its_own_leaves() -> None:
    """The release that it is a part of is counted elsewhere."""
    world = layered(DOMAINS["one number"], made_up(DOMAINS["one number"], 1500))
    part = slice_of(world.synopsis, (Range("x", 2, 3),))
    assert part.cells.memory_bytes < world.cells.memory_bytes / 2
