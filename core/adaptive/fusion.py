"""Fused estimates: what all layers together say about each leaf, and the variance of any weighted sum of them.

The layers count the same rows. With fixed weights the best linear unbiased estimate goes once up the tree and once down
(Hay et al. 2010). For a coarse cell with noisy count y of variance v and n leaves with noisy counts that add up to S,
each of variance w:

    up:    u = 1 / (1/v + 1/(n w)),    z = u (y/v + S/(n w)),
    down:  each leaf gains (z' - S) / n, where z' is the coarse cell's own estimate after its base cell.

A base cell is to its coarse cells what a coarse cell is to its leaves: with the sum U of their u and the sum S of their
z, t = 1 / (1/v + 1/U) and z' = z + (u / U) (t (y/v + S/U) - S).

*A bought size* N of variance v is a count of the whole: with T the sum of t, each base cell gains
t (N - sum of its estimates) / (T + v).

*Selection.* The cuts were chosen by the same counts y: a count that is high by chance has more parts, and so more
weight. What that adds on average is estimated without bias and taken off each z (`core.adaptive.selection`).

*Variance* of sum f_j z_j over leaves j. With F = (sum of f over the leaves of a coarse cell) / n, the leaves of a
coarse cell add w (sum of f^2 - n F^2); the coarse cells of a base cell add sum of u F^2 - (sum of u F)^2 / U; the base
cell adds t (sum of u F / U)^2. With a bought size, the square of sum over base cells of t (sum of u F) / U is taken
off, divided by T + v.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from core.adaptive.layers import Layers
from core.adaptive.selection import base_gain, coarse_gain
from core.adaptive.shrinkage import OfLayers, shrunk
from core.arrays import Floats
from core.mechanisms.law import NoiseLaw


class BoughtSize(NamedTuple):
    """A noisy number of all rows, and the law of its noise."""

    size: int
    law: NoiseLaw


class Fusion:
    """The fused estimates of all cells of an adaptive release."""

    def __init__(self, layers: Layers, bought: BoughtSize | None = None) -> None:
        self.layers, self.bought = layers, bought
        laws, is_cut = layers.laws, layers.coarse.sizes > 1
        self.leaf_variance = np.where(is_cut, laws.leaf_cut.variance, laws.leaf_uncut.variance)  # of each base cell
        self.coarse_weight = np.where(layers.coarse_counted, 1.0 / laws.coarse.variance, 0.0)
        self.u = 1.0 / (self.coarse_weight + 1.0 / self._leaf_sum_variance)
        self.total_u = np.add.reduceat(self.u, layers.coarse.first[:-1])
        self.base_weight = 1.0 / laws.base.variance
        self.t = 1.0 / (self.base_weight + 1.0 / self.total_u)
        self.total_t = float(self.t.sum())
        # 1 / (T + v), and 0 where no size was bought.
        self.pull = 0.0 if bought is None else 1.0 / (self.total_t + bought.law.variance)
        self.base, self.coarse, self.leaves = self.fused(
            layers.base_counts,
            layers.coarse_counts,
            layers.leaf_counts,
            0 if bought is None else bought.size,
            gains=(base_gain(layers), coarse_gain(layers)),
        )

    @cached_property
    def shown(self) -> OfLayers:
        """The estimates that counts are answered with: shrunk, and as fused in a release of the first version."""
        layers, fused = self.layers, OfLayers(self.base, self.coarse, self.leaves)
        if not layers.version.shrinks:
            return fused
        return shrunk(layers, fused, OfLayers(self.t, self.u, self.leaf_variance[layers.leaf_base]))

    @property
    def _leaf_sum_variance(self) -> Floats:
        """n w for each coarse cell: the variance of the sum of its leaves."""
        variance: Floats = self.leaf_variance[self.layers.coarse_base] * self.layers.leaves.sizes.astype(np.float64)
        return variance

    def fused(
        self,
        base: NDArray[Any],
        coarse: NDArray[Any],
        leaves: NDArray[Any],
        size: float,
        *,
        gains: tuple[Floats, Floats] | None = None,
    ) -> tuple[Floats, Floats, Floats]:
        """Counts of base cells, coarse cells and leaves, and the bought size -> estimates of the three layers.

        `gains` is what selection adds to the first two. Linear, so noise can be fused by itself.
        """
        layers, of_coarse = self.layers, self.layers.coarse_base
        sums = np.add.reduceat(leaves, layers.leaves.first[:-1]).astype(np.float64)
        z = self.u * (self.coarse_weight * coarse + sums / self._leaf_sum_variance)
        if gains is not None:
            z -= gains[1]
        above = np.add.reduceat(z, layers.coarse.first[:-1])
        of_base = self.t * (self.base_weight * base + above / self.total_u)
        if gains is not None:
            of_base -= gains[0]
        if self.bought is not None:
            of_base += self.t * self.pull * (size - of_base.sum())
        z += self.u / self.total_u[of_coarse] * (of_base - above)[of_coarse]
        return of_base, z, leaves + ((z - sums) / layers.leaves.sizes)[layers.leaf_coarse]

    @cached_property
    def leaf_variances(self) -> Floats:
        """The variance of each leaf's estimate by itself."""
        layers, n = self.layers, self.layers.leaves.sizes
        w = self.leaf_variance[layers.coarse_base]
        each: Floats = (w * (1.0 - 1.0 / n) + self.coarse_variances / n**2)[layers.leaf_coarse]
        return each

    @cached_property
    def coarse_variances(self) -> Floats:
        """The variance of each coarse cell's estimate by itself."""
        base = self.layers.coarse_base
        rise = self.u / self.total_u[base]
        t = self.t[base]
        variances: Floats = self.u * (1.0 - rise) + t * rise**2 - self.pull * (t * rise) ** 2
        return variances

    @cached_property
    def largest_scales(self) -> Floats:
        """For each base cell the largest scale that a draw of noise of any layer has in a sum over leaves below it."""
        layers, laws = self.layers, self.layers.laws
        base = self.t * self.base_weight / laws.base.rate
        coarse = np.maximum.reduceat(self.u * self.coarse_weight, layers.coarse.first[:-1]) / laws.coarse.rate
        leaf = np.where(layers.coarse.sizes > 1, 1.0 / laws.leaf_cut.rate, 1.0 / laws.leaf_uncut.rate)
        scale: Floats = np.maximum(np.maximum(base, coarse), leaf)
        return scale

    def variance(self, weights: Floats) -> float:
        """The variance of the weighted sum of all leaves."""
        return self.covariance(weights, weights)

    def covariance(self, weights: Floats, others: Floats) -> float:
        """The covariance of two weighted sums of all leaves."""
        layers, first = self.layers, self.layers.coarse.first[:-1]
        n, starts = layers.leaves.sizes, layers.leaves.first[:-1]
        mean, other_mean = (np.add.reduceat(each, starts) / n for each in (weights, others))
        products = np.add.reduceat(weights * others, starts)
        within = self.leaf_variance[layers.coarse_base] * (products - n * mean * other_mean)
        summed, other_summed = (np.add.reduceat(self.u * each, first) for each in (mean, other_mean))
        shared = summed * other_summed / self.total_u
        between = np.add.reduceat(self.u * mean * other_mean, first) - shared
        of_base, of_whole = (self.t / self.total_u * each for each in (summed, other_summed))
        pulled = self.pull * of_base.sum() * of_whole.sum()
        return float(within.sum() + between.sum() + (self.t * shared / self.total_u).sum() - pulled)
