"""TreeNodes: the perfect subtrees of a growing log in memory, 64 bytes for each leaf."""

from __future__ import annotations

from core.log import tree
from core.log.tree import HASH_BYTES


class TreeNodes:
    """The Merkle tree over leaves that are appended one by one. Reading needs no lock: what is there never changes."""

    __slots__ = ("_levels",)

    def __init__(self) -> None:
        self._levels = [bytearray()]

    @property
    def size(self) -> int:
        """How many leaves there are."""
        return len(self._levels[0]) // HASH_BYTES

    def append(self, leaf: bytes) -> None:
        """Take in one leaf more. The joins come before the leaf, so that no reader sees a leaf without its nodes."""
        for level, _, digest in reversed(list(tree.nodes_of_append(self.size, leaf, self.node))):
            while level >= len(self._levels):
                self._levels.append(bytearray())
            self._levels[level] += digest

    def node(self, level: int, index: int) -> bytes:
        """The hash over the 2^level leaves from index * 2^level on. IndexError where not all of them are there."""
        return self.nodes(level, index, index + 1)

    def nodes(self, level: int, start: int, stop: int) -> bytes:
        """The hashes of nodes that follow each other on one level. IndexError where one of them is not there."""
        if not 0 <= level < len(self._levels) or not 0 <= start <= stop:
            raise IndexError("The tree has no such node.")
        hashes = bytes(self._levels[level][HASH_BYTES * start : HASH_BYTES * stop])
        if len(hashes) != HASH_BYTES * (stop - start):
            raise IndexError("The tree has no such node.")
        return hashes

    def root(self, size: int) -> bytes:
        """The root of the first `size` leaves."""
        return tree.root(size, self.node)

    def inclusion_proof(self, index: int, size: int) -> list[bytes]:
        """The hashes from leaf `index` to the root of the first `size` leaves."""
        return tree.inclusion_proof(index, size, self.node)

    def consistency_proof(self, old: int, new: int) -> list[bytes]:
        """The hashes that show that the first `old` leaves are unchanged in the tree of the first `new`."""
        return tree.consistency_proof(old, new, self.node)
