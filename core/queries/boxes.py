"""Boxes: parts of attributes, as an analyst asks for them, and what they mean on the axes of a release."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import inf
from typing import NamedTuple

from core.domain.attribute import MISSING_LABEL, Attribute, Ordered
from core.domain.axis import Axis
from core.domain.category import Category
from core.domain.domain import Domain
from core.domain.grid import Grid
from core.errors import InvalidQuery


class Range(NamedTuple):
    """A range of one ordered attribute, in its own unit; without an end, as far as the attribute goes.

    Ranges of the kinds number and datetime are half-open, [lower, upper): a row at `upper` lies outside, unless `upper`
    is the upper bound of a number or beyond. Ranges of the kinds integer and date hold both ends. No range holds rows
    whose value is missing. A tuple, because workloads have many.
    """

    attribute: str
    lower: float = -inf
    upper: float = inf


class Chosen(NamedTuple):
    """Some categories of one attribute by their labels; or the missing values of any attribute that keeps them."""

    attribute: str
    labels: tuple[str, ...]


Restriction = Range | Chosen
Box = tuple[Restriction, ...]
Run = tuple[int, int]  # cells from the first up to, and without, the second


@dataclass(frozen=True, slots=True, eq=False)
class Asked:
    """Boxes that were checked. On each attribute box i has a range, a choice of cells, or everything.

    `lower[i][x]` and `upper[i][x]` are the ends of its range on attribute x, in its own unit, infinite where there are
    none; `ranged[i]` has the attributes with a range. `chosen[i, x]` has the runs of the cells that were chosen.
    """

    lower: list[list[float]]
    upper: list[list[float]]
    ranged: list[set[int]]
    chosen: dict[tuple[int, int], list[Run]]

    def runs_of_each(self) -> list[int]:
        """The largest number of runs that each box has on an attribute."""
        most = [1] * len(self.lower)
        for (i, _x), runs in self.chosen.items():
            most[i] = max(most[i], len(runs))
        return most


def resolve(boxes: tuple[Box, ...], domain: Domain, grid: Grid) -> Asked:
    """What the boxes mean on a grid. Parts of the same attribute intersect.

    InvalidQuery where a part is none of its attribute, or where no value lies in all parts of an attribute.
    """
    reader = _Resolver(domain, grid, len(boxes))
    for i, box in enumerate(boxes):
        fault = reader.take(i, box)
        if fault:
            raise InvalidQuery(fault if len(boxes) == 1 else f"Box {i + 1} of {len(boxes)}: {fault}")
    return reader.asked


class _Resolver:
    """Checks boxes one after the other; tables of labels are made once for all of them."""

    def __init__(self, domain: Domain, grid: Grid, boxes: int) -> None:
        self._domain, self._grid = domain, grid
        self._axes = {name: x for x, name in enumerate(domain.names)}
        self._ordered = [each if isinstance(each, Ordered) else None for each in domain.attributes]
        self._tables: dict[int, dict[str, int]] = {}
        self.asked = Asked(
            lower=[[-inf] * domain.dimensions for _ in range(boxes)],
            upper=[[inf] * domain.dimensions for _ in range(boxes)],
            ranged=[set() for _ in range(boxes)],
            chosen={},
        )

    def take(self, i: int, box: Box) -> str | None:
        """Take in box number i. Returns why it makes no sense, in a sentence; None where it does."""
        chosen: dict[int, set[int]] = {}
        for part in box:
            x = self._axes.get(part.attribute)
            if x is None:
                return no_such_attribute(self._domain)
            fault = self._range(i, x, part) if isinstance(part, Range) else self._labels(x, part, chosen)
            if fault:
                return fault
        for x, places in chosen.items():
            if not places or x in self.asked.ranged[i]:
                return f"The parts of {self._domain.attributes[x].name} have no value in common."
            self.asked.chosen[i, x] = _runs(sorted(places))
        return None

    def _range(self, i: int, x: int, part: Range) -> str | None:
        attribute = self._ordered[x]
        if attribute is None:
            name = self._domain.attributes[x].name
            return f"{name} is a category and has no ranges: write {name}:a,b with its values."
        _, low, high = part
        if fault := attribute.why_empty(low, high):
            return fault
        lower, upper, ranged = self.asked.lower[i], self.asked.upper[i], self.asked.ranged[i]
        if x in ranged:
            low, high = max(lower[x], low), min(upper[x], high)
            if attribute.why_empty(low, high):
                return f"The ranges of {attribute.name} have no value in common."
        lower[x], upper[x] = low, high
        ranged.add(x)
        return attribute.why_outside(low, high)

    def _labels(self, x: int, part: Chosen, chosen: dict[int, set[int]]) -> str | None:
        attribute, table = self._domain.attributes[x], self._tables.get(x)
        if table is None:
            table = self._tables[x] = _places(attribute, self._grid.axes[x])
        if not part.labels or not all(label in table for label in part.labels):
            return no_such_label(attribute)
        places = {table[label] for label in part.labels}
        chosen[x] = chosen[x] & places if x in chosen else places
        return None


def no_such_attribute(domain: Domain) -> str:
    """The sentence for a name that no attribute has."""
    return f"There is no attribute of that name in this release; it has: {', '.join(domain.names)}."


def require_attributes(domain: Domain, names: Iterable[str]) -> None:
    """InvalidQuery where one of these names is none of an attribute."""
    if not set(names) <= set(domain.names):
        raise InvalidQuery(no_such_attribute(domain))


def require_ordered(domain: Domain, names: Iterable[str], *, lacking: str) -> None:
    """InvalidQuery where one of these names is none of an attribute, or is that of a category.

    `lacking` names what a category does not have and the question needs.
    """
    for name in names:
        require_attributes(domain, (name,))
        if not domain.attributes[domain.names.index(name)].is_ordered:
            raise InvalidQuery(
                f"{name} is a category: its values have no {lacking}. Leave it out, and ask for each of its values "
                f"with group_by={name}."
            )


def no_such_label(attribute: Attribute) -> str:
    """The sentence for labels that an attribute does not have."""
    if isinstance(attribute, Category):
        shown = ", ".join(attribute.labels[:20]) + (", …" if len(attribute.labels) > 20 else "")
        return f"A part of {attribute.name} is written {attribute.name}:a,b with values of: {shown}."
    if attribute.keeps_missing:
        return f"A part of {attribute.name} is a range or {attribute.name}:{MISSING_LABEL}."
    return f"{attribute.name} keeps no missing values: rows without a value of it were left out of this release."


def _places(attribute: Attribute, axis: Axis) -> dict[str, int]:
    """The cells of an attribute that have labels."""
    if isinstance(attribute, Category):
        return {label: place for place, label in enumerate(attribute.labels)}
    return {MISSING_LABEL: axis.value_cells} if axis.keeps_missing else {}


def _runs(places: list[int]) -> list[Run]:
    """Ascending cells as runs of neighbours."""
    runs: list[Run] = []
    for place in places:
        if runs and runs[-1][1] == place:
            runs[-1] = (runs[-1][0], place + 1)
        else:
            runs.append((place, place + 1))
    return runs
