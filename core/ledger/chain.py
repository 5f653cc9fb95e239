"""The ledger as a chain: each entry bound to the one before it by hash, walked from the first entry on.

`core.ledger.entry` has the entry and its hash, `core.ledger.books` the rules that entries keep among themselves.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from core.ledger.books import Books
from core.ledger.entry import EMPTY, Head, LedgerEntry, Stored


@dataclass(frozen=True, slots=True)
class Verification:
    """The outcome of walking a ledger: how many entries were good, and what is wrong with the first bad one."""

    entries: int
    head: Head
    first_bad: int | None = None
    reason: str | None = None

    @property
    def valid(self) -> bool:
        """Whether every entry is good."""
        return self.first_bad is None


def unbound(stored: Stored, head: Head) -> str | None:
    """Why an entry is not the next one after `head` in the chain of hashes; None where it is."""
    entry = stored.entry
    if entry.seq != head.seq + 1:
        return f"Entry {head.seq + 1} is missing: the next one is number {entry.seq}."
    if entry.previous != head.hash:
        return "The entry is not bound to the one before it."
    if entry.hash != stored.own_hash:
        return "The entry does not match its hash."
    return None


@dataclass(slots=True)
class Walk:
    """The part of a ledger that was verified: its head and its books. It can go on whenever there are more entries."""

    head: Head = EMPTY
    books: Books = field(default_factory=Books)

    def step(self, stored: Stored | None) -> str | None:
        """Take in the next entry; a sentence, and nothing else, where it is not good. None: it cannot be read."""
        if stored is None:
            return "The entry cannot be read."
        entry = stored.entry
        reason = unbound(stored, self.head) or self.books.post(entry)
        if reason is None:
            self.head = Head(seq=entry.seq, hash=entry.hash)
        return reason

    def standing(self, reason: str | None = None) -> Verification:
        """How far the walk came, and why it did not come further."""
        bad = None if reason is None else self.head.seq + 1
        return Verification(entries=self.head.seq, head=self.head, first_bad=bad, reason=reason)


def verify(entries: Iterable[LedgerEntry | None]) -> Verification:
    """Walk a whole ledger, oldest first: gapless numbers, unbroken hashes, and no dataset overdrawn at any entry."""
    return deque(walk(entries), maxlen=1).pop()


def walk(entries: Iterable[LedgerEntry | None], *, every: int | None = None) -> Iterator[Verification]:
    """Verify step by step: how it stands after each `every` entries, and last, in any case, the outcome.

    None stands for a line that cannot even be read as an entry.
    """
    walked = Walk()
    for entry in entries:
        reason = walked.step(None if entry is None else Stored(entry, entry.entry_hash()))
        if reason is not None:
            yield walked.standing(reason)
            return
        if every is not None and walked.head.seq % every == 0:
            yield walked.standing()
    yield walked.standing()
