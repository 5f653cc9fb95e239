"""A log made by a test: its key, its witnesses, a policy, and receipts of synopses that its entries publish."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from core.budget import NOTHING, Epsilon
from core.ledger.entry import GENESIS, LedgerEntry
from core.ledger.kinds import Kind
from core.log import ed25519, tree
from core.log.checkpoint import Checkpoint
from core.log.note import Note, SignatureType, SigningKey
from core.log.policy import Policy
from core.log.receipt import Receipt, header_of
from core.synopsis import Synopsis

ORIGIN = "rugnik.example/city"
SIGNED_AT = 1_790_000_000  # by the first witness; the others follow by seconds
DAY = "2026-01-02"


def signing_key(name: str, kind: SignatureType) -> SigningKey:
    """A new key."""
    return SigningKey(name, kind, ed25519.SecretKey.generate())


@dataclass(frozen=True)
class TestLog:
    """A log with witnesses. `quorum` is how many of them have to sign; 0 for none."""

    __test__ = False

    key: SigningKey
    witnesses: tuple[SigningKey, ...]
    quorum: int

    @classmethod
    def new(cls, *, witnesses: int = 2, quorum: int = 2) -> TestLog:
        """With new keys."""
        keys = [signing_key(f"witness{i}.example", SignatureType.COSIGNATURE) for i in range(1, witnesses + 1)]
        return cls(signing_key(ORIGIN, SignatureType.LOG), tuple(keys), quorum)

    @property
    def policy_text(self) -> str:
        """The policy of somebody who trusts this log and its witnesses."""
        names = [f"w{i}" for i in range(1, len(self.witnesses) + 1)]
        lines = [f"log {self.key.verifier}"]
        lines += [f"witness {name} {key.verifier}" for name, key in zip(names, self.witnesses, strict=True)]
        if self.quorum:
            lines.append(f"group all-of-us {self.quorum} {' '.join(names)}")
        return "\n".join([*lines, f"quorum {'all-of-us' if self.quorum else 'none'}", ""])

    @property
    def policy(self) -> Policy:
        """The same as a value."""
        return Policy.parse(self.policy_text)

    def note(self, entries: Sequence[LedgerEntry], *, signers: int | None = None) -> Note:
        """The checkpoint of these entries, signed by the log and by its witnesses, or the first so many of them."""
        text = Checkpoint(ORIGIN, len(entries), tree.root(len(entries), nodes(entries))).text
        cosignatures = [key.sign(text, time=SIGNED_AT + second) for second, key in enumerate(self.witnesses[:signers])]
        return Note(text, (self.key.sign(text), *cosignatures))

    def receipt(
        self, entries: Sequence[LedgerEntry], charge: int, publish: int, header: str, *, signers: int | None = None
    ) -> Receipt:
        """The receipt of the entry at place `publish`, which the one at place `charge` paid for."""
        node, size = nodes(entries), len(entries)
        proofs = [tree.inclusion_proof(place, size, node) for place in (publish, charge)]
        return Receipt.of(entries[publish], entries[charge], *proofs, header, self.note(entries, signers=signers))

    def receipt_of(self, synopsis: Synopsis, **detail: Any) -> Receipt:
        """The receipt of a synopsis that a small ledger of its own publishes."""
        return self.receipt(ledger_of(synopsis, **detail), CHARGED, PUBLISHED, header_of(synopsis.to_bytes()))


def nodes(entries: Sequence[LedgerEntry]) -> tree.Node:
    """The perfect nodes of the tree over some entries."""
    stored: dict[tuple[int, int], bytes] = {}
    for index, entry in enumerate(entries):
        leaf = bytes.fromhex(entry.hash)
        for level, place, digest in tree.nodes_of_append(index, leaf, lambda level, at: stored[level, at]):
            stored[level, place] = digest
    return lambda level, place: stored[level, place]


def chained(*steps: Mapping[str, Any]) -> list[LedgerEntry]:
    """Entries made from their own fields, numbered and bound to one another."""
    entries: list[LedgerEntry] = []
    for seq, step in enumerate(steps, start=1):
        fields: dict[str, Any] = {"release": None, "epsilon": NOTHING, "actor": "ada", "at": DAY, "detail": {}}
        previous = entries[-1].hash if entries else GENESIS
        entries.append(LedgerEntry(**{**fields, **step}, seq=seq, previous=previous).sealed())
    return entries


CHARGED, PUBLISHED = 2, 5  # the places in the next ledger


def ledger_of(synopsis: Synopsis, **detail: Any) -> list[LedgerEntry]:
    """Seven entries, among them the charge and the publish of a synopsis; `detail` is added to that of the publish."""
    own = {"dataset": synopsis.dataset, "release": synopsis.release}
    other = {"dataset": "other", "release": "r-other"}
    ample = Epsilon.parse("9")
    return chained(
        {"kind": Kind.GRANT, "dataset": synopsis.dataset, "epsilon": ample},
        {"kind": Kind.GRANT, "dataset": "other", "epsilon": ample},
        {"kind": Kind.CHARGE, "epsilon": synopsis.epsilon, **own},
        {"kind": Kind.CHARGE, "epsilon": Epsilon.parse("0.125"), **other},
        {"kind": Kind.DRAW, **own},
        {"kind": Kind.PUBLISH, "detail": {"digest": synopsis.digest, **detail}, **own},
        {"kind": Kind.CLOSE, "dataset": "other"},
    )


def resealed(entry: LedgerEntry, **changes: Any) -> LedgerEntry:
    """The entry with other fields, and the hash that fits them."""
    return replace(entry, **changes).sealed()
