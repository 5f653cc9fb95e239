"""Epsilon in whole billionths, and the Budget that is left of it: exact, so that ten times 0.1 is 1."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from functools import total_ordering

from core.errors import InsufficientBudget, InvalidEpsilon

NANO = 10**9
HOW_TO_WRITE = "Write epsilon in plain digits with a point, such as 0.25: up to nine decimals, and below 1000."
_DECIMAL = re.compile(r"([0-9]{1,3})(?:\.([0-9]{1,9}))?", re.ASCII)


@total_ordering
@dataclass(frozen=True, slots=True)
class Epsilon:
    """An amount of privacy loss: `nano` billionths, never negative."""

    nano: int

    def __post_init__(self) -> None:
        if type(self.nano) is not int or self.nano < 0:
            raise InvalidEpsilon("Epsilon is a whole, non-negative number of billionths.")

    @classmethod
    def parse(cls, text: str) -> Epsilon:
        """'0.25' -> Epsilon(nano=250_000_000); a tenth decimal is refused, not rounded."""
        match = _DECIMAL.fullmatch(text)
        if match is None:
            raise InvalidEpsilon(HOW_TO_WRITE)
        return cls(nano=int(match[1] + (match[2] or "").ljust(9, "0")))

    def __str__(self) -> str:
        whole, places = divmod(self.nano, NANO)
        return f"{whole}.{places:09d}".rstrip("0").rstrip(".")

    def __float__(self) -> float:
        return self.nano / NANO

    def __bool__(self) -> bool:
        return self.nano > 0

    def __lt__(self, other: Epsilon) -> bool:
        return self.nano < other.nano

    def __add__(self, other: Epsilon) -> Epsilon:
        return Epsilon(self.nano + other.nano)

    def __sub__(self, other: Epsilon) -> Epsilon:
        return Epsilon(self.nano - other.nano)

    def part(self, share: Fraction) -> Epsilon:
        """floor(share x epsilon), but at least one billionth: a share of nothing would buy nothing."""
        return Epsilon(max(1, self.nano * share.numerator // share.denominator))


NOTHING = Epsilon(0)


@dataclass(frozen=True, slots=True)
class Budget:
    """What a population may lose at most (granted) and has lost (spent)."""

    granted: Epsilon
    spent: Epsilon

    def __post_init__(self) -> None:
        if self.spent > self.granted:
            raise InsufficientBudget(requested=self.spent, remaining=self.granted)

    @property
    def remaining(self) -> Epsilon:
        """Granted minus spent."""
        return self.granted - self.spent

    def charge(self, epsilon: Epsilon) -> Budget:
        """The budget after spending `epsilon`; InsufficientBudget where it does not fit."""
        if epsilon > self.remaining:
            raise InsufficientBudget(requested=epsilon, remaining=self.remaining)
        return Budget(granted=self.granted, spent=self.spent + epsilon)
