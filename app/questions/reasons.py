"""Why a value lies at an end of its own interval: a sentence for each such value of an answer.

A value that is strictly inside its interval needs no reason. Any other one looks like a mistake, and the answer says in
words (`notes`) why it is none.
"""

from __future__ import annotations

from math import inf

import numpy as np

from app.questions.encoding import shown_ends
from core.arrays import Floats
from core.domain.attribute import Ordered
from core.intervals.levels import Interval

NO_OTHER = "the noise leaves no other value at this level, so that the interval is a single value"
AT_BOUND = "it is at the end of what is possible, and its interval ends there too"
WIDENED = "the bounds by noise and by cells alone would leave it out, and were widened to hold it"
ROUNDED = "it is shown in whole units of its attribute, and so are the ends of its interval, which belong to it"
ON_EDGE = "it lies on an edge between two cells, where its interval ends"
NO_REACH = "the noise moves it no farther, and its interval reaches to the mean of its cells alone"
_MOST_NAMES = 6


class Reasons:
    """Collects the values of an answer that are not strictly inside their intervals, by reason."""

    def __init__(self) -> None:
        self._names: dict[str, list[str]] = {}
        self._texts: list[str] = []

    def about(
        self,
        name: str,
        value: float | None,
        low: float,
        high: float,
        *,
        least: float = -inf,
        most: float = inf,
        otherwise: str = WIDENED,
    ) -> None:
        """A value with its interval and what is possible at all; nothing for a value that is null."""
        if value is None or low < value < high:
            return
        if low == high:
            reason = NO_OTHER
        elif (value == low and value == least) or (value == high and value == most):
            reason = AT_BOUND
        else:
            reason = otherwise
        self._names.setdefault(reason, []).append(name)

    def about_value(
        self,
        attribute: Ordered,
        name: str,
        value: float | None,
        interval: Interval,
        *,
        otherwise: str = WIDENED,
    ) -> None:
        """A value of an attribute, or a mean of values, in its own unit; also where only its text is at an end."""
        if value is None:
            return
        shown, low, high = attribute.shown(value), *shown_ends(attribute, interval)
        if interval.low < value < interval.high and shown in (low, high):
            self._names.setdefault(ROUNDED, []).append(name)
            return
        ends, bounds = (interval.low, interval.high), (attribute.start, attribute.stop)
        self.about(name, value, *ends, least=bounds[0], most=bounds[1], otherwise=otherwise)

    def about_many(self, names: str, values: Floats, low: Floats, high: Floats) -> None:
        """Counts of boxes or cells: how many of them lie at an end, and why."""
        at_end = ~((low < values) & (values < high))
        single = at_end & (low == high)
        at_zero = at_end & ~single & (values == 0.0) & (low == 0.0)
        kinds = ((NO_OTHER, single), (AT_BOUND, at_zero), (WIDENED, at_end & ~single & ~at_zero))
        for reason, chosen in kinds:
            number = int(np.count_nonzero(chosen))
            if number:
                self._texts.append(f"{number:,} of {values.size:,} {names} at an end of the interval: {reason}.")

    def say(self, text: str) -> None:
        """A sentence of one's own."""
        self._texts.append(text)

    @property
    def notes(self) -> tuple[str, ...]:
        """A sentence for each reason."""
        grouped = [f"{_listed(names)} at an end of the interval: {reason}." for reason, names in self._names.items()]
        return (*grouped, *self._texts)


def _listed(names: list[str]) -> str:
    """The first names, and how many follow."""
    shown = ", ".join(names[:_MOST_NAMES])
    left = len(names) - _MOST_NAMES
    text = shown if left <= 0 else f"{shown} and {left} more"
    return text[:1].upper() + text[1:]
