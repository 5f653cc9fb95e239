"""Numbers with as many digits as their uncertainty leaves, and values of attributes, as text."""

from __future__ import annotations

import math
from datetime import date, datetime
from typing import Any

NONE = "n/a"


def rows(value: float | None) -> str:
    """A number of rows."""
    return NONE if value is None else f"{round(value):,}"


def rows_between(low: float, high: float) -> str:
    """An interval of numbers of rows."""
    return f"{rows(low)} to {rows(high)}"


def value(given: Any, low: Any = None, high: Any = None) -> str:
    """A value; with the interval that it has, to two significant digits of its width."""
    if given is None:
        return NONE
    if isinstance(given, bool | str) or not isinstance(given, int | float):
        return str(given)
    if not math.isfinite(given):
        return str(given)
    if isinstance(low, int | float) and isinstance(high, int | float) and 0 < high - low < math.inf:
        places = min(12, max(0, 1 - math.floor(math.log10(high - low))))
        return f"{given:,.{places}f}"
    if isinstance(given, int) or 1000 <= abs(given) < 1e12:  # no exponent where a person reads thousands
        return f"{given:,.0f}"
    return f"{given:,.4g}"


def both_ends(low: Any, high: Any) -> tuple[str, str]:
    """Both ends of an interval of values."""
    return value(low, low, high), value(high, low, high)


def between(low: Any, high: Any) -> str:
    """An interval of values."""
    return " to ".join(both_ends(low, high))


def short(text: str, most: int = 28) -> str:
    """A text of at most so many characters."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def place(given: Any) -> float:
    """Where a value lies on a line: a number as it is, a date or a datetime by its days since 1970."""
    if isinstance(given, str):
        moment = datetime.fromisoformat(given)
        if "T" not in given and " " not in given:
            return float(moment.toordinal() - date(1970, 1, 1).toordinal())
        return moment.timestamp() / 86400
    return float(given)
