"""Book: the ledger within one transaction for reading. Its balances come from the verified replay."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from sqlalchemy import Connection, select

from app.ledger.standing import Standing, Stretch
from app.service import Service
from app.storage.tables import ledger
from core.budget import NOTHING, Budget
from core.ledger.accounts import Account, ReleaseRecord
from core.ledger.entry import LedgerEntry, Stored
from core.ledger.kinds import Kind

_Seen = TypeVar("_Seen")


class Book:
    """The ledger within one transaction. Balances come from the replay, long terms from rows that match their hash."""

    def __init__(self, tx: Connection, service: Service) -> None:
        self.tx = tx
        self.service = service
        self.replay = service.replay

    def account(self, dataset: str) -> Account | None:
        """A dataset, if it is registered."""
        return self.replay.books.accounts.get(dataset)

    def datasets(self) -> list[str]:
        """The names of all datasets, sorted."""
        with self.replay.reading() as books:
            return sorted(books.accounts)

    def budget(self, dataset: str) -> Budget:
        """Grants minus charges plus voids: a sum over the ledger, stored nowhere."""
        with self.replay.reading() as books:
            account = books.accounts.get(dataset)
            return Budget(NOTHING, NOTHING) if account is None else account.budget

    def release(self, release: str) -> ReleaseRecord | None:
        """A release, if it was ordered."""
        return self.replay.books.releases.get(release)

    def releases(self, dataset: str, kind: Kind, part: slice) -> Stretch:
        """Some releases of a dataset, by their places in the order in which they were charged, or published.

        `kind` is CHARGE or PUBLISH. The time it takes depends on the length of `part` alone.
        """
        with self.replay.reading() as books:
            account = books.accounts[dataset]
            names = account.published if kind is Kind.PUBLISH else account.releases
            start, stop, _ = part.indices(len(names))
            standings = {name: Standing.of(books.releases[name]) for name in names[start:stop]}
            return Stretch(before=start, standings=standings, after=max(0, len(names) - stop))

    def seen(self, look: Callable[[Connection], _Seen | None]) -> _Seen | None:
        """The value that `look` reads in this transaction; where that is None, the value that it reads in a new one.

        The books may be ahead of a transaction that began before another thread's commit, and what they name is then
        not there for it yet (SQLite: one snapshot for a whole transaction).
        """
        value = look(self.tx)
        if value is None:
            with self.service.database.read_only() as later:
                value = look(later)
        return value

    def charge(self, record: ReleaseRecord) -> LedgerEntry:
        """The entry that charged a release, read again; LedgerBroken where it is not the one that was verified."""
        return self.entry(record.charge_seq, record.charge_hash.hex())

    def entry(self, seq: int, verified_hash: str) -> LedgerEntry:
        """An entry, read again; LedgerBroken where it is not the one that was verified."""
        row = self.seen(lambda tx: tx.execute(select(ledger).where(ledger.c.seq == seq)).first())
        stored = None if row is None else Stored.of(tuple(row))
        return self.replay.require_verified(stored, seq=seq, verified_hash=verified_hash)


@contextmanager
def read_book(service: Service) -> Iterator[Book]:
    """One transaction for reading. The replay first catches up with the ledger."""
    with service.database.read_only() as tx:
        service.replay.catch_up(tx)
        yield Book(tx, service)
