"""The ledger: its entries, its head, its verification."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from rugnik.wire.base import Reply, frame
from rugnik.wire.limits import Doc, one_of

Kind = Annotated[
    str,
    one_of(
        *("grant", "charge", "draw", "step", "publish", "void", "close", "issue", "revoke"),
        *("key", "rule", "request", "refuse"),
    ),
    Doc("What an entry records. Kinds are only ever added, and none changes its meaning."),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerEntry(Reply):
    """One line of the ledger, as it is hashed and exported. Entries about keys have no dataset."""

    seq: int
    kind: Kind
    dataset: str | None
    release: str | None
    epsilon: str
    actor: str
    at: str
    detail: Mapping[str, Any]
    previous: str
    hash: str


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class LedgerPage(Reply):
    """Entries, newest last; `next` is the number to give as `after` for more."""

    entries: tuple[LedgerEntry, ...]
    next: int | None

    def to_pandas(self) -> Any:
        """One row per entry."""
        names = ("seq", "at", "kind", "dataset", "release", "epsilon", "actor", "hash")
        return frame({name: [getattr(entry, name) for entry in self.entries] for name in names})


@dataclass(frozen=True, slots=True, kw_only=True)
class Head(Reply):
    """The last entry's number and hash: keep it, and nobody can change an entry before it unseen."""

    seq: int
    hash: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Verification(Reply):
    """The outcome of walking the whole ledger."""

    valid: bool
    entries: int
    head: Head
    first_bad: int | None
    reason: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class VerificationStep(Verification):
    """The outcome so far, and of how many entries in all."""

    total: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Consistency(Reply):
    """The newest signed checkpoint, and the proof that an older tree of the ledger is the beginning of its tree."""

    checkpoint: Annotated[str, Doc("A signed note (C2SP tlog-checkpoint).")]
    proof: Annotated[tuple[str, ...], Doc("Hashes in base64 (RFC 6962, section 2.1.2).")]
