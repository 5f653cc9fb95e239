"""Tables of every kind of attribute, with what a question should say worked out row by row and cell by cell.

Nothing here uses the code that is tested: cells are told by their values, one after the other.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.budget import Epsilon
from core.cells import DenseCells
from core.domain.attribute import MISSING, MISSING_LABEL, Attribute, Missing, Ordered
from core.domain.category import OTHER, OTHER_LABEL, Category
from core.domain.dates import Date, Datetime
from core.domain.domain import Domain
from core.domain.grid import Grid
from core.domain.integer import Integer
from core.domain.number import Number
from core.domain.whole import WholeValues
from core.histogram import count
from core.queries.boxes import Box, Chosen, Range
from core.records import OutOfRange, take_in
from core.synopsis import Synopsis
from tests.core.queries.worlds import EXACT, rows, synopsis_of

DAY = date(2026, 1, 1)
MOMENT = datetime(2026, 1, 1, tzinfo=UTC)
ATTRIBUTES: tuple[Attribute, ...] = (
    Number("speed", 0, 10, Missing.KEEP),
    Number("height", -5, 5),
    Integer("hour", 0, 23),
    Integer("age", -2, 16, Missing.KEEP),
    Date("day", DAY, DAY + timedelta(days=12), Missing.KEEP),
    Datetime("at", MOMENT, MOMENT + timedelta(microseconds=20)),
    Category("sex", ("f", "m", "x"), other=True, missing=Missing.KEEP),
    Category("city", ("a", "b", "c", "d", "e", "f")),
)
THRESHOLD = 3
Column = NDArray[Any]


@dataclass(frozen=True)
class World:
    """Rows by column, as a reader gives them, and the exact synopsis of them."""

    columns: tuple[Column, ...]
    synopsis: Synopsis

    @property
    def domain(self) -> Domain:
        """Its attributes."""
        return self.synopsis.domain

    def thresholded(self) -> Synopsis:
        """What a threshold leaves of the exact counts."""
        cells = self.synopsis.cells
        assert isinstance(cells, DenseCells)
        return replace(self.synopsis, cells=cells.reaching(THRESHOLD))


def world(seed: int, attributes: int = 3, size: int = 400, epsilon: Epsilon = EXACT) -> World:
    """Some attributes of different kinds on axes of different lengths."""
    rng = np.random.default_rng(seed)
    chosen = rng.choice(len(ATTRIBUTES), attributes, replace=False)
    domain = Domain(tuple(ATTRIBUTES[i] for i in chosen))
    grid = domain.grid([int(rng.integers(1, min(attribute.most_cells or 6, 8) + 1)) for attribute in domain.attributes])
    return world_of(domain, grid, rng, size, epsilon)


def world_of(domain: Domain, grid: Grid, rng: np.random.Generator, size: int, epsilon: Epsilon = EXACT) -> World:
    """Random rows, some of their values missing, all others within the bounds."""
    columns = tuple(_column(attribute, rng, size) for attribute in domain.attributes)
    taken = take_in(columns, domain, OutOfRange.DROP)
    if taken.kept is not None:
        columns = tuple(column[taken.kept] for column in columns)
    counts = count(taken.records, grid).cells
    synopsis = replace(
        synopsis_of(rows(10), 2), domain=domain, cells=DenseCells(grid, counts), size=len(columns[0]), epsilon=epsilon
    )
    return World(columns, synopsis)


def _column(attribute: Attribute, rng: np.random.Generator, size: int) -> Column:
    """Values within the bounds; a tenth of them missing."""
    if isinstance(attribute, Number):
        column: Column = rng.uniform(attribute.lower, attribute.upper, size)
    elif isinstance(attribute, WholeValues):
        numbers = rng.binomial(attribute.values - 1, 0.4, size) + attribute.first
        column = numbers.astype(attribute.column_type)
    else:
        assert isinstance(attribute, Category)
        column = rng.integers(OTHER if attribute.other else 0, len(attribute.values), size)
    if attribute.keeps_missing:
        missing = np.nan if attribute.column_type is np.float64 else MISSING
        column = np.where(rng.random(size) < 0.1, missing, column).astype(attribute.column_type)
    return column


def random_box(domain: Domain, rng: np.random.Generator, restricted: float = 0.8) -> Box:
    """Ranges that cut cells, that lie on values, beyond the bounds; choices of categories; missing values."""
    box = []
    for attribute in domain.attributes:
        if rng.random() > restricted:
            continue
        if isinstance(attribute, Category):
            labels = rng.permutation(np.array(attribute.labels))[: rng.integers(1, len(attribute.labels) + 1)]
            box.append(Chosen(attribute.name, tuple(labels.tolist())))
        elif attribute.keeps_missing and rng.random() < 0.2:
            box.append(Chosen(attribute.name, (MISSING_LABEL,)))
        else:
            box.append(Range(attribute.name, *random_range(attribute, rng)))
    return tuple(box)


def random_range(attribute: Attribute, rng: np.random.Generator) -> tuple[float, float]:
    """Two ends in the attribute's own unit, at times beyond the bounds or without an end."""
    if isinstance(attribute, Number):
        low, high = np.sort(rng.uniform(attribute.lower, attribute.upper, 2)).tolist()
        high += 1e-6
    else:
        assert isinstance(attribute, WholeValues)
        low, high = np.sort(rng.integers(attribute.first, attribute.last + 1, 2)).tolist()
        if isinstance(attribute, Datetime):
            low, high = low / attribute.steps_per_unit, (high + 1) / attribute.steps_per_unit
    if rng.random() < 0.15:
        low = -np.inf
    if rng.random() < 0.15:
        high = np.inf if rng.random() < 0.5 else high + attribute.width
    return low, high


