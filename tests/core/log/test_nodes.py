"""TreeNodes: what is there is found, and what is not there is no empty hash."""

from __future__ import annotations

import pytest

from core.log.nodes import TreeNodes
from tests.core.log.logs import Tree

LEAVES = [bytes([number]) * 32 for number in range(6)]


def test_nodes_that_are_not_there_are_an_error() -> None:
    """A short slice would be hashed as if it were a node."""
    tree, known = TreeNodes(), Tree(LEAVES)
    for leaf in LEAVES:
        tree.append(leaf)
    assert tree.node(1, 2) == known.node(1, 2)
    assert tree.nodes(0, 2, 6) == b"".join(known.node(0, index) for index in range(2, 6))
    assert tree.nodes(0, 6, 6) == b""
    for level, index in ((0, 6), (1, 3), (2, 1), (3, 0), (0, -1), (-1, 0)):
        with pytest.raises(IndexError):
            tree.node(level, index)
    for start, stop in ((5, 7), (6, 7), (-1, 1), (2, 1)):
        with pytest.raises(IndexError):
            tree.nodes(0, start, stop)
    with pytest.raises(IndexError):
        tree.root(7)
