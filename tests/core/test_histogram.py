"""count(records, grid): every row in exactly one cell, one row more or less one count more or less."""

from __future__ import annotations

import copy
import math
import pickle
from collections.abc import Iterable
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from numpy.typing import NDArray

from core.domain.axis import MAX_CELLS_PER_AXIS
from core.domain.domain import Domain
from core.domain.grid import Grid
from core.domain.number import Number
from core.errors import InvalidRecords
from core.histogram import Counts, OccupiedCounts, cell_indices, count
from core.records import OutOfRange, Records
from tests.core.exact import interval, position
from tests.core.rows import records_of, take_rows
from tests.core.strategies import attributes, batches, domains

UNIT = Domain((Number("x", 0, 1), Number("y", -1, 1)))
MODES = st.sampled_from(OutOfRange)
AXES = st.one_of(st.integers(1, 40), st.integers(1, MAX_CELLS_PER_AXIS), st.just(MAX_CELLS_PER_AXIS))


def histogram(values: NDArray[np.float64], domain: Domain, grid: Grid, mode: OutOfRange) -> NDArray[np.int64]:
    """The exact counts of a batch."""
    return count(take_rows(values, domain, mode).records, grid).cells


def cell_of(value: float, attribute: Number, m: int) -> int:
    """The interval in which core counts a value of a single attribute."""
    records = take_rows(np.array([[value]]), Domain((attribute,)), OutOfRange.CLIP).records
    return int(cell_indices(records, Grid.uniform(m, 1))[0])


@given(st.data(), domains(), st.integers(1, 5), MODES)
def test_every_row_lands_in_exactly_one_cell(data: st.DataObject, domain: Domain, m: int, mode: OutOfRange) -> None:
    """The counts are whole, not negative, and add up to the rows that were not dropped."""
    values = data.draw(batches(domain))
    intake = take_rows(values, domain, mode)
    grid = Grid.uniform(m, domain.dimensions)
    cells = count(intake.records, grid).cells
    assert cells.dtype == np.int64
    assert cells.shape == (grid.cell_count,)
    assert (cells >= 0).all()
    assert cells.sum() == intake.rows_read - intake.rows_dropped


@given(attributes(), AXES, st.data())
@example(Number("x", 0, 1), 3, None)
@example(Number("x", 0, 3), 49, None)
@example(Number("x", -1, 1), MAX_CELLS_PER_AXIS, None)
@example(Number("x", 0, MAX_CELLS_PER_AXIS - 1), MAX_CELLS_PER_AXIS - 1, None)
@example(Number("x", 1e300, 3e300), 7, None)
def test_a_value_on_an_edge_lands_in_the_cell_it_opens(attribute: Number, m: int, data: st.DataObject | None) -> None:
    """Where lower + j (upper - lower) / m is itself a double, it opens cell j; the upper bound closes the last one."""
    sample = range(m + 1) if data is None and m <= 100 else np.linspace(0, m, 60).astype(int).tolist()
    chosen = sample if data is None else [*data.draw(st.lists(st.integers(0, m), max_size=5)), 0, m]
    lower, upper = Fraction(attribute.lower), Fraction(attribute.upper)
    for j in chosen:
        edge = lower + (upper - lower) * j / m
        if Fraction(float(edge)) == edge:
            assert cell_of(float(edge), attribute, m) == min(j, m - 1)


@given(st.integers(-60, 60), st.integers(1, 2**16), st.integers(-(2**20), 2**20), st.data())
def test_edges_that_are_doubles_are_never_misplaced(exponent: int, m: int, offset: int, data: st.DataObject) -> None:
    """A range of m steps that are powers of two has every edge a double: each opens its own cell."""
    step = math.ldexp(1.0, exponent)
    attribute = Number("x", offset * step, (offset + m) * step)
    for j in data.draw(st.lists(st.integers(0, m), min_size=1, max_size=20)):
        value = (offset + j) * step
        assert position(value, attribute) == Fraction(j, m)
        assert cell_of(value, attribute, m) == min(j, m - 1)


@given(attributes(), AXES, st.data())
def test_any_value_lands_within_two_to_the_minus_32_of_its_exact_cell(
    attribute: Number, m: int, data: st.DataObject
) -> None:
    """A value is counted in its exact cell, or in the next one when it lies within 2^-32 of the range below that."""
    value = data.draw(st.floats(attribute.lower, attribute.upper))
    exact, counted = interval(value, attribute, m), cell_of(value, attribute, m)
    if counted != exact:
        assert counted == exact + 1
        gap = Fraction(counted, m) - position(value, attribute)
        assert 0 < gap <= Fraction(1, 2**32) + Fraction(1, 2**50)


@given(attributes(), AXES, st.integers(0, 2**16), st.integers(-3, 3))
def test_values_beside_an_edge_land_beside_it(attribute: Number, m: int, number: int, steps: int) -> None:
    """The doubles around an edge are counted in one of the two cells that share it, and not below their own."""
    j = number % m
    lower, upper = Fraction(attribute.lower), Fraction(attribute.upper)
    value = float(lower + (upper - lower) * j / m)
    for _ in range(abs(steps)):
        value = math.nextafter(value, math.copysign(math.inf, steps))
    assume(attribute.lower <= value <= attribute.upper)
    exact, counted = interval(value, attribute, m), cell_of(value, attribute, m)
    assert counted in (exact, exact + 1)
    assert 0 <= counted < m


