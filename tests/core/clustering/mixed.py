"""A table of mixed columns and its synopsis: a number, whole numbers in single cells and in uneven runs, a category."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from core.cells import DenseCells
from core.domain.attribute import Attribute, Missing
from core.domain.category import Category
from core.domain.domain import Domain
from core.domain.integer import Integer
from core.domain.number import Number
from core.histogram import count
from core.records import OutOfRange, take_in
from core.synopsis import Synopsis
from tests.core.queries.worlds import rows, synopsis_of

MIDDLES = np.array([[3.2, 6.0, 8.0], [9.1, 17.4, 23.0], [10.0, 5.0, 24.0]])


def attributes(missing: Missing = Missing.DROP) -> tuple[Attribute, ...]:
    """The columns of the table; `missing` is that of the hours."""
    return (
        Number("x", 0, 13),
        Integer("hour", 0, 23, missing),
        Category("sex", ("f", "m"), other=True),
        Integer("day", 1, 31),
    )


def groups(size: int, seed: int) -> NDArray[np.float64]:
    """Rows of x, hour and day in three groups."""
    rng = np.random.default_rng(seed)
    values = MIDDLES[rng.integers(3, size=size)] + rng.normal(0, [1.0, 1.5, 2.5], (size, 3))
    values = np.clip(values, [0, 0, 1], [13, 23, 31])
    values[:, 1:] = np.round(values[:, 1:])
    return values


def synopsis_on(
    declared: tuple[Attribute, ...], cells: tuple[int, ...], columns: tuple[NDArray[np.float64], ...]
) -> Synopsis:
    """A synopsis without noise of any columns."""
    domain = Domain(declared)
    grid = domain.grid(cells)
    typed = [column.astype(attribute.column_type) for attribute, column in zip(declared, columns, strict=True)]
    counts = count(take_in(typed, domain, OutOfRange.CLIP).records, grid).cells
    size = int(counts.sum())
    return replace(synopsis_of(rows(10), 2), domain=domain, cells=DenseCells(grid, counts), size=size, clusters=3)


def mixed_synopsis(
    values: NDArray[np.float64],
    missing: Missing = Missing.DROP,
    *,
    absent: int = 0,
    cells: tuple[int, ...] = (13, 24, 3, 7),
) -> Synopsis:
    """The synopsis of `groups` with sexes at random; as many rows as `absent` says lack their hour."""
    x, hour, day = values.T
    hour = np.where(np.arange(len(values)) < absent, np.nan, hour)
    sex = np.random.default_rng(len(values)).integers(-1, 2, len(values))
    return synopsis_on(attributes(missing), cells, (x, hour, sex.astype(np.float64), day))
