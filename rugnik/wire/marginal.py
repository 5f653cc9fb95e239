"""`marginal`: the histogram of some attributes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

from rugnik.wire.base import Reply
from rugnik.wire.cells import Axis, Box, Reach, boxes_of, cell_frame, flat
from rugnik.wire.common import Answer


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
    """A histogram: nested lists, the last attribute innermost.

    The error of a cell is `reach`, the same for all cells. Of a thresholded or an adaptive release it is `bounds`, for
    each cell. An adaptive release has no grid: its histogram has cells of equal width, `cells` on each axis or fewer.
    Where `cells` was asked for, `cells_summed` neighbours on each axis are one cell, the last one maybe fewer; a list
    has that number for each attribute, where they differ. Categories and missing values are never summed.
    """

    path: ClassVar[str] = "marginal"

    attributes: tuple[Axis, ...]
    counts: list[Any]
    noise_sd: float | None
    reach: Reach | None
    bounds: Bounds | None
    cells_summed: tuple[int, ...] | int | None = None

    def cells(self) -> Iterator[tuple[Box, float, float | None, float | None]]:
        """Every cell: its box, its count, and what the true count lies between, for one cell at a time."""
        counts, low, high = self._columns()
        return zip(boxes_of(self.attributes), counts, low, high, strict=True)

    def to_pandas(self) -> Any:
        """One row per cell."""
        counts, low, high = self._columns()
        return cell_frame(self.attributes, boxes_of(self.attributes), count=counts, low=low, high=high)

    def _columns(self) -> tuple[list[float], list[Any], list[Any]]:
        counts = list(flat(self.counts))
        if self.bounds is not None:
            return counts, list(flat(self.bounds.each.low)), list(flat(self.bounds.each.high))
        if self.reach is None:
            return counts, [None] * len(counts), [None] * len(counts)
        each = self.reach.each
        return counts, [count - each for count in counts], [count + each for count in counts]
