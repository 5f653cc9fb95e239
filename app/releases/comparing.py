"""Which two releases of a dataset a page compares: those that are asked for, else the newest two."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from app.access.principal import Principal
from app.errors import NotFound
from app.ledger.book import Book, read_book
from app.releases import datasets, reading
from app.releases.reading import Release
from app.service import Service
from core.domain.domain import Domain
from core.ledger.entry import LedgerEntry
from core.ledger.kinds import Kind, State

_OFFERED = 100  # releases to choose from


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two published releases of a dataset, the attributes that both have, and the releases to choose from.

    `charges` has the charge of each release to choose from, the newest publication first. `pair` is None where fewer
    than two releases are published; `common` is None where the two have no attribute in common.
    """

    dataset: str
    charges: Mapping[str, LedgerEntry]
    pair: tuple[Release, Release] | None
    common: Domain | None


def get_comparison(
    service: Service, caller: Principal, name: str, *, left: str | None, right: str | None
) -> Comparison:
    """The two releases, the earlier one left unless the caller says otherwise; NotFound for one that is not shown."""
    with read_book(service) as book:
        datasets.find_account(book, caller, name)
        offered = list(book.releases(name, Kind.PUBLISH, slice(-_OFFERED, None)).standings)[::-1]
        pair = _pair(book, caller, name, left, right, offered)
        shown = dict.fromkeys([*offered, *(release.id for release in pair or ())])
        charges = {release: book.charge(book.replay.books.releases[release]) for release in shown}
    return Comparison(dataset=name, charges=charges, pair=pair, common=_common(pair))


def _pair(
    book: Book, caller: Principal, name: str, left: str | None, right: str | None, offered: list[str]
) -> tuple[Release, Release] | None:
    """What is not asked for is the newest release that is not the other one."""
    right = right or next((release for release in offered if release != left), None)
    left = left or next((release for release in offered if release != right), None)
    if left is None or right is None:
        return None
    pair = reading.load(book, caller, left), reading.load(book, caller, right)
    for release in pair:
        if release.dataset != name or release.standing.state is not State.PUBLISHED:
            raise NotFound("There is no published release of this id in this dataset.")
    return pair


def _common(pair: tuple[Release, Release] | None) -> Domain | None:
    """The attributes of both, in the order of the left one. A dataset declares each once, so their bounds agree."""
    if pair is None:
        return None
    left, right = pair
    names = tuple(name for name in left.domain.names if name in right.domain.names)
    return left.domain.select(names) if names else None
