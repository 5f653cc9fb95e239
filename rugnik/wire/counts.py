"""`counts`: the rows in each of many boxes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from rugnik.wire.base import Body, Reply, frame
from rugnik.wire.common import Answer
from rugnik.wire.limits import MAX_BOXES, Doc, Level, Limits
from rugnik.wire.where import PART, Where


@dataclass(frozen=True, slots=True, kw_only=True)
class CountsBody(Body):
    """Many boxes at once, each a list of parts like those of `where`."""

    boxes: Annotated[list[Where], Limits(min_length=1, max_length=MAX_BOXES), Doc(f"Each part: {PART}")]
    where: Annotated[
        Where | None, Doc("A part that all boxes lie in; its ranges may cut cells, like those of boxes.")
    ] = None
    level: Level = 0.95
    simultaneous: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ManyEnds(Reply):
    """low and high for each box."""

    low: tuple[float, ...]
    high: tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ManyNoises(ManyEnds):
    """The interval and the standard deviation of the noise of each box."""

    sd: tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts(Answer):
    """Range counts, one entry per box in each list. low to high covers noise and cut cells together."""

    path: ClassVar[str] = "counts"

    counts: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    noise: ManyNoises
    discretisation: ManyEnds

    def to_pandas(self) -> Any:
        """One row per box, in the order asked: the interval of the whole error first, then its parts."""
        parts = {"noise_low": self.noise.low, "noise_high": self.noise.high, "noise_sd": self.noise.sd}
        cut = {"without_cut_cells": self.discretisation.low, "with_cut_cells": self.discretisation.high}
        return frame({"count": self.counts, "low": self.low, "high": self.high} | parts | cut)
