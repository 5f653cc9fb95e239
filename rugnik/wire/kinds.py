"""KINDS: the kinds of attributes as people read and declare them. Everything outside of core takes the list from here.

`core.domain.kinds` has the classes behind them. This package may not import core, so tests compare the two tables.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

BOUNDS = ("lower", "upper")


@dataclass(frozen=True, slots=True)
class KindWords:
    """A kind: its title on pages, the fields that a declaration must have, and what bounds and ranges mean."""

    title: str
    meaning: str
    fields: tuple[str, ...] = BOUNDS


KINDS: Mapping[str, KindWords] = {
    "number": KindWords("number", "cells are half-open intervals; a range 20..40 holds 20 and not 40"),
    "integer": KindWords("whole number", "whole numbers, both bounds included; a range 6..10 holds 6 and 10"),
    "category": KindWords(
        "category",
        "a public list of values; other = true adds a cell for all values that are not on it",
        fields=("values",),
    ),
    "date": KindWords("date", "days, both bounds included, such as 2026-01-01"),
    "datetime": KindWords(
        "date and time",
        'moments with an offset from UTC, such as "2026-01-01T00:00:00Z"; the upper bound is not included',
    ),
}
