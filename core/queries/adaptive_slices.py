"""Parts of an adaptive release: its leaves, cut down to a box, as a histogram of their own.

A box may cut leaves. A leaf counts by the share of it that lies inside, rows being taken to be spread evenly in it. So
a part has exactly the bounds that were asked for, where a part of a grid moves to whole cells.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf

import numpy as np
from numpy.typing import NDArray

from core.adaptive.cells import AdaptiveCells
from core.adaptive.leaves import Leaves
from core.arrays import Floats, Wholes
from core.domain.attribute import Attribute, Missing, Ordered
from core.domain.axis import Axis
from core.domain.category import Category
from core.domain.domain import Domain
from core.domain.grid import Grid
from core.domain.number import Number
from core.domain.whole import WholeValues
from core.noisy_histogram import NoisyHistogram
from core.queries.boxes import Asked, Box, Run, resolve

_LEAST_WIDTH = 2.0**-32  # of a range of numbers, as a share of the bounds: the distance of two codes
_ROUNDING = 1e-12  # of the way between the bounds: an end that misses an edge by less does so by rounding


@dataclass(frozen=True, slots=True, eq=False)
class LeafPart:
    """The leaves in a box with their attributes. `restricted` names the attributes that the box restricts."""

    domain: Domain
    cells: AdaptiveCells
    restricted: tuple[str, ...]


def leaf_part(histogram: NoisyHistogram, cells: AdaptiveCells, box: Box) -> LeafPart:
    """The leaves that have a part in a box. InvalidQuery where the box makes no sense."""
    asked = resolve((box,), histogram.domain, histogram.grid)
    attributes, axes = histogram.domain.attributes, histogram.grid.axes
    cut = _Cut(cells, attributes, axes)
    for x in range(len(attributes)):
        cut.restrict(x, asked)
    restricted = {restriction.attribute for restriction in box}
    return cut.part(box, tuple(name for name in histogram.domain.names if name in restricted))


def leaves_with_values(histogram: NoisyHistogram, cells: AdaptiveCells, names: Sequence[str]) -> LeafPart | None:
    """The leaves whose rows have a value of each of these attributes; None where none of them can be missing."""
    cut = _Cut(cells, histogram.domain.attributes, histogram.grid.axes)
    keeping = [
        x
        for x, (name, axis) in enumerate(zip(histogram.domain.names, histogram.grid.axes, strict=True))
        if name in names and axis.keeps_missing
    ]
    if not keeping:
        return None
    for x in keeping:
        cut.take_values(x)
    return cut.part((), tuple(histogram.domain.names[x] for x in keeping))


class _Cut:
    """Leaves that are cut down along one attribute after the other."""

    def __init__(self, cells: AdaptiveCells, attributes: Sequence[Attribute], axes: Sequence[Axis]) -> None:
        self._cells, self._before = cells, cells.leaves
        self._attributes, self._axes = list(attributes), list(axes)
        self._column = {x: i for i, x in enumerate(x for x, each in enumerate(attributes) if each.is_ordered)}
        self._low, self._high = list(self._before.low.T), list(self._before.high.T)
        self._places = list(self._before.places.T)
        self._shares = self._before.shares
        self._kept = np.ones(len(self._shares), dtype=np.bool_)

    def restrict(self, x: int, asked: Asked) -> None:
        """To the part of attribute x that was asked for."""
        attribute = self._attributes[x]
        if (0, x) in asked.chosen:
            self._choose(x, asked.chosen[0, x])
        elif x in asked.ranged[0] and isinstance(attribute, Ordered):
            self._take_range(x, attribute, asked.lower[0][x], asked.upper[0][x])

    def take_values(self, x: int) -> None:
        """The leaves of values, without those of missing ones."""
        axis = self._axes[x]
        self._kept &= self._places[x] < axis.value_cells
        self._attributes[x], self._axes[x] = self._attributes[x].restricted(axis, np.arange(axis.value_cells))

    def _choose(self, x: int, runs: list[Run]) -> None:
        chosen = np.concatenate([np.arange(first, end) for first, end in runs])
        attribute, axis = self._attributes[x], self._axes[x]
        place = np.full(axis.cells, -1, dtype=np.int64)
        place[chosen] = np.arange(len(chosen))
        self._places[x] = place[self._places[x]]
        self._kept &= self._places[x] >= 0
        if isinstance(attribute, Ordered):  # missing values alone: no value of it is on a line
            del self._column[x]
            attribute, chosen = Category(attribute.name, ("any",), missing=Missing.KEEP), np.array([1])
        self._attributes[x], self._axes[x] = attribute.restricted(axis, chosen)

    def _take_range(self, x: int, attribute: Ordered, lower: float, upper: float) -> None:
        part, (begin, end) = _within(attribute, lower, upper)
        i = self._column[x]
        low, high = (steps_along(attribute, each[i]) for each in (self._low, self._high))
        room = _ROUNDING * steps_in(attribute)
        with np.errstate(invalid="ignore"):  # missing values are NaN, and in no range
            first = np.where(low > begin - room, low, begin)
            last = np.where(high < end + room, high, end)
            self._kept &= (last - first > room / 2) & np.isfinite(low)
            self._shares = self._shares * ((last - first) / (high - low))
        self._low[i], self._high[i] = (
            np.clip(2.0 * (each - begin) / (end - begin) - 1.0, -1.0, 1.0) for each in (first, last)
        )
        self._places[x] = np.zeros_like(self._places[x])
        self._attributes[x], self._axes[x] = part, part.axis(1)

    def part(self, box: Box, restricted: tuple[str, ...]) -> LeafPart:
        """What is left."""
        kept = np.flatnonzero(self._kept)
        columns = list(self._column.values())
        leaves = Leaves(
            numbers=self._before.numbers[kept],
            low=_table(self._low, columns, kept),
            high=_table(self._high, columns, kept),
            places=np.stack([each[kept] for each in self._places], axis=1),
            shares=self._shares[kept],
        )
        cells = replace(self._cells, box=self._cells.box + box, part=leaves, part_grid=Grid(tuple(self._axes)))
        return LeafPart(Domain(tuple(self._attributes)), cells, restricted)


def steps_in(attribute: Ordered) -> float:
    """The length of an attribute: how many values it has; of numbers, 1."""
    return float(attribute.values) if isinstance(attribute, WholeValues) else 1.0


def steps_along(attribute: Ordered, unit: Floats) -> Floats:
    """Ends of leaves in unit coordinates -> places from 0 to `steps_in`; of whole kinds, whole numbers of values."""
    if isinstance(attribute, WholeValues):
        return np.rint((unit + 1.0) / 2.0 * attribute.values)
    return (unit + 1.0) / 2.0


def _within(attribute: Ordered, lower: float, upper: float) -> tuple[Ordered, tuple[float, float]]:
    """The attribute of a range, and where that begins and ends along the whole one, in steps."""
    low, high = attribute.ends(lower, upper)
    if isinstance(attribute, WholeValues):
        per_unit, offset = attribute.steps_per_unit, attribute.edge_offset
        first = attribute.first if low == -inf else max(attribute.first, round(low * per_unit - offset))
        last = attribute.last if high == inf else min(attribute.last, round(high * per_unit - offset) - 1)
        first = min(first, attribute.last)
        last = max(first, last)
        return attribute.within(first, last), (float(first - attribute.first), float(last + 1 - attribute.first))
    least = attribute.width * _LEAST_WIDTH
    begin = min(max(attribute.start, low), attribute.stop - least)
    end = max(min(attribute.stop, high), begin + least)
    part = Number.part(attribute.name, begin, end)
    return part, ((begin - attribute.start) / attribute.width, (end - attribute.start) / attribute.width)


def _table(columns: list[Floats], chosen: list[int], rows: Wholes) -> NDArray[np.float64]:
    """Some columns of some rows."""
    table = np.empty((len(rows), len(chosen)))
    for i, column in enumerate(chosen):
        table[:, i] = columns[column][rows]
    return table
