"""The ledger on the wire."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel

from core.ledger.chain import Verification
from core.ledger.entry import Head, LedgerEntry
from core.ledger.kinds import Kind


class EntryReply(BaseModel):
    """One line of the ledger, as it is hashed and exported."""

    seq: int
    kind: Kind
    dataset: str | None
    release: str | None
    epsilon: str
    actor: str
    at: str
    detail: dict[str, Any]
    previous: str
    hash: str

    @classmethod
    def of(cls, entry: LedgerEntry) -> EntryReply:
        """From an entry."""
        return cls(**entry.to_json())


class LedgerPage(BaseModel):
    """Entries, newest last; `next` is the number to give as `after` for more."""

    entries: list[EntryReply]
    next: int | None


class HeadReply(BaseModel):
    """The last entry's number and hash."""

    seq: int
    hash: str

    @classmethod
    def of(cls, head: Head) -> HeadReply:
        """From a Head."""
        return cls(seq=head.seq, hash=head.hash)


class VerificationReply(BaseModel):
    """The outcome of walking the whole ledger."""

    valid: bool
    entries: int
    head: HeadReply
    first_bad: int | None
    reason: str | None

    @classmethod
    def of(cls, found: Verification) -> VerificationReply:
        """From a Verification."""
        return cls(
            valid=found.valid,
            entries=found.entries,
            head=HeadReply.of(found.head),
            first_bad=found.first_bad,
            reason=found.reason,
        )
