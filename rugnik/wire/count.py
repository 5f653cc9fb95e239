"""`count`: the rows in one box."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from rugnik.wire.base import frame
from rugnik.wire.common import Answer, Ends, Interval, ValueEnds


@dataclass(frozen=True, slots=True, kw_only=True)
class CountNoise(Ends):
    """low to high covers what the count would be without noise, cut cells by their share; `sd` is the noise's."""

    sd: float


@dataclass(frozen=True, slots=True, kw_only=True)
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

    def to_pandas(self) -> Any:
        """One row: the count, its whole interval, and the interval of the noise alone."""
        parts = {"noise_low": self.noise.low, "noise_high": self.noise.high, "noise_sd": self.noise.sd}
        cut = {"without_cut_cells": self.discretisation.low, "with_cut_cells": self.discretisation.high}
        whole = {"count": self.count, "low": self.interval.low, "high": self.interval.high}
        return frame({name: [value] for name, value in (whole | parts | cut).items()})
