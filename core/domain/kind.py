"""AttributeKind: what the rest of the code asks of an attribute, whatever kind of values it has."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.domain.axis import Axis
from core.errors import InvalidDomain

# Comma and colon separate names in queries, a quote would need escaping in CSV, control characters in everything.
_NAME = re.compile(r'[^\x00-\x1f\x7f-\x9f,:"\ud800-\udfff]{1,64}')


def require_name(name: str) -> None:
    """Refuse a name that a query or a file could misread."""
    if not _NAME.fullmatch(name) or name != name.strip():
        raise InvalidDomain(
            "An attribute name has 1 to 64 characters, none of them a comma, colon, double quote or control "
            "character, and no space at either end."
        )


class AttributeKind(ABC):
    """A public column: its name, the axis that its values lie on, ranges of its values, and how it is written."""

    __slots__ = ()

    name: str

    @abstractmethod
    def axis(self, cells: int) -> Axis:
        """The axis of this attribute on a grid that gives it so many cells."""

    @abstractmethod
    def edges(self, axis: Axis) -> NDArray[np.float64]:
        """The edges of its cells in its own units."""

    @abstractmethod
    def in_cell_units(self, values: NDArray[np.float64], axis: Axis) -> NDArray[np.float64]:
        """Ends of ranges in its own units -> cell units of its axis. Ends out of bounds move to the bound."""

    @abstractmethod
    def why_empty(self, lower: float, upper: float) -> str | None:
        """Why no value lies in the range from `lower` to `upper`, in a sentence; None where values do."""

    @abstractmethod
    def why_outside(self, lower: float, upper: float) -> str | None:
        """Why no value within the bounds lies in such a range, in a sentence; None where values do."""

    @abstractmethod
    def described(self) -> dict[str, Any]:
        """Its public fields by name, as an answer shows them."""

    def to_json(self) -> list[Any]:
        """Its public fields in order, as a synopsis stores them."""
        return list(self.described().values())
