"""Domain and Attribute: public names and bounds, and the affine map to and from [-1, 1]^d."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from core.domain.grid import MAX_CELLS_PER_AXIS, MAX_DIMENSIONS
from core.errors import InvalidDomain

# Comma and colon separate names in queries, a quote would need escaping in CSV, control characters in everything.
_NAME = re.compile(r'[^\x00-\x1f\x7f-\x9f,:"\ud800-\udfff]{1,64}')


@dataclass(frozen=True, slots=True)
class Attribute:
    """One numeric column and its public bounds, stated by the curator and never read off the data."""

    name: str
    lower: float
    upper: float

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name) or self.name != self.name.strip():
            raise InvalidDomain(
                "An attribute name has 1 to 64 characters, none of them a comma, colon, double quote or control "
                "character, and no space at either end."
            )
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
    def width(self) -> NDArray[np.float64]:
        """Widths, in order."""
        return np.array([attribute.width for attribute in self.attributes])

    def select(self, names: tuple[str, ...]) -> Domain:
        """The domain of some attributes, in the order asked for."""
        known = {attribute.name: attribute for attribute in self.attributes}
        if any(name not in known for name in names):
            raise InvalidDomain(f"There is no attribute of that name; known are: {', '.join(self.names)}.")
        return Domain(tuple(known[name] for name in names))

    def to_unit(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        """Points in the attributes' own units (one per row) -> [-1, 1]^d."""
        return 2.0 * ((points - self.lower) / self.width) - 1.0

    def from_unit(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        """Points in [-1, 1]^d (one per row) -> the attributes' own units."""
        return self.lower + (points + 1.0) / 2.0 * self.width
