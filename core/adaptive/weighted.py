"""Weighted sums of fused leaves: their estimates, covariances, and the largest scale of a draw of noise in them.

`core.adaptive.fusion` has the formula for the variance of a weighted sum. Here it is worked out for many sums at once:
`SomeSums` for a few sums over the same leaves, `SparseSums` for very many sums over few leaves each, and `Prefixes` for
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


@dataclass(frozen=True, slots=True, eq=False)
class SomeSums:
    """A few sums over the same leaves: (k, k) covariances of their noise, and the largest scale of a draw in each."""

    covariances: Floats
    scales: Floats

    @classmethod
    def of(cls, fusion: Fusion, leaves: Wholes, weights: Floats) -> SomeSums:
        """From the numbers of leaves, ascending, and (k, leaves) weights; all other leaves have the weight 0."""
        layers = fusion.layers
        coarse, starts = _runs(layers.leaf_coarse[leaves])
        base, first = _runs(layers.coarse_base[coarse])
        n, w = layers.leaves.sizes[coarse], fusion.leaf_variance[layers.coarse_base]
        u, own = fusion.u[coarse], w[coarse]
        means = np.add.reduceat(weights, starts, axis=1) / n
        sums = np.add.reduceat(u * means, first, axis=1)
        within = (weights * w[layers.leaf_coarse[leaves]]) @ weights.T - (means * (own * n)) @ means.T
        between = (means * u) @ means.T + (sums * _shared(fusion)[base]) @ sums.T
        pulled = sums @ _pulled(fusion)[base]
        between -= fusion.pull * np.outer(pulled, pulled)
        largest = np.maximum.reduceat(np.abs(weights), starts[first], axis=1)
        return cls(within + between, (largest * fusion.largest_scales[base]).max(axis=1))


def leaf_scales(fusion: Fusion, leaves: Wholes) -> Floats:
    """For each leaf the largest scale of a draw of noise in its estimate, or in any sum over leaves of its base."""
    scales: Floats = fusion.largest_scales[fusion.layers.leaf_base[leaves]]
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
            - fusion.pull * _added(of_bases, bases.data * _pulled(fusion)[bases.indices], sums) ** 2
        )
        scales = np.zeros(sums)
        np.maximum.at(scales, of_bases, fusion.largest_scales[bases.indices])
        estimates = _added(owners, weights * fusion.leaves[leaves], sums)
        return cls(estimates, np.sqrt(np.maximum(variances, 0.0)), scales)


class Prefixes:
    """Sums over the first i leaves of some leaves in order, for every i."""

    def __init__(self, fusion: Fusion, leaves: Wholes) -> None:
        layers = fusion.layers
        coarse = layers.leaf_coarse[leaves]
        base = layers.coarse_base[coarse]
        self._by_coarse, self._by_base = _Groups(coarse), _Groups(base)
        self._n = n = layers.leaves.sizes[coarse]
        self._w, self._rise = fusion.leaf_variance[base], fusion.u[coarse] / n
        self._of_products = self._rise / n - self._w / n
        self._of_bases = _shared(fusion)[base]
        self._pull, self._pulled = fusion.pull, _pulled(fusion)[base] * self._rise

    def covariance(self, weights: Floats, others: Floats) -> Floats:
        """(leaves + 1): of the sums over the first i leaves with these weights and with those."""
        grown = self._w * weights * others
        grown += self._of_products * self._by_coarse.growth(weights, others)
        grown += self._of_bases * self._by_base.growth(self._rise * weights, self._rise * others)
        pulled, other = (_running(self._pulled * each) for each in (weights, others))
        return _running(grown) - self._pull * pulled * other

    def covariance_with(self, weights: Floats, whole: Floats) -> Floats:
        """(leaves + 1): of the sums over the first i leaves, and the sum over all of them with the weights `whole`."""
        mean = self._by_coarse.totals(whole) / self._n
        shared = self._of_bases * self._by_base.totals(self._rise * whole)
        pulled = self._pull * float((self._pulled * whole).sum()) * self._pulled
        return _running(weights * (self._w * (whole - mean) + self._rise * (mean + shared) - pulled))


class _Groups:
    """Running sums by group, in the order of the members."""

    def __init__(self, groups: Wholes) -> None:
        self._order = np.argsort(groups, kind="stable")
        ordered = groups[self._order]
        self._starts = _runs(ordered)[1]
        self._sizes = np.diff(np.append(self._starts, len(groups)))
        self._begins = np.repeat(self._starts, self._sizes)

    def growth(self, weights: Floats, others: Floats) -> Floats:
        """By how much each member raises the product of the two running sums of its group."""
        product = self._before(weights) * others
        product += product if others is weights else self._before(others) * weights
        growth: Floats = product + weights * others
        return growth

    def totals(self, weights: Floats) -> Floats:
        """The sum over a member's group."""
        totals = np.empty_like(weights)
        totals[self._order] = np.repeat(np.add.reduceat(weights[self._order], self._starts), self._sizes)
        return totals

    def _before(self, weights: Floats) -> Floats:
        """The running sum of a member's group before it."""
        running = _running(weights[self._order])
        before = np.empty_like(weights)
        before[self._order] = running[:-1] - running[self._begins]
        return before


def _runs(groups: Wholes) -> tuple[Wholes, Wholes]:
    """Of ascending groups: each of them once, and where it begins."""
    starts = np.flatnonzero(np.append(True, groups[1:] != groups[:-1]))
    return groups[starts], starts


def _shared(fusion: Fusion) -> Floats:
    """What the squared sum of u F over a base cell adds to a variance: t / U^2 - 1 / U."""
    shared: Floats = (fusion.t / fusion.total_u - 1.0) / fusion.total_u
    return shared


def _pulled(fusion: Fusion) -> Floats:
    """t / U: what the sum of u F over a base cell adds to the sum whose square a bought size takes off."""
    pulled: Floats = fusion.t / fusion.total_u
    return pulled


def _running(values: Floats) -> Floats:
    return np.concatenate([[0.0], np.cumsum(values)])


def _added(owners: Wholes, values: Floats, number: int) -> Floats:
    added: Floats = np.bincount(owners, weights=values, minlength=number).astype(np.float64)
    return added
