"""What several answers are made of: the fields of every answer, intervals, estimates, the grid."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from rugnik.wire.base import Reply
from rugnik.wire.limits import Doc

# A value of an attribute: a number, or the text of a date (YYYY-MM-DD) or a datetime (RFC 3339).
Value = float | str


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer(Reply):
    """What every answer carries. Asking is post-processing: it spends nothing."""

    path: ClassVar[str]  # of the question, below /v1/releases/{id}/

    release: str
    synopsis_digest: str
    epsilon_spent: str
    question: str
    parameters: Mapping[str, Any]
    slice: Annotated[
        Mapping[str, str] | None,
        Doc("The part of the rows that was asked about, as it was answered: whole cells, by attribute."),
    ] = None
    notes: Annotated[
        tuple[str, ...],
        Doc("Reasons in words: why a value lies at an end of its interval, or nothing is recommended; else left out."),
    ] = ()

    def __init_subclass__(cls, **given: Any) -> None:
        super(Answer, cls).__init_subclass__(**given)
        cls.__repr__ = Reply.__repr__  # type: ignore[method-assign] # so that `dataclass` writes no long one

    def plot(self, ax: Any = None) -> Any:
        """Its chart by matplotlib, on the axes `ax` or on new ones; the axes. UnfitArgument where it has no chart."""
        from rugnik.shown.plots import plotted  # noqa: PLC0415 - it knows every type
        from rugnik.shown.views import view_of  # noqa: PLC0415 - as above

        return plotted(view_of(self), ax)


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval(Reply):
    """low to high, which covers the noise with probability `level` or more; of a count or a quantile, the grid too."""

    level: float
    low: float
    high: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ValueInterval(Reply):
    """An interval for a value of an attribute, or for a mean of values. The ends of a date are rounded outwards."""

    level: float
    low: Value
    high: Value


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate(Reply):
    """A value with its interval. The value is null where it would be a ratio with a denominator that may be zero.

    A correlation has no value where a variance cannot be told from zero.
    """

    value: float | None
    interval: Interval


@dataclass(frozen=True, slots=True, kw_only=True)
class ValueEstimate(Reply):
    """A mean of values of an attribute with its interval. It is null where there may be no rows to divide by."""

    value: Value | None
    interval: ValueInterval


@dataclass(frozen=True, slots=True, kw_only=True)
class Ends(Reply):
    """low to high."""

    low: float
    high: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ValueEnds(Reply):
    """low to high, as values of an attribute."""

    low: Value
    high: Value


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid(Reply):
    """A product of axes, one for each attribute. Of the adaptive rule it is the base, whose cells are cut further."""

    cells_per_axis: Annotated[int | None, Doc("The cells of every axis, where they have equally many; else null.")]
    dimensions: Annotated[int, Doc("The number of axes.")]
    cells: Annotated[int, Doc("The number of all cells.")]
    shape: Annotated[tuple[int, ...], Doc("The number of cells on each axis, in the order of the attributes.")]
    layered: Annotated[bool, Doc("Whether its cells are cut further, as their noisy counts say (rule adaptive).")] = (
        False
    )
    leaves: Annotated[int | None, Doc("The number of the finest cells of a layered release, once published.")] = None

    @property
    def sentence(self) -> str:
        """The cells of its axes, in words."""
        if self.layered:
            base = f"a base of {' x '.join(map(str, self.shape))} cells"
            return (
                f"{base}, cut as noisy counts say"
                if self.leaves is None
                else f"{base}, cut into {self.leaves:,} leaves"
            )
        if self.cells_per_axis is not None:
            axes = f" on each of {self.dimensions} axes" if self.dimensions > 1 else ""
            return f"{self.cells_per_axis} cells{axes}"
        return f"{' x '.join(map(str, self.shape))} cells"
