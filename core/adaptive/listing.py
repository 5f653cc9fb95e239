"""Listings: the cells of an adaptive release as boxes in columns, to be written down or drawn.

*All of it.* Three layers: the noisy counts as drawn, with the standard deviation of their noise; of the leaves also the
fused estimates. Of a part of a release only leaves are listed: a planning count is about more rows than the part has.

*Merged.* For a drawing, neighbouring leaves of a coarse cell are taken together until few enough are left. A group with
weights f_j (1, or the share of a leaf that lies in a part) in a coarse cell of n leaves, each with noise of variance w,
and the variance v of the coarse cell's own estimate has, by `core.adaptive.fusion`, the variance

    w (sum of f^2 - (sum of f)^2 / n) + v ((sum of f) / n)^2.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.adaptive.cells import AdaptiveCells
from core.adaptive.radius import radii
from core.arrays import Floats, Wholes
from core.domain.attribute import Ordered
from core.domain.domain import Domain
from core.domain.number import Number
from core.domain.whole import WholeValues, nearest_code

Codes = list[NDArray[Any]]  # a column for each ordered attribute: whole numbers, or floats where a part cuts leaves

_NUMBER_CODES = 2.0**32


@dataclass(frozen=True, slots=True, eq=False)
class Fused:
    """Fused estimates of the rows in some cells, their standard deviations, and the largest scale of a draw in each."""

    estimates: Floats
    deviations: Floats
    scales: Floats

    def reach(self, *, alpha: float) -> Floats:
        """How far each estimate may be off by noise, but for alpha."""
        return radii(self.deviations, self.scales, alpha=alpha)


@dataclass(frozen=True, slots=True, eq=False)
class Listing:
    """Some cells of one layer. Every column has an entry for each of them.

    `low` and `high` have a column of codes for each ordered attribute, in the order of the attributes; where a value is
    missing both are the number of codes. `places` (cells, attributes) has the categories. `counts` are as drawn;
    `shares` says what part of each leaf lies in the part of the release that was asked about, `summed` how many leaves
    are taken together.
    """

    layer: str
    low: Codes
    high: Codes
    places: Wholes
    counts: Wholes
    noise_sd: Floats
    fused: Fused | None = None
    shares: Floats | None = None
    summed: Wholes | None = None

    def __len__(self) -> int:
        return len(self.counts)


def listings(cells: AdaptiveCells, domain: Domain) -> tuple[Listing, ...]:
    """The layers of a release from the base to the leaves; of a part of it, the leaves alone."""
    leaves = _leaves(cells, domain)
    return (leaves,) if cells.part is not None else (_base(cells), _coarse(cells), leaves)


def _base(cells: AdaptiveCells) -> Listing:
    layers = cells.layers
    low, high = (list(ends.T) for ends in layers.boxes(0))
    deviation = np.full(len(layers.base_counts), layers.laws.base.standard_deviation)
    return Listing("base", low, high, layers.base_places, layers.base_counts, deviation)


def _coarse(cells: AdaptiveCells) -> Listing:
    """Those that were counted."""
    layers = cells.layers
    counted = np.flatnonzero(layers.coarse_counted)
    low, high = (list(ends[counted].T) for ends in layers.boxes(1))
    deviation = np.full(len(counted), layers.laws.coarse.standard_deviation)
    places = layers.base_places[layers.coarse_base[counted]]
    return Listing("coarse", low, high, places, layers.coarse_counts[counted], deviation)


def _leaves(cells: AdaptiveCells, domain: Domain) -> Listing:
    leaves = cells.leaves
    base = cells.layers.leaf_base[leaves.numbers]
    low, high = _leaf_codes(cells, domain)
    return Listing(
        "leaf",
        low,
        high,
        leaves.places,
        cells.counts,
        np.sqrt(cells.fusion.leaf_variance[base]),
        Fused(cells.estimates, np.sqrt(cells.variances), cells.fusion.largest_scales[base]),
        shares=None if cells.part is None else leaves.shares,
    )


def _leaf_codes(cells: AdaptiveCells, domain: Domain) -> tuple[Codes, Codes]:
    """The ends of the leaves in codes of the attributes of `domain`: exact for a whole release."""
    if cells.part is None:
        low, high = cells.layers.boxes(2)
        return list(low.T), list(high.T)
    ordered = [each for each in domain.attributes if isinstance(each, Ordered)]
    both = []
    for ends in (cells.part.low, cells.part.high):
        columns = []
        for x, attribute in enumerate(ordered):
            codes = code_number(attribute) * (np.nan_to_num(ends[:, x], nan=1.0) + 1.0) / 2.0
            columns.append(codes if isinstance(attribute, Number) else nearest_code(codes).astype(np.float64))
        both.append(columns)
    return both[0], both[1]


def code_number(attribute: Ordered) -> float:
    """How many codes the values of an attribute have."""
    return float(attribute.values) if isinstance(attribute, WholeValues) else _NUMBER_CODES


def merged(cells: AdaptiveCells, domain: Domain, *, most: int) -> Listing:
    """The leaves, or as few neighbours taken together as leave at most so many; no further than coarse cells."""
    whole = _leaves(cells, domain)
    if len(whole) <= most:
        return whole
    group, first = _groups(cells, most)
    number = len(first)
    fusion, leaves = cells.fusion, cells.leaves
    coarse = cells.layers.leaf_coarse[leaves.numbers][first]
    base = cells.layers.coarse_base[coarse]
    f, ff = (np.bincount(group, weights=each, minlength=number) for each in (leaves.shares, leaves.shares**2))
    n, w = cells.layers.leaves.sizes[coarse], fusion.leaf_variance[base]
    variance = w * (ff - f**2 / n) + fusion.coarse_variances[coarse] * (f / n) ** 2
    sums = np.bincount(group, weights=cells.estimates, minlength=number).astype(np.float64)
    counts = np.rint(np.bincount(group, weights=cells.counts, minlength=number)).astype(np.int64)
    summed = np.bincount(group, minlength=number)
    return Listing(
        "leaf",
        [_extreme(np.minimum, column, group, first) for column in whole.low],
        [_extreme(np.maximum, column, group, first) for column in whole.high],
        leaves.places[first],
        counts,
        np.sqrt(w * summed),
        Fused(sums, np.sqrt(np.maximum(variance, 0.0)), fusion.largest_scales[base]),
        summed=summed,
    )


def _extreme(choose: np.ufunc, column: NDArray[Any], group: Wholes, first: Wholes) -> NDArray[Any]:
    """The least or the greatest entry of each group."""
    chosen = column[first].copy()
    choose.at(chosen, group, column)
    return chosen


def _groups(cells: AdaptiveCells, most: int) -> tuple[Wholes, Wholes]:
    """The group of each leaf, and a leaf of each group: boxes of 2^s leaves, with the least s that is enough."""
    cut, numbers = cells.layers.leaves, cells.leaves.numbers
    coarse, places = cells.layers.leaf_coarse[numbers], cut.places()[numbers]
    halvings, axes = 0, places.shape[1]
    while True:
        halvings += 1
        shifts = np.array([(halvings + axes - 1 - x) // axes for x in range(axes)])
        parts = ((cut.parts - 1) >> shifts) + 1
        starts = np.append(0, np.cumsum(parts.prod(axis=1)))
        inside = np.zeros(len(numbers), dtype=np.int64)
        for x in range(axes):
            inside = inside * parts[coarse, x] + (places[:, x] >> shifts[x])
        _, first, group = np.unique(starts[coarse] + inside, return_index=True, return_inverse=True)
        if len(first) <= most or (parts == 1).all():
            return group, first
