"""Axis: equal cells over the range of one attribute, in unit coordinates, its own units, cell units and fixed point."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.domain.axis import MAX_CELLS_PER_AXIS, UniformAxis
from core.errors import InvalidOrder

AXES = st.integers(1, MAX_CELLS_PER_AXIS).map(UniformAxis)


@pytest.mark.parametrize("cells", [0, -1, MAX_CELLS_PER_AXIS + 1])
def test_an_axis_has_one_to_65536_cells(cells: int) -> None:
    """Fixed point of 32 bits places no value wrongly up to that number."""
    with pytest.raises(InvalidOrder):
        UniformAxis(cells)


@given(AXES, st.lists(st.integers(0, 2**32 - 1), min_size=1, max_size=20))
def test_a_fixed_point_number_lies_between_the_edges_of_its_cell(axis: UniformAxis, numbers: list[int]) -> None:
    """Cell j holds q if, and only if, j / m <= q / 2^32 < (j + 1) / m, in exact fractions."""
    cells = axis.cell_of(np.array(numbers, dtype=np.uint32)).tolist()
    for q, j in zip(numbers, cells, strict=True):
        assert Fraction(j, axis.cells) <= Fraction(q, 2**32) < Fraction(j + 1, axis.cells)


def test_edges_and_centres_have_known_answers() -> None:
    """Four cells in unit coordinates."""
    axis = UniformAxis(4)
    assert axis.edges().tolist() == [-1, -0.5, 0, 0.5, 1]
    assert axis.centres().tolist() == [-0.75, -0.25, 0.25, 0.75]


def test_cell_units_stay_on_the_axis_and_snap_to_edges() -> None:
    """Ends out of bounds move to the bound; what misses an edge by rounding is put on it; all else stays."""
    shares = np.array([-np.inf, -0.1, 0.0, 1 / 3 + 1e-15, 0.5, 1.0, 7.0, np.inf])
    assert UniformAxis(3).in_cell_units(shares).tolist() == [0, 0, 0, 1, 1.5, 3, 3, 3]
