"""Noisy sums of all products of up to two attributes, and the law of their noise: what least squares are made of.

With x the coordinates of a cell's middle and z = (1, x), these are the entries of S = sum of y z z' over noisy counts
y. Coordinates are unit coordinates about the noisy mean, so that no digits are lost. A *form* is a vector a, which
stands for the linear function a'z. Products of two forms are combinations of the entries of S, so for any two forms

    sum of y (a'z) (b'z) = a' S b,    with the noise sum of Z (a'z) (b'z).

Only rows with a value of every attribute count. Each form of release keeps its own way to the law of such a sum:
cells of a grid have independent draws of known weights (`core.intervals.radius`), leaves of an adaptive release have
covariances (`core.adaptive.weighted`). What a threshold leaves has no such law: there the sums are those of listed
cells, and `noise` is None.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations_with_replacement
from math import prod
from typing import Protocol

import numpy as np

from core.adaptive.cells import AdaptiveCells
from core.arrays import Floats
from core.domain.attribute import Ordered
from core.errors import InvalidQuery
from core.intervals.listed import ListedCells
from core.intervals.radius import radius
from core.mechanisms.law import NoiseLaw
from core.noisy_histogram import NoisyHistogram
from core.queries.adaptive_moments import Middles, MonomialSums, leaf_shifts
from core.queries.boxes import require_ordered
from core.queries.estimates import half_cell, variance_within
from core.queries.listed_moments import cell_means
from core.queries.marginal import raw_marginal
from core.queries.slices import with_values
from core.queries.tables import grid_table


class Noise(Protocol):
    """The noise of sums over cells with weights that are combinations of products."""

    def covariances(self) -> Floats:
        """(k, k): of the sums of all products, in the order of `products`."""

    def radius(self, combination: Floats, alpha: float) -> float:
        """The r with P(|noise| > r) <= alpha of one combination of them, chosen beforehand."""


@dataclass(frozen=True, slots=True, eq=False)
class SecondMoments:
    """S for some attributes: `sums[i, j]` = sum of y z_i z_j, with z_0 = 1.

    `middle` and `half` lead back to the attributes' own units: value = middle + half * coordinate. `reach` is how far
    rows lie from their cells' middles at most, as a root mean square, in coordinates. `within` is the mean over
    the noisy counts of the variance that rows spread evenly have within their cell, in squared coordinates.
    """

    attributes: tuple[Ordered, ...]
    middle: Floats
    half: Floats
    reach: Floats
    within: Floats
    sums: Floats
    noise: Noise | None

    @property
    def rows(self) -> float:
        """The noisy number of rows with a value of every attribute."""
        return float(self.sums[0, 0])

    @property
    def covariance(self) -> Floats:
        """(d, d): the covariance matrix in coordinates, which noise may leave with negative eigenvalues."""
        means = self.sums[0, 1:] / self.rows
        matrix: Floats = self.sums[1:, 1:] / self.rows - np.outer(means, means)
        return matrix


def products(dimensions: int) -> list[tuple[int, int]]:
    """The pairs i <= j of entries of S, in the order of combinations."""
    return list(combinations_with_replacement(range(dimensions + 1), 2))


def product(first: Floats, second: Floats) -> Floats:
    """The combination of products that is the product of two forms; also for many first forms, one per row."""
    rows, columns = np.array(products(first.shape[-1] - 1)).T
    both = first[..., rows] * second[..., columns] + first[..., columns] * second[..., rows]
    combination: Floats = np.where(rows == columns, both / 2.0, both)
    return combination


def second_moments(histogram: NoisyHistogram, names: tuple[str, ...]) -> SecondMoments:
    """S for attributes with these names. InvalidQuery where one of them is no ordered attribute, or named twice."""
    require_ordered(histogram.domain, names, lacking="order and no distances")
    if len(set(names)) != len(names):
        raise InvalidQuery("Name each attribute once.")
    part = with_values(histogram, names)
    if isinstance(part.cells, AdaptiveCells):
        return _of_leaves(part, part.cells, names)
    table = grid_table(part)
    return _of_listed(table, names) if isinstance(table, ListedCells) else _of_grid(part, names)


@dataclass(frozen=True, slots=True, eq=False)
class _GridNoise:
    """Cells of a grid, each of them a sum of `times` cells with a draw of `law`; `axes` are their coordinates."""

    law: NoiseLaw
    times: int
    axes: tuple[Floats, ...]

    def covariances(self) -> Floats:
        """Sums of products of four coordinates over a product of axes are products of power sums."""
        pairs = products(len(self.axes))
        powers = np.array([[np.sum(axis**power) for power in range(5)] for axis in self.axes])
        degrees = np.array([[(x + 1 == i) + (x + 1 == j) for x in range(len(self.axes))] for i, j in pairs])
        together = degrees[:, None] + degrees[None]
        sums = powers[np.arange(len(self.axes)), together].prod(axis=-1)
        covariances: Floats = self.law.variance * self.times * sums
        return covariances

    def radius(self, combination: Floats, alpha: float) -> float:
        """By the law of the sum, with the weight of every cell."""
        weights = np.zeros([len(axis) for axis in self.axes])
        for (i, j), factor in zip(products(len(self.axes)), combination.tolist(), strict=True):
            if factor:
                weights += factor * self._along(i) * self._along(j)
        return radius(self.law, weights.ravel(), float(self.times), alpha=alpha)

    def _along(self, i: int) -> Floats:
        """z_i of every cell, ready to be broadcast."""
        if i == 0:
            return np.ones([1] * len(self.axes))
        return self.axes[i - 1].reshape([-1 if x == i - 1 else 1 for x in range(len(self.axes))])


def _of_grid(part: NoisyHistogram, names: tuple[str, ...]) -> SecondMoments:
    d, axes = len(names), tuple(part.domain.names.index(name) for name in names)
    attributes = _attributes(part, names)
    grid = part.grid.select(axes)
    counts = raw_marginal(part, names).astype(np.float64).reshape(grid.shape)
    unit = [axis.centres() for axis in grid.axes]
    total = float(counts.sum())
    slabs = [counts.sum(axis=tuple(y for y in range(d) if y != x)) for x in range(d)]
    means = [
        float(np.clip(slab @ u / total, -1.0, 1.0)) if total > 0 else 0.0 for slab, u in zip(slabs, unit, strict=True)
    ]
    about = tuple(u - mean for u, mean in zip(unit, means, strict=True))
    sums = np.empty((d + 1, d + 1))
    for i, j in products(d):
        kept = sorted({x - 1 for x in (i, j) if x})
        summed = counts.sum(axis=tuple(y for y in range(d) if y not in kept))
        for x in reversed(kept):
            summed = summed @ about[x] ** ((x + 1 == i) + (x + 1 == j))
        sums[i, j] = sums[j, i] = float(summed)
    times = part.grid.cell_count // prod(grid.shape)
    noise = _GridNoise(part.law, times, about)
    within = [
        _mean_of(slab, variance_within(attribute, np.diff(attribute.edges(axis))))
        for slab, attribute, axis in zip(slabs, attributes, grid.axes, strict=True)
    ]
    reach = np.array([half_cell(part, x) for x in axes])
    return _made(attributes, np.array(means), reach, np.array(within), sums, noise)


@dataclass(frozen=True, slots=True, eq=False)
class _LeafNoise:
    """Leaves: sums of monomials, reordered as products."""

    sums: MonomialSums
    order: list[int]

    def covariances(self) -> Floats:
        """Those of the fused estimates."""
        covariances: Floats = self.sums.covariances[np.ix_(self.order, self.order)]
        return covariances

    def radius(self, combination: Floats, alpha: float) -> float:
        """The radius of weighted sums of leaves."""
        reordered = np.zeros(len(combination))
        reordered[self.order] = combination
        return self.sums.radius(reordered, alpha)


def _of_leaves(part: NoisyHistogram, cells: AdaptiveCells, names: tuple[str, ...]) -> SecondMoments:
    attributes, ordered = _attributes(part, names), part.domain.ordered
    columns = tuple(ordered.index(attribute) for attribute in attributes)
    middles = Middles.of(cells, columns)
    numbers = {frozenset(_counted(monomial)): row for row, monomial in enumerate(middles.monomials)}
    order = [numbers[frozenset(_counted(tuple(columns[x - 1] for x in pair if x)))] for pair in products(len(columns))]
    values, sums = middles.sums.values[order], np.empty((len(columns) + 1,) * 2)
    for (i, j), value in zip(products(len(columns)), values.tolist(), strict=True):
        sums[i, j] = sums[j, i] = value
    means = np.array([middles.middle[i] for i in columns])
    variances = np.diag(sums)[1:] / sums[0, 0] if sums[0, 0] > 0 else np.full(len(columns), np.nan)
    reach = np.array(
        [
            leaf_shifts(cells, attribute, i, float(mean), float(variance) if variance >= 0.0 else None)[1]
            for attribute, i, mean, variance in zip(attributes, columns, means, variances, strict=True)
        ]
    )
    leaves = cells.leaves
    within = [
        _mean_of(cells.estimates, variance_within(attribute, attribute.width / 2.0 * (leaves.high - leaves.low)[:, i]))
        for attribute, i in zip(attributes, columns, strict=True)
    ]
    return _made(attributes, means, reach, np.array(within), sums, _LeafNoise(middles.sums, order))


def _counted(monomial: tuple[int, ...]) -> set[tuple[int, int]]:
    """Which columns are multiplied, and how often each."""
    return {(column, monomial.count(column)) for column in monomial}


def _of_listed(listed: ListedCells, names: tuple[str, ...]) -> SecondMoments:
    part = listed.synopsis
    attributes, axes = _attributes(part, names), [part.domain.names.index(name) for name in names]
    start, half = _units(attributes)
    own = np.stack([cell_means(listed, x) for x in axes], axis=1)
    unit = (own - start) / half - 1.0
    total = float(listed.counts.sum())
    means = listed.counts @ unit / total if total > 0.0 else np.zeros(len(axes))
    z = np.column_stack([np.ones(len(unit)), unit - means])
    reach = np.array([half_cell(part, x) for x in axes])
    edges = [attribute.edges(part.grid.axes[x]) for attribute, x in zip(attributes, axes, strict=True)]
    within = [
        _mean_of(listed.counts, variance_within(attribute, np.diff(own)[listed.places[:, x]]))
        for attribute, own, x in zip(attributes, edges, axes, strict=True)
    ]
    return _made(attributes, means, reach, np.array(within), (z.T * listed.counts) @ z, None)


def _made(
    attributes: tuple[Ordered, ...],
    means: Floats,
    reach: Floats,
    within: Floats,
    sums: Floats,
    noise: Noise | None,
) -> SecondMoments:
    start, half = _units(attributes)
    return SecondMoments(attributes, start + half * (1.0 + means), half, reach / half, within / half**2, sums, noise)


def _mean_of(counts: Floats, values: Floats) -> float:
    """The mean of values over noisy counts, within the least and the greatest of them; 0 where nothing is listed."""
    if not len(values):
        return 0.0
    total = float(counts.sum())
    mean = float(counts @ values) / total if total > 0.0 else float(values.mean())
    return float(np.clip(mean, values.min(), values.max()))


def _units(attributes: tuple[Ordered, ...]) -> tuple[Floats, Floats]:
    """Start and half width of each: value = start + half (1 + coordinate)."""
    start = np.array([attribute.start for attribute in attributes])
    return start, np.array([attribute.width / 2.0 for attribute in attributes])


def _attributes(part: NoisyHistogram, names: tuple[str, ...]) -> tuple[Ordered, ...]:
    chosen = [part.domain.attributes[part.domain.names.index(name)] for name in names]
    return tuple(attribute for attribute in chosen if isinstance(attribute, Ordered))
