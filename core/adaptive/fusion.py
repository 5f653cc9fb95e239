"""Fused estimates: what all layers together say about each leaf, and the variance of any weighted sum of them.

The layers count the same rows. With fixed weights the best linear unbiased estimate goes once up the tree and once down
(Hay et al. 2010). For a coarse cell with noisy count y of variance v and n leaves with noisy counts that add up to S,
each of variance w:

    up:    u = 1 / (1/v + 1/(n w)),    z = u (y/v + S/(n w)),
    down:  each leaf gains (z' - S) / n, where z' is the coarse cell's own estimate after its base cell.

A base cell is to its coarse cells what a coarse cell is to its leaves: with the sum U of their u and the sum S of their
z, t = 1 / (1/v + 1/U) and z' = z + (u / U) (t (y/v + S/U) - S).

*Selection.* The cuts were chosen by the same counts y: a count that is high by chance has more parts, and so more
weight. What that adds on average is estimated without bias and taken off each z (`core.adaptive.selection`).

*Variance* of sum f_j z_j over leaves j. With F = (sum of f over the leaves of a coarse cell) / n, the leaves of a
coarse cell add w (sum of f^2 - n F^2); the coarse cells of a base cell add sum of u F^2 - (sum of u F)^2 / U; the base
cell adds t (sum of u F / U)^2.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from core.adaptive.layers import Layers
from core.adaptive.selection import base_gain, coarse_gain
from core.arrays import Floats


class Fusion:
    """The fused estimates of all cells of an adaptive release."""

    def __init__(self, layers: Layers) -> None:
        self.layers = layers
        laws, is_cut = layers.laws, layers.coarse.sizes > 1
        leaves = layers.leaves.sizes
        self.leaf_variance = np.where(is_cut, laws.leaf_cut.variance, laws.leaf_uncut.variance)  # of each base cell
        w = self.leaf_variance[layers.coarse_base]
        sums = np.add.reduceat(layers.leaf_counts, layers.leaves.first[:-1]).astype(np.float64)
        self.coarse_weight = weight = np.where(layers.coarse_counted, 1.0 / laws.coarse.variance, 0.0)
        self.u = 1.0 / (weight + 1.0 / (leaves * w))
        z = self.u * (weight * layers.coarse_counts + sums / (leaves * w)) - coarse_gain(layers)
        first, base = layers.coarse.first[:-1], layers.coarse_base
        self.total_u = np.add.reduceat(self.u, first)
        above = np.add.reduceat(z, first)
        self.base_weight = base_weight = 1.0 / laws.base.variance
        self.t = 1.0 / (base_weight + 1.0 / self.total_u)
        self.base = self.t * (base_weight * layers.base_counts + above / self.total_u) - base_gain(layers)
        self.coarse = z + self.u / self.total_u[base] * (self.base - above)[base]
        self.leaves = layers.leaf_counts + ((self.coarse - sums) / leaves)[layers.leaf_coarse]

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
        variances: Floats = self.u * (1.0 - rise) + self.t[base] * rise**2
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
        return float(within.sum() + between.sum() + (self.t * shared / self.total_u).sum())
