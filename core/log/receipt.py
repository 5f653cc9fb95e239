"""Receipts: one file that shows offline that a release was charged for, and which synopsis the charge bought.

A receipt is a C2SP tlog-proof of the `publish` entry. Its leaf is the 32 bytes of the entry's hash, its index is
seq - 1. The proof's `extra` is canonical JSON: the whole `publish` entry, the whole `charge` entry, the inclusion proof
of the charge in the same checkpoint, and `header`: the first two lines of the synopsis' canonical bytes.

What is signed: both entries, by their hashes. The header is not: it is right where header and counts together have the
digest that the `publish` entry names (`Facts.digest`). A receipt shows that epsilon was charged. It does not show that
the dataset's budget was kept: only a walk over the whole ledger does.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from core.budget import Epsilon
from core.canonical import canonical_json
from core.ledger.entry import LedgerEntry
from core.ledger.kinds import Kind
from core.log.checkpoint import decoded, encoded
from core.log.note import InvalidNote, Note
from core.log.policy import Policy, Signed
from core.log.proof import Proof
from core.log.tree import leaf_hash, root_of_inclusion

_MOST_CHARACTERS = 2**26  # a header has the labels of all categories
_FIELDS = {"charge", "charge_proof", "header", "publish"}
_HEADER = re.compile(r"rugnik synopsis [0-9]{1,9}\n(\{[ -~]*\})\n", re.ASCII)
_DIGEST = re.compile(r"[0-9a-f]{64}", re.ASCII)


class InvalidReceipt(InvalidNote):
    """A receipt that does not show what it should. The message is a sentence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What a receipt shows to somebody who trusts a policy.

    `size` is the number of entries of the log that was signed. `digest` is the SHA-256 of the synopsis, `card` that of
    the release card, where there is one. `witnesses` has the seconds since 1970 at which each witness signed. The two
    days are those of the entries, in UTC.
    """

    origin: str
    size: int
    dataset: str
    release: str
    epsilon: Epsilon
    digest: str
    card: str | None
    witnesses: Mapping[str, int]
    charge_seq: int
    charged_on: str
    publish_seq: int
    published_on: str


@dataclass(frozen=True, slots=True)
class Receipt:
    """The `publish` and the `charge` of a release, the proofs that a signed log has both, the header of the synopsis.

    `header` is text with both line feeds: followed by the integers of the counts it is the synopsis' canonical bytes.
    """

    publish: LedgerEntry
    charge: LedgerEntry
    publish_hashes: tuple[bytes, ...]
    charge_hashes: tuple[bytes, ...]
    header: str
    checkpoint: Note

    @classmethod
    def of(
        cls,
        publish: LedgerEntry,
        charge: LedgerEntry,
        publish_hashes: Sequence[bytes],
        charge_hashes: Sequence[bytes],
        header: str,
        note: Note,
    ) -> Receipt:
        """The receipt of a publish; the hashes are the inclusion proofs in the checkpoint of `note`."""
        return cls(publish, charge, tuple(publish_hashes), tuple(charge_hashes), header, note)

    def __str__(self) -> str:
        extra = {
            "charge": self.charge.to_json(),
            "charge_proof": {"index": self.charge.seq - 1, "hashes": list(map(encoded, self.charge_hashes))},
            "header": self.header,
            "publish": self.publish.to_json(),
        }
        return str(Proof(self.publish.seq - 1, self.publish_hashes, self.checkpoint, canonical_json(extra)))

    @classmethod
    def parse(cls, text: str) -> Receipt:
        """From its written form; InvalidNote where it has another, were it only in one character."""
        if len(text) > _MOST_CHARACTERS:
            raise InvalidReceipt("The receipt is larger than any receipt.")
        proof = Proof.parse(text)
        extra = _extra(proof.extra)
        publish, charge = _entry(extra["publish"], "publish"), _entry(extra["charge"], "charge")
        index, hashes = _inclusion(extra["charge_proof"])
        if proof.index != publish.seq - 1 or index != charge.seq - 1:
            raise InvalidReceipt("A proof of the receipt is of another place in the log than its entry.")
        receipt = cls.of(publish, charge, proof.hashes, hashes, extra["header"], proof.checkpoint)
        if str(receipt) != text:
            raise InvalidReceipt("The receipt is not in its canonical form.")
        return receipt

    def require(self, policy: Policy) -> Facts:
        """What this receipt shows; InvalidNote with a sentence where the policy or one of the checks refuses it."""
        signed = policy.require(self.checkpoint)
        self._require_entries()
        self._require_included(signed)
        dataset, release, epsilon = self._require_same_release()
        return Facts(
            origin=signed.checkpoint.origin,
            size=signed.checkpoint.size,
            dataset=dataset,
            release=release,
            epsilon=epsilon,
            digest=_digest(self.publish, "digest"),
            card=_digest(self.publish, "card") if "card" in self.publish.detail else None,
            witnesses={name: signature.time for name, signature in signed.cosignatures.items()},
            charge_seq=self.charge.seq,
            charged_on=self.charge.at[:10],
            publish_seq=self.publish.seq,
            published_on=self.publish.at[:10],
        )

    def _require_entries(self) -> None:
        for entry, kind in ((self.publish, Kind.PUBLISH), (self.charge, Kind.CHARGE)):
            if entry.hash != entry.entry_hash():
                raise InvalidReceipt(f"The {kind.value} entry does not match its hash.")
            if entry.kind is not kind:
                raise InvalidReceipt(f"The {kind.value} entry of the receipt is of the kind {entry.kind.value}.")
        if self.charge.seq >= self.publish.seq:
            raise InvalidReceipt("The charge does not come before the publish.")

    def _require_included(self, signed: Signed) -> None:
        size, root = signed.checkpoint.size, signed.checkpoint.root
        for entry, hashes in ((self.publish, self.publish_hashes), (self.charge, self.charge_hashes)):
            leaf = leaf_hash(bytes.fromhex(entry.hash))
            if root_of_inclusion(leaf, entry.seq - 1, size, hashes) != root:
                raise InvalidReceipt(f"The {entry.kind.value} entry is not in the tree that was signed.")

    def _require_same_release(self) -> tuple[str, str, Epsilon]:
        """Dataset, release and epsilon, on which publish, charge and header agree. A publish has no epsilon."""
        publish, charge, header = self.publish, self.charge, _header(self.header)
        if publish.release is None or not publish.release == charge.release == header.get("release"):
            raise InvalidReceipt("Publish, charge and header are not of the same release.")
        if publish.dataset is None or not publish.dataset == charge.dataset == header.get("dataset"):
            raise InvalidReceipt("Publish, charge and header are not of the same dataset.")
        if not charge.epsilon or header.get("epsilon") != str(charge.epsilon):
            raise InvalidReceipt("The header has another epsilon than the one that was charged.")
        return publish.dataset, publish.release, charge.epsilon


def header_of(canonical: bytes) -> str:
    """The first two lines of a synopsis' canonical bytes, with their line feeds: the `header` of its receipt."""
    end = canonical.index(b"\n", canonical.index(b"\n") + 1) + 1
    return canonical[:end].decode("ascii")


