"""Intervals and their confidence levels.

Errors are carried as alpha = 1 - level, never as a level: a level that is close to one cannot be divided among several
statements without losing digits. `alpha_of` is where a level that somebody asked for is checked.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import expm1, log

from core.errors import InvalidQuery

# The highest level that is answered. Radii are tested against exact laws up to it, split among many statements.
MAX_LEVEL = 0.999999
TINIEST = 1e-300  # a smaller alpha counts as this one, so that its logarithm is finite
OUT_OF_BOUNDS = f"A level lies above 0 and is at most {MAX_LEVEL}."


@dataclass(frozen=True, slots=True)
class Interval:
    """low to high: it contains what the noise-free counts would have answered with probability `level` or more."""

    level: float
    low: float
    high: float


def alpha_of(level: float) -> float:
    """1 - level: the probability with which an interval may miss. Raises InvalidQuery for a level out of bounds."""
    if not 0.0 < level <= MAX_LEVEL:
        raise InvalidQuery(OUT_OF_BOUNDS)
    return 1.0 - level


def require_divisible(level: float, most: float) -> None:
    """Refuse a level above `most`: alpha is divided among several statements, and a part of it would be too small."""
    if level > most:
        raise InvalidQuery(
            f"This form of release answers levels up to {most} here, because the error is shared among several "
            "statements."
        )


def alpha_of_each(level: float, number: int) -> float:
    """alpha = 1 - level^(1 / number) for each of so many independent statements that hold together at `level`.

    Reference: Sidak (1967).
    """
    return -expm1(log(level) / number)
