"""Adaptive releases of made-up rows of every kind, drawn as the service draws them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.adaptive.cells import AdaptiveCells
from core.adaptive.release import LayerCounts, draw_layers
from core.budget import Epsilon
from core.domain.attribute import MISSING, Attribute, Missing
from core.domain.category import OTHER, Category
from core.domain.dates import Date, Datetime
from core.domain.domain import Domain
from core.domain.integer import Integer
from core.domain.number import Number
from core.domain.whole import WholeValues
from core.plan import DeclaredSize, EstimatedSize, Order, Rule, make_plan
from core.randomness import NoiseSource
from core.records import OutOfRange, Records, take_in
from core.synopsis import Synopsis
from core.unit import RECORD, Unit

DAY, MOMENT = date(2026, 1, 1), datetime(2026, 1, 1, tzinfo=UTC)
X, Y, Z = Number("x", 0, 10), Number("y", -5, 5), Number("z", 0, 1)
HOUR, AGE = Integer("hour", 0, 23), Integer("age", 0, 999, Missing.KEEP)
ON = Date("on", DAY, DAY + timedelta(days=364))
AT = Datetime("at", MOMENT, MOMENT + timedelta(days=30), Missing.KEEP)
SEX = Category("sex", ("f", "m"), other=True, missing=Missing.KEEP)
DOMAINS = {
    "one number": Domain((X,)),
    "two numbers": Domain((X, Y)),
    "three numbers": Domain((X, Y, Z)),
    "whole values and a category": Domain((HOUR, SEX, AGE)),
    "times": Domain((ON, AT)),
    "a number with missing values": Domain((SEX, Number("x", 0, 10, Missing.KEEP), Y)),
}
Column = NDArray[Any]


@dataclass(frozen=True, slots=True)
class Layered:
    """Rows by column, and an adaptive release of them."""

    columns: tuple[Column, ...]
    synopsis: Synopsis

    @property
    def domain(self) -> Domain:
        """The attributes."""
        return self.synopsis.domain

    @property
    def cells(self) -> AdaptiveCells:
        """The leaves."""
        assert isinstance(self.synopsis.cells, AdaptiveCells)
        return self.synopsis.cells

    def values(self, name: str) -> NDArray[np.float64]:
        """The values of an attribute in its own unit; NaN where they are missing."""
        attribute, column = self._column(name)
        per_unit = attribute.steps_per_unit if isinstance(attribute, WholeValues) else 1
        missing = np.isnan(column) if column.dtype == np.float64 else column == MISSING
        return np.where(missing, np.nan, column.astype(np.float64) / per_unit)

    def labels(self, name: str) -> NDArray[np.str_]:
        """The label of each row's category."""
        attribute, column = self._column(name)
        assert isinstance(attribute, Category)
        places = np.where(column == MISSING, len(attribute.labels) - 1, column)
        return np.array(attribute.labels)[np.where(column == OTHER, len(attribute.values), places)]

    def exact_leaves(self) -> NDArray[np.int64]:
        """The rows of each leaf, without noise."""
        counts = LayerCounts(self.cells.layers, leaves=True)
        counts.add(take_in(self.columns, self.domain, OutOfRange.CLIP).records)
        return counts.cells

    def _column(self, name: str) -> tuple[Attribute, Column]:
        x = self.domain.names.index(name)
        return self.domain.attributes[x], self.columns[x]


class _Rows:
    """Records in memory that can be counted as often as a release does."""

    def __init__(self, records: Records) -> None:
        self._records = records

    def count_into(self, counter: Any) -> None:
        """All of them in one batch."""
        counter.add(self._records)


def made_up(domain: Domain, size: int, seed: int = 0) -> tuple[Column, ...]:
    """Skewed rows: most of them in a corner of the bounds; a tenth of what can be missing is."""
    rng = np.random.default_rng(seed)
    return tuple(_column(attribute, rng, size) for attribute in domain.attributes)


def _column(attribute: Attribute, rng: np.random.Generator, size: int) -> Column:
    skewed = rng.beta(1.2, 6.0, size)
    if isinstance(attribute, Number):
        column: Column = attribute.lower + attribute.width * skewed
    elif isinstance(attribute, WholeValues):
        column = (np.floor(skewed * attribute.values) + attribute.first).astype(attribute.column_type)
    else:
        assert isinstance(attribute, Category)
        column = rng.choice([0, 0, 0, 1, OTHER] if attribute.other else [0, 0, 1], size)
    if attribute.keeps_missing:
        missing = np.nan if attribute.column_type is np.float64 else MISSING
        column = np.where(rng.random(size) < 0.1, missing, column).astype(attribute.column_type)
    return column


def layered(
    domain: Domain,
    columns: tuple[Column, ...],
    epsilon: str = "50",
    *,
    unit: Unit = RECORD,
    bought: bool = False,
    max_cells: int = 10**6,
) -> Layered:
    """An adaptive release of these rows."""
    rows = len(columns[0])
    order = Order(
        attributes=domain.attributes,
        epsilon=Epsilon.parse(epsilon),
        clusters=4,
        size=EstimatedSize() if bought else DeclaredSize(rows),
        rule=Rule.ADAPTIVE,
        unit=unit,
    )
    plan = make_plan(order, max_cells=max_cells, noisy_size=rows if bought else None)
    assert plan.is_layered
    records = take_in(columns, domain, OutOfRange.CLIP).records
    cells = AdaptiveCells.of(draw_layers(_Rows(records), plan, NoiseSource(), max_cells=max_cells))
    synopsis = Synopsis(
        dataset="d",
        release="r",
        domain=domain,
        cells=cells,
        epsilon=order.epsilon,
        size_epsilon=order.size_epsilon,
        clusters=4,
        rule=order.rule,
        out_of_range=OutOfRange.CLIP,
        size=plan.size,
        size_declared=not bought,
        unit=unit,
    )
    return Layered(columns, synopsis)


@lru_cache
def whole_world(name: str) -> Layered:
    """A release with hardly any noise: made once for all tests of a process."""
    domain = DOMAINS[name]
    return layered(domain, made_up(domain, 1500))
