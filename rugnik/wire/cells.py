"""Axes, and the boxes of their cells: what a marginal and a synopsis share."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from functools import lru_cache
from itertools import product
from typing import Any

from rugnik.wire.base import Reply, frame
from rugnik.wire.common import Value
from rugnik.wire.datasets import Kind

# For each axis in turn: lower and upper end, both None for the cell of missing values; of a category its label.
Box = tuple[Value | None, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Axis(Reply):
    """The cells of an attribute, in order.

    Cell j of an ordered attribute reaches from edges[j] to edges[j + 1]. Edges of an integer lie between two whole
    numbers. A date cell holds the days from edges[j] to the one before edges[j + 1]. With `missing` there is one cell
    more, the last one: rows without a value. A category has no edges; `labels` names its cells.
    """

    name: str
    kind: Kind = "number"
    edges: tuple[Value, ...]
    labels: tuple[str, ...] = ()
    missing: bool = False

    @property
    def cells(self) -> int:
        """How many cells it has."""
        return len(self.labels) if self.kind == "category" else len(self.edges) - 1 + self.missing

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of what `side` returns, in a table."""
        return (self.name,) if self.kind == "category" else (f"{self.name}_lower", f"{self.name}_upper")

    def side(self, place: int) -> Box:
        """The ends of a cell, or its label."""
        if self.kind == "category":
            return (self.labels[place],)
        return (None, None) if place == len(self.edges) - 1 else tuple(self.edges[place : place + 2])

    def shown(self, side: Box) -> Box:
        """A side as a person types it in `where`: of an integer or a date, its first and its last value."""
        if self.kind == "integer" and side[0] is not None:
            low, high = side
            return (math.ceil(low), math.floor(high))  # type: ignore[arg-type] # edges of an integer are numbers
        if self.kind == "date" and side[0] != side[1]:
            return (side[0], _day_before(str(side[1])))
        return side


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach(Reply):
    """count -+ each holds for one cell, count -+ all for every cell at once."""

    level: float
    each: float
    all: float


@lru_cache(4096)  # cells share their edges
def _day_before(day: str) -> str:
    """Of an edge. The last edge of dates up to the end of the calendar is that day itself: no date is after it."""
    edge = date.fromisoformat(day)
    return day if edge == date.max else (edge - timedelta(days=1)).isoformat()


def boxes_of(axes: tuple[Axis, ...]) -> Iterator[Box]:
    """The box of every cell, the last axis fastest."""
    for sides in product(*([axis.side(place) for place in range(axis.cells)] for axis in axes)):
        yield tuple(end for side in sides for end in side)


def box_of(axes: tuple[Axis, ...], number: int) -> Box:
    """The box of one cell, by its number."""
    ends: list[Value | None] = []
    for axis in reversed(axes):
        number, place = divmod(number, axis.cells)
        ends[:0] = axis.side(place)
    return tuple(ends)


def cell_frame(axes: tuple[Axis, ...], boxes: Iterable[Box], **columns: Iterable[Any]) -> Any:
    """A pandas DataFrame with a row for each cell: its box, then the columns given.

    Boxes are as `where` takes them: those of integers and dates hold both ends.
    """
    names = distinct([name for axis in axes for name in axis.columns], *columns)
    listed = [_as_shown(axes, box) for box in boxes]
    ends = {name: [box[x] for box in listed] for x, name in enumerate(names)}
    owners = [axis for axis in axes for _ in axis.columns]
    kinds = {name: axis.kind for name, axis in zip(names, owners, strict=True)}
    labels = {name: axis.labels for name, axis in zip(names, owners, strict=True) if axis.kind == "category"}
    return frame({**ends, **{name: list(values) for name, values in columns.items()}}, kinds, labels)


def _as_shown(axes: tuple[Axis, ...], box: Box) -> list[Value | None]:
    ends: list[Value | None] = []
    for axis in axes:
        ends += axis.shown(box[len(ends) : len(ends) + len(axis.columns)])
    return ends


def distinct(names: Iterable[str], *others: str) -> list[str]:
    """The names of columns; one that is there already, such as that of a category `count`, gets a number."""
    taken = set(others)
    distinct_names: list[str] = []
    for name in names:
        own, number = name, 2
        while own in taken:
            own, number = f"{name}_{number}", number + 1
        taken.add(own)
        distinct_names.append(own)
    return distinct_names


def flat(nested: Any) -> Iterator[Any]:
    """The numbers of nested lists, the innermost list fastest."""
    for part in nested:
        if isinstance(part, list):
            yield from flat(part)
        else:
            yield part
