"""Axes, and the boxes of their cells: what a marginal and a synopsis share."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise, product
from typing import Any

from rugnik.wire.base import Reply, frame

Box = tuple[float, ...]  # lower and upper end on each axis, in turn


@dataclass(frozen=True, slots=True, kw_only=True)
class Axis(Reply):
    """The cell edges of an attribute."""

    name: str
    edges: tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach(Reply):
    """count -+ each holds for one cell, count -+ all for every cell at once."""

    level: float
    each: float
    all: float


def boxes_of(axes: tuple[Axis, ...]) -> Iterator[Box]:
    """The box of every cell, the last axis fastest."""
    for sides in product(*(list(pairwise(axis.edges)) for axis in axes)):
        yield tuple(end for side in sides for end in side)


def box_of(axes: tuple[Axis, ...], number: int) -> Box:
    """The box of one cell, by its number."""
    ends: list[float] = []
    for axis in reversed(axes):
        number, place = divmod(number, len(axis.edges) - 1)
        ends[:0] = axis.edges[place : place + 2]
    return tuple(ends)


def cell_frame(axes: tuple[Axis, ...], boxes: Iterable[Box], **columns: Iterable[Any]) -> Any:
    """A pandas DataFrame with a row for each cell: its box, then the columns given."""
    names = [f"{axis.name}_{end}" for axis in axes for end in ("lower", "upper")]
    listed = list(boxes)
    ends = {name: [box[x] for box in listed] for x, name in enumerate(names)}
    return frame({**ends, **{name: list(values) for name, values in columns.items()}})


def flat(nested: Any) -> Iterator[Any]:
    """The numbers of nested lists, the innermost list fastest."""
    for part in nested:
        if isinstance(part, list):
            yield from flat(part)
        else:
            yield part
