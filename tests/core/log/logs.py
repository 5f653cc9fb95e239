"""Small logs for tests: trees in memory, and keys that are the same in each run."""

from __future__ import annotations

from collections.abc import Sequence

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from core.log.checkpoint import Checkpoint
from core.log.ed25519 import SecretKey
from core.log.note import SignatureType, SigningKey
from core.log.tree import Node, consistency_proof, inclusion_proof, nodes_of_append, root

ORIGIN = "rugnik.example/log"


class Tree:
    """The perfect nodes of a tree over leaves, as a service stores them."""

    def __init__(self, leaves: Sequence[bytes]) -> None:
        self.leaves = leaves
        self.nodes: dict[tuple[int, int], bytes] = {}
        for index, leaf in enumerate(leaves):
            for level, place, digest in nodes_of_append(index, leaf, self.node):
                assert (level, place) not in self.nodes, "A node is written once."
                self.nodes[level, place] = digest

    @property
    def node(self) -> Node:
        """What reads a node; KeyError for one that is not perfect yet."""
        return lambda level, index: self.nodes[level, index]

    def root(self, size: int) -> bytes:
        """The root of the first `size` leaves."""
        return root(size, self.node)

    def inclusion(self, index: int, size: int) -> list[bytes]:
        """The inclusion proof of a leaf."""
        return inclusion_proof(index, size, self.node)

    def consistency(self, old: int, new: int) -> list[bytes]:
        """The consistency proof between two sizes."""
        return consistency_proof(old, new, self.node)

    def checkpoint(self, size: int) -> Checkpoint:
        """The checkpoint at a size."""
        return Checkpoint(ORIGIN, size, self.root(size))


def secret_key(seed: int) -> SecretKey:
    """The secret key of a number."""
    return SecretKey.of(Ed25519PrivateKey.from_private_bytes(seed.to_bytes(32, "big")))


def log_key(seed: int = 1, name: str = ORIGIN) -> SigningKey:
    """The key of a log."""
    return SigningKey(name, SignatureType.LOG, secret_key(seed))


def witness_key(seed: int, name: str | None = None) -> SigningKey:
    """The key of a witness."""
    return SigningKey(name or f"witness.example/w{seed}", SignatureType.COSIGNATURE, secret_key(seed))


def flipped(value: bytes, bit: int = 0) -> bytes:
    """The value with one bit changed, counted from its first byte."""
    return bytes(byte ^ (1 << bit % 8 if place == bit // 8 else 0) for place, byte in enumerate(value))
