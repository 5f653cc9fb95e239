"""Attribute: a public column, whatever kind of values it has; and Ordered, the kinds whose values lie on a line.

Readers give each attribute a column of numbers, `Attribute.column_type`: floats with NaN for a value that is missing or
unreadable, or 64-bit integers with MISSING for it. `encode` turns them into codes: unsigned integers that say in which
cell of any axis a value lies. The largest number of a code's type stands for a missing value that is kept.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from core.arrays import Floats
from core.domain.axis import Axis
from core.errors import InvalidDomain, InvalidQuery
from core.workspace import Workspace

# Comma and colon separate names in queries, a quote would need escaping in CSV, control characters in everything.
_NAME = re.compile(r'[^\x00-\x1f\x7f-\x9f,:"\ud800-\udfff]{1,64}')

MISSING = np.iinfo(np.int64).min  # in a column of 64-bit integers
MISSING_LABEL = "(missing)"  # how a query and a table name the cell of missing values


class Missing(StrEnum):
    """What becomes of a row whose value is missing or unreadable: it is dropped, or the value has its own cell."""

    DROP = "drop"
    KEEP = "keep"


Codes = NDArray[np.uint32] | NDArray[np.uint64]


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Encoded:
    """A column as codes: which rows its attribute drops, and which lie outside its bounds. None stands for no row."""

    codes: Codes
    dropped: NDArray[np.bool_] | None
    outside: NDArray[np.bool_] | None


class Attribute(ABC):
    """A public column: name, kind, and what is done with missing values. Declared, never read off the data."""

    __slots__ = ()

    kind: ClassVar[str]
    is_ordered: ClassVar[bool] = False
    column_type: ClassVar[type[np.generic]]

    name: str
    missing: Missing

    @property
    def keeps_missing(self) -> bool:
        """Whether missing values have a cell of their own, the last one."""
        return self.missing is Missing.KEEP

    @property
    @abstractmethod
    def most_cells(self) -> int | None:
        """How many cells its values can be told apart by; None for any number. Missing values come on top."""

    @property
    @abstractmethod
    def code_type(self) -> np.dtype[Any]:
        """The type of its codes."""

    @abstractmethod
    def axis(self, cells: int) -> Axis:
        """The axis that gives its values so many cells, and missing values one more if they are kept."""

    @abstractmethod
    def encode(
        self, column: NDArray[Any], *, clip: bool, workspace: Workspace | None = None, out: Codes | None = None
    ) -> Encoded:
        """The codes of a column, each value by itself. Values out of bounds move to the bound where `clip` says so.

        With `out`, an array for as many codes, they may lie there. Intermediate results may lie in the workspace.
        """

    @abstractmethod
    def restricted(self, axis: Axis, places: NDArray[np.int64]) -> tuple[Attribute, Axis]:
        """The attribute and the axis of these cells alone; of an ordered attribute they must be neighbours."""

    @abstractmethod
    def declaration(self) -> dict[str, Any]:
        """Its public fields by name, as a registration states them; those that have their default are left out."""

    @classmethod
    @abstractmethod
    def declared(cls, fields: Mapping[str, Any]) -> Attribute:
        """The attribute of a declaration. InvalidDomain where it is none."""

    def to_json(self) -> Any:
        """How a synopsis and the ledger write it."""
        return self.declaration()

    def _common(self) -> dict[str, Any]:
        kept = {"missing": self.missing.value} if self.keeps_missing else {}
        return {"name": self.name, "kind": self.kind, **kept}


class Ordered(Attribute):
    """A kind whose values lie on a line, so that it has ranges, quantiles, means and distances.

    Its own unit is a float: the number itself; the whole number; days or seconds since 1970. `start` and `stop` are the
    outermost edges of its cells in that unit.
    """

    __slots__ = ()

    is_ordered = True
    # Whether its values are whole numbers of its unit. Then a range whose ends lie on edges of cells cuts none of them.
    is_whole: ClassVar[bool]
    # Whether JSON has its values as texts; else as numbers.
    is_text: ClassVar[bool] = False

    @property
    @abstractmethod
    def start(self) -> float:
        """The lower edge of its first cell."""

    @property
    @abstractmethod
    def stop(self) -> float:
        """The upper edge of its last cell."""

    @property
    def width(self) -> float:
        """stop - start."""
        return self.stop - self.start

    @abstractmethod
    def edges(self, axis: Axis) -> Floats:
        """The edges of its cells in its own unit."""

    def edge_values(self, axis: Axis) -> NDArray[Any]:
        """The edges of its cells as a table has them: float64, or datetime64 in days or microseconds."""
        return self.edges(axis)

    @abstractmethod
    def values_at(self, codes: NDArray[Any]) -> NDArray[Any]:
        """Codes as edges, typed like those of `edge_values`. They may be fractions, and one beyond the last code."""

    def written(self, values: NDArray[Any]) -> Any:
        """Values from `edge_values` or `sample` as JSON has them: an array of numbers, or a list of texts."""
        return values

    @abstractmethod
    def reach(self, axis: Axis) -> float:
        """How far a value lies from the centre of its cell at most, in its own unit."""

    @abstractmethod
    def reaches(self, axis: Axis) -> Floats:
        """The same for each cell of values. The largest is `reach`."""

    @abstractmethod
    def extent(self, axis: Axis, first: int, last: int) -> tuple[float, float]:
        """The least and the greatest value of the cells from `first` to `last`, in its own unit."""

    @abstractmethod
    def value_within(self, axis: Axis, cell: int, share: float) -> float:
        """The least value that has this share of the values of a cell at or below it."""

    @abstractmethod
    def sample(self, axis: Axis, places: NDArray[np.int64], uniform: Floats) -> NDArray[Any]:
        """A value in each of these cells, from uniform numbers in [0, 1): float64, int64 or datetime64."""

    @abstractmethod
    def value_of(self, text: str) -> float:
        """An end of a range as an analyst writes it, in its own unit. InvalidQuery for any other text."""

    @abstractmethod
    def shown(self, value: float, *, up: bool | None = None) -> float | int | str:
        """A value in its own unit as JSON has it. Where that rounds: to the nearest, or `up`, or down."""

    def ends(self, lower: float, upper: float) -> tuple[float, float]:
        """The range from one value to another as a part of the line, in its own unit."""
        return lower, upper

    def in_cell_units(self, ends: Floats, axis: Axis) -> Floats:
        """Ends in its own unit -> cell units of its axis. Ends out of bounds move to the bound."""
        return axis.in_cell_units((ends - self.start) / self.width)

    @abstractmethod
    def why_empty(self, lower: float, upper: float) -> str | None:
        """Why no value lies in the range from `lower` to `upper`, in a sentence; None where values do."""

    @abstractmethod
    def why_outside(self, lower: float, upper: float) -> str | None:
        """Why no value within the bounds lies in such a range, in a sentence; None where values do."""


def require_name(name: str) -> None:
    """Refuse a name that a query or a file could misread."""
    if not isinstance(name, str) or not _NAME.fullmatch(name) or name != name.strip():
        raise InvalidDomain(
            "An attribute name has 1 to 64 characters, none of them a comma, colon, double quote or control "
            "character, and no space at either end."
        )


def require_fields(fields: Mapping[str, Any], kind: str, wanted: tuple[str, ...], optional: tuple[str, ...]) -> None:
    """Refuse a declaration that lacks a field of its kind or has one of another."""
    lacking = [field for field in wanted if fields.get(field) is None]
    if lacking:
        raise InvalidDomain(f"An attribute of kind {kind} needs: {', '.join(lacking)}.")
    allowed = {"name", "kind", "missing", *wanted, *optional}
    foreign = [field for field, value in fields.items() if field not in allowed and value not in (None, False)]
    if foreign:
        raise InvalidDomain(f"An attribute of kind {kind} has no {', '.join(sorted(foreign))}.")


def missing_of(fields: Mapping[str, Any]) -> Missing:
    """The `missing` of a declaration."""
    try:
        return Missing(fields.get("missing", Missing.DROP))
    except ValueError:
        raise InvalidDomain('What is done with missing values is "drop" or "keep".') from None


def refused_end(attribute: Attribute, example: str) -> InvalidQuery:
    """The error for a text that is no value of an attribute."""
    return InvalidQuery(f"A range of {attribute.name} is written {example}; either end may be left out.")
