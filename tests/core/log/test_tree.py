"""The Merkle tree beside the definition of RFC 6962, for all sizes up to 64 and all pairs of them."""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import sha256

import pytest

from core.log.tree import (
    EMPTY_ROOT,
    MOST_HASHES,
    Frontier,
    consistency_proof,
    inclusion_proof,
    is_consistent,
    leaf_hash,
    node_hash,
    root,
    root_of_inclusion,
)
from tests.core.log.logs import Tree, flipped

MOST = 64
LEAVES = [f"leaf {number}".encode() for number in range(MOST)]
TREE = Tree(LEAVES)
ROOTS = [TREE.root(size) for size in range(MOST + 1)]
ANOTHER = sha256(b"another").digest()

# Certificate Transparency's test vectors: eight leaves, and the root after each of them.
CT_LEAVES = [
    bytes.fromhex(leaf)
    for leaf in ("", "00", "10", "2021", "3031", "40414243", "5051525354555657", "606162636465666768696a6b6c6d6e6f")
]
CT_ROOTS = [
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
    "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
    "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
    "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
    "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
    "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
    "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
]
# The paths of its leaf 0, and its proof from size 6 to size 8.
CT_PATH = [
    "96a296d224f285c67bee93c30f8a309157f0daa35dc5b87e410b78630a09cfc7",
    "5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e",
    "6b47aaf29ee3c2af9af889bc1fb9254dabd31177f16232dd6aab035ca39bf6e4",
]
CT_CONSISTENCY = [
    "0ebc5d3437fbe2db158b9f126a1d118e308181031d0a949f8dededebc558ef6a",
    "ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0",
    "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
]


# RFC 6962, section 2.1, written down as it reads: the oracle.


def largest_power_below(n: int) -> int:
    k = 1
    while 2 * k < n:
        k *= 2
    return k


def merkle_tree_hash(leaves: list[bytes]) -> bytes:
    """MTH(D[n]) of section 2.1."""
    if not leaves:
        return sha256().digest()
    if len(leaves) == 1:
        return sha256(b"\x00" + leaves[0]).digest()
    k = largest_power_below(len(leaves))
    return sha256(b"\x01" + merkle_tree_hash(leaves[:k]) + merkle_tree_hash(leaves[k:])).digest()


def path(m: int, leaves: list[bytes]) -> list[bytes]:
    """PATH(m, D[n]) of section 2.1.1."""
    if len(leaves) == 1:
        return []
    k = largest_power_below(len(leaves))
    if m < k:
        return [*path(m, leaves[:k]), merkle_tree_hash(leaves[k:])]
    return [*path(m - k, leaves[k:]), merkle_tree_hash(leaves[:k])]


def subproof(m: int, leaves: list[bytes], *, whole: bool) -> list[bytes]:
    """SUBPROOF(m, D[n], b) of section 2.1.2."""
    if m == len(leaves):
        return [] if whole else [merkle_tree_hash(leaves)]
    k = largest_power_below(len(leaves))
    if m <= k:
        return [*subproof(m, leaves[:k], whole=whole), merkle_tree_hash(leaves[k:])]
    return [*subproof(m - k, leaves[k:], whole=False), merkle_tree_hash(leaves[:k])]


def altered(proof: list[bytes]) -> Iterator[list[bytes]]:
    """The proof with a hash flipped, dropped, cut, doubled, swapped with another, or with one more at any place."""
    for place, digest in enumerate(proof):
        before, after = proof[:place], proof[place + 1 :]
        yield [*before, flipped(digest, 8 * place), *after]
        yield [*before, flipped(digest, 255), *after]
        yield [*before, digest[:-1], *after]
        yield [*before, digest + b"\x00", *after]
        yield [*before, *after]
        yield [*before, digest, digest, *after]
        for other in range(place):
            swapped = list(proof)
            swapped[place], swapped[other] = swapped[other], swapped[place]
            yield swapped
    for place in range(len(proof) + 1):
        for extra in (ANOTHER, EMPTY_ROOT, b""):
            yield [*proof[:place], extra, *proof[place:]]


def test_roots_are_those_of_the_definition() -> None:
    """At every size, from perfect nodes alone and from a frontier."""
    frontier = Frontier()
    for size in range(MOST + 1):
        expected = merkle_tree_hash(LEAVES[:size])
        assert (ROOTS[size], frontier.root, frontier.size) == (expected, expected, size)
        if size < MOST:
            frontier.append(LEAVES[size])
    assert ROOTS[0] == EMPTY_ROOT
    assert len(set(ROOTS)) == MOST + 1


