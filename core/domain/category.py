"""The kind `category`: a public list of values, matched as text. There are no ranges and no distances."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.domain.attribute import (
    MISSING,
    MISSING_LABEL,
    Attribute,
    Codes,
    Encoded,
    Missing,
    missing_of,
    require_fields,
    require_name,
)
from core.domain.axis import Axis, CategoryAxis
from core.errors import InvalidDomain
from core.workspace import Workspace

OTHER = -1  # in a column: a value that is not on the list
OTHER_LABEL = "(other)"  # how a query and a table name the cell of all other values
MAX_VALUES = 10_000
# A comma separates values in queries, and a line end separates rows in files.
_VALUE = re.compile(r"[^\x00-\x1f\x7f-\x9f,\u2028\u2029\ud800-\udfff]{1,100}")


@dataclass(frozen=True, slots=True)
class Category(Attribute):
    """A column of categories. With `other`, all values that are not on the list have a cell; else such rows drop.

    A column holds the place of each value on the list, OTHER or MISSING.
    """

    kind = "category"
    column_type = np.int64

    name: str
    values: tuple[str, ...]
    other: bool = False
    missing: Missing = Missing.DROP

    def __post_init__(self) -> None:
        require_name(self.name)
        if not 1 <= len(self.values) <= MAX_VALUES:
            raise InvalidDomain(f"A category has 1 to {MAX_VALUES:,} values.")
        if any(not isinstance(v, str) or not _VALUE.fullmatch(v) or v != v.strip() for v in self.values):
            raise InvalidDomain(
                "The values of a category have 1 to 100 characters, none of them a comma, line end or control "
                "character, and no space at either end."
            )
        if {OTHER_LABEL, MISSING_LABEL} & set(self.values):
            raise InvalidDomain(f"No value of a category is called {OTHER_LABEL} or {MISSING_LABEL}.")
        if len(set(self.values)) != len(self.values):
            raise InvalidDomain("The values of a category must differ from one another.")

    @property
    def labels(self) -> tuple[str, ...]:
        """The names of its cells, in order."""
        others = (OTHER_LABEL,) if self.other else ()
        return (*self.values, *others, *((MISSING_LABEL,) if self.keeps_missing else ()))

    @property
    def most_cells(self) -> int:
        """One for each value, and one for all others."""
        return len(self.values) + self.other

    @property
    def code_type(self) -> np.dtype[Any]:
        """32 bits."""
        return np.dtype(np.uint32)

    def axis(self, cells: int | None = None) -> CategoryAxis:
        """A cell for each value, whatever is asked for."""
        del cells
        return CategoryAxis(self.most_cells, self.keeps_missing)

    def encode(
        self, column: NDArray[Any], *, clip: bool, workspace: Workspace | None = None, out: Codes | None = None
    ) -> Encoded:
        """The place of each value; all other values come after the last one."""
        del clip, workspace  # categories have no bounds, and their codes need nothing in between
        if column.min(initial=0) >= 0:
            clean: Codes = np.empty(len(column), dtype=np.uint32) if out is None else out
            np.copyto(clean, column, casting="unsafe")
            return Encoded(clean, None, None)
        is_missing, is_other = column == MISSING, column == OTHER
        codes = np.where(column >= 0, column, len(self.values)).astype(np.uint32)
        dropped = np.zeros(len(column), dtype=np.bool_)
        if self.keeps_missing:
            codes[is_missing] = np.iinfo(np.uint32).max
        else:
            dropped |= is_missing
        if not self.other:
            dropped |= is_other
        return Encoded(codes, dropped if dropped.any() else None, None)

    def restricted(self, axis: Axis, places: NDArray[np.int64]) -> tuple[Category, CategoryAxis]:
        """The categories of these cells."""
        del axis
        chosen = [self.labels[place] for place in places.tolist()]
        part = object.__new__(Category)  # not checked: a part may be the cell of other values alone
        for field, value in (
            ("name", self.name),
            ("values", tuple(label for label in chosen if label not in (OTHER_LABEL, MISSING_LABEL))),
            ("other", OTHER_LABEL in chosen),
            ("missing", Missing.KEEP if MISSING_LABEL in chosen else Missing.DROP),
        ):
            object.__setattr__(part, field, value)
        cells = len(chosen) - part.keeps_missing
        return part, CategoryAxis(cells, part.keeps_missing) if cells else CategoryAxis(1)

    def declaration(self) -> dict[str, Any]:
        """Name, kind and values."""
        return self._common() | {"values": list(self.values)} | ({"other": True} if self.other else {})

    @classmethod
    def declared(cls, fields: Mapping[str, Any]) -> Category:
        """From name and values."""
        require_fields(fields, cls.kind, ("values",), ("other",))
        values, other = fields["values"], fields.get("other") or False
        if not isinstance(values, list | tuple) or not isinstance(other, bool):
            raise InvalidDomain("The values of a category are a list of texts, and `other` is true or false.")
        return cls(fields["name"], tuple(values), other, missing_of(fields))
