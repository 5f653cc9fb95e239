"""`hotspots`: connected cells with more rows than evenly spread rows would leave there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

from rugnik.wire.base import Reply
from rugnik.wire.cells import Axis, cell_frame
from rugnik.wire.common import Answer, Estimate, ValueEnds
from rugnik.wire.limits import Doc


@dataclass(frozen=True, slots=True, kw_only=True)
class Hotspot(Reply):
    """A region of cells that share edges. `expected` is how many rows it would have if all were spread evenly."""

    ranges: Annotated[tuple[ValueEnds, ...], Doc("For each attribute, from its least to its greatest edge.")]
    cells: Annotated[tuple[tuple[int, ...], ...], Doc("Its cells, each by its place on every axis, from 0.")]
    count: Estimate
    expected: float
    excess: Estimate


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Hotspots(Answer):
    """Regions that stand out from rows spread evenly over the covered cells by volume, the largest excess first.

    If rows are spread so, any region is listed with a probability of 1 - level at most. Of releases that protect
    persons, that is so for independent persons, however close the rows of each of them lie together. The intervals of
    all regions hold together, although the same counts chose them. Of more than 1,000 regions those with the largest
    excess are listed, and `warnings` says so.
    """

    path: ClassVar[str] = "hotspots"

    attributes: tuple[Axis, ...]
    level: float
    null_hypothesis: Annotated[
        Literal["uniform"], Doc("Complete spatial randomness: rows lie anywhere, equally often.")
    ]
    rows: Estimate
    regions: tuple[Hotspot, ...]
    warnings: tuple[str, ...]

    def to_pandas(self) -> Any:
        """One row per region."""
        each = self.regions
        return cell_frame(
            self.attributes,
            [tuple(end for ends in one.ranges for end in (ends.low, ends.high)) for one in each],
            cells=[len(one.cells) for one in each],
            count=[one.count.value for one in each],
            low=[one.count.interval.low for one in each],
            high=[one.count.interval.high for one in each],
            expected=[one.expected for one in each],
            excess=[one.excess.value for one in each],
            excess_low=[one.excess.interval.low for one in each],
            excess_high=[one.excess.interval.high for one in each],
        )
