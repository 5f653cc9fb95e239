"""`counts`: the rows in each of many boxes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from rugnik.wire.base import Body, Reply, frame
from rugnik.wire.common import Answer, ValueEnds
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
    snap: Annotated[
        bool | None, Doc("Move both ends of each range to the nearest cell edge, so that no cell is cut.")
    ] = None


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
    """Range counts, one entry per box in each list. low to high covers noise and cut cells together.

    `snapped`, only with snap=true, has the ends that the ranges of each box were moved to. `size_weights` has the
    weight of a bought size in each count, as for `count`; it is left out where all are 0.
    """

    path: ClassVar[str] = "counts"

    counts: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    noise: ManyNoises
    discretisation: ManyEnds
    snapped: tuple[Mapping[str, ValueEnds], ...] | None = None
    size_weights: tuple[float, ...] | None = None

    def to_pandas(self) -> Any:
        """One row per box, in the order asked: the interval of the whole error first, then its parts."""
        parts = {"noise_low": self.noise.low, "noise_high": self.noise.high, "noise_sd": self.noise.sd}
        cut = {"without_cut_cells": self.discretisation.low, "with_cut_cells": self.discretisation.high}
        return frame({"count": self.counts, "low": self.low, "high": self.high} | parts | cut | self._moved())

    def _moved(self) -> dict[str, list[Any]]:
        """The ends of the boxes that were answered, two columns for each attribute with a range."""
        boxes = self.snapped or ()
        names = dict.fromkeys(name for box in boxes for name in box)
        return {
            f"{name}_{side}": [getattr(box[name], side) if name in box else None for box in boxes]
            for name in names
            for side in ("low", "high")
        }
