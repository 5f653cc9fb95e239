"""Quantiles of adaptive releases: the rows' own, but for the leaf they lie in, with intervals that hold."""

from __future__ import annotations

import numpy as np
import pytest

from core.domain.whole import WholeValues
from core.errors import InvalidQuery
from core.queries.boxes import Box, Chosen, Range
from core.queries.quantile import quantile, quantiles
from core.queries.slices import slice_of
from tests.core.queries.layered import DOMAINS, layered, made_up, whole_world
from tests.core.queries.worlds import least_hits

QS = (0.0, 0.03, 0.25, 0.5, 0.8, 0.97)
DRAWS = 60


@pytest.mark.parametrize("name", DOMAINS)
def test_without_noise_the_rows_own_quantile_lies_in_the_leaves_of_the_answer(name: str) -> None:
    """Of every kind; of whole kinds the answers are values. The largest row is not told from empty leaves."""
    world = whole_world(name)
    for attribute in world.domain.ordered:
        values = world.values(attribute.name)
        values = values[~np.isnan(values)]
        for answer in quantiles(world.synopsis, attribute.name, QS, level=0.95):
            exact = np.quantile(values, answer.q, method="inverted_cdf")
            assert answer.interval.low <= exact <= answer.interval.high + 1e-9
            assert answer.interval.low <= answer.value <= answer.interval.high
            assert answer.cell[0] <= answer.value <= answer.cell[1]
            assert abs(answer.value - exact) <= attribute.width / 25
            if isinstance(attribute, WholeValues):
                steps = attribute.steps_per_unit
                ends = (answer.value, answer.interval.low, answer.interval.high)
                assert all(abs(end * steps - round(end * steps)) < 0.3 for end in ends)


@pytest.mark.parametrize(
    ("name", "box"), [("one number", ()), ("two numbers", (Range("x", 0.9, 5.2),)), ("times", (Range("on", 20460.0),))]
)
def test_intervals_hold_for_the_rows_themselves(name: str, box: Box) -> None:
    """They cover the noise, the leaves that a quantile cuts and those that the slice cuts."""
    domain = DOMAINS[name]
    columns = made_up(domain, 1200)
    asked = domain.ordered[-1].name
    hits = np.zeros(3, dtype=int)
    for _ in range(DRAWS):
        world = layered(domain, columns, "0.7")
        values = world.values(asked)
        inside = ~np.isnan(values)
        for part in box:
            assert isinstance(part, Range)
            inside &= (world.values(part.attribute) >= part.lower) & (world.values(part.attribute) < part.upper)
        answers = quantiles(slice_of(world.synopsis, box) if box else world.synopsis, asked, QS[2:5], level=0.95)
        for i, answer in enumerate(answers):
            exact = np.quantile(values[inside], answer.q, method="inverted_cdf")
            hits[i] += answer.interval.low <= exact <= answer.interval.high
    assert hits.min() >= least_hits(DRAWS, 0.9)


def test_several_quantiles_are_those_asked_for_one_by_one() -> None:
    """And they ascend."""
    synopsis = whole_world("two numbers").synopsis
    together = quantiles(synopsis, "x", QS, level=0.9)
    assert together == [quantile(synopsis, "x", q, level=0.9) for q in QS]
    values = [answer.value for answer in together]
    assert values == sorted(values)


def test_a_slice_has_quantiles_within_its_bounds() -> None:
    """Down to a part without rows, where nothing is certain."""
    world = whole_world("two numbers")
    part = slice_of(world.synopsis, (Range("x", 1.1, 2.3),))
    assert all(1.1 <= answer.value <= 2.3 + 1e-9 for answer in quantiles(part, "x", (0.0, 0.5, 1.0), level=0.95))
    empty = quantile(slice_of(world.synopsis, (Range("x", 9.9), Range("y", 4.9))), "x", 0.5, level=0.95)
    assert empty.interval.low == pytest.approx(9.9)
    assert empty.interval.high == pytest.approx(10)


def test_what_has_no_quantiles_is_refused() -> None:
    """A category, missing values alone, an attribute of no such name, a share beyond 1."""
    synopsis = whole_world("a number with missing values").synopsis
    missing = slice_of(synopsis, (Chosen("x", ("(missing)",)),))
    for histogram, name, q in ((synopsis, "sex", 0.5), (missing, "x", 0.5), (synopsis, "u", 0.5), (synopsis, "x", 1.1)):
        with pytest.raises(InvalidQuery):
            quantiles(histogram, name, [q], level=0.95)
