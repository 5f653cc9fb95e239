"""Codes of numbers: the quick way for clean blocks and the way for all others give the codes of the definition."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.domain.attribute import Missing
from core.domain.number import Number

BOUNDS = [(0.0, 100.0), (-1.0, 1.0), (1e-9, 3e-9), (-1e60, 2e60), (1e15, 1e15 + 2**17), (0.1, 0.7)]


def code_of(value: float, lower: float, upper: float) -> int:
    """The definition, one value at a time, in Python's own arithmetic."""
    inside = min(max(value, lower), upper)
    return int(min(math.ceil((inside - lower) / (upper - lower) * 2**32), 2**32 - 2))


@st.composite
def blocks(draw: Any) -> tuple[Number, list[float]]:
    """Bounds, and values on, next to and far from them."""
    lower, upper = draw(st.sampled_from(BOUNDS))
    edges = [lower, upper, np.nextafter(lower, -np.inf), np.nextafter(lower, np.inf), np.nextafter(upper, -np.inf)]
    edges += [np.nextafter(upper, np.inf), 0.0, -0.0, 5e-324, math.nan, math.inf, -math.inf]
    edges += [lower + (upper - lower) * share for share in (2.0**-32, 1 - 2.0**-33, 0.5, 1 / 3)]
    value = st.one_of(st.sampled_from(edges), st.floats(lower, upper), st.floats())
    clean = st.one_of(st.sampled_from([lower, upper]), st.floats(lower, upper))
    values = draw(st.lists(draw(st.sampled_from([value, clean])), max_size=12))
    return Number("x", lower, upper, draw(st.sampled_from(list(Missing)))), values


@given(blocks(), st.booleans())
def test_codes_are_those_of_the_definition(block: tuple[Number, list[float]], clip: bool) -> None:
    """Each value by itself, whatever lies beside it in the block."""
    number, values = block
    encoded = number.encode(np.array(values, dtype=np.float64), clip=clip)
    dropped = encoded.dropped if encoded.dropped is not None else np.zeros(len(values), dtype=np.bool_)
    for value, code, is_dropped in zip(values, encoded.codes.tolist(), dropped.tolist(), strict=True):
        inside = math.isfinite(value) and number.lower <= value <= number.upper
        if not math.isfinite(value):
            assert is_dropped != number.keeps_missing
            assert is_dropped or code == 2**32 - 1
        else:
            assert is_dropped == (not clip and not inside)
            assert code == code_of(value, number.lower, number.upper)


@pytest.mark.parametrize("bounds", BOUNDS)
def test_a_column_is_not_changed(bounds: tuple[float, float]) -> None:
    """Codes are computed in place, in an array of their own: a column may be a view of somebody's memory."""
    column = np.linspace(*bounds, 50)
    column.flags.writeable = False
    number = Number("x", *bounds)
    assert number.encode(column, clip=True).codes.max() == 2**32 - 2
