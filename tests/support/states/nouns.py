"""What the specification speaks of: keys, datasets, orders, requests, entries and replies."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Literal, NamedTuple

OWN_ADMIN = "environment"  # the admin key that settings give
NOTHING = Decimal(0)
Reply = tuple[int, str]
Kind = Literal["charge", "grant", "void", "rule"]


class Refused(Exception):
    """A status of 4xx, and the name of the problem."""

    def __init__(self, status: int, problem: str) -> None:
        super().__init__(problem)
        self.reply: Reply = status, problem


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What settings allow."""

    budget: Decimal
    datasets: int
    open_orders: int
    keys: int


@dataclass(slots=True)
class Key:
    """Who is calling. `reach` are the datasets that the key is limited to, None where it is not limited."""

    role: str
    reach: frozenset[str] | None = None
    revoked: bool = False

    def reaches(self, dataset: str) -> bool:
        """Whether the dataset exists for this key."""
        return self.reach is None or dataset in self.reach


@dataclass(slots=True)
class Dataset:
    """A budget, the threshold above which it takes two persons, and whether it is closed."""

    granted: Decimal = NOTHING
    spent: Decimal = NOTHING
    above: Decimal | None = None
    closed: bool = False


class Terms(NamedTuple):
    """What an order says: its epsilon, the number of clusters, and whether it buys a noisy size."""

    epsilon: Decimal
    clusters: int = 2
    buys_size: bool = False


@dataclass(slots=True)
class Release:
    """ordered, then counting if its size was bought alone, then published; or void."""

    dataset: str
    terms: Terms
    state: str = "ordered"
    has_size: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """An entry that somebody wants: a charge, a grant, a void or a rule."""

    kind: Kind
    dataset: str
    release: str | None = None
    epsilon: Decimal = NOTHING
    terms: Terms | None = None
    above: Decimal | None = None


@dataclass(slots=True)
class Request:
    """An effect that waits for a second key, was approved, or was refused."""

    effect: Effect
    asker: str
    state: str = "waiting"


class Entry(NamedTuple):
    """What the ledger has to say: a kind, the key that did it, and what about."""

    kind: str
    key: str
    dataset: str | None = None
    release: str | None = None
    epsilon: Decimal = NOTHING


def require(holds: bool, status: int, problem: str) -> None:
    """Raise Refused where something does not hold."""
    if not holds:
        raise Refused(status, problem)