def test_roots_and_proofs_are_those_of_certificate_transparency() -> None:
    """Its test vectors."""
    tree = Tree(CT_LEAVES)
    assert [tree.root(size).hex() for size in range(9)] == CT_ROOTS
    assert [digest.hex() for digest in tree.inclusion(0, 8)] == CT_PATH
    assert [digest.hex() for digest in tree.consistency(6, 8)] == CT_CONSISTENCY


def test_appending_writes_each_perfect_node_once() -> None:
    """As many as there are: Tree refuses a node that it has. A node is the root of its leaves."""
    expected = {(level, index) for level in range(7) for index in range(MOST >> level)}
    assert TREE.nodes.keys() == expected
    for (level, index), digest in TREE.nodes.items():
        assert digest == merkle_tree_hash(LEAVES[index << level : (index + 1) << level])


def test_a_tree_reads_only_nodes_that_are_perfect_at_its_size() -> None:
    """So that a proof at an old size is the same for ever: later nodes are never read."""
    for size in range(MOST + 1):
        first = Tree(LEAVES[:size])
        assert first.root(size) == ROOTS[size]
        for index in range(size):
            assert first.inclusion(index, size) == TREE.inclusion(index, size)
            assert first.consistency(index, size) == TREE.consistency(index, size)


def test_inclusion_proofs_are_those_of_the_definition_and_hold() -> None:
    """For every leaf of every size."""
    for size in range(1, MOST + 1):
        for index in range(size):
            proof = TREE.inclusion(index, size)
            assert proof == path(index, LEAVES[:size])
            assert root_of_inclusion(leaf_hash(LEAVES[index]), index, size, proof) == ROOTS[size]


def test_an_altered_inclusion_proof_never_holds() -> None:
    """For every leaf of every size: altered hashes, and the proof for another leaf or another index."""
    for size in range(1, MOST + 1):
        for index in range(size):
            leaf, proof = leaf_hash(LEAVES[index]), TREE.inclusion(index, size)
            for wrong in altered(proof):
                assert root_of_inclusion(leaf, index, size, wrong) != ROOTS[size]
            for other in range(-1, size + 2):
                if other != index:
                    assert root_of_inclusion(leaf, other, size, proof) != ROOTS[size]
            for other_leaf in (LEAVES[index - 1], LEAVES[index ^ 1], b"another"):
                assert root_of_inclusion(leaf_hash(other_leaf), index, size, proof) != ROOTS[size]


def test_an_inclusion_proof_never_holds_at_another_size() -> None:
    """With the root of that size, whatever the size."""
    for size in range(1, MOST + 1):
        for index in range(size):
            leaf, proof = leaf_hash(LEAVES[index]), TREE.inclusion(index, size)
            for other in range(MOST + 1):
                if other != size:
                    assert root_of_inclusion(leaf, index, other, proof) != ROOTS[other]


def test_a_root_alone_does_not_tell_the_size() -> None:
    """A proof of three leaves also leads to its root with a size of four: a checkpoint signs size and root together."""
    assert root_of_inclusion(leaf_hash(LEAVES[0]), 0, 4, TREE.inclusion(0, 3)) == ROOTS[3]


def test_an_inner_node_never_passes_as_a_leaf() -> None:
    """Leaves and nodes are hashed with different first bytes."""
    left, right = leaf_hash(LEAVES[0]), leaf_hash(LEAVES[1])
    assert leaf_hash(left + right) != node_hash(left, right)
    assert root_of_inclusion(leaf_hash(left + right), 0, 1, []) != ROOTS[2]


def test_consistency_proofs_are_those_of_the_definition_and_hold() -> None:
    """For every pair of sizes. From size 0, and to the same size, the proof is empty."""
    for new in range(MOST + 1):
        for old in range(new + 1):
            proof = TREE.consistency(old, new)
            assert proof == (subproof(old, LEAVES[:new], whole=True) if old else [])
            assert is_consistent(old=old, old_root=ROOTS[old], new=new, new_root=ROOTS[new], proof=proof)


