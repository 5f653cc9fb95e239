"""PrivTree of Zhang, Xiao and Xie, "PrivTree: a differentially private algorithm for hierarchical decompositions"
(SIGMOD 2016), our own code from the paper's description.

Every node is a box of [0, 1]^d; a split halves it along all axes, so it has beta = 2^d children. With half of epsilon,
eps_tree, a node at depth k with c rows has the biased count

    b = max(c - k delta, theta - delta),    delta = lambda ln(beta),    theta = 0,

and is split if b + Laplace(lambda) > theta, where lambda = (2 beta - 1) / (beta - 1) / eps_tree (the paper's
Theorem 3.1: the whole tree is eps_tree-differentially private, however deep it is). The other half pays for one
Laplace count of each leaf, of scale 1 / eps_leaves. A range is the sum over leaves of the count times the share of the
leaf inside it.

The paper has no greatest depth. Here a box is not split any more at depth 30, a public number, because equal rows would
be split for ever. The noise is numpy's from a seed: a simulation, not a release.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Wholes = NDArray[np.int64]

DEEPEST = 30
THETA = 0.0
_TREE_SHARE = 0.5


@dataclass(frozen=True, slots=True)
class Scales:
    """The noise of a tree: `split` is lambda, `decay` is delta, `leaf` is the scale of a leaf's count."""

    split: float
    decay: float
    leaf: float

    @classmethod
    def of(cls, epsilon: float, dimensions: int) -> Scales:
        """The paper's scales for an epsilon, half of it for the tree."""
        children = 2**dimensions
        split = (2 * children - 1) / (children - 1) / (_TREE_SHARE * epsilon)
        return cls(split, split * log(children), 1 / ((1 - _TREE_SHARE) * epsilon))


@dataclass(frozen=True, slots=True, eq=False)
class PrivTree:
    """The leaves: lower corners, (leaves, d), sides, and noisy counts."""

    lower: Floats
    sides: Floats
    counts: Floats

    def count(self, ranges: Floats) -> Floats:
        """The estimate of each range, given as (ranges, 2, d): lower and upper ends in [0, 1]."""
        starts, ends = self.lower.T.copy(), (self.lower + self.sides[:, None]).T.copy()
        estimates = np.empty(len(ranges))
        for i, (lower, upper) in enumerate(ranges):
            share = np.ones(len(self.counts))
            for x, (start, end) in enumerate(zip(starts, ends, strict=True)):
                inside = np.minimum(end, upper[x]) - np.maximum(start, lower[x])
                share *= np.maximum(inside, 0.0) / self.sides
            estimates[i] = share @ self.counts
        return estimates


def privtree(rows: Floats, epsilon: float, rng: np.random.Generator) -> PrivTree:
    """PrivTree for rows in [0, 1]^d. All boxes of one depth are treated together."""
    d = rows.shape[1]
    scales = Scales.of(epsilon, d)
    boxes, inside = np.zeros((1, d), dtype=np.int64), rows
    owner = np.zeros(len(rows), dtype=np.int64)  # the box of each row that is `inside` one
    lower, sides, counts = [], [], []
    for depth in range(DEEPEST + 1):
        exact = np.bincount(owner, minlength=len(boxes))
        split = _is_split(exact, depth, scales, rng)
        lower.append(boxes[~split] / 2.0**depth)
        sides.append(np.full(len(lower[-1]), 0.5**depth))
        counts.append(exact[~split] + rng.laplace(0, scales.leaf, len(lower[-1])))
        if not split.any():
            break
        inside, owner = inside[split[owner]], (np.cumsum(split) - 1)[owner[split[owner]]]
        boxes, owner = _children(boxes[split], inside, owner, depth + 1)
    return PrivTree(np.concatenate(lower), np.concatenate(sides), np.concatenate(counts))


def _is_split(exact: Wholes, depth: int, scales: Scales, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Which boxes of a depth are split, given their numbers of rows."""
    biased = np.maximum(exact - depth * scales.decay, THETA - scales.decay)
    split: NDArray[np.bool_] = (biased + rng.laplace(0, scales.split, len(exact)) > THETA) & (depth < DEEPEST)
    return split


def _children(boxes: Wholes, rows: Floats, owner: Wholes, depth: int) -> tuple[Wholes, Wholes]:
    """The children of boxes, 2^d in a row for each, and the child that each row is in."""
    d = boxes.shape[1]
    corners = np.stack(np.unravel_index(np.arange(2**d), (2,) * d), axis=1)
    children = (2 * boxes[:, None, :] + corners).reshape(-1, d)
    places = np.minimum((rows * 2.0**depth).astype(np.int64), 2**depth - 1)  # a row at 1 is in the last box
    return children, np.ravel_multi_index(tuple((places & 1).T), (2,) * d) + 2**d * owner
