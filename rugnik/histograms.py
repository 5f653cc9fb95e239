"""Histograms among the answers: a marginal, and the synopsis itself, cell by cell."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise, product
from typing import Any

from rugnik.answers import Answer
from rugnik.decoding import Reply, frame
from rugnik.objects import Grid


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


Box = tuple[float, ...]  # lower and upper end on each axis, one after the other


def _grid_boxes(axes: tuple[Axis, ...]) -> Iterator[Box]:
    """The box of every cell, the last axis fastest."""
    for sides in product(*(list(pairwise(axis.edges)) for axis in axes)):
        yield tuple(end for side in sides for end in side)


def _box(axes: tuple[Axis, ...], number: int) -> Box:
    """The box of one cell, by its number."""
    ends: list[float] = []
    for axis in reversed(axes):
        number, place = divmod(number, len(axis.edges) - 1)
        ends[:0] = axis.edges[place : place + 2]
    return tuple(ends)


def _box_frame(axes: tuple[Axis, ...], boxes: Iterable[Box], **columns: Iterable[Any]) -> Any:
    names = [f"{axis.name}_{end}" for axis in axes for end in ("lower", "upper")]
    listed = list(boxes)
    ends = {name: [box[x] for box in listed] for x, name in enumerate(names)}
    return frame({**ends, **{name: list(values) for name, values in columns.items()}})


def _flat(counts: Any) -> Iterator[Any]:
    for part in counts:
        if isinstance(part, list):
            yield from _flat(part)
        else:
            yield part


@dataclass(frozen=True, slots=True, kw_only=True)
class Sides(Reply):
    """low and high of every cell, nested like the counts."""

    low: list[Any]
    high: list[Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds(Reply):
    """What the true count of one cell lies between, and of every cell at once."""

    level: float
    each: Sides
    all: Sides


@dataclass(frozen=True, slots=True, kw_only=True)
class Marginal(Answer):
    """The histogram of some attributes: nested lists, the last attribute innermost.

    The error of a cell is `reach`, the same for all; or, of a release with a threshold, `bounds` for each of them.
    """

    attributes: tuple[Axis, ...]
    counts: list[Any]
    noise_sd: float | None
    reach: Reach | None
    bounds: Bounds | None = None

    def cells(self) -> Iterator[tuple[Box, float, float | None, float | None]]:
        """Every cell: its box, its count, and what the true count lies between, for one cell at a time."""
        counts = list(_flat(self.counts))
        low, high = self._sides(counts)
        return zip(_grid_boxes(self.attributes), counts, low, high, strict=True)

    def to_pandas(self) -> Any:
        """One row per cell."""
        counts = list(_flat(self.counts))
        low, high = self._sides(counts)
        return _box_frame(self.attributes, _grid_boxes(self.attributes), count=counts, low=low, high=high)

    def _sides(self, counts: list[float]) -> tuple[list[Any], list[Any]]:
        if self.bounds is not None:
            return list(_flat(self.bounds.each.low)), list(_flat(self.bounds.each.high))
        if self.reach is None:
            return [None] * len(counts), [None] * len(counts)
        each = self.reach.each
        return [count - each for count in counts], [count + each for count in counts]


@dataclass(frozen=True, slots=True, kw_only=True)
class Synopsis(Answer):
    """The noisy histogram as drawn, the last attribute fastest: every cell.

    With a `threshold`, only the cells whose noisy count reaches it: their numbers are in `cells`.
    """

    dataset: str
    grid: Grid
    attributes: tuple[Axis, ...]
    epsilon: str
    mechanism: str
    size: int
    size_declared: bool
    clusters: int
    counts: tuple[int, ...]
    noise_sd: float
    reach: Reach
    threshold: int | None = None
    cells: tuple[int, ...] | None = None

    def boxes(self) -> Iterator[Box]:
        """The box of each cell that `counts` has a count for."""
        if self.cells is None:
            return _grid_boxes(self.attributes)
        return (_box(self.attributes, number) for number in self.cells)

    def to_pandas(self) -> Any:
        """One row per cell that has a count."""
        return _box_frame(self.attributes, self.boxes(), count=self.counts)
