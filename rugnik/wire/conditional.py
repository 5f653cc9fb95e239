"""`conditional`: the distribution of one attribute for each value or cell of another."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from rugnik.wire.base import Reply
from rugnik.wire.cells import Axis, boxes_of, cell_frame
from rugnik.wire.common import Answer, Estimate


@dataclass(frozen=True, slots=True, kw_only=True)
class Distribution(Reply):
    """The shares of all cells of the one attribute in one cell of the other, each between its low and high.

    `shares` is null where the noise leaves it open whether there are rows at all.
    """

    rows: Estimate
    shares: tuple[float, ...] | None
    low: tuple[float, ...]
    high: tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Conditional(Answer):
    """One distribution for each cell of `given`, over those of `attribute`. Rows without a value of it are left out.

    Each interval holds by itself. It covers the noise; of an adaptive release, also the leaves that cells cut.
    """

    path: ClassVar[str] = "conditional"

    given: Axis
    attribute: Axis
    level: float
    distributions: tuple[Distribution, ...]
    warnings: tuple[str, ...]

    def to_pandas(self) -> Any:
        """One row per share."""
        each = self.distributions
        return cell_frame(
            (self.given, self.attribute),
            boxes_of((self.given, self.attribute)),
            share=[share for one in each for share in one.shares or [None] * len(one.low)],
            low=[low for one in each for low in one.low],
            high=[high for one in each for high in one.high],
        )
