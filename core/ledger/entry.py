"""One entry of the ledger as a value, and its hash.

An entry's hash is the SHA-256 of its canonical JSON (sorted keys, no spaces, ASCII) without the field `hash`; the field
`previous` is part of it. Numbers in it are whole, epsilons are strings, so any language agrees on the bytes; for one
exported line, `jq -cjaS 'del(.hash)' | sha256sum` prints the hash.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from hashlib import sha256
from json.encoder import encode_basestring_ascii
from typing import Any

from core.budget import Epsilon
from core.canonical import canonical_json
from core.errors import CoreError
from core.ledger.kinds import Kind

GENESIS = "0" * 64


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerEntry:
    """One line of the ledger. `detail` holds no floats.

    `at` is the UTC day; entries of version 0.1 other than `publish` have the second. `dataset` is None for entries
    about keys.
    """

    seq: int
    kind: Kind
    dataset: str | None
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
            entry.entry_hash()
            return entry if canonical_json(entry.to_json()) == line else None
        except (CoreError, KeyError, RecursionError, TypeError, ValueError):
            return None

    def entry_hash(self) -> str:
        """The hash that this entry must carry."""
        return _hash(self, str(self.epsilon), canonical_json(self.detail).decode())

    def sealed(self) -> LedgerEntry:
        """This entry with its hash."""
        return replace(self, hash=self.entry_hash())


@dataclass(frozen=True, slots=True)
class Stored:
    """An entry as a database holds it, and the hash that its columns give, which may not be the one it carries."""

    entry: LedgerEntry
    own_hash: str

    @classmethod
    def of(cls, row: tuple[Any, ...]) -> Stored | None:
        """From seq, kind, dataset, release, epsilon in billionths, actor, at, detail as text, previous and hash.

        None where the row is no entry. The text of `detail` is hashed as it stands, once it is seen to be canonical.
        """
        seq, kind, dataset, release, nano, actor, at, detail, previous, stored_hash = row
        try:
            epsilon, decimal = _epsilon(nano)
            entry = LedgerEntry(
                seq=seq,
                kind=Kind(kind),
                dataset=dataset,
                release=release,
                epsilon=epsilon,
                actor=actor,
                at=at,
                detail=_detail(detail),
                previous=previous,
                hash=stored_hash,
            )
            return cls(entry, _hash(entry, decimal, detail))
        except (CoreError, RecursionError, TypeError, ValueError):
            return None


def _hash(entry: LedgerEntry, epsilon: str, detail: str) -> str:
    """SHA-256 of the canonical JSON, written out here: several times faster than by way of a dict."""
    text = (
        f'{{"actor":{_quoted(entry.actor)},"at":{_quoted(entry.at)},"dataset":{_quoted(entry.dataset)},'
        f'"detail":{detail},"epsilon":"{epsilon}","kind":"{entry.kind.value}","previous":{_quoted(entry.previous)},'
        f'"release":{_quoted(entry.release)},"seq":{entry.seq}}}'
    )
    return sha256(text.encode("ascii")).hexdigest()


def _quoted(text: str | None) -> str:
    return "null" if text is None else encode_basestring_ascii(text)  # TypeError for what is no text


@lru_cache(maxsize=4096, typed=True)
def _epsilon(nano: int) -> tuple[Epsilon, str]:
    epsilon = Epsilon(nano)
    return epsilon, str(epsilon)


@lru_cache(maxsize=1024)
def _detail(text: str) -> Mapping[str, Any]:
    """The value of a canonical text. The same texts come again and again; nobody changes the value."""
    detail = json.loads(text)
    if not isinstance(detail, dict) or canonical_json(detail).decode() != text:
        raise ValueError("The detail of an entry is a canonical JSON object.")
    return detail


@dataclass(frozen=True, slots=True)
class Head:
    """The last entry's number and hash: whoever keeps it can tell later that nothing before it was changed."""

    seq: int
    hash: str


EMPTY = Head(seq=0, hash=GENESIS)
