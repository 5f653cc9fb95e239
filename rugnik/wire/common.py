"""What several answers are made of: the fields of every answer, intervals, estimates, the grid."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from rugnik.wire.base import Reply
from rugnik.wire.limits import Doc


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer(Reply):
    """What every answer carries. Asking is post-processing: it spends nothing."""

    path: ClassVar[str]  # of the question, below /v1/releases/{id}/

    release: str
    synopsis_digest: str
    epsilon_spent: str
    question: str
    parameters: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval(Reply):
    """low to high, which covers the noise with probability `level` or more; of a count or a quantile, the grid too."""

    level: float
    low: float
    high: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Ends(Reply):
    """low to high."""

    low: float
    high: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate(Reply):
    """A value with its interval. The value is null where it would be a ratio with a denominator that may be zero.

    A correlation has no value where a variance cannot be told from zero.
    """

    value: float | None
    interval: Interval


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid(Reply):
    """A product of axes, one for each attribute."""

    cells_per_axis: Annotated[int | None, Doc("The cells of every axis, where they have equally many; else null.")]
    dimensions: Annotated[int, Doc("The number of axes.")]
    cells: Annotated[int, Doc("The number of all cells.")]
    shape: Annotated[tuple[int, ...], Doc("The number of cells on each axis, in the order of the attributes.")]
