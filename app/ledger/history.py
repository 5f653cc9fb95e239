"""Reading the ledger as people do: newest first, searched and filtered, a dataset's history, and who verified when."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from functools import reduce
from typing import Any

from sqlalchemy import Connection, Select, func, insert, or_, select

from app.access.auth import Principal
from app.errors import CannotStart
from app.ledger import verification
from app.ledger.book import Book, entry_or_none, head, holds
from app.service import Service
from app.storage.tables import ledger, verifications
from core.budget import Epsilon
from core.ledger.chain import EMPTY, Head, Kind, LedgerEntry, Verification

_STEP = 1000
_BETWEEN = "\x1f"  # no text that is searched for has it


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """Which entries to read; None and the empty text leave a question open."""

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
    """Some lines, newest first; `older` is the number to read on before, if there are more."""

    lines: tuple[Line, ...]
    older: int | None


@dataclass(frozen=True, slots=True)
class History:
    """The newest entries of a dataset, oldest of them first, and its granted and spent epsilon before these."""

    granted_before: Epsilon
    spent_before: Epsilon
    skipped: int
    entries: tuple[LedgerEntry, ...]


@dataclass(frozen=True, slots=True)
class Checked:
    """A walk of the chain that somebody made: when, who, and its outcome."""

    at: str
    actor: str
    outcome: Verification


@dataclass(frozen=True, slots=True)
class State:
    """How the ledger stands: its head, whether the witness agrees, and the last walk."""

    head: Head
    witness_agrees: bool
    checked: Checked | None


def page(tx: Connection, search: Search, *, before: int | None, limit: int) -> Page:
    """The newest lines that fit, or those before a number."""
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
    if search.until is not None:  # the whole day: a publish is kept to the day, the others to the second
        query = query.where(ledger.c.at < (search.until + timedelta(days=1)).isoformat())
    if search.text:
        places = (
            func.coalesce(ledger.c.dataset, ""),
            func.coalesce(ledger.c.release, ""),
            ledger.c.actor,
            ledger.c.hash,
            ledger.c.detail,
        )
        whole = reduce(lambda one, other: one.concat(_BETWEEN).concat(other), places)
        spelt = {search.text, json.dumps(search.text)[1:-1]}  # the second as canonical JSON has it
        query = query.where(or_(*(whole.icontains(words, autoescape=True) for words in spelt)))
    return query


def actors(tx: Connection, datasets: frozenset[str] | None, *, about_keys: bool) -> list[str]:
    """Everybody the ledger of these datasets names."""
    query = select(ledger.c.actor).distinct().order_by(ledger.c.actor)
    if datasets is not None:
        query = query.where(ledger.c.dataset.in_(datasets))
    if not about_keys:
        query = query.where(ledger.c.dataset.is_not(None))
    return list(tx.execute(query).scalars())


def last_entries(tx: Connection, datasets: Iterable[str]) -> Mapping[str, LedgerEntry]:
    """The newest entry of each dataset."""
    newest = select(func.max(ledger.c.seq)).where(ledger.c.dataset.in_(list(datasets))).group_by(ledger.c.dataset)
    entries = map(entry_or_none, tx.execute(select(ledger).where(ledger.c.seq.in_(newest))))
    return {str(entry.dataset): entry for entry in entries if entry is not None}


def history(book: Book, dataset: str, *, limit: int) -> History:
    """How a dataset's epsilon came and went, over its newest entries; what was before them follows from its budget."""
    lines = page(book.tx, Search(datasets=frozenset({dataset})), before=None, limit=limit)
    entries = tuple(line.entry for line in reversed(lines.lines) if line.entry is not None)
    budget = book.budget(dataset)
    granted, spent = budget.granted.nano, budget.spent.nano
    for entry in entries:
        granted -= entry.epsilon.nano if entry.kind is Kind.GRANT else 0
        spent -= {Kind.CHARGE: 1, Kind.VOID: -1}.get(entry.kind, 0) * entry.epsilon.nano
    skipped = 0
    if lines.older is not None:
        earlier = select(func.count()).where(ledger.c.dataset == dataset, ledger.c.seq < lines.older)
        skipped = book.tx.execute(earlier).scalar_one()
    before = Epsilon(max(0, granted)), Epsilon(max(0, spent))
    return History(granted_before=before[0], spent_before=before[1], skipped=skipped, entries=entries)


def state(service: Service) -> State:
    """How the ledger stands, without walking it."""
    with service.database.read_only() as tx:
        newest = head(tx)
        checked = _last_check(tx)
        try:
            agrees = holds(tx, service.witness.head())
        except (OSError, CannotStart):
            agrees = False
    return State(head=newest, witness_agrees=agrees, checked=checked)


def verify_on_record(service: Service, caller: Principal) -> Iterator[Verification]:
    """Walk the whole chain step by step, and remember who did when and what came of it."""
    last = Verification(entries=0, head=EMPTY)
    for step in verification.verify_steps(service, every=_STEP):
        if step.valid and last.entries:
            yield last
        last = step
    with service.database.transaction() as tx:
        tx.execute(
            insert(verifications).values(
                at=service.today(),  # the seconds of two verifications would bracket an upload
                actor=caller.actor,
                entries=last.entries,
                hash=last.head.hash,
                first_bad=last.first_bad,
                reason=last.reason,
            )
        )
    yield last  # on record by now, whether or not anybody is still listening


def _last_check(tx: Connection) -> Checked | None:
    row = tx.execute(select(verifications).order_by(verifications.c.number.desc()).limit(1)).mappings().first()
    if row is None:
        return None
    outcome = Verification(
        entries=row["entries"],
        head=Head(seq=row["entries"], hash=row["hash"]),
        first_bad=row["first_bad"],
        reason=row["reason"],
    )
    return Checked(at=row["at"], actor=row["actor"], outcome=outcome)
