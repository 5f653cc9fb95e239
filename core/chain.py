"""The ledger as values: entries bound to one another by hash, and the rules that any honest ledger keeps.

An entry's hash is the SHA-256 of its canonical JSON (sorted keys, no spaces, ASCII) without the field `hash`; the field
`previous` is part of it. Numbers in it are whole, epsilons are strings, so any language agrees on the bytes; for one
exported line, `jq -cjaS 'del(.hash)' | sha256sum` prints the hash.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from hashlib import sha256
from typing import Any

from core.budget import Epsilon
from core.canonical import canonical_json
from core.errors import CoreError

GENESIS = "0" * 64


class Kind(StrEnum):
    """What an entry records. Kinds are only ever added, and none changes its meaning."""

    GRANT = "grant"  # epsilon given to a dataset; the first one registers it
    CHARGE = "charge"  # epsilon spent on an ordered release, before a row is read
    VOID = "void"  # epsilon given back by an order that was never published
    PUBLISH = "publish"  # the digest of the synopsis that a charge bought
    CLOSE = "close"  # no more grants, orders or uploads


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerEntry:
    """One line of the ledger. `at` is a UTC time, for `publish` only the day; `detail` holds no floats."""

    seq: int
    kind: Kind
    dataset: str
    release: str | None
    epsilon: Epsilon
    actor: str
    at: str
    detail: Mapping[str, Any]
    previous: str
    hash: str = field(default="")

    def to_json(self) -> dict[str, Any]:
        """The entry as it is shown, exported and hashed."""
        return {
            "seq": self.seq,
            "kind": self.kind.value,
            "dataset": self.dataset,
            "release": self.release,
            "epsilon": str(self.epsilon),
            "actor": self.actor,
            "at": self.at,
            "detail": self.detail,
            "previous": self.previous,
            "hash": self.hash,
        }

    @classmethod
    def from_line(cls, line: bytes) -> LedgerEntry | None:
        """The entry of one exported line; None where the line is not, byte for byte, what `to_json` writes."""
        try:
            stored = json.loads(line)
            entry = cls(**{**stored, "kind": Kind(stored["kind"]), "epsilon": Epsilon.parse(stored["epsilon"])})
            return entry if canonical_json(entry.to_json()) == line else None
        except (CoreError, KeyError, RecursionError, TypeError, ValueError):
            return None

    def entry_hash(self) -> str:
        """The hash that this entry must carry."""
        body = self.to_json()
        del body["hash"]
        return sha256(canonical_json(body)).hexdigest()

    def sealed(self) -> LedgerEntry:
        """This entry with its hash."""
        return replace(self, hash=self.entry_hash())


@dataclass(frozen=True, slots=True)
class Head:
    """The last entry's number and hash: whoever keeps it can tell later that nothing before it was changed."""

    seq: int
    hash: str


EMPTY = Head(seq=0, hash=GENESIS)


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


def verify(entries: Iterable[LedgerEntry | None]) -> Verification:
    """Walk a whole ledger, oldest first: gapless numbers, unbroken hashes, and no dataset overdrawn at any entry."""
    return deque(walk(entries), maxlen=1).pop()


def walk(entries: Iterable[LedgerEntry | None], *, every: int | None = None) -> Iterator[Verification]:
    """Verify step by step: how it stands after each `every` entries, and last, in any case, the outcome.

    None stands for a stored line that cannot even be read as an entry.
    """
    head, books = EMPTY, _Books()
    for entry in entries:
        reason = "The entry cannot be read." if entry is None else _broken(entry, head) or books.post(entry)
        if entry is None or reason is not None:
            yield Verification(entries=head.seq, head=head, first_bad=head.seq + 1, reason=reason)
            return
        head = Head(seq=entry.seq, hash=entry.hash)
        if every is not None and head.seq % every == 0:
            yield Verification(entries=head.seq, head=head)
    yield Verification(entries=head.seq, head=head)


def _broken(entry: LedgerEntry, head: Head) -> str | None:
    if entry.seq != head.seq + 1:
        return f"Entry {head.seq + 1} is missing: the next one is number {entry.seq}."
    if entry.previous != head.hash:
        return "The entry is not bound to the one before it."
    if entry.hash != entry.entry_hash():
        return "The entry does not match its hash."
    return None


@dataclass(slots=True)
class _Books:
    """Balances and states as a replay gives them: what a correct service would have refused shows up here."""

    remaining: dict[str, int] = field(default_factory=dict)
    closed: set[str] = field(default_factory=set)
    ordered: dict[str, tuple[str, int]] = field(default_factory=dict)
    ended: set[str] = field(default_factory=set)

    def post(self, entry: LedgerEntry) -> str | None:
        """Take in one entry; a sentence where it breaks a rule."""
        dataset = entry.dataset
        if dataset in self.closed and entry.kind is not Kind.VOID:
            return "The dataset was closed before."
        if entry.kind is not Kind.GRANT and dataset not in self.remaining:
            return "The dataset has no grant before this entry."
        match entry.kind:
            case Kind.GRANT:
                self.remaining[dataset] = self.remaining.get(dataset, 0) + entry.epsilon.nano
                return None
            case Kind.CLOSE:
                self.closed.add(dataset)
                return None
            case Kind.CHARGE:
                return self._charge(entry)
            case Kind.PUBLISH | Kind.VOID:
                return self._end(entry)

    def _charge(self, entry: LedgerEntry) -> str | None:
        if entry.release is None or entry.release in self.ordered or entry.release in self.ended:
            return "A charge needs a release of its own."
        if entry.epsilon.nano > self.remaining[entry.dataset]:
            return "The charge exceeds what the dataset had left."
        self.remaining[entry.dataset] -= entry.epsilon.nano
        self.ordered[entry.release] = (entry.dataset, entry.epsilon.nano)
        return None

    def _end(self, entry: LedgerEntry) -> str | None:
        charged = self.ordered.pop(entry.release or "", None)
        if charged is None or charged[0] != entry.dataset:
            return "The release is not an order of this dataset that is still open."
        self.ended.add(entry.release or "")
        if entry.kind is Kind.VOID:
            if entry.epsilon.nano != charged[1]:
                return "A void gives back exactly what was charged."
            self.remaining[entry.dataset] += charged[1]
        return None
