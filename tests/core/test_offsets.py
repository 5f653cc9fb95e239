"""Offsets: what one record can change; how they are bought, noised, stored and cut; what clusters and means gain."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.budget import NANO, NOTHING, Epsilon
from core.cells import ThresholdedCells
from core.domain.attribute import Missing
from core.domain.axis import OFFSET_STEPS, RunAxis, UniformAxis
from core.domain.category import Category
from core.domain.domain import Domain
from core.domain.grid import Grid
from core.domain.integer import Integer
from core.domain.number import Number
from core.errors import InvalidOrder, InvalidRecords, InvalidSynopsis
from core.histogram import OccupiedCounts, cell_indices, empty_counts, offsets_of
from core.mechanisms.vector_laplace import VectorLaplace
from core.offsets import takes_offsets
from core.plan import DeclaredSize, EstimatedSize, Order, Plan, Rule, make_plan
from core.queries.boxes import Range
from core.queries.clusters import find_clusters
from core.queries.moments import moments
from core.queries.slices import slice_of
from core.randomness import NoiseSource
from core.records import OutOfRange, Records, take_in
from core.release import draw, release
from core.synopsis import Synopsis
from core.unit import RECORD, Unit
from tests.core.mechanisms.test_vector_laplace import by_reach, probability_of_reach
from tests.core.rows import numbers, records_of, take_rows
from tests.statistical.laws import LEVEL, chi_square

GRID = Grid((UniformAxis(3), RunAxis.even(10, 4, keeps_missing=False), UniformAxis(2, keeps_missing=True)))
SEVEN = Domain(numbers(7))
SURE = 0.999999  # the highest level there is: a test holds intervals of it against the truth
CENTRES = np.array([[0.13] * 7, [0.87] * 7, [0.13, 0.87, 0.13, 0.87, 0.13, 0.87, 0.13]])


def order_of(epsilon: str, *, unit: Unit = RECORD, size: DeclaredSize | EstimatedSize | None = None) -> Order:
    """An order of seven numbers with offsets."""
    return Order(
        attributes=SEVEN.attributes,
        epsilon=Epsilon.parse(epsilon),
        clusters=3,
        size=size or DeclaredSize(6000),
        unit=unit,
        offsets=True,
    )


class Held:
    """Rows that are counted when the grid is planned."""

    unit = RECORD

    def __init__(self, records: Records) -> None:
        self.records = records

    def __len__(self) -> int:
        return len(self.records)

    def count_on(self, plan: Plan) -> OccupiedCounts:
        """Exact counts and sums."""
        counts = empty_counts(plan)
        assert isinstance(counts, OccupiedCounts)
        counts.add(self.records)
        return counts


@cache
def three_clusters() -> tuple[np.ndarray, Synopsis]:
    """6,000 rows around three centres far from the middles of cells, and their release at epsilon 8 with its size."""
    rng = np.random.default_rng(0)
    rows = np.clip(CENTRES[rng.integers(0, 3, 6000)] + rng.normal(0, 0.02, (6000, 7)), 0, 1)
    held = Held(take_rows(rows, SEVEN, OutOfRange.CLIP).records)
    synopsis = draw(
        held,
        order_of("8", size=EstimatedSize()),
        NoiseSource(),
        max_cells=10**6,
        domain=SEVEN,
        out_of_range=OutOfRange.CLIP,
        dataset="made-up",
        release_id="r1",
    )
    return rows, synopsis


codes = st.tuples(st.integers(0, 2**32 - 2), st.integers(0, 9), st.integers(0, 2**32 - 1))


def as_records(rows: list[tuple[int, int, int]]) -> Records:
    """Records on GRID; 2^32 - 1 on its last axis is a missing value."""
    return records_of(np.array(rows, dtype=np.uint32).reshape(-1, 3))


@given(st.lists(codes, max_size=12), codes)
def test_one_record_moves_the_sums_of_one_cell_by_at_most_the_steps(
    rows: list[tuple[int, int, int]], more: tuple[int, int, int]
) -> None:
    """The sensitivity of the proof: no other cell changes, and no sum of that cell by more than S."""
    before, after = OccupiedCounts(GRID, offsets=True), OccupiedCounts(GRID, offsets=True)
    before.add(as_records(rows))
    after.add(as_records([*rows, more]))
    everywhere = np.arange(GRID.cell_count)
    change = np.abs(after.sums_of(everywhere) - before.sums_of(everywhere)).max(axis=1)
    assert np.count_nonzero(change) <= 1
    assert change.max() <= OFFSET_STEPS


@given(st.lists(codes, max_size=30), st.integers(0, 30))
def test_sums_are_those_of_all_records_however_they_arrive(rows: list[tuple[int, int, int]], cut: int) -> None:
    """In one batch, or in two with a merge between them: the plain sums of offsets by cell, 0 for empty cells."""
    records = as_records(rows)
    expected = np.zeros((GRID.cell_count, 3), dtype=np.int64)
    np.add.at(expected, cell_indices(records, GRID), offsets_of(records, GRID).T)
    counts = OccupiedCounts(GRID, offsets=True)
    counts.add(as_records(rows[:cut]))
    counts.occupied()
    counts.add(as_records(rows[cut:]))
    assert (counts.sums_of(np.arange(GRID.cell_count)) == expected).all()


@given(st.integers(0, 2**32 - 2), st.integers(1, 2**16))
def test_the_offset_of_a_number_is_off_by_a_step_at_most(code: int, m: int) -> None:
    """Against exact fractions: where in its cell the code lies, in S-ths of half a cell."""
    inside = Fraction(code * m, 2**32) % 1
    offset = int(UniformAxis(m).offset_of(np.array([code], dtype=np.uint32))[0])
    assert abs(offset - OFFSET_STEPS * (2 * inside - 1)) <= 1


@given(st.data(), st.integers(1, 2**60))
def test_the_offset_of_a_whole_value_is_off_by_a_step_at_most(data: st.DataObject, values: int) -> None:
    """Values of a run lie evenly between its edges; a single one lies in the middle."""
    m = data.draw(st.integers(1, min(values, 50)))
    axis = RunAxis.even(values, m, keeps_missing=True)
    kind = np.uint32 if values < 2**32 else np.uint64
    number = data.draw(st.integers(0, values - 1))
    offset, missing = axis.offset_of(np.array([number, np.iinfo(kind).max], dtype=kind)).tolist()
    cell = int(axis.cell_of(np.array([number], dtype=kind))[0])
    start, end = axis.starts[cell : cell + 2]
    place = Fraction(2 * (number - start) + 1, end - start)  # from 0 to 2
    assert abs(offset - OFFSET_STEPS * (place - 1)) <= 1
    assert -OFFSET_STEPS <= offset <= OFFSET_STEPS
    assert missing == 0


def test_the_switch_is_the_number_of_ordered_attributes() -> None:
    """Seven numbers, whole numbers or dates; categories do not count."""
    category = Category("ward", ("a", "b"))
    assert takes_offsets(numbers(7))
    assert takes_offsets((*numbers(6), Integer("n", 0, 9), category))
    assert not takes_offsets((*numbers(6), category))


@given(st.integers(4, 10**11), st.booleans())
def test_the_parts_of_epsilon_add_up_to_the_charge(nano: int, declared: bool) -> None:
    """In whole billionths; half of what the size leaves buys the sums, and the odd billionth goes to the counts."""
    size = DeclaredSize(100) if declared else EstimatedSize()
    order = replace(order_of("1", size=size), epsilon=Epsilon(nano))
    assert order.size_epsilon + order.histogram_epsilon + order.offset_epsilon == order.epsilon
    assert 0 <= order.histogram_epsilon.nano - order.offset_epsilon.nano <= 1


def test_sums_are_noised_at_the_epsilon_for_offsets_over_the_rows_of_a_unit_and_the_steps() -> None:
    """The exact rate: an order of records, and one of persons with five rows each."""
    for unit in (RECORD, Unit("patient", 5)):
        law = order_of("1", unit=unit).offset_law(7)
        assert law is not None
        assert law.exact_rate == Fraction(NANO // 2, NANO * unit.max_rows * OFFSET_STEPS)
    assert replace(order_of("1"), offsets=False).offset_law(7) is None


def test_too_little_epsilon_or_too_few_attributes_are_refused() -> None:
    """One billionth cannot be shared; three attributes are never thresholded."""
    with pytest.raises(InvalidOrder):
        replace(order_of("1"), epsilon=Epsilon(1))
    with pytest.raises(InvalidOrder):
        replace(order_of("1"), attributes=numbers(3))


def test_offsets_take_four_attributes_and_an_ordered_one_and_not_the_adaptive_rule() -> None:
    """Three numbers beside a category will do, four categories will not; the refusals say what to do."""
    flag = Category("flag", ("no", "yes"))
    order = replace(order_of("1"), attributes=(*numbers(3), flag))
    assert make_plan(order, max_cells=10**6).threshold is not None
    with pytest.raises(InvalidOrder, match="no categories"):
        replace(order, attributes=tuple(Category(f"c{x}", ("a", "b")) for x in range(4)))
    with pytest.raises(InvalidOrder, match="Leave offsets out"):
        replace(order, rule=Rule.ADAPTIVE)


def test_an_order_with_offsets_has_a_threshold_and_the_grid_of_its_counts() -> None:
    """Also where every cell could be kept. m is that of the rule for the epsilon of the counts."""
    plan = make_plan(order_of("1"), max_cells=10**6)
    half = replace(order_of("0.5"), offsets=False)
    assert plan.threshold is not None
    assert plan.grid == make_plan(half, max_cells=10**6).grid
    assert make_plan(half, max_cells=10**6).threshold is None


def test_a_release_noises_the_sums_of_every_listed_cell_at_its_rate() -> None:
    """2,187 cells of 40 rows at their middles, eight times: the noise of their sums has the law of the order.

    The same law at twice the rate is rejected, so that noise of half the scale would be.
    """
    plan = replace(make_plan(order_of("40"), max_cells=10**6), grid=Grid.uniform(3, 7), threshold=5)
    middles = (Grid.uniform(3, 7).centres() + 1) / 2
    records = take_rows(np.repeat(middles, 40, axis=0), SEVEN, OutOfRange.CLIP).records
    counts = OccupiedCounts(plan.grid, offsets=True)
    counts.add(records)
    exact = counts.sums_of(np.arange(3**7))
    noise = []
    for _ in range(8):
        synopsis = release(
            counts,
            plan,
            NoiseSource(),
            domain=SEVEN,
            out_of_range=OutOfRange.CLIP,
            dataset="d",
            release_id="r",
        )
        assert isinstance(synopsis.cells, ThresholdedCells)
        assert synopsis.cells.offsets is not None
        noise.append(synopsis.cells.offsets.sums - exact[synopsis.cells.numbers])
    reaches = np.abs(np.concatenate(noise)).max(axis=1)
    width = 12  # in bins of twelve, about half a standard deviation
    for factor, fits in ((1, True), (2, False)):
        law = VectorLaplace(20 * NANO * factor, OFFSET_STEPS, 7)
        shares = probability_of_reach(law, 25 * width - 1)
        expected = np.append(shares[:-1].reshape(-1, width).sum(axis=1), shares[-1])
        observed = by_reach((reaches // width)[:, None], 24)
        assert (chi_square(observed, expected) > LEVEL) is fits


def test_sums_are_gathered_where_they_are_bought_and_nowhere_else() -> None:
    """Counts without sums, or sums that nobody ordered, are refused."""
    plan = make_plan(order_of("1"), max_cells=10**6)
    other = Plan(order=replace(plan.order, offsets=False), size=1, wanted=2, grid=plan.grid, threshold=9)
    for wrong, gathered in ((plan, False), (other, True)):
        with pytest.raises(InvalidRecords):
            release(
                OccupiedCounts(plan.grid, offsets=gathered),
                wrong,
                NoiseSource(),
                domain=SEVEN,
                out_of_range=OutOfRange.CLIP,
                dataset="d",
                release_id="r",
            )


def test_format_three_reads_back_and_says_how_the_sums_were_drawn() -> None:
    """Canonical bytes there and back. The header has the epsilon, the mechanism, the steps and a version."""
    synopsis = three_clusters()[1]
    data = synopsis.to_bytes()
    again = Synopsis.from_bytes(data)
    assert data.startswith(b"rugnik synopsis 3\n")
    assert b'"offsets":{"epsilon":"3.8","mechanism":"discrete_vector_laplace","steps":256,"version":1}' in data
    assert again.to_bytes() == data
    assert again.cells.offsets is not None
    assert synopsis.cells.offsets is not None
    assert (again.cells.offsets.sums == synopsis.cells.offsets.sums).all()
    assert again.cells.offsets.law == synopsis.cells.offsets.law
    assert again.size_epsilon + again.histogram_epsilon + again.offset_epsilon == again.epsilon
    assert not again.cells.offsets.sums.flags.writeable


def test_a_synopsis_whose_sums_and_epsilon_disagree_is_refused() -> None:
    """Other steps, another version, no sums, a sum too many; or sums that no epsilon bought."""
    synopsis = three_clusters()[1]
    data = synopsis.to_bytes()
    for old, new in ((b'"steps":256', b'"steps":128'), (b'"version":1', b'"version":2'), (b'"3.8"', b'"7.8"')):
        with pytest.raises(InvalidSynopsis):
            Synopsis.from_bytes(data.replace(old, new))
    for cut in (data[:-8], data + bytes(8), data.replace(b"synopsis 3", b"synopsis 2")):
        with pytest.raises(InvalidSynopsis):
            Synopsis.from_bytes(cut)
    with pytest.raises(InvalidSynopsis):
        replace(synopsis, offset_epsilon=NOTHING)


def test_a_part_keeps_the_sums_of_its_cells() -> None:
    """Each listed cell of the part has the sums that it has in the whole; so have parts of missing values."""
    synopsis = three_clusters()[1]
    part = slice_of(synopsis, (Range("x0", 0.0, 0.5),))
    whole, cells = synopsis.cells, part.cells
    assert isinstance(whole, ThresholdedCells)
    assert isinstance(cells, ThresholdedCells)
    assert whole.offsets is not None
    assert cells.offsets is not None
    kept = whole.grid.places(whole.numbers)[:, 0] < part.grid.axes[0].cells
    assert (cells.offsets.sums == whole.offsets.sums[kept]).all()
    assert (cells.counts == whole.counts[kept]).all()


def test_a_part_of_missing_values_has_no_sums_of_their_attribute() -> None:
    """Its axis has become one of categories: the other columns stay."""
    domain = Domain((Number("y", 0, 1, missing=Missing.KEEP), *numbers(7)))
    order = replace(order_of("40"), attributes=domain.attributes)
    plan = make_plan(order, max_cells=10**6)
    rows = np.full((500, 8), 0.1)
    rows[:250, 0] = np.nan
    held = Held(take_in(tuple(rows.T), domain, OutOfRange.CLIP).records)
    synopsis = release(
        held.count_on(plan),
        plan,
        NoiseSource(),
        domain=domain,
        out_of_range=OutOfRange.CLIP,
        dataset="d",
        release_id="r",
    )
    m = synopsis.grid.axes[0].value_cells
    missing = synopsis.cells.restricted(
        Grid((Category("y", ("any",)).axis(1), *synopsis.grid.axes[1:])), (np.array([m]), *[None] * 7)
    )
    assert isinstance(synopsis.cells, ThresholdedCells)
    assert synopsis.cells.offsets is not None
    assert missing.offsets is not None
    without = synopsis.grid.places(synopsis.cells.numbers)[:, 0] == m
    assert without.any()
    assert (missing.offsets.sums == synopsis.cells.offsets.sums[without, 1:]).all()


def test_centres_are_means_of_rows_and_no_longer_of_cells() -> None:
    """Cells are half of an axis wide or less; centres are off by a hundredth. Their intervals hold the rows' means."""
    rows, synopsis = three_clusters()
    result = find_clusters(synopsis, 3, level=SURE, seed=0)
    nearest = np.linalg.norm(CENTRES[:, None] - np.array([c.centre for c in result.clusters])[None], axis=2)
    assert np.abs(CENTRES - np.array([result.clusters[i].centre for i in nearest.argmin(axis=1)])).max() < 0.02
    label = np.linalg.norm(rows[:, None] - CENTRES[None], axis=2).argmin(axis=1)
    for i, found in enumerate(nearest.argmin(axis=1)):
        mean = rows[label == i].mean(axis=0)
        for interval, truth in zip(result.clusters[found].centre_intervals, mean, strict=True):
            assert interval.low <= truth <= interval.high
            assert interval.high - interval.low < 0.2
    assert result.stability > 0.99


