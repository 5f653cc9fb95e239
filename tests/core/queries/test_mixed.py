"""Questions to tables of mixed kinds: numbers, integers, dates, datetimes, categories and missing values."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from core.budget import Epsilon
from core.domain.attribute import MISSING, MISSING_LABEL, Attribute
from core.domain.category import OTHER, Category
from core.domain.domain import Domain
from core.domain.number import Number
from core.domain.whole import WholeValues
from core.errors import InvalidQuery
from core.histogram import count
from core.queries.boxes import Box, Chosen, Range
from core.queries.denoise import CountsKind
from core.queries.edges import Edges
from core.queries.marginal import marginal
from core.queries.moments import moments
from core.queries.quantile import quantile
from core.queries.range_count import SummedArea, count_boxes, range_table
from core.queries.synthetic import Column, synthetic_rows
from core.records import OutOfRange, take_in
from core.synopsis import Synopsis
from tests.core.queries.mixed import (
    ATTRIBUTES,
    is_missing,
    ordered_of,
    random_box,
    rows_in,
    shares_of,
    world,
    world_of,
)
from tests.core.queries.worlds import LEVEL, shaken

SEEDS = range(12)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("listed", [False, True])
def test_a_box_of_any_kinds_is_the_sum_of_its_cells(seed: int, listed: bool) -> None:
    """By the share of each cell inside, of whole cells and of touched cells; one box at a time and all at once."""
    table = world(seed, attributes=1 + seed % 4)
    synopsis = table.thresholded() if listed else table.synopsis
    counts = np.where(table.synopsis.counts >= (synopsis.threshold or 0), table.synopsis.counts, 0)
    rng = np.random.default_rng(seed)
    boxes = ((), *(random_box(synopsis.domain, rng) for _ in range(15)))
    answer = count_boxes(range_table(synopsis), boxes, level=0.95, simultaneous=False)
    for i, box in enumerate(boxes):
        share, whole, touched = shares_of(synopsis, box)
        assert answer.count[i] == pytest.approx(share @ counts, abs=1e-6)
        assert answer.without_cut[i] == pytest.approx(counts[whole].sum(), abs=1e-6)
        assert answer.with_cut[i] == pytest.approx(counts[touched].sum(), abs=1e-6)
        alone = count_boxes(range_table(synopsis), (box,), level=0.95, simultaneous=False)
        assert alone.count[0] == pytest.approx(answer.count[i], abs=1e-6)
        assert alone.low[0] == pytest.approx(answer.low[i], abs=1e-6)
        assert answer.low[i] - 1e-6 <= rows_in(table, box) <= answer.high[i] + 1e-6


@pytest.mark.parametrize("name", ["hour", "age", "day", "at", "sex", "city"])
def test_whole_values_and_categories_are_counted_exactly(name: str) -> None:
    """With a cell for each value and next to no noise, every box is the number of its rows, and nothing is cut."""
    attribute = next(each for each in ATTRIBUTES if each.name == name)
    domain = Domain((attribute, ATTRIBUTES[1]))
    cells = attribute.most_cells or 1
    table = world_of(domain, domain.grid([cells, 3]), np.random.default_rng(1), 500, Epsilon.parse("25"))
    rng = np.random.default_rng(2)
    boxes = tuple(random_box(Domain((attribute,)), rng, restricted=1.0) for _ in range(40))
    answer = count_boxes(SummedArea(table.synopsis), boxes, level=0.95, simultaneous=True)
    truth = [rows_in(table, box) for box in boxes]
    assert answer.count.tolist() == truth
    assert answer.low.tolist() == truth
    assert answer.high.tolist() == truth


@pytest.mark.parametrize("name", [attribute.name for attribute in ATTRIBUTES])
def test_intervals_of_each_kind_cover_the_rows(name: str) -> None:
    """300 random boxes at epsilon 1, each of a release of its own, on runs that boxes cut: at least at the level.

    Noise comes from public seeds.
    """
    attribute = next(each for each in ATTRIBUTES if each.name == name)
    domain = Domain((attribute, ATTRIBUTES[6 if name != "sex" else 7]))
    cells = min(attribute.most_cells or 5, 5)
    table = world_of(domain, domain.grid([cells, 1]), np.random.default_rng(3), 600)
    rng, hits, draws = np.random.default_rng(4), 0, 300
    for seed in range(draws):
        release = shaken(table.synopsis, "1", seed)
        box = random_box(domain, rng, restricted=0.9)
        answer = count_boxes(SummedArea(release), (box,), level=LEVEL, simultaneous=False)
        hits += bool(answer.low[0] <= rows_in(table, box) <= answer.high[0])
    assert hits >= 0.95 * draws


def test_a_range_leaves_missing_values_out_and_no_range_counts_them() -> None:
    """`speed:..` holds every speed; no restriction holds the rows without one as well; both parts make up the whole."""
    domain = Domain((ATTRIBUTES[0],))
    table = world_of(domain, domain.grid(4), np.random.default_rng(5), 300)
    missing = int(np.isnan(table.columns[0]).sum())
    boxes: tuple[Box, ...] = ((), (Range("speed"),), (Chosen("speed", (MISSING_LABEL,)),), (Range("speed", 5, 10),))
    for snap in (False, True):
        answer = count_boxes(SummedArea(table.synopsis), boxes, level=0.95, simultaneous=False, snap=snap)
        assert answer.count[:3].tolist() == [300, 300 - missing, missing]
        assert answer.with_cut[1] == 300 - missing
        assert answer.high[3] <= 300 - missing


def test_parts_that_make_no_sense_are_refused_in_words() -> None:
    """Ranges of categories, values that are none, missing values that nobody keeps, and parts that do not meet."""
    domain = Domain((ATTRIBUTES[2], ATTRIBUTES[3], ATTRIBUTES[6]))
    table = SummedArea(world_of(domain, domain.grid(4), np.random.default_rng(5), 30).synopsis)
    for words, *box in (
        ("has no ranges", Range("sex", 0, 1)),
        ("with values of: f, m, x", Chosen("sex", ("f", "q"))),
        ("with values of", Chosen("sex", ())),
        ("keeps no missing values", Chosen("hour", (MISSING_LABEL,))),
        ("is a range or", Chosen("age", ("f",))),
        ("no value in common", Chosen("sex", ("f",)), Chosen("sex", ("m", "x"))),
        ("no value in common", Range("age", 1, 2), Chosen("age", (MISSING_LABEL,))),
        ("have no value in common", Range("hour", 1, 2), Range("hour", 3, 4)),
        ("is empty", Range("hour", 2, 1)),
        ("outside its bounds, 0 to 23", Range("hour", 24, 30)),
        ("no attribute of that name", Chosen("city", ("a",))),
    ):
        with pytest.raises(InvalidQuery, match=words):
            count_boxes(table, (tuple(box),), level=0.95, simultaneous=False)
        with pytest.raises(InvalidQuery, match="Box 2 of 2: "):
            count_boxes(table, ((), tuple(box)), level=0.95, simultaneous=False)


def test_a_choice_of_many_runs_costs_the_others_nothing() -> None:
    """Every second of 2,000 categories in one of many boxes: counted in batches, with the same numbers."""
    names = tuple(f"v{i}" for i in range(2000))
    domain = Domain((Category("code", names), Number("x", 0, 1)))
    table = world_of(domain, domain.grid([1, 2]), np.random.default_rng(5), 5000)
    wide: Box = (Chosen("code", names[::2]), Range("x", 0, 0.75))
    small: tuple[Box, ...] = tuple((Chosen("code", (name,)),) for name in names)
    answer = count_boxes(
        SummedArea(table.synopsis), (*small[:1000], wide, *small[1000:]), level=0.9, simultaneous=False
    )
    alone = count_boxes(SummedArea(table.synopsis), (wide,), level=0.9, simultaneous=False)
    assert answer.count[1000] == alone.count[0]
    assert answer.low[1000] == alone.low[0]
    counts = table.synopsis.counts.reshape(2000, 2)
    assert alone.count[0] == counts[::2, 0].sum() + counts[::2, 1].sum() / 2
    assert np.delete(answer.count, 1000).tolist() == counts.sum(axis=1).tolist()
    squares = Edges.of((wide,), domain, table.synopsis.grid).power_sums(2)[0]
    assert squares == pytest.approx(1000 * (1 + 0.25))


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("listed", [False, True])
def test_marginals_group_neighbouring_values_only(seed: int, listed: bool) -> None:
    """Categories and missing values stay single; runs of ordered cells are added up."""
    table = world(seed, attributes=3)
    synopsis = table.thresholded() if listed else table.synopsis
    shape = synopsis.grid.shape
    full = np.where(table.synopsis.counts >= (synopsis.threshold or 0), table.synopsis.counts, 0).reshape(shape)
    names = (synopsis.domain.names[2], synopsis.domain.names[0])
    for most in (None, 1, 2, 3):
        owners = [_owners(synopsis, x, most) for x in (2, 0)]
        expected = np.zeros([max(owner) + 1 for owner in owners])
        for (i, _, k), number in np.ndenumerate(full):
            expected[owners[0][k], owners[1][i]] += number
        answer = marginal(synopsis, names, level=0.95, counts=CountsKind.RAW, cells=most)
        assert answer.shape == expected.shape
        assert (answer.counts == expected.ravel()).all()
        for attribute in ordered_of(answer.domain):
            x = answer.domain.names.index(attribute.name)
            edges = answer.edges(attribute)
            assert len(edges) - 1 + attribute.keeps_missing == expected.shape[x]
            assert (edges[0], edges[-1]) == (attribute.start, attribute.stop)


def _owners(synopsis: Synopsis, x: int, most: int | None) -> list[int]:
    """The group of each cell of an axis."""
    axis = synopsis.grid.axes[x]
    if most is None or isinstance(synopsis.domain.attributes[x], Category):
        return list(range(axis.cells))
    size = -(-axis.value_cells // most)
    groups = [j // size for j in range(axis.value_cells)]
    return groups + [groups[-1] + 1] * axis.keeps_missing


@pytest.mark.parametrize("seed", SEEDS)
def test_quantiles_of_whole_values_are_values(seed: int) -> None:
    """With a cell for each value they are those of the rows that have one; on runs, the interval holds them."""
    rng = np.random.default_rng(seed)
    attribute = [each for each in ATTRIBUTES if isinstance(each, WholeValues)][seed % 4]
    domain = Domain((attribute, ATTRIBUTES[7]))
    for cells in (attribute.values, 5):
        table = world_of(domain, domain.grid([cells, 1]), rng, 301)
        values = np.array([v for v in table.columns[0].tolist() if not is_missing(v)]) / attribute.steps_per_unit
        for q in (0.0, 0.1, 0.5, 0.77, 1.0):
            truth = float(np.quantile(values, q, method="inverted_cdf"))
            answer = quantile(table.synopsis, attribute.name, q, level=0.95)
            assert answer.interval.low <= truth <= answer.interval.high
            assert answer.cell[0] <= answer.value <= answer.cell[1]
            steps = answer.value * attribute.steps_per_unit
            assert steps == pytest.approx(round(steps), abs=1e-3)
            if cells == attribute.values:
                assert answer.value == (truth if q > 0 else answer.cell[0])
    with pytest.raises(InvalidQuery, match="has no quantiles"):
        quantile(table.synopsis, "city", 0.5, level=0.95)


@pytest.mark.parametrize("listed", [False, True])
def test_moments_leave_categories_and_missing_values_out(listed: bool) -> None:
    """A cell for each whole value: means, variances and covariances are those of the rows that have the values."""
    domain = Domain((ATTRIBUTES[6], ATTRIBUTES[3], ATTRIBUTES[2]))
    table = world_of(domain, domain.grid([1, 19, 24]), np.random.default_rng(8), 3000)
    synopsis = replace(table.synopsis, cells=table.synopsis.cells.reaching(1)) if listed else table.synopsis
    age, hour = table.columns[1], table.columns[2]
    there = ~np.isnan(age)
    answer = moments(synopsis, level=0.95)
    assert answer.size.value == 3000
    assert [each.name for each in answer.attributes] == ["age", "hour"]
    assert answer.attributes[0].mean.value == pytest.approx(age[there].mean())
    assert answer.attributes[0].variance.value == pytest.approx(age[there].var())
    assert answer.attributes[1].mean.value == pytest.approx(hour.mean())
    assert [each.discretisation for each in answer.attributes] == [0.0, 0.0]
    (pair,) = answer.pairs
    covariance = np.cov(age[there], hour[there], ddof=0)[0, 1]
    assert pair.covariance.value == pytest.approx(covariance)
    assert pair.correlation.value == pytest.approx(np.corrcoef(age[there], hour[there])[0, 1])
    for each in answer.attributes:
        assert each.mean.value is not None
        assert each.mean.interval.low - 1e-9 <= each.mean.value <= each.mean.interval.high + 1e-9


@pytest.mark.parametrize(("cells", "bound"), [(19, 0.0), (10, 0.5), (5, 1.5), (1, 9.0)])
def test_rows_of_whole_numbers_lie_within_the_discretisation_of_their_centre(cells: int, bound: float) -> None:
    """Half of what lies between the first and the last number of the longest run."""
    domain = Domain((ATTRIBUTES[3],))
    table = world_of(domain, domain.grid(cells), np.random.default_rng(8), 100)
    answer = moments(table.synopsis, level=0.95).attributes[0]
    assert answer.discretisation == bound
    values = table.columns[0][~np.isnan(table.columns[0])]
    assert answer.mean.value is not None
    assert abs(answer.mean.value - values.mean()) <= bound + 1e-9


@pytest.mark.parametrize("seed", SEEDS)
def test_synthetic_rows_are_values_of_their_attributes(seed: int) -> None:
    """Taken in again they fall into cells as often as the counts say, missing values included."""
    table = world(seed, attributes=3)
    (block,) = synthetic_rows(table.synopsis, 20_000, seed)
    columns = tuple(_read(each, column) for each, column in zip(table.domain.attributes, block, strict=True))
    taken = take_in(columns, table.domain, OutOfRange.DROP)
    assert taken.rows_dropped == 0
    seen = count(taken.records, table.synopsis.grid).cells / 20_000
    share = table.synopsis.counts / table.synopsis.counts.sum()
    assert np.abs(seen - share).max() < 6 * np.sqrt(share.max() / 20_000)


def _read(attribute: Attribute, drawn: Column) -> NDArray[Any]:
    """A synthetic column as a reader would give it again."""
    values = drawn.values.astype(np.int64) if attribute.column_type is np.int64 else drawn.values.astype(np.float64)
    if isinstance(attribute, Category):
        values = np.where(values == len(attribute.values), OTHER, values)
    if drawn.missing is None:
        return values
    return np.where(drawn.missing, np.nan if attribute.column_type is np.float64 else MISSING, values)