def test_an_altered_consistency_proof_never_holds() -> None:
    """For every pair of sizes: altered hashes, and another root on either side."""
    for new in range(MOST + 1):
        for old in range(new + 1):
            proof = TREE.consistency(old, new)
            for wrong in altered(proof):
                assert not is_consistent(old=old, old_root=ROOTS[old], new=new, new_root=ROOTS[new], proof=wrong)
            for root_ in (flipped(ROOTS[old]), ANOTHER, b""):
                assert not is_consistent(old=old, old_root=root_, new=new, new_root=ROOTS[new], proof=proof)
            for root_ in (flipped(ROOTS[new]), ANOTHER, b""):  # every tree begins with the empty one
                holds = is_consistent(old=old, old_root=ROOTS[old], new=new, new_root=root_, proof=proof)
                assert holds == (old == 0 < new)


def test_a_consistency_proof_never_holds_between_other_sizes() -> None:
    """With the roots of those sizes: nor in the other direction."""
    for new in range(MOST + 1):
        for old in range(1, new):
            proof = TREE.consistency(old, new)
            for other in range(MOST + 1):
                if other != old:
                    assert not is_consistent(
                        old=other, old_root=ROOTS[other], new=new, new_root=ROOTS[new], proof=proof
                    )
                if other != new:
                    assert not is_consistent(
                        old=old, old_root=ROOTS[old], new=other, new_root=ROOTS[other], proof=proof
                    )
            assert not is_consistent(old=new, old_root=ROOTS[new], new=old, new_root=ROOTS[old], proof=proof)


def test_a_log_that_changed_a_leaf_has_no_consistency_proof() -> None:
    """Neither its own proof nor the honest one leads from the old root to the new one."""
    for old in range(1, 33):
        for changed in range(old):
            forged = Tree([b"forged" if index == changed else leaf for index, leaf in enumerate(LEAVES[:40])])
            for proof in (forged.consistency(old, 40), TREE.consistency(old, 40)):
                assert not is_consistent(old=old, old_root=ROOTS[old], new=40, new_root=forged.root(40), proof=proof)


def test_the_empty_tree_has_one_root() -> None:
    """No checkpoint of size 0 with another root is consistent with it."""
    assert is_consistent(old=0, old_root=EMPTY_ROOT, new=0, new_root=EMPTY_ROOT, proof=[])
    assert not is_consistent(old=0, old_root=EMPTY_ROOT, new=0, new_root=ANOTHER, proof=[])
    assert not is_consistent(old=0, old_root=ANOTHER, new=0, new_root=ANOTHER, proof=[])
    assert root_of_inclusion(ANOTHER, 0, 0, []) is None


@pytest.mark.parametrize(("index", "size"), [(0, 0), (-1, 3), (3, 3), (4, 3)])
def test_no_inclusion_proof_of_a_leaf_that_is_not_there(index: int, size: int) -> None:
    """Neither made nor accepted."""
    with pytest.raises(ValueError, match="a leaf that the tree has"):
        inclusion_proof(index, size, TREE.node)
    assert root_of_inclusion(ANOTHER, index, size, []) is None


@pytest.mark.parametrize(("old", "new"), [(-1, 3), (4, 3)])
def test_no_consistency_proof_with_a_larger_tree(old: int, new: int) -> None:
    """Neither made nor accepted."""
    with pytest.raises(ValueError, match="a smaller one of itself"):
        consistency_proof(old, new, TREE.node)
    assert not is_consistent(old=old, old_root=ROOTS[old], new=new, new_root=ROOTS[new], proof=[])


def test_a_tree_of_2_to_the_62_leaves_has_proofs_of_at_most_63_hashes() -> None:
    """All nodes of a level are alike here. No number of leaves is too large to compute with."""
    levels = [ANOTHER]
    for _ in range(63):
        levels.append(node_hash(levels[-1], levels[-1]))

    def node(level: int, _: int) -> bytes:
        return levels[level]

    for size in (2**62, 2**62 - 1):
        for index in (0, 1, size // 2, size - 1):
            proof = inclusion_proof(index, size, node)
            assert len(proof) <= 62
            assert root_of_inclusion(levels[0], index, size, proof) == root(size, node)
    old, new = 2**61 + 1, 2**62
    proof = consistency_proof(old, new, node)
    assert len(proof) == MOST_HASHES == 63
    assert is_consistent(old=old, old_root=root(old, node), new=new, new_root=root(new, node), proof=proof)