def rows_in(world: World, box: Box) -> int:
    """How many rows lie in a box, row by row."""
    inside = np.ones(len(world.columns[0]), dtype=bool)
    for part in box:
        x = world.domain.names.index(part.attribute)
        inside &= np.array([_holds(world.domain.attributes[x], part, value) for value in world.columns[x].tolist()])
    return int(inside.sum())


def _holds(attribute: Attribute, part: Range | Chosen, value: float) -> bool:
    if isinstance(part, Chosen):
        return label_of(attribute, value) in part.labels
    if is_missing(value):
        return False
    if isinstance(attribute, Number):
        return part.lower <= value and (value < part.upper or part.upper >= attribute.upper)
    if isinstance(attribute, Datetime):
        return round(part.lower * 1e6 if part.lower > -np.inf else -1e18) <= value < part.upper * 1e6 - 0.5
    return part.lower <= value <= part.upper


def is_missing(value: float) -> bool:
    return bool(np.isnan(value)) or value == MISSING


def label_of(attribute: Attribute, value: float) -> str:
    """The label of a category's value, or of a missing one."""
    if is_missing(value):
        return MISSING_LABEL
    if not isinstance(attribute, Category):
        return ""
    return OTHER_LABEL if value == OTHER else attribute.values[int(value)]


def shares_of(synopsis: Synopsis, box: Box) -> tuple[NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_]]:
    """For each cell: the share of it inside a box, whether all of it is inside, and whether any row of it may be."""
    share, whole, touched = [], [], []
    for place in product(*(range(m) for m in synopsis.grid.shape)):
        each = [_share(synopsis, x, j, box) for x, j in enumerate(place)]
        share.append(np.prod([one for one, _ in each]))
        whole.append(all(one >= 1 - 1e-9 for one, _ in each))
        touched.append(all(any_row for _, any_row in each))
    return np.array(share), np.array(whole), np.array(touched)


def _share(synopsis: Synopsis, x: int, j: int, box: Box) -> tuple[float, bool]:
    attribute, axis = synopsis.domain.attributes[x], synopsis.grid.axes[x]
    share, touched = 1.0, True
    for part in box:
        if part.attribute != attribute.name:
            continue
        if isinstance(part, Chosen):
            label = attribute.labels[j] if isinstance(attribute, Category) else MISSING_LABEL * (j == axis.value_cells)
            share, touched = share * (label in part.labels), touched and label in part.labels
        elif j == axis.value_cells:
            return 0.0, False
        elif isinstance(attribute, Number):
            width = attribute.width / axis.value_cells
            low, high = attribute.lower + j * width, attribute.lower + (j + 1) * width
            share *= max(0.0, min(high, part.upper) - max(low, part.lower)) / width
            touched = touched and part.lower < high - 1e-9 and low <= part.upper + 1e-9
        else:
            values = values_of(attribute, axis.value_cells, j)
            held = sum(_holds(attribute, part, value) for value in values)
            share, touched = share * held / len(values), touched and held > 0
    return share, touched


def values_of(attribute: Attribute, cells: int, j: int) -> list[int]:
    """The values of a run, found by dealing values out to runs as equal as possible."""
    assert isinstance(attribute, WholeValues)
    numbers = [n for n in range(attribute.values) if n * cells // attribute.values == j]
    return [attribute.first + n for n in numbers]


def ordered_of(domain: Domain) -> list[Ordered]:
    return [attribute for attribute in domain.attributes if isinstance(attribute, Ordered)]
