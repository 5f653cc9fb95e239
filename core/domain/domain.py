"""Domain and Attribute: public names and bounds, the affine map to and from [-1, 1]^d, and how both are written.

A domain is written in one way, as a list of `Attribute.to_json`. The ledger holds no floats, so there each bound is
written as the text of its float (`Domain.to_ledger`), which gives the same float again. `Domain.from_json` reads both.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.domain.axis import MAX_CELLS_PER_AXIS, Axis
from core.domain.grid import MAX_DIMENSIONS, Grid
from core.domain.kind import AttributeKind, require_name
from core.errors import InvalidDomain


@dataclass(frozen=True, slots=True)
class Attribute(AttributeKind):
    """The kind `number`: a numeric column and its public bounds, stated by the curator and never read off the data.

    A range [a, b) holds a and not b, unless b is the upper bound or beyond.
    """

    name: str
    lower: float
    upper: float

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
    def width(self) -> float:
        """upper - lower."""
        return self.upper - self.lower

    def axis(self, cells: int) -> Axis:
        """So many equal cells."""
        return Axis(cells)

    def edges(self, axis: Axis) -> NDArray[np.float64]:
        """The edges of its cells in its own units; both bounds are exact."""
        return axis.edges_between(self.lower, self.upper)

    def in_cell_units(self, values: NDArray[np.float64], axis: Axis) -> NDArray[np.float64]:
        """Ends of ranges in its own units -> cell units of its axis. Ends out of bounds move to the bound."""
        return axis.in_cell_units((values - self.lower) / self.width)

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

    def described(self) -> dict[str, Any]:
        """Name and bounds."""
        return {"name": self.name, "lower": self.lower, "upper": self.upper}

    @classmethod
    def from_json(cls, stored: Sequence[Any]) -> Attribute:
        """The attribute that `to_json` wrote; bounds may be the text of a float. Anything else raises an error."""
        name, lower, upper = stored
        return cls(name, float(lower), float(upper))


@dataclass(frozen=True, slots=True)
class Domain:
    """1 to 16 attributes with distinct names: the public box that holds every row."""

    attributes: tuple[Attribute, ...]

    def __post_init__(self) -> None:
        if not 1 <= len(self.attributes) <= MAX_DIMENSIONS:
            raise InvalidDomain(f"A domain has 1 to {MAX_DIMENSIONS} attributes, not {len(self.attributes)}.")
        if len(set(self.names)) != len(self.attributes):
            raise InvalidDomain("Attribute names must differ from one another.")

    @property
    def dimensions(self) -> int:
        """d, the number of attributes."""
        return len(self.attributes)

    @property
    def names(self) -> tuple[str, ...]:
        """The attribute names, in order."""
        return tuple(attribute.name for attribute in self.attributes)

    @property
    def lower(self) -> NDArray[np.float64]:
        """Lower bounds, in order."""
        return np.array([attribute.lower for attribute in self.attributes])

    @property
    def upper(self) -> NDArray[np.float64]:
        """Upper bounds, in order."""
        return np.array([attribute.upper for attribute in self.attributes])

    @property
    def width(self) -> NDArray[np.float64]:
        """Widths, in order."""
        return np.array([attribute.width for attribute in self.attributes])

    def select(self, names: tuple[str, ...]) -> Domain:
        """The domain of the attributes with these names, in the order asked for."""
        by_name = {attribute.name: attribute for attribute in self.attributes}
        if any(name not in by_name for name in names):
            raise InvalidDomain(f"There is no attribute of that name; known are: {', '.join(self.names)}.")
        return Domain(tuple(by_name[name] for name in names))

    def grid(self, cells_per_axis: int) -> Grid:
        """The grid that gives every attribute so many cells."""
        return Grid(tuple(attribute.axis(cells_per_axis) for attribute in self.attributes))

    def to_unit(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        """Points in the attributes' own units (one per row) -> [-1, 1]^d."""
        return 2.0 * ((points - self.lower) / self.width) - 1.0

    def from_unit(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        """Points in [-1, 1]^d (one per row) -> the attributes' own units."""
        return self.lower + (points + 1.0) / 2.0 * self.width

    def to_json(self) -> list[list[Any]]:
        """The attributes as a synopsis stores them."""
        return [attribute.to_json() for attribute in self.attributes]

    def to_ledger(self) -> list[list[Any]]:
        """The attributes as the ledger records them: floats as text, so that any language can check its hashes."""
        return [[repr(field) if isinstance(field, float) else field for field in each] for each in self.to_json()]

    @classmethod
    def from_json(cls, stored: Iterable[Sequence[Any]]) -> Domain:
        """The domain that `to_json` or `to_ledger` wrote."""
        return cls(tuple(Attribute.from_json(each) for each in stored))
