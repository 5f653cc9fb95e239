"""What can be wrong with a value, as types that carry their fields.

CoreError
├── InvalidEpsilon         a text or number that is no amount of epsilon
├── InvalidDomain          attributes or bounds that cannot be gridded
├── InvalidOrder           an order no grid can serve, whatever the rows
│   └── TooManyCells       the grid exceeds the cells allowed
├── InvalidRecords         a batch of the wrong shape
├── InvalidCounts          counts taken elsewhere that cannot be of the step that is awaited
├── InvalidSynopsis        bytes that are no synopsis
├── InvalidQuery           a question that this synopsis cannot answer
└── InsufficientBudget     more epsilon asked than remains

Messages are sentences a person can act on. None quotes a row.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from core.budget import Epsilon


class CoreError(Exception):
    """Anything that core refuses."""


class InvalidEpsilon(CoreError):
    """A text or number that is no amount of epsilon."""


class InvalidDomain(CoreError):
    """Attributes or bounds that cannot be gridded."""


class InvalidOrder(CoreError):
    """An order that no grid can serve, whatever the rows."""


class TooManyCells(InvalidOrder):
    """The grid that the order calls for exceeds the cells allowed."""

    def __init__(self, *, wanted: int, allowed: int, notes: tuple[str, ...] = ()) -> None:
        """`notes` say what each attribute costs, without full stops."""
        costs = f"{'; '.join(notes)}. " if notes else ""
        super().__init__(
            f"The order calls for at least {wanted:,} cells; {allowed:,} are allowed. "
            f"{costs}Use fewer attributes or clusters, or raise the limit on cells."
        )
        self.wanted = wanted
        self.allowed = allowed


class InvalidRecords(CoreError):
    """A batch of the wrong shape."""


class InvalidCounts(CoreError):
    """Counts taken elsewhere that cannot be of the step that is awaited."""


class InvalidSynopsis(CoreError):
    """Bytes that are no synopsis, or not the one that was asked for."""


class InvalidQuery(CoreError):
    """A question that this synopsis cannot answer."""


class InsufficientBudget(CoreError):
    """More epsilon asked than remains."""

    def __init__(self, *, requested: Epsilon, remaining: Epsilon) -> None:
        super().__init__(f"The order needs epsilon {requested}; {remaining} remains.")
        self.requested = requested
        self.remaining = remaining
