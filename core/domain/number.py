"""The kind `number`: a numeric column and its public bounds. Ranges are half-open: [a, b) holds a and not b."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.arrays import Floats
from core.domain.attribute import (
    Codes,
    Encoded,
    Missing,
    Ordered,
    missing_of,
    refused_end,
    require_fields,
    require_name,
)
from core.domain.axis import MAX_CELLS_PER_AXIS, Axis, UniformAxis
from core.errors import InvalidDomain
from core.workspace import Workspace

NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?", re.ASCII)
_SCALE = 2.0**32
_LARGEST = _SCALE - 2.0  # 2^32 - 1 stands for a missing value


@dataclass(frozen=True, slots=True)
class Number(Ordered):
    """A numeric column with bounds.

    For t in [0, 1] of the way from the lower to the upper bound, the code is q = min(ceil(t 2^32), 2^32 - 2), so that
    (q m) >> 32 is the cell on an axis of m cells. ceil and not floor: an edge j/m that is no multiple of 2^-32 would
    round down to a number below the edge, into the cell before the one it opens. A value less than 2^-32 of the range
    below an edge is counted in the next cell; that is a rounding of single rows, and no other row's cell depends on it.
    """

    kind = "number"
    column_type = np.float64
    is_whole = False

    name: str
    lower: float
    upper: float
    missing: Missing = Missing.DROP

    def __post_init__(self) -> None:
        require_name(self.name)
        # Adding 0.0 turns -0.0 into 0.0: equal domains must have equal bytes.
        object.__setattr__(self, "lower", float(self.lower) + 0.0)
        object.__setattr__(self, "upper", float(self.upper) + 0.0)
        if not (math.isfinite(self.lower) and math.isfinite(self.upper)):
            raise InvalidDomain("The bounds of an attribute must be finite numbers.")
        if self.lower >= self.upper:
            raise InvalidDomain("The lower bound of an attribute must be below its upper bound.")
        if not math.isfinite(self.width):
            raise InvalidDomain("The bounds of an attribute are too far apart for double precision.")
        if self.width / MAX_CELLS_PER_AXIS < math.ulp(max(abs(self.lower), abs(self.upper))):
            raise InvalidDomain("The bounds of an attribute are so close that a cell would have no width.")

    @property
    def start(self) -> float:
        """The lower bound."""
        return self.lower

    @property
    def stop(self) -> float:
        """The upper bound."""
        return self.upper

    @property
    def most_cells(self) -> None:
        """Any number."""
        return None

    @property
    def code_type(self) -> np.dtype[Any]:
        """32 bits."""
        return np.dtype(np.uint32)

    def axis(self, cells: int) -> UniformAxis:
        """So many equal cells."""
        return UniformAxis(cells, self.keeps_missing)

    def edges(self, axis: Axis) -> Floats:
        """The edges of its cells; both bounds are exact."""
        return np.linspace(self.lower, self.upper, axis.value_cells + 1)

    def values_at(self, codes: NDArray[Any]) -> Floats:
        """The share of the way from bound to bound; both bounds are exact."""
        shares = codes / _SCALE
        values: Floats = np.where(shares >= 1.0, self.upper, self.lower + shares * self.width)
        return values

    def reach(self, axis: Axis) -> float:
        """Half the width of a cell."""
        return self.width / axis.value_cells / 2

    def reaches(self, axis: Axis) -> Floats:
        """The same for every cell."""
        return np.full(axis.value_cells, self.reach(axis))

    def extent(self, axis: Axis, first: int, last: int) -> tuple[float, float]:
        """The outermost edges."""
        edges = self.edges(axis)
        return float(edges[first]), float(edges[last + 1])

    def value_within(self, axis: Axis, cell: int, share: float) -> float:
        """On the way from one edge to the next."""
        edges = self.edges(axis)
        return float(edges[cell] + np.clip(share, 0.0, 1.0) * (edges[cell + 1] - edges[cell]))

    def encode(
        self, column: NDArray[Any], *, clip: bool, workspace: Workspace | None = None, out: Codes | None = None
    ) -> Encoded:
        """Fixed point. A value that is not finite is missing."""
        low, high = column.min(initial=np.inf), column.max(initial=-np.inf)  # NaN where a value is NaN
        if not np.isnan(low) and low >= self.lower and high <= self.upper:
            return Encoded(self._codes(column, high, workspace or Workspace(), out), None, None)
        present = np.isfinite(column)
        is_missing = None if present.all() else ~present
        values = column if is_missing is None else np.where(present, column, self.lower)
        inside = (values >= self.lower) & (values <= self.upper)
        outside = None if inside.all() else ~inside
        if outside is not None:
            values = np.clip(values, self.lower, self.upper)
        codes = self._codes(values, self.upper, workspace or Workspace(), out)
        return finish(self, codes, is_missing, outside, clip=clip)

    def _codes(self, values: NDArray[Any], high: float, workspace: Workspace, out: Codes | None) -> Codes:
        """The codes of values within the bounds, none of them above `high`; in `out` if that is given.

        Each step rounds monotonically, so no code exceeds that of `high`: only where that one does is the largest code
        imposed on all.
        """
        shares = workspace.array("shares", len(values), np.float64)
        if self.lower:
            np.subtract(values, self.lower, out=shares)
            shares /= self.width
        else:  # a value less zero is the value
            np.divide(values, self.width, out=shares)
        shares *= _SCALE
        np.ceil(shares, out=shares)
        if np.ceil((np.float64(high) - self.lower) / self.width * _SCALE) > _LARGEST:
            np.minimum(shares, _LARGEST, out=shares)
        codes: Codes = np.empty(len(values), dtype=np.uint32) if out is None else out
        np.copyto(codes, shares, casting="unsafe")
        return codes

    @classmethod
    def part(cls, name: str, lower: float, upper: float) -> Number:
        """A part of a number between other bounds, without missing values."""
        part = object.__new__(cls)  # not checked: a cell of narrow bounds may be narrower than bounds may be
        for field, value in (("name", name), ("lower", lower), ("upper", upper), ("missing", Missing.DROP)):
            object.__setattr__(part, field, value)
        return part

    def restricted(self, axis: Axis, places: NDArray[np.int64]) -> tuple[Number, UniformAxis]:
        """The numbers of neighbouring cells: an attribute with the outermost of their edges for bounds."""
        edges = self.edges(axis)
        first, last = int(places[0]), int(places[-1]) + 1
        part = Number.part(self.name, float(edges[first]), float(edges[last]))
        return part, UniformAxis(last - first)

    def sample(self, axis: Axis, places: NDArray[np.int64], uniform: Floats) -> Floats:
        """Uniform within the cell."""
        return self.lower + (places + uniform) / axis.value_cells * self.width

    def value_of(self, text: str) -> float:
        """A decimal number."""
        if not NUMBER.fullmatch(text):
            raise refused_end(self, f"{self.name}:{self.lower:g}..{self.upper:g}, [lower, upper)")
        return float(text)

    def shown(self, value: float, *, up: bool | None = None) -> float:  # noqa: ARG002 - nothing is rounded
        """The number."""
        return value

    def why_empty(self, lower: float, upper: float) -> str | None:
        """Why no number lies in [lower, upper), in a sentence; None where numbers do."""
        if lower < upper:
            return None
        return (
            f"The range of {self.name} is empty: a range holds its lower end and not its upper end, so the lower "
            "end must be the smaller one. For the single whole number 9 write 9..10."
        )

    def why_outside(self, lower: float, upper: float) -> str | None:
        """Why no number within the bounds lies in [lower, upper), in a sentence; None where numbers do."""
        if self.lower < upper and lower <= self.upper:
            return None
        bounds = f"{self.lower:.15g} to {self.upper:.15g}"
        return f"The range of {self.name} lies outside its bounds, {bounds}. A range holds its lower end only."

    def declaration(self) -> dict[str, Any]:
        """Name and bounds."""
        common = self._common()
        del common["kind"]  # the default
        return common | {"lower": self.lower, "upper": self.upper}

    def to_json(self) -> Any:
        """Name and bounds in a list, as version 0.1 wrote them; with a field more, like every other kind."""
        return self.declaration() if self.keeps_missing else [self.name, self.lower, self.upper]

    @classmethod
    def declared(cls, fields: Mapping[str, Any]) -> Number:
        """From name and bounds; bounds may be the text of a float, as the ledger has them."""
        require_fields(fields, cls.kind, ("lower", "upper"), ())
        try:
            lower, upper = float(fields["lower"]), float(fields["upper"])
        except (TypeError, ValueError, OverflowError):
            raise InvalidDomain("The bounds of a number are numbers.") from None
        return cls(fields["name"], lower, upper, missing_of(fields))


def finish(
    attribute: Ordered,
    codes: NDArray[Any],
    is_missing: NDArray[np.bool_] | None,
    outside: NDArray[np.bool_] | None,
    *,
    clip: bool,
) -> Encoded:
    """Codes of an ordered attribute, with missing values as its declaration and values outside as `clip` says."""
    dropped = None
    if is_missing is not None:
        if attribute.keeps_missing:
            codes[is_missing] = np.iinfo(codes.dtype).max
        else:
            dropped = is_missing
    if outside is not None and not clip:
        dropped = outside if dropped is None else dropped | outside
    return Encoded(codes, dropped, outside if clip else None)
