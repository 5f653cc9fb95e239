"""Domain: the public attributes of a dataset or a release, the affine map to and from [-1, 1]^d, and how it is written.

A domain is written in one way, as a list of `Attribute.to_json`. The ledger holds no floats, so there each of them is
written as its text (`Domain.to_ledger`), which gives the same float again. `Domain.from_json` reads both.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.domain.attribute import Attribute, Ordered
from core.domain.grid import MAX_DIMENSIONS, Grid
from core.domain.kinds import attribute_of
from core.errors import InvalidDomain


@dataclass(frozen=True, slots=True)
class Domain:
    """1 to 32 attributes with distinct names: the public box that holds every row."""

    attributes: tuple[Attribute, ...]

    def __post_init__(self) -> None:
        if not 1 <= len(self.attributes) <= MAX_DIMENSIONS:
            raise InvalidDomain(f"A domain has 1 to {MAX_DIMENSIONS} attributes, not {len(self.attributes)}.")
        if len(set(self.names)) != len(self.attributes):
            raise InvalidDomain("Attribute names must differ from one another.")

    @property
    def dimensions(self) -> int:
        """The number of attributes."""
        return len(self.attributes)

    @property
    def names(self) -> tuple[str, ...]:
        """The attribute names, in order."""
        return tuple(attribute.name for attribute in self.attributes)

    @property
    def ordered(self) -> tuple[Ordered, ...]:
        """The attributes whose values lie on a line: all but the categories."""
        return tuple(attribute for attribute in self.attributes if isinstance(attribute, Ordered))

    @property
    def ordered_axes(self) -> tuple[int, ...]:
        """The places of the ordered attributes among all."""
        return tuple(x for x, attribute in enumerate(self.attributes) if isinstance(attribute, Ordered))

    @property
    def lower(self) -> NDArray[np.float64]:
        """The lowest edges of the ordered attributes, in order and in their own units."""
        return np.array([attribute.start for attribute in self.ordered])

    @property
    def upper(self) -> NDArray[np.float64]:
        """The highest edges of the ordered attributes, in order."""
        return np.array([attribute.stop for attribute in self.ordered])

    @property
    def width(self) -> NDArray[np.float64]:
        """The widths of the ordered attributes, in order."""
        return np.array([attribute.width for attribute in self.ordered])

    def select(self, names: tuple[str, ...]) -> Domain:
        """The domain of the attributes with these names, in the order asked for."""
        by_name = {attribute.name: attribute for attribute in self.attributes}
        if any(name not in by_name for name in names):
            raise InvalidDomain(f"There is no attribute of that name; known are: {', '.join(self.names)}.")
        return Domain(tuple(by_name[name] for name in names))

    def grid(self, cells: int | Sequence[int]) -> Grid:
        """The grid that gives the values of each attribute so many cells; a category has a cell for each value."""
        each = [cells] * self.dimensions if isinstance(cells, int) else cells
        return Grid(tuple(attribute.axis(m) for attribute, m in zip(self.attributes, each, strict=True)))

    def to_unit(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        """Points of the ordered attributes in their own units (one per row) -> [-1, 1]^d."""
        return 2.0 * ((points - self.lower) / self.width) - 1.0

    def from_unit(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        """Points in [-1, 1]^d (one per row) -> the ordered attributes' own units."""
        return self.lower + (points + 1.0) / 2.0 * self.width

    def to_json(self) -> list[Any]:
        """The attributes as a synopsis stores them."""
        return [attribute.to_json() for attribute in self.attributes]

    def to_ledger(self) -> list[Any]:
        """The attributes as the ledger records them: floats as text, so that any language can check its hashes."""
        return [_floats_as_text(each) for each in self.to_json()]

    @classmethod
    def from_json(cls, stored: Iterable[Any]) -> Domain:
        """The domain that `to_json` or `to_ledger` wrote."""
        return cls(tuple(attribute_of(_fields(each)) for each in stored))


def _fields(stored: Any) -> dict[str, Any]:
    """The fields of an attribute; a number of version 0.1 is a list of name and bounds."""
    if isinstance(stored, dict):
        return stored
    name, lower, upper = stored
    return {"name": name, "lower": lower, "upper": upper}


def _floats_as_text(written: Any) -> Any:
    if isinstance(written, dict):
        return {name: repr(value) if isinstance(value, float) else value for name, value in written.items()}
    return [repr(value) if isinstance(value, float) else value for value in written]
