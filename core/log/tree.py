"""The Merkle tree of RFC 6962, section 2.1: roots, inclusion proofs and consistency proofs.

A tree is read through a function node(level, index): the hash over the 2^level leaves from index * 2^level on. Only
such perfect subtrees are ever stored; they never change once their leaves are there. Leaves are numbered from 0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from hashlib import sha256

HASH_BYTES = 32
MOST_HASHES = 63  # of a proof, in C2SP's formats: enough for 2^62 leaves
EMPTY_ROOT = sha256(b"").digest()

Node = Callable[[int, int], bytes]


def leaf_hash(leaf: bytes) -> bytes:
    """The hash of a leaf. Its first byte keeps a leaf from passing for a node."""
    return sha256(b"\x00" + leaf).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    """The hash of two subtrees side by side."""
    return sha256(b"\x01" + left + right).digest()


def nodes_of_append(index: int, leaf: bytes, node: Node) -> Iterator[tuple[int, int, bytes]]:
    """The nodes that appending a leaf completes, as (level, index, hash): the leaf itself, then one for each join."""
    level, digest = 0, leaf_hash(leaf)
    yield level, index, digest
    while index % 2:
        digest = node_hash(node(level, index - 1), digest)
        level, index = level + 1, index // 2
        yield level, index, digest


def root(size: int, node: Node) -> bytes:
    """The root hash of the first `size` leaves."""
    return EMPTY_ROOT if size == 0 else _subtree(0, size, node)


def inclusion_proof(index: int, size: int, node: Node) -> list[bytes]:
    """The hashes that lead from leaf `index` to the root of the first `size` leaves, the leaf's sibling first."""
    if not 0 <= index < size:
        raise ValueError("A proof is about a leaf that the tree has.")
    proof: list[bytes] = []
    start, stop = 0, size
    while stop - start > 1:
        middle = start + _split(stop - start)
        if index < middle:
            proof.append(_subtree(middle, stop, node))
            stop = middle
        else:
            proof.append(_subtree(start, middle, node))
            start = middle
    return proof[::-1]


def consistency_proof(old: int, new: int, node: Node) -> list[bytes]:
    """The hashes that show that the first `old` leaves are unchanged in the tree of the first `new`."""
    if not 0 <= old <= new:
        raise ValueError("A tree is consistent with a smaller one of itself.")
    if old in (0, new):
        return []
    proof: list[bytes] = []
    start, stop = 0, new
    while old != stop:
        middle = start + _split(stop - start)
        if old <= middle:
            proof.append(_subtree(middle, stop, node))
            stop = middle
        else:
            proof.append(_subtree(start, middle, node))
            start = middle
    if start:  # otherwise the old tree is itself a perfect subtree, whose hash the verifier has
        proof.append(_subtree(start, stop, node))
    return proof[::-1]


def root_of_inclusion(leaf: bytes, index: int, size: int, proof: Sequence[bytes]) -> bytes | None:
    """The root that a proof leads to from the hash of a leaf; None where the proof does not fit (RFC 9162, 2.1.3.2)."""
    if not 0 <= index < size or not _are_hashes(proof):
        return None
    digest, place, last = leaf, index, size - 1
    for sibling in proof:
        if last == 0:
            return None
        if place % 2 or place == last:
            digest = node_hash(sibling, digest)
            while not place % 2 and place:
                place, last = place // 2, last // 2
        else:
            digest = node_hash(digest, sibling)
        place, last = place // 2, last // 2
    return digest if last == 0 else None


def is_consistent(*, old: int, old_root: bytes, new: int, new_root: bytes, proof: Sequence[bytes]) -> bool:
    """Whether a proof shows that the tree of `new` leaves begins with the tree of `old` (RFC 9162, 2.1.4.2)."""
    if not 0 <= old <= new or not _are_hashes(proof):
        return False
    if old == new:
        return not proof and old_root == new_root and (old > 0 or old_root == EMPTY_ROOT)
    if old == 0:
        return not proof and old_root == EMPTY_ROOT
    hashes = [old_root, *proof] if old & (old - 1) == 0 else list(proof)
    return bool(hashes) and _roots_of_consistency(old, new, hashes) == (old_root, new_root)


def _roots_of_consistency(old: int, new: int, hashes: Sequence[bytes]) -> tuple[bytes, bytes] | None:
    """The two roots that the hashes of a proof lead to, the first of which both trees have; None where they do not."""
    place, last = old - 1, new - 1
    while place % 2:
        place, last = place // 2, last // 2
    first = second = hashes[0]
    for sibling in hashes[1:]:
        if last == 0:
            return None
        if place % 2 or place == last:
            first, second = node_hash(sibling, first), node_hash(sibling, second)
            while not place % 2 and place:
                place, last = place // 2, last // 2
        else:
            second = node_hash(second, sibling)
        place, last = place // 2, last // 2
    return (first, second) if last == 0 else None


class Frontier:
    """The root of a growing tree in O(log n) memory: the perfect subtrees that the leaves so far make up."""

    __slots__ = ("_subtrees", "size")

    def __init__(self, size: int = 0, subtrees: Sequence[bytes] = ()) -> None:
        """`subtrees` are those of an earlier frontier of `size` leaves; ValueError where they cannot be."""
        if size < 0 or len(subtrees) != size.bit_count() or not _are_hashes(subtrees):
            raise ValueError("A frontier has one hash for each bit of its size.")
        self.size = size
        self._subtrees = list(subtrees)

    @property
    def subtrees(self) -> tuple[bytes, ...]:
        """The hashes of the perfect subtrees, the largest first: with the size, all that has to be kept."""
        return tuple(self._subtrees)

    def append(self, leaf: bytes) -> None:
        """Take in one leaf more."""
        digest = leaf_hash(leaf)
        joins = self.size
        while joins % 2:
            digest = node_hash(self._subtrees.pop(), digest)
            joins //= 2
        self._subtrees.append(digest)
        self.size += 1

    @property
    def root(self) -> bytes:
        """The root hash of the leaves so far."""
        if not self._subtrees:
            return EMPTY_ROOT
        digest = self._subtrees[-1]
        for subtree in reversed(self._subtrees[:-1]):
            digest = node_hash(subtree, digest)
        return digest


def _split(leaves: int) -> int:
    """The largest power of two below a number of leaves above 1."""
    return 1 << ((leaves - 1).bit_length() - 1)


def _subtree(start: int, stop: int, node: Node) -> bytes:
    """The hash over the leaves from `start` to before `stop`. `start` is a multiple of the largest subtree in it."""
    leaves = stop - start
    if leaves & (leaves - 1) == 0:
        level = leaves.bit_length() - 1
        return node(level, start >> level)
    middle = start + _split(leaves)
    return node_hash(_subtree(start, middle, node), _subtree(middle, stop, node))


def _are_hashes(proof: Sequence[bytes]) -> bool:
    return all(len(digest) == HASH_BYTES for digest in proof)
