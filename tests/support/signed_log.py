"""SignedLog: a real log in memory, with a key of its own, that grows, is signed, and can be forked."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from core.budget import Epsilon
from core.ledger.entry import GENESIS, LedgerEntry
from core.ledger.kinds import Kind
from core.log.checkpoint import Checkpoint
from core.log.ed25519 import SecretKey
from core.log.note import Note, SignatureType, SigningKey
from core.log.tree import consistency_proof, nodes_of_append, root
from core.log.witnessing import Submission

ORIGIN = "rugnik.example/ledger"


def log_key(origin: str = ORIGIN) -> SigningKey:
    """A new key of a log."""
    return SigningKey(origin, SignatureType.LOG, SecretKey.generate())


def cosigning_key(name: str) -> SigningKey:
    """A new key of a witness."""
    return SigningKey(name, SignatureType.COSIGNATURE, SecretKey.generate())


def entries(count: int, actor: str = "a", after: Iterable[LedgerEntry] = ()) -> list[LedgerEntry]:
    """Entries of a ledger, bound to one another and to those before them."""
    made = list(after)
    for _ in range(count):
        entry = LedgerEntry(
            seq=len(made) + 1,
            kind=Kind.GRANT,
            dataset=f"d{len(made)}",
            release=None,
            epsilon=Epsilon.parse("1"),
            actor=actor,
            at="2026-01-02",
            detail={},
            previous=made[-1].hash if made else GENESIS,
        )
        made.append(entry.sealed())
    return made


@dataclass
class SignedLog:
    """The tree over entries, and what its operator can sign about it."""

    entries: list[LedgerEntry]
    key: SigningKey = field(default_factory=log_key)

    def __post_init__(self) -> None:
        self.nodes: dict[tuple[int, int], bytes] = {}
        for index, entry in enumerate(self.entries):
            for level, place, digest in nodes_of_append(index, bytes.fromhex(entry.hash), self._node):
                self.nodes[level, place] = digest

    def _node(self, level: int, index: int) -> bytes:
        return self.nodes[level, index]

    def root(self, size: int) -> bytes:
        """The root of the first `size` entries."""
        return root(size, self._node)

    def note(self, size: int | None = None) -> Note:
        """A signed checkpoint; of all entries if no size is given."""
        size = len(self.entries) if size is None else size
        return Checkpoint(self.key.name, size, self.root(size)).signed(self.key)

    def proof(self, old: int, new: int | None = None) -> list[bytes]:
        """The consistency proof between two sizes."""
        return consistency_proof(old, len(self.entries) if new is None else new, self._node)

    def submission(self, old: int, new: int | None = None) -> bytes:
        """The body of add-checkpoint."""
        new = len(self.entries) if new is None else new
        return str(Submission(old, tuple(self.proof(old, new)), self.note(new))).encode()

    def forked(self, at: int, size: int) -> SignedLog:
        """A log with the same key that has other entries after the first `at`."""
        return SignedLog(entries(size - at, actor="somebody else", after=self.entries[:at]), self.key)
