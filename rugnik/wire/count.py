"""`count`: the rows in one box."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from rugnik.wire.common import Answer, Ends, Interval, ValueEnds


@dataclass(frozen=True, slots=True, kw_only=True)
class CountNoise(Ends):
    """low to high covers what the count would be without noise, cut cells by their share; `sd` is the noise's."""

    sd: float


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Count(Answer):
    """A range count. `interval` covers the number of rows in the box: noise and cut cells together.

    Its parts: `noise` at the same level, and `discretisation`, the noisy count without, and with, all of the cells that
    the box cuts. An upper end of a number on an edge between two cells counts as a cut of the cell above it, which
    holds the rows equal to that end. `snapped`, only with snap=true, has the ends that each range was moved to.

    Where the size of the release was bought and makes the count more precise, `size_weight` is its weight w: the count
    is the sum of the box's cells and w times what the bought size exceeds the sum of all cells by.
    """

    path: ClassVar[str] = "count"

    count: float
    interval: Interval
    noise: CountNoise
    discretisation: Ends
    snapped: Mapping[str, ValueEnds] | None = None
    size_weight: float | None = None

    def __repr__(self) -> str:
        whole = f"{_span(self.interval)} rows at level {self.interval.level:g}, about {round(self.count):,}"
        cut, noise = _span(self.discretisation), _span(self.noise)
        box = "".join(f"; {name} from {ends.low} to {ends.high}" for name, ends in (self.snapped or {}).items())
        return f"Count({whole}; noise alone: {noise}; without and with cut cells: {cut}{box})"


def _span(ends: Ends | Interval) -> str:
    return f"{round(ends.low):,} to {round(ends.high):,}"
