"""`count`: the rows in one box."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, ClassVar

from rugnik.wire.common import Answer, Ends, Interval
from rugnik.wire.limits import Limits

WHERE = (
    "attribute:lower..upper, such as age:20..40; either end may be left out. The range is half-open, [lower, upper): a "
    "value equal to lower is counted, a value equal to upper is not, unless upper is the attribute's upper bound. A "
    "range that reaches beyond the bounds is cut to them; one that is empty or lies outside them is refused. Ranges of "
    "the same attribute intersect."
)
Where = Annotated[list[Annotated[str, Limits(max_length=200)]], Limits(max_length=64)]


@dataclass(frozen=True, slots=True, kw_only=True)
class CountNoise(Ends):
    """low to high covers what the count would be without noise, cut cells by their share; `sd` is the noise's."""

    sd: float


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Count(Answer):
    """A range count. `interval` covers the number of rows in the box: noise and cut cells together.

    Its parts: `noise` at the same level, and `discretisation`, the noisy count without, and with, all of the cells that
    the box cuts. An upper end on an edge between two cells counts as a cut of the cell above it, which holds the rows
    equal to that end. `snapped`, only with snap=true, has the edges that each range was moved to.
    """

    path: ClassVar[str] = "count"

    count: float
    interval: Interval
    noise: CountNoise
    discretisation: Ends
    snapped: Mapping[str, Ends] | None = None

    def __repr__(self) -> str:
        whole = f"{_span(self.interval)} rows at level {self.interval.level:g}, about {round(self.count):,}"
        cut, noise = _span(self.discretisation), _span(self.noise)
        return f"Count({whole}; noise alone: {noise}; without and with cut cells: {cut})"


def _span(ends: Ends | Interval) -> str:
    return f"{round(ends.low):,} to {round(ends.high):,}"
