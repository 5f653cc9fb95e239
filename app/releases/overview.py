"""What pages show of datasets and releases: each function opens one transaction and returns values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import accumulate

from app.access.permissions import Permission
from app.access.principal import Principal
from app.errors import LedgerBroken, NotFound
from app.ledger import history
from app.ledger.audits import LedgerStatus, ledger_status
from app.ledger.book import Book, read_book
from app.ledger.history import BudgetHistory
from app.ledger.standing import Standing
from app.releases import datasets, requests
from app.releases.datasets import Summary
from app.releases.reading import Release, load
from app.releases.requests import Waiting
from app.service import Service
from core.domain.domain import Domain
from core.ledger.entry import LedgerEntry
from core.ledger.kinds import Kind, State

_CHARGES = 60  # of a dataset, for its small chart


@dataclass(frozen=True, slots=True)
class Spending:
    """Billionths of epsilon that a dataset has spent: before its newest charges, and after each of them.

    Charges that were given back are left out.
    """

    before: int
    after: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Overview:
    """Every dataset that a caller may see, with its newest entry and its spending for those who read the ledger.

    `readable` is False where the ledger is broken, and then there are no datasets. `status` is None for a caller who
    does not see the whole ledger. `waiting` are the requests that wait for a second person, for who reads the ledger.
    """

    datasets: tuple[Summary, ...]
    newest_entries: Mapping[str, LedgerEntry]
    spending: Mapping[str, Spending]
    readable: bool
    status: LedgerStatus | None
    waiting: Waiting


@dataclass(frozen=True, slots=True)
class DatasetOverview:
    """One dataset with some of its releases, newest first, their charges, and its history for who reads the ledger.

    `older` and `newer` are the numbers of releases before and after those. `waiting` are the requests that wait for a
    second person, for who reads the ledger. `newest` is the release that was published last, None where there is none,
    and `published` the number of all that are.
    """

    summary: Summary
    releases: Mapping[str, Standing]
    charges: Mapping[str, LedgerEntry]
    older: int
    newer: int
    history: BudgetHistory | None
    waiting: Waiting
    newest: str | None
    published: int


def get_overview(service: Service, caller: Principal) -> Overview:
    """All datasets of a caller, and how the ledger stands."""
    summaries: list[Summary] = []
    newest: Mapping[str, LedgerEntry] = {}
    spending: Mapping[str, Spending] = {}
    waiting = Waiting()
    readable = True
    try:
        with read_book(service) as book:
            summaries = datasets.summaries(book, caller)
            if caller.can(Permission.READ_LEDGER):
                newest = history.last_entries(book, [summary.name for summary in summaries])
                spending = {summary.name: _spending(book, summary) for summary in summaries}
                waiting = requests.waiting(book, caller)
    except LedgerBroken:
        readable = False
    status = ledger_status(service) if caller.sees_whole_ledger else None
    return Overview(tuple(summaries), newest, spending, readable, status, waiting)


def _spending(book: Book, dataset: Summary) -> Spending:
    charges = book.releases(dataset.name, Kind.CHARGE, slice(-_CHARGES, None)).standings.values()
    kept = [standing.epsilon.nano for standing in charges if standing.state is not State.VOID]
    before = max(0, dataset.budget.spent.nano - sum(kept))
    return Spending(before, tuple(accumulate(kept, initial=before))[1:])


def get_dataset_overview(
    service: Service, caller: Principal, name: str, *, before: int | None, max_releases: int, max_entries: int
) -> DatasetOverview:
    """One dataset, at most so many of its releases, and its epsilon over at most so many entries.

    The releases are the newest, or the newest of the first `before`.
    """
    with read_book(service) as book:
        summary = datasets.summary(book, caller, name)
        start = -max_releases if before is None else max(0, before - max_releases)
        published = book.releases(name, Kind.PUBLISH, slice(-1, None))
        listed = book.releases(name, datasets.kind_shown(caller), slice(start, before))
        reads_ledger = caller.can(Permission.READ_LEDGER)
        shown = dict(reversed(list(listed.standings.items())))
        return DatasetOverview(
            summary=summary,
            releases=shown,
            charges={release: book.charge(book.replay.books.releases[release]) for release in shown},
            older=listed.before,
            newer=listed.after,
            history=history.history(book, name, limit=max_entries) if reads_ledger else None,
            waiting=requests.waiting(book, caller, name) if reads_ledger else Waiting(),
            newest=next(iter(published.standings), None),
            published=published.before + len(published.standings),
        )


def get_open_order(
    service: Service, caller: Principal, name: str, release_id: str | None
) -> tuple[Summary, Release | None]:
    """A dataset and, where an id is given, its open order of that id; NotFound if it is none."""
    with read_book(service) as book:
        summary = datasets.summary(book, caller, name)
        if release_id is None:
            return summary, None
        release = load(book, caller, release_id)
    if release.dataset != name or release.standing.state is not State.ORDERED:
        raise NotFound("There is no open order of this id.")
    return summary, release


def get_release_domain(service: Service, caller: Principal, release_id: str) -> tuple[Release, Domain]:
    """A release and the public bounds of its attributes."""
    with read_book(service) as book:
        release = load(book, caller, release_id)
        return release, release.domain


def dataset_names(service: Service, caller: Principal) -> list[str]:
    """The names of all datasets that a caller may see."""
    with read_book(service) as book:
        return [name for name in book.datasets() if caller.may_see(name)]