@pytest.mark.parametrize("m", [1, 2, 3, 7, 10, 1000, 65535, 65536])
@pytest.mark.parametrize(
    ("lower", "upper"),
    [
        (-(2.0**1000), 2.0**1000),
        (-(2.0**-1000), 2.0**-1000),
        (-(2.0**-1050), 2.0**-1050),
        (-(2.0**20), 2.0**20),
        (1.0, 1.0 + 2.0**-32),
    ],
)
def test_extreme_bounds_have_the_cells_of_ordinary_ones(lower: float, upper: float, m: int) -> None:
    """Rows at the same share of the range are in the same cells, at 10^300, at 10^-316 and 2^-32 wide."""
    shares = np.arange(2**12 + 1) / 2**12
    ordinary = take_rows((2 * shares - 1)[:, None], Domain((Number("x", -1, 1),)), OutOfRange.DROP)
    extreme = take_rows(
        (lower + shares * (upper - lower))[:, None], Domain((Number("x", lower, upper),)), OutOfRange.DROP
    )
    assert extreme.rows_dropped == 0
    assert (
        cell_indices(extreme.records, Grid.uniform(m, 1)) == cell_indices(ordinary.records, Grid.uniform(m, 1))
    ).all()


@given(st.data(), domains(2), st.integers(1, 6))
def test_clipped_rows_are_counted_in_the_outer_cells(data: st.DataObject, domain: Domain, m: int) -> None:
    """Counts equal those of exact arithmetic on every row, away from edges that no double is on."""
    values = data.draw(batches(domain))
    grid = Grid.uniform(m, domain.dimensions)
    expected = np.zeros((m,) * domain.dimensions, dtype=np.int64)
    for row in values[np.isfinite(values).all(axis=1)]:
        where = [position(float(v), a) * m % 1 for v, a in zip(row, domain.attributes, strict=True)]
        assume(all(w == 0 or w < 1 - Fraction(m, 2**31) for w in where))
        expected[tuple(interval(float(v), a, m) for v, a in zip(row, domain.attributes, strict=True))] += 1
    assert (histogram(values, domain, grid, OutOfRange.CLIP) == expected.ravel()).all()


@given(st.data(), domains(), st.integers(1, 5), MODES)
def test_adding_any_one_row_changes_the_histogram_by_at_most_one(
    data: st.DataObject, domain: Domain, m: int, mode: OutOfRange
) -> None:
    """Neighbours, hostile rows included, are within L1 distance 1, and no other row moves to another cell."""
    values = data.draw(batches(domain))
    extra = data.draw(batches(domain, least=1, most=1))
    place = data.draw(st.integers(0, len(values)))
    more = np.concatenate([values[:place], extra, values[place:]])
    grid = Grid.uniform(m, domain.dimensions)
    change = histogram(more, domain, grid, mode) - histogram(values, domain, grid, mode)
    kept = len(take_rows(extra, domain, mode).records)
    assert (change >= 0).all()
    assert change.sum() == kept <= 1
    before = cell_indices(take_rows(values, domain, mode).records, grid).tolist()
    after = cell_indices(take_rows(more, domain, mode).records, grid).tolist()
    if kept:
        del after[len(take_rows(values[:place], domain, mode).records)]
    assert after == before


@given(st.data(), domains(), st.integers(1, 5), MODES)
def test_counts_of_batches_add_up_however_they_are_split(
    data: st.DataObject, domain: Domain, m: int, mode: OutOfRange
) -> None:
    """Any cut of the rows into batches, some of them empty, gives the counts of the whole, in place or summed."""
    values = data.draw(batches(domain))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(values)), max_size=4)))
    parts = [values[start:end] for start, end in pairwise([0, *cuts, len(values)])]
    grid = Grid.uniform(m, domain.dimensions)
    in_place, summed = Counts.zero(grid), Counts.zero(grid)
    for part in parts:
        records = take_rows(part, domain, mode).records
        in_place.add(records)
        summed = summed + count(records, grid)
    whole = histogram(values, domain, grid, mode)
    assert (in_place.cells == whole).all()
    assert (summed.cells == whole).all()


