"""Other estimates of the leaves of an adaptive release that its noise allows: fresh noise on all layers, fused again.

With fixed cuts a fused estimate is linear in the noisy counts (`core.adaptive.fusion`), so fresh noise is fused by
itself and added.
"""

from __future__ import annotations

import numpy as np

from core.adaptive.cells import AdaptiveCells
from core.arrays import Floats


def redrawn(cells: AdaptiveCells, rng: np.random.Generator) -> Floats:
    """The estimates of the leaves plus fresh noise of the same law, from a public generator. It protects nobody."""
    fusion, layers, laws = cells.fusion, cells.layers, cells.layers.laws
    leaves = np.empty(len(layers.leaves), dtype=np.int64)
    for is_cut in (False, True):
        chosen = np.flatnonzero(layers.leaf_is_cut == is_cut)
        leaves[chosen] = laws.leaf(is_cut=is_cut).simulate((len(chosen),), rng)
    coarse = laws.coarse.simulate((len(layers.coarse),), rng)  # those that were not counted have no weight
    base = laws.base.simulate((len(layers.base_counts),), rng)
    size = 0 if fusion.bought is None else int(fusion.bought.law.simulate((1,), rng)[0])
    noise = fusion.fused(base, coarse, leaves, size)[2]
    estimates: Floats = cells.estimates + noise[cells.leaves.numbers] * cells.leaves.shares
    return estimates
