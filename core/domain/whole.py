"""WholeValues: what the kinds integer, date and datetime share. Their values are whole numbers of a step.

A value has a number, counted from 0 at the lower bound: that is its code. Cells are runs of values, as equal as
possible (`core.domain.axis.RunAxis`), so no value lies on an edge and nothing rounds.
"""

from __future__ import annotations

from abc import abstractmethod
from math import ceil
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from core.arrays import Floats
from core.domain.attribute import MISSING, Codes, Encoded, Ordered, require_name
from core.domain.axis import Axis, RunAxis
from core.domain.number import finish
from core.errors import InvalidDomain
from core.workspace import Workspace

_ROUNDING = 1e-9  # of a value: what a share may miss a whole number of values by


class WholeValues(Ordered):
    """Values `first`, `first` + 1, … `last` in steps; `steps_per_unit` of them make one of its own unit."""

    __slots__ = ()

    is_whole = True
    steps_per_unit: ClassVar[int] = 1
    # The edge below a value, in steps from the value: cells of whole numbers and of days end half way to the next one.
    edge_offset: ClassVar[float] = -0.5

    def __post_init__(self) -> None:
        require_name(self.name)
        self._require_bounds()
        if self.first > self.last:
            raise InvalidDomain(
                f"The lower bound of an attribute of kind {self.kind} must not be above its upper bound."
            )

    def _require_bounds(self) -> None:
        """Refuse bounds that are no values of this kind."""

    @property
    @abstractmethod
    def first(self) -> int:
        """The least value, in steps."""

    @property
    @abstractmethod
    def last(self) -> int:
        """The greatest value, in steps."""

    @abstractmethod
    def within(self, first: int, last: int) -> WholeValues:
        """The same attribute with other bounds, in steps, and no missing values."""

    def typed(self, numbers: NDArray[np.int64]) -> NDArray[Any]:
        """Values in steps as `sample` returns them."""
        return numbers

    @property
    def values(self) -> int:
        """V, how many values there are."""
        return self.last - self.first + 1

    @property
    def start(self) -> float:
        """The edge below the least value."""
        return (self.first + self.edge_offset) / self.steps_per_unit

    @property
    def stop(self) -> float:
        """The edge above the greatest value."""
        return (self.last + 1 + self.edge_offset) / self.steps_per_unit

    @property
    def most_cells(self) -> int:
        """One for each value."""
        return self.values

    @property
    def code_type(self) -> np.dtype[Any]:
        """32 bits where they can number all values and one more."""
        return np.dtype(np.uint32 if self.values < 2**32 else np.uint64)

    def axis(self, cells: int) -> RunAxis:
        """So many runs."""
        return RunAxis.even(self.values, cells, keeps_missing=self.keeps_missing)

    def edges(self, axis: Axis) -> Floats:
        """The edges of its runs."""
        edges: Floats = (self.first + starts_of(axis) + self.edge_offset) / self.steps_per_unit
        return edges

    def values_at(self, codes: NDArray[Any]) -> NDArray[Any]:
        """The edge below the nearest value."""
        edges: Floats = (self.first + nearest_code(codes) + self.edge_offset) / self.steps_per_unit
        return edges

    def reach(self, axis: Axis) -> float:
        """From the first or the last value of the longest run to its centre: nothing for runs of a single value."""
        return float(self.reaches(axis).max())

    def reaches(self, axis: Axis) -> Floats:
        """By the length of each run."""
        half = np.diff(starts_of(axis)) / 2.0
        reaches: Floats = np.maximum(half + self.edge_offset, half - 1 - self.edge_offset) / self.steps_per_unit
        return reaches

    def extent(self, axis: Axis, first: int, last: int) -> tuple[float, float]:
        """The first value of the first run and the last value of the last one."""
        starts = starts_of(axis)
        least, greatest = self.first + starts[first], self.first + starts[last + 1] - 1
        return int(least) / self.steps_per_unit, int(greatest) / self.steps_per_unit

    def value_within(self, axis: Axis, cell: int, share: float) -> float:
        """One of the values of the run."""
        starts = starts_of(axis)
        run = int(starts[cell + 1] - starts[cell])
        number = min(max(ceil(share * run - _ROUNDING), 1), run) - 1
        return (self.first + int(starts[cell]) + number) / self.steps_per_unit

    def encode(
        self, column: NDArray[Any], *, clip: bool, workspace: Workspace | None = None, out: Codes | None = None
    ) -> Encoded:
        """The number of each value."""
        if (codes := self._clean(column, workspace or Workspace(), out)) is not None:
            return Encoded(codes, None, None)
        is_missing = self._is_missing(column)
        values = column if is_missing is None else np.where(is_missing, column.dtype.type(self.first), column)
        inside = (values >= self.first) & (values <= self.last)
        outside = None if inside.all() else ~inside
        if outside is not None:
            values = np.clip(values, self.first, self.last)
        codes = (values.astype(np.int64) - self.first).astype(self.code_type)
        return finish(self, codes, is_missing, outside, clip=clip)

    def _clean(self, column: NDArray[Any], workspace: Workspace, out: Codes | None) -> Codes | None:
        """The codes of a column of whole values within the bounds, in `out` if given; None for any other column."""
        low, high = column.min(initial=self.last), column.max(initial=self.first)  # NaN where a value is NaN
        if not (low >= self.first and high <= self.last):
            return None
        numbers = workspace.array("numbers", len(column), np.int64)
        np.copyto(numbers, column, casting="unsafe")
        if column.dtype.kind == "f" and not np.array_equal(numbers, column):
            return None
        numbers -= self.first
        codes: Codes = np.empty(len(column), dtype=self.code_type) if out is None else out
        np.copyto(codes, numbers, casting="unsafe")
        return codes

    def _is_missing(self, column: NDArray[Any]) -> NDArray[np.bool_] | None:
        missing = column == MISSING
        return missing if missing.any() else None

    def restricted(self, axis: Axis, places: NDArray[np.int64]) -> tuple[WholeValues, RunAxis]:
        """The values of neighbouring cells."""
        assert isinstance(axis, RunAxis)  # noqa: S101 - for the type checker
        starts = axis.starts[int(places[0]) : int(places[-1]) + 2]
        part = self.within(self.first + starts[0], self.first + starts[-1] - 1)
        return part, RunAxis(tuple(start - starts[0] for start in starts))

    def sample(self, axis: Axis, places: NDArray[np.int64], uniform: Floats) -> NDArray[Any]:
        """Each value of the cell is equally likely."""
        return self.typed(self.numbers_in(axis, places, uniform))

    def numbers_in(self, axis: Axis, places: NDArray[np.int64], uniform: Floats) -> NDArray[np.int64]:
        """A value in each of these cells, in steps: each value of a cell is equally likely."""
        starts = starts_of(axis)
        lengths = np.diff(starts)[places]
        inside = np.minimum((uniform * lengths).astype(np.int64), lengths - 1)
        numbers: NDArray[np.int64] = self.first + starts[places] + inside
        return numbers


def nearest_code(codes: NDArray[Any]) -> NDArray[np.int64]:
    """Whole numbers; those that are whole already stay exactly as they are."""
    return np.rint(codes).astype(np.int64) if codes.dtype.kind == "f" else codes.astype(np.int64)


def starts_of(axis: Axis) -> NDArray[np.int64]:
    """Where the runs of an axis begin, and where the last one ends."""
    assert isinstance(axis, RunAxis)  # noqa: S101 - for the type checker
    return np.array(axis.starts, dtype=np.int64)
