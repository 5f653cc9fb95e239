"""Unit: whose presence a dataset protects. A record, or a person with at most so many rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from core.domain.attribute import require_name
from core.errors import InvalidDomain

MAX_ROWS = 1000


@dataclass(frozen=True, slots=True)
class Unit:
    """Neighbours differ by one unit. `column` names the column of persons' ids; None where a unit is one record.

    Of each person at most `max_rows` (c) rows are counted, so one unit more or less moves the exact counts by at most c
    in all. A dataset has one unit for life: budgets of different units do not add up.
    """

    column: str | None = None
    max_rows: int = 1

    def __post_init__(self) -> None:
        if self.column is None:
            if self.max_rows != 1:
                raise InvalidDomain("A record is one row.")
            return
        require_name(self.column)
        if type(self.max_rows) is not int or not 1 <= self.max_rows <= MAX_ROWS:
            raise InvalidDomain(f"The most rows that are counted of a person are 1 to {MAX_ROWS:,}.")

    @property
    def is_person(self) -> bool:
        """Whether rows are grouped by person."""
        return self.column is not None

    def to_json(self) -> dict[str, Any]:
        """As registrations, the ledger and synopses write it."""
        if self.column is None:
            return {"kind": "record"}
        return {"kind": "person", "column": self.column, "max_rows": self.max_rows}

    @classmethod
    def from_json(cls, stored: Mapping[str, Any] | None) -> Unit:
        """The unit that `to_json` wrote; None, as before there were others, is a record."""
        fields = stored or {"kind": "record"}
        match fields.get("kind"):
            case "record" if set(fields) == {"kind"}:
                return RECORD
            case "person" if set(fields) == {"kind", "column", "max_rows"}:
                return cls(fields["column"], fields["max_rows"])
        raise InvalidDomain('A unit is {"kind": "record"} or {"kind": "person", "column": …, "max_rows": …}.')

    def __str__(self) -> str:
        return "record" if self.column is None else f"person ({self.column}, at most {self.max_rows} rows each)"


RECORD = Unit()
