"""Synthetic rows of adaptive releases: as many as are asked for, where the rows are, of the right kinds."""

from __future__ import annotations

import numpy as np
import pytest

from core.domain.attribute import Ordered
from core.domain.number import Number
from core.domain.whole import WholeValues
from core.noisy_histogram import NoisyHistogram
from core.queries.boxes import Chosen, Range
from core.queries.slices import slice_of
from core.queries.synthetic import Column, synthetic_rows, values_between
from tests.core.queries.layered import DOMAINS, HOUR, X, whole_world

COUNT = 20_000


def drawn(histogram: NoisyHistogram, count: int = COUNT) -> dict[str, Column]:
    """Rows in one block, by attribute."""
    (block,) = synthetic_rows(histogram, count, seed=1)
    return dict(zip(histogram.domain.names, block, strict=True))


def steps(attribute: Ordered, column: Column) -> np.ndarray:
    """Values that are there, in the attribute's own unit."""
    values = column.values if column.missing is None else column.values[~column.missing]
    if not isinstance(attribute, WholeValues):
        return values
    return values.astype(np.int64) / attribute.steps_per_unit


@pytest.mark.parametrize("name", DOMAINS)
def test_rows_are_spread_as_the_rows_of_the_release_are(name: str) -> None:
    """Means, spread, missing values and categories; no value beyond the bounds; the same for the same seed."""
    world = whole_world(name)
    columns = drawn(world.synopsis)
    for attribute in world.domain.attributes:
        column = columns[attribute.name]
        assert (column.missing is not None) == attribute.keeps_missing
        if isinstance(attribute, Ordered):
            exact, values = world.values(attribute.name), steps(attribute, column)
            there = exact[~np.isnan(exact)]
            assert values.min() >= attribute.start
            assert values.max() <= attribute.stop
            # Seven standard errors of the mean of the drawn rows, and the width of a leaf.
            assert abs(values.mean() - there.mean()) < 7 * there.std() / COUNT**0.5 + attribute.width / 300
            assert values.std() == pytest.approx(there.std(), rel=0.1)
            if column.missing is not None:
                assert column.missing.mean() == pytest.approx(np.isnan(exact).mean(), abs=0.02)
            assert values.dtype == np.float64 if isinstance(attribute, Number) else True
        else:
            share = (column.values == 0) & (True if column.missing is None else ~column.missing)
            assert share.mean() == pytest.approx((world.labels(attribute.name) == "f").mean(), abs=0.02)
    again = drawn(world.synopsis, 100)
    for attribute_name, column in again.items():
        np.testing.assert_array_equal(column.values, columns[attribute_name].values[:100])


def test_whole_values_of_a_leaf_are_equally_likely() -> None:
    """Down to single values: each hour as often as the rows have it."""
    world = whole_world("whole values and a category")
    hours = np.bincount(drawn(world.synopsis)["hour"].values, minlength=24) / COUNT
    exact = np.bincount(world.values("hour").astype(int), minlength=24) / len(world.columns[0])
    np.testing.assert_allclose(hours, exact, atol=0.02)


def test_each_value_between_two_ends_is_drawn_alike() -> None:
    """Of whole kinds those of the leaf and no others; of numbers, evenly from end to end."""
    uniform = np.arange(300) / 300
    low, high = np.full(300, 2 * 2 / 24 - 1), np.full(300, 2 * 5 / 24 - 1)
    assert np.bincount(values_between(HOUR, low, high, uniform)).tolist() == [0, 0, 100, 100, 100]
    np.testing.assert_allclose(values_between(X, low, high, uniform), (2 + 3 * uniform) / 24 * 10)


def test_rows_of_a_slice_lie_in_it() -> None:
    """Ranges, chosen categories, and missing values alone."""
    world = whole_world("a number with missing values")
    columns = drawn(slice_of(world.synopsis, (Range("y", -4.4, -1.3), Chosen("sex", ("m",)))), 2000)
    assert columns["y"].values.min() >= -4.4
    assert columns["y"].values.max() <= -1.3
    assert set(columns["sex"].values.tolist()) == {0}
    missing = drawn(slice_of(world.synopsis, (Chosen("x", ("(missing)",)),)), 100)["x"].missing
    assert missing is not None
    assert missing.all()
