"""Boxes: the part of the rows that a question is about, as people write it and as the service reads it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import date
from typing import Any

from rugnik.arguments import described, unfit
from rugnik.errors import UnfitArgument

End = float | str | date | None  # of a range; a datetime is a date as well
Part = tuple[End, End] | str | list[str] | float | date  # a range, a category, several categories, a single value
Box = Mapping[str, Part] | Iterable[str]

_BOX = 'a box such as {"age": (30, 50), "sex": ["f", "x"]}, or a list of texts such as ["age:30..50"]'


def ranges(where: Box, name: str = "where") -> list[str]:
    """A box as the service spells it: attribute:lower..upper with an open end left out, or attribute:a,b.

    UnfitArgument, with `name` for the box, where it is none.
    """
    if isinstance(where, Mapping):
        return [f"{attribute}:{_part(str(attribute), part)}" for attribute, part in where.items()]
    listed = [where] if isinstance(where, str) else list(where) if isinstance(where, Iterable) else None
    if listed is None or not all(isinstance(text, str) for text in listed):
        raise unfit(name, _BOX, where)
    for part in listed:
        if ":" not in part:
            attribute, equals, rest = part.partition("=")
            if attribute and equals and rest:
                raise UnfitArgument(f"{name} has the part {part!r}. Write {attribute}:{rest}, with a colon.")
            raise UnfitArgument(f"{name} has the part {part!r}, without a range or a value: write {part}:lower..upper.")
    return listed


def boxes(given: Iterable[Box]) -> list[list[str]]:
    """Many boxes. One box by itself is a mistake: it would be read as a list of its names."""
    if isinstance(given, Mapping | str) or not isinstance(given, Iterable):
        raise unfit("boxes", "a list of boxes; count() takes a single one", given)
    return [ranges(box, f"box {place + 1}") for place, box in enumerate(given)]


def value_of(value: Any) -> float | str:
    """A value as JSON has it: numbers, and the texts of dates and datetimes. TypeError for anything else."""
    return value if isinstance(value, str) else value.isoformat() if isinstance(value, date) else float(value)


def _part(attribute: str, part: Part) -> str:
    if isinstance(part, str):
        return part
    if isinstance(part, list) and all(isinstance(each, str) for each in part):
        return ",".join(part)
    if isinstance(part, list):
        raise UnfitArgument(f"The part of {attribute} is a list: lists are for categories. Write a range as a pair.")
    if isinstance(part, tuple) and len(part) == 2:
        return f"{_end(attribute, part[0])}..{_end(attribute, part[1])}"
    if part is None or isinstance(part, tuple):
        raise UnfitArgument(
            f"The part of {attribute} is a range (lower, upper), a category or a list of categories; given was "
            f"{described(part)}. None leaves an end open: (30, None)."
        )
    return _end(attribute, part)


def _end(attribute: str, bound: End) -> str:
    """An end of a range. A whole number has no decimal point: an integer takes none."""
    if bound is None:
        return ""
    try:
        value = value_of(bound) if not isinstance(bound, bool) else None
    except (TypeError, ValueError):
        value = None
    if value is None:
        raise UnfitArgument(
            f"A value of {attribute} is a number, a text or a date, or None for an open end; given was "
            f"{described(bound)}."
        )
    return value if isinstance(value, str) else repr(value).removesuffix(".0")
