"""Replay: the ledger as this process verified it. Budgets, states and keys are read from here, and from no table.

The chain is walked from its first entry when the service starts, and further whenever there are new entries. Editing
a row later changes nothing for a running service; the next start, or a verification, detects the edit.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import structlog
from sqlalchemy import Connection, select

from app.errors import LedgerBroken
from app.storage.database import Database
from app.storage.tables import ledger
from core.ledger.books import Books
from core.ledger.chain import Verification, Walk
from core.ledger.entry import EMPTY, Head, LedgerEntry, Stored
from core.log.nodes import TreeNodes

log = structlog.get_logger(__name__)

BATCH = 2000
_LOG_EVERY = 100_000  # entries between two lines in the log


def stored_after(tx: Connection, seq: int, *, limit: int = BATCH) -> list[tuple[int, Stored | None]]:
    """The entries after a number, oldest first, each with its own number; None for a row that is no entry."""
    query = select(ledger).where(ledger.c.seq > seq).order_by(ledger.c.seq).limit(limit)
    return [(row[0], Stored.of(tuple(row))) for row in tx.execute(query).all()]


class Replay:
    """A walk that goes on as the ledger grows. Any thread may use it."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._walk = Walk()
        self.tree = TreeNodes()
        self._lock = threading.RLock()
        self._refreshed = -float("inf")
        self._stuck: Verification | None = None
        self._reported: Verification | None = None

    @property
    def head(self) -> Head:
        """The last entry that was verified."""
        return self._walk.head

    @property
    def fault(self) -> Verification | None:
        """Why the ledger is not good, as far as this process saw: the last step, or the last verification, failed."""
        return self._stuck or self._reported

    @contextmanager
    def reading(self) -> Iterator[Books]:
        """The books under a lock: nobody changes them inside the block."""
        with self._lock:
            yield self._walk.books

    @property
    def books(self) -> Books:
        """The books without a lock: for a single lookup, which need not agree with another."""
        return self._walk.books

    @property
    def age(self) -> float:
        """Seconds since the ledger was last looked at for new entries."""
        return time.monotonic() - self._refreshed

    def refresh(self) -> None:
        """Verify up to the end of the ledger, one short transaction for each batch; LedgerBroken at a bad entry."""
        logged = self.head.seq
        while True:
            began, head = time.monotonic(), self.head
            with self._database.read_only() as tx:
                stored = stored_after(tx, head.seq - 1)
            self._take_in(stored, head)
            if self.head.seq >= logged + _LOG_EVERY:
                logged = self.head.seq
                log.info("ledger_walked", entries=logged)
            if len(stored) < BATCH:
                self._refreshed = max(self._refreshed, began)
                return

    def refresh_since(self, asked: float) -> None:
        """Refresh, unless another thread began a refresh after `asked` (of time.monotonic): callers share one query."""
        if self._refreshed < asked:
            self.refresh()

    def catch_up(self, tx: Connection) -> None:
        """Walk on to the end of the ledger as this transaction sees it. Its first statement, or under the lock.

        Other threads may walk further meanwhile, so the books may be ahead of what this transaction sees.
        """
        began, head = time.monotonic(), self.head
        stored = stored_after(tx, head.seq - 1)
        self._take_in(stored, head)
        while len(stored) == BATCH:
            stored = stored_after(tx, stored[-1][0])
            self._take_in(stored, EMPTY)
        self._refreshed = max(self._refreshed, began)

    def catch_up_to(self, tx: Connection, size: int) -> None:
        """The same, unless so many entries were verified already."""
        if self.tree.size < size:
            self.catch_up(tx)

    def _take_in(self, stored: Sequence[tuple[int, Stored | None]], head: Head) -> None:
        """Verify some entries, the first of which is `head` unless that is EMPTY; what is taken in already is skipped.

        The database was asked outside the lock: a query that waits must not keep others from the books.
        """
        with self._lock:
            if head != EMPTY:
                self._require_held(stored[:1], head)
            for seq, entry in stored:
                if seq <= self._walk.head.seq:
                    continue
                reason = self._step(entry)
                if reason is not None:
                    self._stop(self._walk.standing(reason))
            self._stuck = None

    def _step(self, stored: Stored | None) -> str | None:
        """Walk on by one entry, and take it into the tree where it is good."""
        reason = self._walk.step(stored)
        if reason is None:
            self.tree.append(bytes.fromhex(self._walk.head.hash))
        return reason

    def _require_held(self, first: Sequence[tuple[int, Stored | None]], head: Head) -> None:
        """The ledger still has the entry that was verified last: it was neither rewritten nor cut short."""
        reason = "This service verified the entry, and it is gone: an older database was probably restored."
        for seq, stored in first:
            if seq == head.seq and stored is not None and stored.entry.hash == stored.own_hash == head.hash:
                return
            if seq == head.seq:
                reason = "The entry is not the one that this service verified before."
        self._stop(Verification(entries=head.seq - 1, head=head, first_bad=head.seq, reason=reason))

    def _stop(self, outcome: Verification) -> None:
        self._stuck = outcome
        log.error("ledger_broken", first_bad=outcome.first_bad, reason=outcome.reason)
        raise LedgerBroken(outcome)

    def extend(self, appended: Sequence[LedgerEntry]) -> None:
        """Take in entries that this process wrote and committed, unless they were read back already."""
        with self._lock:
            for entry in appended:
                if entry.seq == self._walk.head.seq + 1:
                    reason = self._step(Stored(entry, entry.hash))
                    if reason is not None:
                        self._stuck = self._walk.standing(reason)

    def report(self, outcome: Verification) -> None:
        """Remember how a verification of the whole ledger ended, for /readyz."""
        self._reported = None if outcome.valid else outcome

    def require_verified(self, stored: Stored | None, *, seq: int, verified_hash: str) -> LedgerEntry:
        """An entry that was read again, if it is the one that was verified; LedgerBroken otherwise."""
        if stored is None or not stored.own_hash == stored.entry.hash == verified_hash:
            outcome = Verification(
                entries=seq - 1, head=self.head, first_bad=seq, reason="The entry was changed after it was verified."
            )
            self.report(outcome)
            raise LedgerBroken(outcome)
        return stored.entry
