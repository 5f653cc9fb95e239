"""Grid: m^d equal boxes over [-1, 1]^d, numbered with the last attribute fastest."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.domain.axis import MAX_CELLS_PER_AXIS
from core.domain.grid import MAX_DIMENSIONS, Grid
from core.errors import InvalidOrder

SMALL = st.tuples(st.integers(1, 6), st.integers(1, 4)).map(lambda md: Grid.uniform(*md))


@pytest.mark.parametrize(("m", "d"), [(0, 2), (-1, 2), (2**16 + 1, 1), (3, 0), (3, -1), (3, 33)])
def test_a_grid_beyond_its_limits_is_refused(m: int, d: int) -> None:
    """1 to 2^16 cells on each of 1 to 32 axes, and nothing else."""
    with pytest.raises(InvalidOrder):
        Grid.uniform(cells_per_axis=m, dimensions=d)


def test_the_limits_themselves_are_grids_and_their_size_is_exact() -> None:
    """The number of cells is a whole number of any length, not a double or a machine integer that overflows."""
    largest = Grid.uniform(cells_per_axis=MAX_CELLS_PER_AXIS, dimensions=MAX_DIMENSIONS)
    assert largest.cell_count == 2**512
    assert Grid.uniform(1, 32).cell_count == 1


@given(st.integers(1, MAX_CELLS_PER_AXIS))
def test_edges_cut_the_axis_into_equal_intervals(m: int) -> None:
    """m + 1 edges rise from -1 to 1, all of them j/m of the way, and each interval holds its centre in its middle."""
    grid = Grid.uniform(m, 1)
    edges, centres = grid.axes[0].edges(), grid.axes[0].centres()
    assert len(edges) == m + 1
    assert edges[0] == -1
    assert edges[-1] == 1
    assert (np.diff(edges) > 0).all()
    np.testing.assert_allclose(edges, np.linspace(-1, 1, m + 1), rtol=0, atol=4e-16)
    assert len(centres) == m
    np.testing.assert_allclose(centres, (edges[:-1] + edges[1:]) / 2, rtol=0, atol=4e-16)


@given(SMALL)
def test_centres_are_in_the_order_of_the_counts(grid: Grid) -> None:
    """Cell number i has the i-th centre of the product over axes, the last attribute fastest."""
    expected = np.array(list(product(grid.axes[0].centres(), repeat=grid.dimensions)))
    assert grid.centres().shape == (grid.cell_count, grid.dimensions)
    assert (grid.centres() == expected).all()


def test_centres_have_known_answers() -> None:
    """The four cells of a 2 x 2 grid."""
    assert Grid.uniform(2, 2).centres().tolist() == [[-0.5, -0.5], [-0.5, 0.5], [0.5, -0.5], [0.5, 0.5]]
