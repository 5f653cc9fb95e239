"""Slices: whole cells of a release, asked as if they had been registered by themselves."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from core.budget import Epsilon
from core.cells import DenseCells, ThresholdedCells
from core.domain.attribute import MISSING, MISSING_LABEL, Attribute, Missing
from core.domain.category import OTHER, Category
from core.domain.domain import Domain
from core.domain.integer import Integer
from core.domain.number import Number
from core.errors import InvalidQuery
from core.histogram import count
from core.intervals.listed import ListedCells
from core.mechanisms.discrete_laplace import DiscreteLaplace
from core.noisy_histogram import NoisyHistogram
from core.queries.boxes import Box, Chosen, Range
from core.queries.denoise import CountsKind
from core.queries.marginal import marginal
from core.queries.moments import moments
from core.queries.quantile import quantile
from core.queries.range_count import count_boxes, range_table
from core.queries.size import noisy_size
from core.queries.slices import Slice, group, numeric_part, slice_of, with_values
from core.queries.synthetic import synthetic_rows
from core.records import OutOfRange, take_in
from core.synopsis import Synopsis
from tests.core.queries.mixed import ATTRIBUTES, World, label_of, random_box, shares_of, world, world_of
from tests.core.queries.worlds import LEVEL, least_hits

SEEDS = range(16)


def registered(table: World, part: Slice) -> Synopsis:
    """The synopsis of the same rows, registered with the bounds and values of a slice in the first place."""
    pairs = zip(table.domain.attributes, part.domain.attributes, table.columns, strict=True)
    columns, kept = [], np.ones(len(table.columns[0]), dtype=bool)
    for attribute, own, column in pairs:
        again, there = _column(attribute, own, column)
        columns.append(again)
        kept &= there
    rows = tuple(column[kept] for column in columns)
    counts = count(take_in(rows, part.domain, OutOfRange.DROP).records, part.grid).cells
    return replace(table.synopsis, domain=part.domain, cells=DenseCells(part.grid, counts), size=max(1, counts.sum()))


def _column(attribute: Attribute, own: Attribute, column: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """A column as a reader gives it to the restricted attribute, and the rows that it holds."""
    if not isinstance(own, Category):
        return column, np.ones(len(column), dtype=bool)
    labels = [label_of(attribute, value) for value in column.tolist()]
    if own.labels == (MISSING_LABEL,):  # its axis has that cell for a value
        return np.zeros(len(column), dtype=np.int64), np.array([label == MISSING_LABEL for label in labels])
    codes = {label: place for place, label in enumerate(own.values)} | {"(other)": OTHER, MISSING_LABEL: MISSING}
    there = np.array([label in own.labels for label in labels])
    return np.array([codes.get(label, 0) for label in labels], dtype=np.int64), there


def answers(histogram: NoisyHistogram, seed: int) -> list[Any]:
    """What several questions say, as numbers."""
    rng = np.random.default_rng(seed)
    boxes = tuple(random_box(histogram.domain, rng, 0.5) for _ in range(5))
    counted = count_boxes(range_table(histogram), boxes, level=0.9, simultaneous=True)
    (block,) = synthetic_rows(histogram, 50, 1)
    return [
        counted.count.tolist(),
        counted.low.tolist(),
        counted.high.tolist(),
        marginal(histogram, histogram.domain.names, level=0.9, counts=CountsKind.NONNEGATIVE, cells=2).counts.tolist(),
        repr([quantile(histogram, each.name, 0.3, level=0.9) for each in histogram.domain.ordered]),
        repr(moments(histogram, level=0.9)),
        [column.values.tolist() for column in block],
        noisy_size(histogram).rows,
    ]


@pytest.mark.parametrize("seed", SEEDS)
def test_a_slice_is_the_release_of_what_it_holds(seed: int) -> None:
    """The same counts, and the same answers to every question, as if its bounds and values had been registered."""
    table = world(seed, attributes=1 + seed % 3)
    part = slice_of(table.synopsis, random_box(table.domain, np.random.default_rng(seed)))
    expected = registered(table, part)
    assert part.counts.tolist() == expected.counts.tolist()
    assert answers(part, seed) == answers(expected, seed)
    assert (part.size, part.size_declared, part.size_law) == (expected.size, False, None)
    assert (part.clusters, part.law) == (table.synopsis.clusters, table.synopsis.law)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_slice_has_the_whole_cells_nearest_to_its_box(seed: int) -> None:
    """Counts of the moved box, dense and thresholded; the slice names itself so that it can be asked for again."""
    table = world(seed, attributes=1 + seed % 4)
    box = random_box(table.domain, np.random.default_rng(seed + 100))
    for synopsis in (table.synopsis, table.thresholded()):
        part = slice_of(synopsis, box)
        snapped = count_boxes(range_table(synopsis), (box,), level=0.9, simultaneous=False, snap=True)
        assert part.counts.sum() == snapped.count[0]
        assert set(part.where) == {restriction.attribute for restriction in box}
        assert part.threshold == synopsis.threshold
        again = slice_of(part, ())
        assert (again.counts == part.counts).all()
        assert again.where == part.where
    dense, listed = slice_of(table.synopsis, box), slice_of(table.thresholded(), box)
    assert isinstance(listed.cells, ThresholdedCells)
    assert listed.cells.numbers.tolist() == np.flatnonzero(dense.counts >= listed.threshold).tolist()


def test_a_slice_says_what_it_answers_about() -> None:
    """Ranges as they were moved, values in the order of the cells, missing values by their name."""
    domain = Domain(ATTRIBUTES[:1] + ATTRIBUTES[3:5] + ATTRIBUTES[6:7])
    table = world_of(domain, domain.grid([4, 5, 13, 1]), np.random.default_rng(0), 200)
    box = (
        Range("speed", 2.4, 4.9),
        Range("age", 1, 6),
        Chosen("day", (MISSING_LABEL,)),
        Chosen("sex", ("(other)", "f")),
    )
    part = slice_of(table.synopsis, box)
    assert part.where == {"speed": "2.5..5", "age": "2..5", "day": "(missing)", "sex": "f,(other)"}
    assert [attribute.kind for attribute in part.domain.attributes] == ["number", "integer", "category", "category"]
    assert part.grid.shape == (1, 1, 1, 2)
    assert slice_of(part, (Chosen("sex", ("f",)),)).where["sex"] == "f"
    assert slice_of(part, (Chosen("day", (MISSING_LABEL,)),)).counts.tolist() == part.counts.tolist()


def test_groups_are_the_cells_of_a_category_and_add_up() -> None:
    """One for each label in order, other and missing values included."""
    domain = Domain((ATTRIBUTES[2], ATTRIBUTES[6]))
    table = world_of(domain, domain.grid([6, 1]), np.random.default_rng(2), 500)
    for synopsis in (table.synopsis, table.thresholded()):
        groups = group(synopsis, "sex")
        assert [label for label, _ in groups] == ["f", "m", "x", "(other)", MISSING_LABEL]
        assert sum(int(part.counts.sum()) for _, part in groups) == synopsis.counts.sum()
        hours = [marginal(part, ("hour",), level=0.9, counts=CountsKind.RAW).counts for _, part in groups]
        whole = marginal(synopsis, ("hour",), level=0.9, counts=CountsKind.RAW).counts
        assert np.sum(hours, axis=0).tolist() == whole.tolist()
    for name in ("hour", "nobody"):
        with pytest.raises(InvalidQuery):
            group(table.synopsis, name)


def test_the_numeric_part_sums_over_categories_and_leaves_missing_values_out() -> None:
    """Each cell is a sum of as many draws of noise as there are categories; nothing ordered: nothing to go by."""
    domain = Domain((ATTRIBUTES[6], ATTRIBUTES[3], ATTRIBUTES[7], ATTRIBUTES[1]))
    table = world_of(domain, domain.grid([1, 4, 1, 3]), np.random.default_rng(3), 800)
    part = numeric_part(table.synopsis)
    counts = table.synopsis.counts.reshape(5, 5, 6, 3)
    assert part.domain.names == ("age", "height")
    assert part.counts.reshape(4, 3).tolist() == counts[:, :4].sum(axis=(0, 2)).tolist()
    assert part.law == table.synopsis.law.summed(30)
    assert part.grid.centres().shape == (12, 2)
    assert (part.size_law, part.size_declared) == (None, False)
    listed = numeric_part(table.thresholded())
    assert not listed.cells.complete
    assert listed.grid.shape == (5, 4, 6, 3)
    assert listed.law == table.synopsis.law
    numbers = world_of(
        Domain((ATTRIBUTES[1],)), Domain((ATTRIBUTES[1],)).grid(3), np.random.default_rng(3), 20
    ).synopsis
    assert numeric_part(numbers) is numbers
    with pytest.raises(InvalidQuery, match="no distances"):
        numeric_part(group(numeric_less(table), "sex")[0][1])


def numeric_less(table: World) -> Synopsis:
    """A synopsis of categories alone."""
    domain = Domain((ATTRIBUTES[6], ATTRIBUTES[7]))
    return world_of(domain, domain.grid(1), np.random.default_rng(0), 50, table.synopsis.epsilon).synopsis


def test_a_bought_size_stays_where_no_row_is_left_out() -> None:
    """Summed over categories, all rows are there: the bought size is theirs, and sharper than the sum of the cells."""
    domain = Domain((ATTRIBUTES[7], ATTRIBUTES[1]))
    exact = world_of(domain, domain.grid([1, 3]), np.random.default_rng(3), 800).synopsis
    bought = replace(
        exact, epsilon=Epsilon.parse("1"), size_epsilon=Epsilon.parse("0.5"), size=803, size_declared=False
    )
    part = numeric_part(bought)
    assert (part.size, part.size_law) == (803, bought.size_law)
    assert noisy_size(part).rows == pytest.approx(noisy_size(bought).rows)
    assert noisy_size(part).noise_sd == pytest.approx(noisy_size(bought).noise_sd)
    kept = with_values(bought, ("city", "height"))
    assert kept is bought


@pytest.mark.parametrize("declared", [False, True])
def test_bounds_of_a_thresholded_slice_hold(declared: bool) -> None:
    """300 releases with noise from public seeds: the rows of a slice, and of a half of it, at the level."""
    domain = Domain((Number("x", 0, 8), Integer("n", 0, 15, Missing.KEEP), Category("c", ("a", "b"))))
    grid = domain.grid([8, 16, 2])
    exact = world_of(domain, grid, np.random.default_rng(6), 3000).synopsis
    box: Box = (Chosen("c", ("a",)), Range("n", 2, 12))
    half: Box = (Range("x", 0, 4),)
    truth = [slice_of(exact, box).counts.sum(), slice_of(exact, (*box, *half)).counts.sum()]
    law, size_law = (DiscreteLaplace.at(Epsilon.parse(each)) for each in ("0.9", "0.1"))
    hits, draws = np.zeros(2), 300
    for seed in range(draws):
        rng = np.random.default_rng(seed)
        noisy = DenseCells(grid, exact.counts + law.simulate((grid.cell_count,), rng)).reaching(6)
        release = replace(
            exact,
            cells=noisy,
            epsilon=Epsilon.parse("0.9" if declared else "1"),
            size_epsilon=Epsilon(0) if declared else Epsilon.parse("0.1"),
            size=3000 + int(size_law.simulate((1,), rng)[0]),
            size_declared=declared,
        )
        part = slice_of(release, box)
        answer = count_boxes(range_table(part), ((), half), level=LEVEL, simultaneous=False)
        hits += (answer.low <= truth) & (truth <= answer.high)
        if not declared:
            assert part.whole_size is not None
            assert part.whole_size.cells == grid.cell_count - part.grid.cell_count
            assert ListedCells(part).most_rows(0.05) < ListedCells(release).most_rows(0.05)
    assert hits.min() >= least_hits(draws)


def test_what_lies_outside_a_thresholded_slice_bounds_what_lies_inside() -> None:
    """The bought size less what the other cells are certain to hold, of a slice and of a slice of it."""
    domain = Domain((Number("x", 0, 1), Number("y", 0, 1), Category("c", ("a", "b"))))
    grid = domain.grid([64, 64, 1])
    cells = ThresholdedCells(grid, np.array([100, 2001]), np.array([2000, 500]), 6)
    size = {"size": 2500, "size_declared": False, "epsilon": Epsilon.parse("1"), "size_epsilon": Epsilon.parse("0.1")}
    release = replace(world(0).synopsis, domain=domain, cells=cells, **size)
    part = slice_of(release, (Chosen("c", ("b",)),))
    assert part.counts.tolist() == [500]
    assert 500 <= ListedCells(part).most_rows(0.05) < 1000
    assert 2500 <= ListedCells(release).most_rows(0.05) < 2700
    inner = slice_of(part, (Range("x", 0, 0.5),))
    assert ListedCells(inner).most_rows(0.05) < 1000
    assert inner.whole_size is not None
    assert inner.whole_size.cells == grid.cell_count - inner.grid.cell_count


@pytest.mark.parametrize("seed", range(6))
def test_a_slice_of_a_slice_is_the_slice_of_both(seed: int) -> None:
    """Cells of a choice within a choice, against the list of cells."""
    table = world(seed, attributes=3)
    rng = np.random.default_rng(seed)
    outer = slice_of(table.synopsis, random_box(table.domain, rng, 0.4))
    inner_box = random_box(outer.domain, rng, 0.4)
    inner = slice_of(outer, inner_box)
    as_synopsis = replace(table.synopsis, domain=outer.domain, cells=outer.cells)
    snapped = slice_of(as_synopsis, inner_box)
    assert inner.counts.tolist() == snapped.counts.tolist()
    assert inner.where == outer.where | snapped.where
    share, *_ = shares_of(as_synopsis, ())
    assert share.sum() == outer.grid.cell_count
