"""The ledger: replies about entries, the head and verifications."""

from __future__ import annotations

from typing import Any

from core.ledger.chain import Verification
from core.ledger.entry import Head, LedgerEntry
from rugnik import wire


def entry_reply(entry: LedgerEntry) -> wire.LedgerEntry:
    """One entry."""
    return wire.LedgerEntry(**entry.to_json())


def head_reply(head: Head) -> wire.Head:
    """The last entry's number and hash."""
    return wire.Head(seq=head.seq, hash=head.hash)


def verification_reply(outcome: Verification) -> wire.Verification:
    """The outcome of a verification."""
    return wire.Verification(**_fields(outcome))


def step_reply(outcome: Verification, total: int) -> wire.VerificationStep:
    """The outcome so far, and the number of entries in all."""
    return wire.VerificationStep(**_fields(outcome), total=total)


def _fields(outcome: Verification) -> dict[str, Any]:
    return {
        "valid": outcome.valid,
        "entries": outcome.entries,
        "head": head_reply(outcome.head),
        "first_bad": outcome.first_bad,
        "reason": outcome.reason,
    }
