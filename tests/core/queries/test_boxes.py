"""Boxes: sums from the cumulative table equal sums over cells, whatever the box."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.cells import DenseCells
from core.domain.domain import Domain
from core.domain.grid import Grid
from core.domain.number import Number
from core.errors import InvalidQuery
from core.queries.boxes import Box, Range
from core.queries.edges import Edges
from core.queries.range_count import SummedArea, count_boxes
from core.synopsis import Synopsis
from tests.core.queries.worlds import rows, synopsis_of

BOUNDS = st.one_of(st.integers(-2, 12).map(float), st.floats(-2, 12))
ENDS = st.tuples(BOUNDS, BOUNDS).map(sorted).filter(lambda ends: ends[0] < ends[1] and ends[1] > 0 and ends[0] <= 10)


@st.composite
def asked(draw: st.DrawFn) -> tuple[Synopsis, Box]:
    """A small synopsis of one to four attributes and a box, often on its edges, sometimes beyond the domain."""
    d, m = draw(st.integers(1, 4)), draw(st.integers(1, 5))
    counts = np.random.default_rng(draw(st.integers(0, 1000))).integers(-20, 100, m**d)
    domain = Domain(tuple(Number(name, 0, 10) for name in "abcd"[:d]))
    synopsis = replace(synopsis_of(rows(10), 2), domain=domain, cells=DenseCells(Grid.uniform(m, d), counts))
    ends = [draw(ENDS) for _ in range(draw(st.integers(0, d)))]
    return synopsis, tuple(Range(name, low, high) for name, (low, high) in zip("abcd", ends, strict=False))


def shares(synopsis: Synopsis, box: Box) -> np.ndarray:
    """The share of every cell inside the box, cell by cell."""
    m = synopsis.grid.cells_per_axis
    edges = np.linspace(0, 10, m + 1)
    whole = np.ones(())
    for name in synopsis.domain.names:
        low = max([part.lower for part in box if part.attribute == name], default=-np.inf)
        high = min([part.upper for part in box if part.attribute == name], default=np.inf)
        inside = np.clip(np.minimum(edges[1:], high) - np.maximum(edges[:-1], low), 0, None) * m / 10
        whole = np.multiply.outer(whole, inside)
    return whole.ravel()


def test_many_attributes_are_no_trouble() -> None:
    """Sixteen of them, all restricted or few, of boxes asked together: each is the sum over its cells."""
    d, rng = 16, np.random.default_rng(0)
    domain = Domain(tuple(Number(f"x{i}", 0, 10) for i in range(d)))
    counts = rng.integers(-20, 100, 2**d)
    synopsis = replace(synopsis_of(rows(10), 2), domain=domain, cells=DenseCells(Grid.uniform(2, d), counts))
    boxes = tuple(
        tuple(Range(f"x{x}", *sorted(rng.uniform(0, 10, 2))) for x in rng.choice(d, number, replace=False))
        for number in (0, 1, 2, 3, 9, 16)
    )
    counted = count_boxes(SummedArea(synopsis), boxes, level=0.95, simultaneous=False)
    assert counted.count == pytest.approx([shares(synopsis, box) @ counts for box in boxes], abs=1e-6)


@given(asked())
def test_a_box_is_the_sum_of_its_cells(case: tuple[Synopsis, Box]) -> None:
    """Count, variance and kurtosis of a box agree with a walk over every cell."""
    synopsis, box = case
    inside = shares(synopsis, box)
    counted = count_boxes(SummedArea(synopsis), (box,), level=0.95, simultaneous=False)
    edges = Edges.of((box,), synopsis.domain, synopsis.grid)
    assert counted.count[0] == pytest.approx(inside @ synopsis.counts, abs=1e-6)
    assert edges.power_sums(2)[0] == pytest.approx((inside**2).sum(), abs=1e-6)
    assert edges.power_sums(4)[0] == pytest.approx((inside**4).sum(), abs=1e-6)


@given(asked())
def test_a_snapped_box_is_made_of_whole_cells(case: tuple[Synopsis, Box]) -> None:
    """Both ends on edges that are the nearest to what was asked, and at least one cell on every axis."""
    synopsis, box = case
    m = synopsis.grid.cells_per_axis
    asked_for = Edges.of((box,), synopsis.domain, synopsis.grid)
    moved = asked_for.nearest(synopsis.grid)
    assert (moved.low == np.floor(moved.low)).all()
    assert (moved.high == np.floor(moved.high)).all()
    assert ((moved.low >= 0) & (moved.low < moved.high) & (moved.high <= m)).all()
    assert (np.abs(moved.low - asked_for.low) <= 1).all()
    wide = asked_for.high - asked_for.low > 1
    assert (np.abs(moved.low - asked_for.low)[wide] <= 0.5).all()
    assert (np.abs(moved.high - asked_for.high)[wide] <= 0.5).all()


@given(asked())
def test_cut_cells_bound_the_count_of_true_rows(case: tuple[Synopsis, Box]) -> None:
    """Without noise the rows in a box lie between the whole cells inside it and all cells that it touches."""
    synopsis, box = case
    positive = replace(synopsis, cells=DenseCells(synopsis.grid, np.abs(synopsis.counts)))
    inside = shares(positive, box)
    counted = count_boxes(SummedArea(positive), (box,), level=0.95, simultaneous=False)
    assert counted.without_cut[0] <= positive.counts[inside > 1 - 1e-6].sum() + 1e-6
    assert counted.with_cut[0] >= positive.counts[inside > 1e-6].sum() - 1e-6


def test_a_question_that_makes_no_sense_is_refused() -> None:
    """Unknown attributes and reversed or undefined ranges raise InvalidQuery with the names that are known."""
    table = SummedArea(synopsis_of(rows(10), 3))
    for part in (Range("z", 0, 1), Range("a", 2, 1), Range("a", float("nan"), 1)):
        with pytest.raises(InvalidQuery):
            count_boxes(table, ((part,),), level=0.95, simultaneous=False)
