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
    n, w, base = layers.leaves.sizes, fusion.leaf_variance[layers.coarse_base], layers.coarse_base
    leaves = np.empty(len(layers.leaves))
    for is_cut in (False, True):
        chosen = np.flatnonzero(layers.leaf_is_cut == is_cut)
        leaves[chosen] = laws.leaf(is_cut=is_cut).simulate((len(chosen),), rng)
    sums = np.add.reduceat(leaves, layers.leaves.first[:-1])
    z = fusion.u * (fusion.coarse_weight * laws.coarse.simulate((len(n),), rng) + sums / (n * w))
    above = np.add.reduceat(z, layers.coarse.first[:-1])
    own = laws.base.simulate((len(above),), rng)
    of_base = fusion.t * (fusion.base_weight * own + above / fusion.total_u)
    of_coarse = z + (fusion.u / fusion.total_u[base]) * (of_base - above)[base]
    leaves += ((of_coarse - sums) / n)[layers.leaf_coarse]
    estimates: Floats = cells.estimates + leaves[cells.leaves.numbers] * cells.leaves.shares
    return estimates