def _extra(written: bytes) -> dict[str, Any]:
    extra = _object(written)
    if extra is None or extra.keys() != _FIELDS or not isinstance(extra["header"], str):
        raise InvalidReceipt("The proof is no receipt: it holds no charge, charge_proof, header and publish.")
    return extra


def _entry(written: Any, name: str) -> LedgerEntry:
    entry = LedgerEntry.from_line(canonical_json(written))
    if entry is None or type(entry.seq) is not int or entry.seq < 1 or not isinstance(entry.detail, dict):
        raise InvalidReceipt(f"The {name} entry of the receipt is no entry of a ledger.")
    return entry


def _inclusion(written: Any) -> tuple[int, list[bytes]]:
    match written:
        case {"index": int(index), "hashes": [*lines]} if all(isinstance(line, str) for line in lines):
            return index, list(map(decoded, lines))
        case _:
            raise InvalidReceipt("The proof of the charge has no index and hashes.")


def _header(text: str) -> dict[str, Any]:
    match = _HEADER.fullmatch(text)
    header = _object(match[1].encode()) if match else None
    if header is None:
        raise InvalidReceipt("The header is not that of a synopsis.")
    return header


def _digest(publish: LedgerEntry, name: str) -> str:
    digest = publish.detail.get(name)
    if not isinstance(digest, str) or not _DIGEST.fullmatch(digest):
        raise InvalidReceipt(f"The publish entry has no SHA-256 as its {name}.")
    return digest


def _object(written: bytes) -> dict[str, Any] | None:
    """A JSON object in its canonical form; None for anything else."""
    try:
        value = json.loads(written)
        return value if isinstance(value, dict) and canonical_json(value) == written else None
    except (RecursionError, ValueError):
        return None
