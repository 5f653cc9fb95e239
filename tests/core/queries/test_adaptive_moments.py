"""Moments of adaptive releases: near the rows' own, within what the leaves can add, with intervals that hold."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from core.noisy_histogram import NoisyHistogram
from core.queries.boxes import Box, Chosen, Range
from core.queries.moments import moments
from core.queries.slices import slice_of
from core.unit import Unit
from tests.core.queries.layered import DOMAINS, layered, made_up, whole_world
from tests.core.queries.worlds import least_hits

DRAWS = 50


@pytest.mark.parametrize("name", DOMAINS)
def test_without_noise_the_leaves_add_no_more_than_they_say(name: str) -> None:
    """Means and standard deviations of every kind of attribute; covariances by what both may move."""
    world = whole_world(name)
    computed = moments(world.synopsis, level=0.95)
    assert computed.size.value == pytest.approx(len(world.columns[0]), abs=0.1)
    for each in computed.attributes:
        values = world.values(each.name)
        values = values[~np.isnan(values)]
        assert each.mean.value is not None
        assert each.variance.value is not None
        assert abs(each.mean.value - values.mean()) <= each.discretisation + 1e-6
        assert abs(each.variance.value**0.5 - values.std()) <= each.sd_discretisation + 1e-6
        (attribute,) = (known for known in world.domain.ordered if known.name == each.name)
        assert each.discretisation < attribute.width / 20
    for pair in computed.pairs:
        first, second = (world.values(attribute) for attribute in pair.names)
        both = ~np.isnan(first) & ~np.isnan(second)
        assert pair.correlation.value == pytest.approx(np.corrcoef(first[both], second[both])[0, 1], abs=0.02)
    assert [pair.names for pair in computed.pairs] == list(
        combinations([each.name for each in world.domain.ordered], 2)
    )


def at_the_middles(histogram: NoisyHistogram, rows: np.ndarray) -> dict[str, float]:
    """What moments of gridded rows would be: every row at the middle of its leaf."""
    middles = rows @ histogram.cells.centres() / rows.sum()
    about = histogram.cells.centres() - middles
    spread = (about.T * rows) @ about / rows.sum()
    half = histogram.domain.width / 2
    means = histogram.domain.lower + (middles + 1) * half
    return {
        "size": rows.sum(),
        "mean x": means[0],
        "mean y": means[1],
        "variance x": spread[0, 0] * half[0] ** 2,
        "covariance": spread[0, 1] * half[0] * half[1],
        "correlation": spread[0, 1] / np.sqrt(spread[0, 0] * spread[1, 1]),
    }


@pytest.mark.parametrize("unit", [Unit(), Unit("id", 3)])
def test_intervals_hold_for_the_rows_in_their_leaves(unit: Unit) -> None:
    """At little epsilon: at least as often as they say, for records and for persons of several rows."""
    domain = DOMAINS["two numbers"]
    columns = made_up(domain, 1200)
    hits: dict[str, int] = {}
    for _ in range(DRAWS):
        world = layered(domain, columns, "2" if unit.is_person else "0.7", unit=unit)
        truth = at_the_middles(world.synopsis, world.exact_leaves().astype(np.float64))
        computed = moments(world.synopsis, level=0.95)
        x, y = computed.attributes
        estimates = {
            "size": computed.size,
            "mean x": x.mean,
            "mean y": y.mean,
            "variance x": x.variance,
            "covariance": computed.pairs[0].covariance,
            "correlation": computed.pairs[0].correlation,
        }
        for name, estimate in estimates.items():
            hits[name] = hits.get(name, 0) + (estimate.interval.low <= truth[name] <= estimate.interval.high)
            assert estimate.value is None or estimate.interval.low <= estimate.value <= estimate.interval.high
    assert min(hits.values()) >= least_hits(DRAWS, 0.9), hits


@pytest.mark.parametrize(
    "box", [(Range("x", 0.7, 2.9),), (Range("y", -4.3, -3.1), Range("x", 0.3, 6)), (Range("x", 1.25, 2.5),)]
)
def test_of_a_slice_the_leaves_say_what_cutting_them_can_add(box: Box) -> None:
    """A few large leaves are cut: the bound holds all the same, and is within the slice."""
    domain = DOMAINS["two numbers"]
    for seed in range(3):
        world = layered(domain, made_up(domain, 1500, seed), "50")
        inside = np.ones(1500, dtype=bool)
        for part in box:
            assert isinstance(part, Range)
            inside &= (world.values(part.attribute) >= part.lower) & (world.values(part.attribute) < part.upper)
        for each, attribute in zip(
            moments(slice_of(world.synopsis, box), level=0.95).attributes, domain.ordered, strict=True
        ):
            values = world.values(attribute.name)[inside]
            assert each.mean.value is not None
            assert each.variance.value is not None
            assert abs(each.mean.value - values.mean()) <= each.discretisation + 0.01
            assert abs(each.variance.value**0.5 - values.std()) <= each.sd_discretisation + 0.01


def test_rows_without_a_value_do_not_count_for_moments() -> None:
    """A part of missing values alone has a size and the moments of the other attribute."""
    world = whole_world("a number with missing values")
    part = slice_of(world.synopsis, (Chosen("x", ("(missing)",)),))
    computed = moments(part, level=0.95)
    missing = np.isnan(world.values("x"))
    assert [each.name for each in computed.attributes] == ["y"]
    assert not computed.pairs
    assert computed.size.value == pytest.approx(missing.sum(), abs=0.1)
    assert computed.attributes[0].mean.value == pytest.approx(world.values("y")[missing].mean(), abs=0.1)


def test_where_nothing_is_left_intervals_are_the_bounds() -> None:
    """No rows in a slice: no value, or one within an interval as wide as the domain."""
    part = slice_of(whole_world("two numbers").synopsis, (Range("x", 9.9), Range("y", 4.9)))
    computed = moments(part, level=0.95)
    x = computed.attributes[0]
    assert x.mean.interval.low == pytest.approx(9.9)
    assert x.mean.interval.high == pytest.approx(10)
    assert x.mean.value is None or 9.9 <= x.mean.value <= 10
    assert x.discretisation <= 0.1 + 1e-9
