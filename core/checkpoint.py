"""Checkpoint: a function that long computations call between their steps. It raises where nobody wants the result."""

from __future__ import annotations

from collections.abc import Callable

Checkpoint = Callable[[], None]


def carry_on() -> None:
    """The checkpoint of a computation that nobody stops."""
