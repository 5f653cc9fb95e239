"""The effort of questions to adaptive releases grows with what is asked for."""

from __future__ import annotations

import pytest

from core.queries.boxes import Range
from core.queries.effort import effort_of_marginal, effort_of_moments, effort_of_quantiles, effort_of_slices
from core.queries.slices import slice_of
from tests.core.queries.layered import whole_world


def test_more_leaves_quantiles_bins_and_slices_take_longer() -> None:
    """A part takes less than the whole; a histogram of many bins is bounded by how many of them leaves may touch."""
    whole = whole_world("two numbers").synopsis
    part = slice_of(whole, (Range("x", 2, 3),))
    for effort in (
        effort_of_moments,
        lambda each: effort_of_quantiles(each, 1),
        lambda each: effort_of_marginal(each, 9),
    ):
        assert 0 < effort(part).seconds < effort(whole).seconds
    assert effort_of_quantiles(whole, 1).seconds < effort_of_quantiles(whole, 50).seconds
    assert effort_of_marginal(whole, None).seconds < effort_of_marginal(whole, 1000).seconds
    assert effort_of_marginal(whole, 2**15).seconds == effort_of_marginal(whole, 2**16).seconds
    assert effort_of_slices(whole, 3) == pytest.approx(3 * effort_of_slices(whole, 1))
    assert effort_of_slices(whole, 1) > 0
