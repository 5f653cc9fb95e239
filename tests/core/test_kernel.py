"""The counting kernel: codes and counts equal those of a plain rule for every value, in any batch, by any workspace."""

from __future__ import annotations

import math
from datetime import date
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.domain.attribute import MISSING, Attribute, Missing
from core.domain.category import OTHER, Category
from core.domain.dates import Date
from core.domain.domain import Domain
from core.domain.integer import Integer
from core.domain.number import Number
from core.histogram import Counts, cell_indices
from core.records import OutOfRange, take_in
from core.workspace import BLOCK_ROWS, Workspace
from tests.core.strategies import attributes, values_near

MODES = st.sampled_from(OutOfRange)
DATE = Date("day", date(2000, 1, 1), date(2009, 12, 31), Missing.KEEP)


def plain_code(attribute: Attribute, value: Any, mode: OutOfRange) -> int | None:
    """The code of one value by the rule as the documents state it, in Python's own arithmetic; None: dropped."""
    kept_missing = 2 ** (8 * attribute.code_type.itemsize) - 1 if attribute.keeps_missing else None
    is_missing = value == MISSING or (isinstance(value, float) and not math.isfinite(value))
    if is_missing or (isinstance(attribute, Integer) and value != math.floor(value)):
        return kept_missing
    if isinstance(attribute, Category):
        others = len(attribute.values) if attribute.other else None
        return others if value == OTHER else int(value)
    lower, upper = (attribute.lower, attribute.upper) if isinstance(attribute, Number) else _ends(attribute)
    if mode is OutOfRange.DROP and not lower <= value <= upper:
        return None
    value = min(max(value, lower), upper)
    if isinstance(attribute, Number):
        return int(min(math.ceil((value - lower) / (upper - lower) * 2.0**32), 2**32 - 2))
    return int(value) - int(lower)


def _ends(attribute: Attribute) -> tuple[int, int]:
    assert isinstance(attribute, Integer | Date)
    return attribute.first, attribute.last


def require_equal(columns: list[np.ndarray[Any, Any]], domain: Domain, mode: OutOfRange, space: Workspace) -> None:
    """Compare records, tallies and counts with the plain rule, value by value."""
    rows = list(zip(*(column.tolist() for column in columns), strict=True))
    coded = [[plain_code(a, v, mode) for a, v in zip(domain.attributes, row, strict=True)] for row in rows]
    expected = [row for row in coded if None not in row]
    taken = take_in(columns, domain, mode, space)
    assert list(zip(*(column.tolist() for column in taken.records.columns), strict=True)) == list(map(tuple, expected))
    assert (taken.rows_read, taken.rows_dropped) == (len(rows), len(rows) - len(expected))
    grid = domain.grid([min(5, attribute.most_cells or 5) for attribute in domain.attributes])
    counts = Counts.zero(grid)
    counts.add(taken.records)
    numbers = cell_indices(taken.records, grid)
    assert counts.cells.tolist() == np.bincount(numbers, minlength=grid.cell_count).tolist()
    assert counts.cells.sum() == len(expected)


@given(st.data(), attributes(), st.sampled_from(Missing), MODES)
def test_codes_of_numbers_are_those_of_the_plain_rule(
    data: st.DataObject, bounds: Number, missing: Missing, mode: OutOfRange
) -> None:
    """Every double: NaN, infinities, -0.0, subnormals, bounds and their neighbours; columns that are clean too."""
    number = Number("x", bounds.lower, bounds.upper, missing)
    ends = [number.lower, number.upper]
    near = [math.nextafter(end, to) for end in ends for to in (-math.inf, math.inf)]
    clean = st.one_of(st.floats(number.lower, number.upper), st.sampled_from(ends))
    some = data.draw(st.sampled_from([clean, st.one_of(values_near(number), st.sampled_from([*near, *ends]))]))
    values = np.array(data.draw(st.lists(some, max_size=20)), dtype=np.float64)
    require_equal([values], Domain((number,)), mode, Workspace())


MIXED = Domain(
    (
        Number("x", -1, 1),
        Integer("n", -3, 300, Missing.KEEP),
        Category("c", ("a", "b", "c"), other=True),
        DATE,
        Number("y", 0, 5e-300, Missing.KEEP),
    )
)
_CLEAN = {
    "x": (-1.0, 1.0, 0.5),
    "n": (-3.0, 300.0, 7.0),
    "c": (0, 2),
    "day": (DATE.first, DATE.last),
    "y": (0.0, 5e-300),
}
_ODD = {
    "x": (math.nan, math.inf, -2.0, -0.0, 5e-324),
    "n": (math.nan, 2.5, 1e300, -4.0, -math.inf),
    "c": (MISSING, OTHER),
    "day": (MISSING, DATE.first - 1, DATE.last + 1),
    "y": (math.nan, 5e-324, 2.0, math.nextafter(5e-300, 0)),
}


@pytest.mark.parametrize("mode", OutOfRange)
def test_a_batch_of_several_blocks_is_read_like_its_rows(mode: OutOfRange) -> None:
    """Clean blocks, and odd values of each kind beside a border of blocks; with memory that other batches used."""
    space, rng = Workspace(), np.random.default_rng(1)
    for rows in (2 * BLOCK_ROWS + 5, 3, 0, BLOCK_ROWS):
        columns = [rng.choice(np.array(_CLEAN[a.name], dtype=a.column_type), rows) for a in MIXED.attributes]
        for column, attribute in zip(columns, MIXED.attributes, strict=True):
            for place, value in enumerate(_ODD[attribute.name]):
                if rows > BLOCK_ROWS:
                    column[BLOCK_ROWS - 2 + place] = value
        require_equal(columns, MIXED, mode, space)
