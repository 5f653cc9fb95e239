"""Weighted sums of fused leaves: their estimates, covariances, and the largest scale of a draw of noise in them.

`core.adaptive.fusion` has the formula for the variance of a weighted sum. Here it is worked out for many sums at once:
`covariances` for a few sums over all leaves, `SparseSums` for very many sums over few leaves each, and `Prefixes` for
all sums over the leaves up to a place, in a given order.

*Prefixes.* Let a_1, a_2, … be the weights of the leaves in order, and B(i) the covariance of the sums over the first i
leaves with weights a and with weights b. The formula has products of sums over the leaves of a coarse cell, and over
those of a base cell. A product K L of two running sums grows by K b + L a + a b when a leaf with weights a and b joins.
So B(i) - B(i - 1) follows from the running sums before leaf i, and all B(i) are a cumulative sum.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from core.adaptive.fusion import Fusion
from core.arrays import Floats, Wholes


def covariances(fusion: Fusion, weights: Floats) -> Floats:
    """(k, k): the covariances of k weighted sums over all leaves, from (k, leaves) weights."""
    layers = fusion.layers
    n, w = layers.leaves.sizes, fusion.leaf_variance[layers.coarse_base]
    means = np.add.reduceat(weights, layers.leaves.first[:-1], axis=1) / n
    sums = np.add.reduceat(fusion.u * means, layers.coarse.first[:-1], axis=1)
    within = (weights * w[layers.leaf_coarse]) @ weights.T - (means * (w * n)) @ means.T
    between: Floats = (means * fusion.u) @ means.T + (sums * _shared(fusion)) @ sums.T
    return within + between


def leaf_scales(fusion: Fusion) -> Floats:
    """For each leaf the largest scale of a draw of noise in its estimate, or in any sum over leaves of its base."""
    scales: Floats = fusion.largest_scales[fusion.layers.leaf_base]
    return scales


@dataclass(frozen=True, slots=True, eq=False)
class SparseSums:
    """For each of many sums its estimate, standard deviation and largest scale of a draw."""

    estimates: Floats
    deviations: Floats
    scales: Floats

    @classmethod
    def of(cls, fusion: Fusion, *, sums: int, owners: Wholes, leaves: Wholes, weights: Floats) -> SparseSums:
        """Sum number `owners[i]` has leaf number `leaves[i]` with the weight `weights[i]`, not negative."""
        layers = fusion.layers
        n, w = layers.leaves.sizes, fusion.leaf_variance[layers.coarse_base]
        shape = (sums, len(layers.coarse))
        coarse = layers.leaf_coarse[leaves]
        means = csr_array((weights / n[coarse], (owners, coarse)), shape=shape)
        means.sum_duplicates()
        rows = np.repeat(np.arange(sums), np.diff(means.indptr))
        columns, squares = means.indices, means.data**2
        bases = csr_array(
            (means.data * fusion.u[columns], (rows, layers.coarse_base[columns])), shape=(sums, len(fusion.base))
        )
        bases.sum_duplicates()
        of_bases = np.repeat(np.arange(sums), np.diff(bases.indptr))
        variances = (
            _added(owners, weights**2 * w[coarse], sums)
            + _added(rows, squares * (fusion.u - w * n)[columns], sums)
            + _added(of_bases, bases.data**2 * _shared(fusion)[bases.indices], sums)
        )
        scales = np.zeros(sums)
        np.maximum.at(scales, of_bases, fusion.largest_scales[bases.indices])
        estimates = _added(owners, weights * fusion.leaves[leaves], sums)
        return cls(estimates, np.sqrt(np.maximum(variances, 0.0)), scales)


class Prefixes:
    """Sums over the first i leaves of some leaves in order, for every i."""

    def __init__(self, fusion: Fusion, leaves: Wholes) -> None:
        layers = fusion.layers
        self._fusion, self._leaves, self._coarse = fusion, leaves, layers.leaf_coarse[leaves]
        self._base = layers.coarse_base[self._coarse]
        self._by_coarse, self._by_base = _Groups(self._coarse), _Groups(self._base)
        n, u = layers.leaves.sizes[self._coarse], fusion.u[self._coarse]
        self._w, self._rise = fusion.leaf_variance[self._base], u / n
        self._of_products = self._rise / n - self._w / n
        self._of_bases = _shared(fusion)[self._base]

    def covariance(self, weights: Floats, others: Floats) -> Floats:
        """(leaves + 1): of the sums over the first i leaves with these weights and with those."""
        grown = self._w * weights * others
        grown += self._of_products * self._by_coarse.growth(weights, others)
        grown += self._of_bases * self._by_base.growth(self._rise * weights, self._rise * others)
        return _running(grown)

    def covariance_with(self, weights: Floats, whole: Floats) -> Floats:
        """(leaves + 1): of the sums over the first i leaves and a sum over all leaves of the release."""
        layers, fusion = self._fusion.layers, self._fusion
        means = np.add.reduceat(whole, layers.leaves.first[:-1]) / layers.leaves.sizes
        sums = np.add.reduceat(fusion.u * means, layers.coarse.first[:-1])
        mean = means[self._coarse]
        each = self._w * (whole[self._leaves] - mean) + self._rise * (mean + self._of_bases * sums[self._base])
        return _running(weights * each)


class _Groups:
    """Running sums by group, in the order of the members."""

    def __init__(self, groups: Wholes) -> None:
        self._order = np.argsort(groups, kind="stable")
        ordered = groups[self._order]
        begins = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1]))
        self._begins = np.repeat(begins, np.diff(np.append(begins, len(groups))))

    def growth(self, weights: Floats, others: Floats) -> Floats:
        """By how much each member raises the product of the two running sums of its group."""
        product = self._before(weights) * others
        product += product if others is weights else self._before(others) * weights
        growth: Floats = product + weights * others
        return growth

    def _before(self, weights: Floats) -> Floats:
        """The running sum of a member's group before it."""
        running = _running(weights[self._order])
        before = np.empty_like(weights)
        before[self._order] = running[:-1] - running[self._begins]
        return before


def _shared(fusion: Fusion) -> Floats:
    """What the squared sum of u F over a base cell adds to a variance: t / U^2 - 1 / U."""
    shared: Floats = (fusion.t / fusion.total_u - 1.0) / fusion.total_u
    return shared


def _running(values: Floats) -> Floats:
    return np.concatenate([[0.0], np.cumsum(values)])


def _added(owners: Wholes, values: Floats, number: int) -> Floats:
    added: Floats = np.bincount(owners, weights=values, minlength=number).astype(np.float64)
    return added
