"""The kind `integer`: whole numbers with inclusive bounds. Ranges are closed: 6..10 holds 6, 7, 8, 9 and 10."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil, floor, inf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.domain.attribute import Missing, missing_of, refused_end, require_fields
from core.domain.number import NUMBER
from core.domain.whole import WholeValues
from core.errors import InvalidDomain

# Columns arrive as doubles. Up to here a double tells every whole number from its neighbours, with room for a bound.
MAX_INTEGER = 2**52


@dataclass(frozen=True, slots=True)
class Integer(WholeValues):
    """A column of whole numbers. Cell edges lie half way between two of them."""

    kind = "integer"
    column_type = np.float64

    name: str
    lower: int
    upper: int
    missing: Missing = Missing.DROP

    def _require_bounds(self) -> None:
        if not all(type(end) is int and abs(end) <= MAX_INTEGER for end in (self.lower, self.upper)):
            raise InvalidDomain("The bounds of an integer are whole numbers of at most 2^52 in absolute value.")

    @property
    def first(self) -> int:
        """The lower bound."""
        return self.lower

    @property
    def last(self) -> int:
        """The upper bound."""
        return self.upper

    def within(self, first: int, last: int) -> Integer:
        """Other bounds."""
        return Integer(self.name, first, last)

    def _is_missing(self, column: NDArray[Any]) -> NDArray[np.bool_] | None:
        """NaN, infinity, and every number that is not whole."""
        with np.errstate(invalid="ignore"):
            is_whole = np.floor(column) == column
        is_whole &= np.isfinite(column)
        return None if is_whole.all() else ~is_whole

    def ends(self, lower: float, upper: float) -> tuple[float, float]:
        """From half below the lower to half above the upper number."""
        low = lower if lower == -inf else ceil(lower) - 0.5
        high = upper if upper == inf else floor(upper) + 0.5
        return low, high

    def value_of(self, text: str) -> float:
        """A whole number; 6.0 serves for 6."""
        value = float(text) if NUMBER.fullmatch(text) else inf
        if not value.is_integer():
            raise refused_end(self, f"{self.name}:{self.first}..{self.last} with whole numbers, both of them included")
        return value

    def shown(self, value: float, *, up: bool | None = None) -> float:  # noqa: ARG002 - nothing is rounded
        """A mean of whole numbers need not be whole, so it stays as it is."""
        return value

    def why_empty(self, lower: float, upper: float) -> str | None:
        """Why no whole number lies between them; None where there is one."""
        if lower == -inf or upper == inf or ceil(lower) <= floor(upper):
            return None
        return f"The range of {self.name} is empty: it holds both of its ends, so the first must not be the larger one."

    def why_outside(self, lower: float, upper: float) -> str | None:
        """Why none within the bounds lies between them; None where there is one."""
        if lower <= self.upper and upper >= self.lower:
            return None
        return f"The range of {self.name} lies outside its bounds, {self.lower} to {self.upper}."

    def declaration(self) -> dict[str, Any]:
        """Name, kind and bounds."""
        return self._common() | {"lower": self.lower, "upper": self.upper}

    @classmethod
    def declared(cls, fields: Mapping[str, Any]) -> Integer:
        """From name and bounds; 110.0 serves for 110."""
        require_fields(fields, cls.kind, ("lower", "upper"), ())
        ends = (fields["lower"], fields["upper"])
        if not all(isinstance(end, int | float) and not isinstance(end, bool) and end == end // 1 for end in ends):
            raise InvalidDomain("The bounds of an integer are whole numbers of at most 2^52 in absolute value.")
        return cls(fields["name"], int(ends[0]), int(ends[1]), missing_of(fields))