def test_means_and_variances_are_those_of_the_rows() -> None:
    """Values are off by little; intervals hold the moments of the rows, and the grid adds a rounding at most."""
    rows, synopsis = three_clusters()
    computed = moments(synopsis, level=SURE)
    for x, attribute in enumerate(computed.attributes):
        mean, variance = float(rows[:, x].mean()), float(rows[:, x].var())
        assert attribute.mean.value == pytest.approx(mean, abs=0.01)
        assert attribute.variance.value == pytest.approx(variance, abs=0.01)
        assert attribute.mean.interval.low <= mean <= attribute.mean.interval.high
        assert attribute.mean.interval.high - attribute.mean.interval.low < 0.2
        assert attribute.variance.interval.low <= variance <= attribute.variance.interval.high
        assert attribute.discretisation == pytest.approx(0.5 / synopsis.grid.shape[x] / OFFSET_STEPS)
    pair = next(pair for pair in computed.pairs if pair.names == ("x0", "x2"))
    assert pair.correlation.value == pytest.approx(np.corrcoef(rows[:, 0], rows[:, 2])[0, 1], abs=0.05)


def test_thirty_two_attributes_are_released_and_clustered() -> None:
    """The largest domain, at two cells an axis: 4 x 10^9 cells, of which few are listed."""
    domain = Domain(numbers(32))
    order = replace(order_of("8"), attributes=domain.attributes, clusters=2)
    plan = make_plan(order, max_cells=10**6)
    rng = np.random.default_rng(1)
    rows = np.where(rng.random((2000, 1)) < 0.5, 0.2, 0.8) + rng.normal(0, 0.02, (2000, 32))
    synopsis = release(
        Held(take_rows(rows, domain, OutOfRange.CLIP).records).count_on(plan),
        plan,
        NoiseSource(),
        domain=domain,
        out_of_range=OutOfRange.CLIP,
        dataset="d",
        release_id="r",
    )
    centres = np.array([cluster.centre for cluster in find_clusters(synopsis, 2, level=0.95, seed=0).clusters])
    assert np.abs(np.sort(centres[:, 0]) - [0.2, 0.8]).max() < 0.1
    assert Synopsis.from_bytes(synopsis.to_bytes()).digest == synopsis.digest


def test_nothing_listed_is_answered_too() -> None:
    """A release of no rows at all: no cell, no sum, and every moment has the bounds of the domain."""
    synopsis = three_clusters()[1]
    nothing = np.empty(0, dtype=np.int64)
    offsets = replace(synopsis.cells.offsets, sums=np.empty((0, 7), dtype=np.int64))  # type: ignore[type-var]
    empty = replace(synopsis, cells=ThresholdedCells(synopsis.grid, nothing, nothing, 5, offsets))
    assert all(each.mean.value is None for each in moments(empty, level=0.95).attributes)
    assert len(find_clusters(empty, 2, level=0.95, seed=0).clusters) == 2
    assert Synopsis.from_bytes(empty.to_bytes()).digest == empty.digest