@pytest.mark.parametrize(("m", "d"), [(2, 1), (3, 2), (10, 3), (4, 5)])
def test_large_and_small_batches_are_counted_alike(m: int, d: int) -> None:
    """A batch larger than its grid and the same rows one at a time take different paths to the same counts."""
    rng = np.random.default_rng(m * 100 + d)
    fixed = rng.integers(0, 2**32, size=(2 * m**d + 1, d), dtype=np.uint64).astype(np.uint32)
    grid = Grid.uniform(m, d)
    one_by_one = Counts.zero(grid)
    for row in fixed:
        one_by_one.add(records_of(row[None, :]))
    tally = np.zeros((m,) * d, dtype=np.int64)
    for row in fixed.tolist():
        tally[tuple(q * m // 2**32 for q in row)] += 1
    assert (count(records_of(fixed), grid).cells == tally.ravel()).all()
    assert (one_by_one.cells == tally.ravel()).all()


def test_cells_are_numbered_like_the_centres_of_the_grid() -> None:
    """A record at the centre of cell i is counted in cell i, the last attribute fastest."""
    grid = Grid.uniform(5, 3)
    domain = Domain(tuple(Number(name, -1, 1) for name in "abc"))
    records = take_rows(grid.centres(), domain, OutOfRange.DROP).records
    assert cell_indices(records, grid).tolist() == list(range(125))


def test_the_largest_fixed_point_number_stays_in_the_last_cell() -> None:
    """The extremes 0 and 2^32 - 1 are in the first and the last cell of every grid, with no overflow."""
    ends = records_of(np.array([[0], [2**32 - 1]], dtype=np.uint32))
    for m in (1, 2, 3, 1000, MAX_CELLS_PER_AXIS):
        assert cell_indices(ends, Grid.uniform(m, 1)).tolist() == [0, m - 1]


def test_records_and_counts_of_different_grids_do_not_mix() -> None:
    """Other dimensions or another grid are refused, not broadcast."""
    records = take_rows(np.array([[0.5, 0.5]]), UNIT, OutOfRange.CLIP).records
    with pytest.raises(InvalidRecords):
        count(records, Grid.uniform(3, 3))
    with pytest.raises(InvalidRecords):
        Counts.zero(Grid.uniform(2, 2)) + Counts.zero(Grid.uniform(4, 1))


def test_a_sum_of_counts_leaves_its_parts_alone() -> None:
    """Adding two Counts makes a third and changes neither."""
    records = take_rows(np.array([[0.5, 0.5]]), UNIT, OutOfRange.CLIP).records
    one, other = count(records, Grid.uniform(2, 2)), count(records, Grid.uniform(2, 2))
    total = one + other
    total.add(records)
    assert (one.cells.sum(), other.cells.sum(), total.cells.sum()) == (1, 1, 3)


def test_counts_show_no_number() -> None:
    """repr, str and format of Counts are the same words for none and for 77,777 records."""
    empty, full = Counts.zero(Grid.uniform(2, 2)), Counts(Grid.uniform(2, 2), np.full(4, 77777))
    for text in (repr, str, "{}".format, lambda counts: f"{[counts]}"):
        assert text(empty) == text(full)


@pytest.mark.parametrize(
    "leave",
    [copy.copy, copy.deepcopy, *(lambda x, p=p: pickle.dumps(x, p) for p in range(pickle.HIGHEST_PROTOCOL + 1))],
)
def test_counts_cannot_be_pickled_or_copied(leave: object) -> None:
    """Exact counts leave a release only with noise added."""
    for private in (Counts.zero(Grid.uniform(2, 2)), [Counts.zero(Grid.uniform(2, 2))]):
        if leave is copy.copy and isinstance(private, list):
            continue
        with pytest.raises(TypeError, match="private"):
            leave(private)  # type: ignore[operator]


def occupied(batches_of_rows: Iterable[Records], grid: Grid) -> tuple[list[int], list[int]]:
    """The occupied cells of some batches and their numbers."""
    counts = OccupiedCounts(grid)
    for records in batches_of_rows:
        counts.add(records)
    cells, numbers = counts.occupied()
    return cells.tolist(), numbers.tolist()


@given(st.lists(batches(UNIT), max_size=4), st.integers(1, 6))
def test_occupied_cells_are_those_of_the_whole_histogram(rows: list[NDArray[np.float64]], m: int) -> None:
    """In any batches, the cells that hold a row and their counts are what counting every cell gives."""
    grid = Grid.uniform(m, 2)
    taken = [take_rows(values, UNIT, OutOfRange.CLIP).records for values in rows]
    whole = sum((count(records, grid).cells for records in taken), np.zeros(grid.cell_count, dtype=np.int64))
    assert occupied(taken, grid) == (np.flatnonzero(whole).tolist(), whole[whole > 0].tolist())


def test_merging_as_rows_come_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A grid of 10^16 cells in eight dimensions: the same cells whether batches are merged at once or at the end."""
    rng = np.random.default_rng(0)
    taken = [records_of(rng.integers(0, 2**32, (500, 8), dtype=np.uint32) >> 28 << 28) for _ in range(6)]
    at_the_end = occupied(taken, Grid.uniform(100, 8))
    monkeypatch.setattr("core.histogram._MERGE_AT", 1)
    assert occupied(taken, Grid.uniform(100, 8)) == at_the_end
    assert sum(at_the_end[1]) == 3000


def test_occupied_counts_are_as_private_as_counts() -> None:
    """They show nothing and go nowhere."""
    counts = OccupiedCounts(Grid.uniform(3, 2))
    counts.add(take_rows(np.array([[0.77, 0.55]]), UNIT, OutOfRange.CLIP).records)
    assert repr(counts) == "OccupiedCounts(…)"
    for leave in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError):
            leave(counts)
