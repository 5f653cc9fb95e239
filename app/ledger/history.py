"""The ledger as people read it: newest first, searched and filtered; and the history of one dataset's epsilon."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from functools import reduce
from typing import Any

from sqlalchemy import Connection, Row, Select, func, or_, select

from app.access.principal import Principal
from app.ledger.book import Book
from app.ledger.entries import entry_or_none
from app.service import Service
from app.storage.tables import ledger
from core.budget import Epsilon
from core.ledger.entry import LedgerEntry
from core.ledger.kinds import Kind

_BETWEEN = "\x1f"  # no text that is searched for has it


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """Which entries to read. None and the empty text do not filter."""

    datasets: frozenset[str] | None = None
    about_keys: bool = True
    kind: Kind | None = None
    actor: str | None = None
    since: date | None = None
    until: date | None = None
    text: str = ""


@dataclass(frozen=True, slots=True)
class Line:
    """One stored line: its number, and its entry unless somebody made it unreadable."""

    seq: int
    entry: LedgerEntry | None


@dataclass(frozen=True, slots=True)
class Page:
    """Lines of the ledger, newest first. `older` is the number before which the next page begins; None on the last."""

    lines: tuple[Line, ...]
    older: int | None


@dataclass(frozen=True, slots=True)
class BudgetHistory:
    """The newest entries of a dataset, oldest of them first, and its granted and spent epsilon before these."""

    granted_before: Epsilon
    spent_before: Epsilon
    skipped: int
    entries: tuple[LedgerEntry, ...]


def read_ledger(
    service: Service, caller: Principal, search: Search, *, before: int | None, limit: int
) -> tuple[Page, list[str]]:
    """A page of the ledger as stored, so that a bad entry can be looked at; and all actors, for the filter."""
    with service.database.read_only() as tx:
        shown = page(tx, search, before=before, limit=limit)
    return shown, actors(service, caller.datasets, about_keys=caller.sees_whole_ledger)


def page(tx: Connection, search: Search, *, before: int | None, limit: int) -> Page:
    """The newest matching lines, or the newest before a number."""
    query = _matching(search).order_by(ledger.c.seq.desc()).limit(limit + 1)
    if before is not None:
        query = query.where(ledger.c.seq < before)
    rows = tx.execute(query).all()
    lines = tuple(Line(row.seq, entry_or_none(row)) for row in rows[:limit])
    return Page(lines, older=lines[-1].seq if len(rows) > limit else None)


def _matching(search: Search) -> Select[Any]:
    query = select(ledger)
    if search.datasets is not None:
        query = query.where(ledger.c.dataset.in_(search.datasets))
    if not search.about_keys:
        query = query.where(ledger.c.dataset.is_not(None))
    if search.kind is not None:
        query = query.where(ledger.c.kind == search.kind)
    if search.actor is not None:
        query = query.where(ledger.c.actor == search.actor)
    if search.since is not None:
        query = query.where(ledger.c.at >= search.since.isoformat())
    if search.until is not None:  # the whole day: entries of version 0.1 have the second
        query = query.where(ledger.c.at < (search.until + timedelta(days=1)).isoformat())
    if search.text:
        places = (
            func.coalesce(ledger.c.dataset, ""),
            func.coalesce(ledger.c.release, ""),
            ledger.c.actor,
            ledger.c.hash,
            ledger.c.detail,
        )
        whole = reduce(lambda left, right: left.concat(_BETWEEN).concat(right), places)
        spelt = {search.text, json.dumps(search.text)[1:-1]}  # the second as canonical JSON has it
        query = query.where(or_(*(whole.icontains(words, autoescape=True) for words in spelt)))
    return query


def actors(service: Service, datasets: frozenset[str] | None, *, about_keys: bool) -> list[str]:
    """The actors of all entries of these datasets (None: all), sorted, as far as this process verified the ledger."""
    with service.replay.reading() as books:
        trails = [account.trail for name, account in books.accounts.items() if datasets is None or name in datasets]
        if about_keys:
            trails.append(books.key_trail)
        return sorted(set[str]().union(*(trail.actors for trail in trails)))


def last_entries(book: Book, datasets: Iterable[str]) -> Mapping[str, LedgerEntry]:
    """The newest entry of each dataset."""
    accounts = [account for account in map(book.account, datasets) if account is not None]
    numbers = [account.trail.newest for account in accounts]
    query = select(ledger).where(ledger.c.seq.in_(numbers))

    def look(tx: Connection) -> Sequence[Row[Any]] | None:
        rows = tx.execute(query).all()
        return rows if len(rows) == len(numbers) else None

    rows = book.seen(look) or book.tx.execute(query).all()  # the second where somebody removed an entry
    return {str(entry.dataset): entry for entry in map(entry_or_none, rows) if entry is not None}


def history(book: Book, dataset: str, *, limit: int) -> BudgetHistory:
    """The newest entries of a dataset, and its granted and spent epsilon before them, worked out from its budget."""
    lines = page(book.tx, Search(datasets=frozenset({dataset})), before=None, limit=limit)
    entries = tuple(line.entry for line in reversed(lines.lines) if line.entry is not None)
    budget = book.budget(dataset)
    granted, spent = budget.granted.nano, budget.spent.nano
    for entry in entries:
        granted -= entry.kind.description.granted_sign * entry.epsilon.nano
        spent -= entry.kind.description.spent_sign * entry.epsilon.nano
    account = book.account(dataset)
    skipped = 0 if account is None or lines.older is None else account.trail.entries - len(lines.lines)
    before = Epsilon(max(0, granted)), Epsilon(max(0, spent))
    return BudgetHistory(granted_before=before[0], spent_before=before[1], skipped=skipped, entries=entries)
