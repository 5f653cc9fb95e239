"""The histogram of some attributes of an adaptive release: bins of its own, each of them a count of leaves.

Leaves lie on no grid, so the bins are chosen: equal parts of each attribute, as many as are asked for. By default they
are base cells halved as often as the finest leaf is narrow, within a limit; such bins cut no leaf that is narrower.

A leaf counts in a bin by the share of it inside, as in every count (`core.queries.range_count`). With T the number of
rows in a bin, T_in those of the leaves wholly inside it and T_out those of all leaves that it touches,
T_in <= T <= T_out. So the bounds run from the lower bound on T_in to the upper bound on T_out.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from core.adaptive.cells import AdaptiveCells
from core.adaptive.layers import BaseAxis
from core.adaptive.radius import radii
from core.adaptive.weighted import SparseSums
from core.arrays import Floats, Wholes
from core.domain.attribute import Attribute, Ordered
from core.domain.axis import MAX_CELLS_PER_AXIS, Axis, RunAxis
from core.domain.domain import Domain
from core.domain.grid import Grid
from core.domain.whole import WholeValues
from core.errors import InvalidQuery
from core.noisy_histogram import NoisyHistogram
from core.queries.adaptive_slices import steps_along, steps_in

MAX_BINS = 1_000_000
MOST_OVERLAPS = 2**20  # of leaves and bins, or twice the number of leaves
_USUAL_BINS = (64, 32, 16)  # along an ordered attribute, by how many of them are named
_ROUNDING = 1e-12  # of the way between the bounds


@dataclass(frozen=True, slots=True, eq=False)
class Bins:
    """The bins, the last attribute fastest: a grid, and for each bin its count and bounds of one and of all bins."""

    grid: Grid
    counts: Floats
    bounds: tuple[Floats, Floats]
    bounds_all: tuple[Floats, Floats]


def adaptive_bins(
    histogram: NoisyHistogram, cells: AdaptiveCells, domain: Domain, *, alpha: float, most: int | None
) -> Bins:
    """The histogram of the attributes of `domain`, with `most` bins along each ordered one, or as many as it has.

    Fewer, where so many would be too much work: InvalidQuery where even one along each is.
    """
    spans, grid = _chosen_bins(histogram, cells, domain, most)
    overlaps = _overlaps(cells, spans, grid)
    shown = overlaps.shown(cells)
    if (overlaps.shares < 1.0).any():
        inside = overlaps.sums(cells, (overlaps.shares == 1.0).astype(np.float64))
        around = overlaps.sums(cells, np.ones(len(overlaps.shares)))
    else:
        inside = around = overlaps.sums(cells, overlaps.shares)

    def bounds(alpha: float) -> tuple[Floats, Floats]:
        low, high = (inside.estimates - _radii(inside, alpha), around.estimates + _radii(around, alpha))
        return np.minimum(low, shown), np.maximum(high, shown)

    return Bins(grid, shown, bounds(alpha), bounds(alpha / grid.cell_count))


def _radii(sums: SparseSums, alpha: float) -> Floats:
    """0 for bins without any leaf, whose sums have no noise."""
    noisy = sums.deviations > 0.0
    reach = np.zeros(len(noisy))
    reach[noisy] = radii(sums.deviations[noisy], sums.scales[noisy], alpha=alpha)
    return reach


# Bins


def _chosen_bins(
    histogram: NoisyHistogram, cells: AdaptiveCells, domain: Domain, most: int | None
) -> tuple[list[_Spans], Grid]:
    """The bins, and those that each leaf touches along each axis."""
    usual = _USUAL_BINS[min(max(len(domain.ordered), 1), len(_USUAL_BINS)) - 1]
    asked = None if most is None else min(most, MAX_CELLS_PER_AXIS)
    room = max(MOST_OVERLAPS, 2 * len(cells.estimates))
    while True:
        grid = Grid(tuple(_axis(histogram, cells, attribute, asked, usual) for attribute in domain.attributes))
        if grid.cell_count <= MAX_BINS:
            spans = [_spans(histogram, cells, *each) for each in zip(domain.attributes, grid.axes, strict=True)]
            if np.prod([span.count for span in spans], axis=0, dtype=np.float64).sum() <= room:
                return spans, grid
        if asked == 1 or not domain.ordered:
            raise InvalidQuery(f"A histogram of this release has at most {MAX_BINS:,} cells: name fewer attributes.")
        asked = max(1, (usual if asked is None else asked) // 2)


def _axis(histogram: NoisyHistogram, cells: AdaptiveCells, attribute: Attribute, most: int | None, usual: int) -> Axis:
    """The bins of an attribute, and one for missing values."""
    x = histogram.domain.attributes.index(attribute)
    if not isinstance(attribute, Ordered):
        return histogram.grid.axes[x]
    if most is not None:
        return attribute.axis(min(most, attribute.most_cells or most))
    i = histogram.domain.ordered_axes.index(x)
    width = _finest(attribute, cells, i)
    base = _base_axis(histogram, cells, x)
    if base is None:
        wanted = max(1, min(usual, int(steps_in(attribute) / width + 0.5)))
        return attribute.axis(1 << (wanted.bit_length() - 1))
    number, halved = base.axis.value_cells, 1
    while 2 * number * halved <= usual and steps_in(attribute) / (number * halved) > width:
        halved *= 2
    together = 1
    while number // together > usual:
        together *= 2
    if not isinstance(attribute, WholeValues):
        return attribute.axis(max(1, number * halved // together))
    return RunAxis((*_halved(base, halved)[::together], base.codes), attribute.keeps_missing)


def _finest(attribute: Ordered, cells: AdaptiveCells, i: int) -> float:
    """The width of the narrowest leaf along an attribute."""
    low, high = cells.leaves.low[:, i], cells.leaves.high[:, i]
    width = steps_in(attribute)
    if not np.isfinite(low).any():
        return width
    return max(float(np.nanmin(steps_along(attribute, high) - steps_along(attribute, low))), width * _ROUNDING)


def _base_axis(histogram: NoisyHistogram, cells: AdaptiveCells, x: int) -> BaseAxis | None:
    """The axis of the base where the histogram has all values of an attribute; None where it has a range of them."""
    if any(part.attribute == histogram.domain.names[x] for part in cells.box):
        return None
    return cells.layers.axes[cells.layers.base.ordered_axes.index(x)]


def _halved(base: BaseAxis, parts: int) -> tuple[int, ...]:
    """Where the parts of all base cells begin, in values; a cell has no more parts than steps."""
    begins: list[int] = []
    widths = base.widths()[: base.axis.value_cells].tolist()
    for start, width in zip(base.starts[:-1].tolist(), widths, strict=True):
        n = min(parts, width)
        begins += [start + (-(-j * width // n) << base.shift) for j in range(n)]
    return tuple(begins)


# Leaves in bins


@dataclass(frozen=True, slots=True, eq=False)
class _Overlaps:
    """Pairs of a leaf and a bin that it touches, with the share of the leaf that lies in the bin and in the slice."""

    bins: int
    owners: Wholes
    leaves: Wholes
    shares: Floats

    def shown(self, cells: AdaptiveCells) -> Floats:
        """The count of each bin, as it is shown."""
        rows = self.shares * cells.fusion.shown.leaves[self.leaves]
        return np.bincount(self.owners, rows, self.bins).astype(np.float64)

    def sums(self, cells: AdaptiveCells, weights: Floats) -> SparseSums:
        """The sums of fused estimates of all bins with these weights."""
        taken = np.flatnonzero(weights > 0.0)
        return SparseSums.of(
            cells.fusion, sums=self.bins, owners=self.owners[taken], leaves=self.leaves[taken], weights=weights[taken]
        )


def _overlaps(cells: AdaptiveCells, spans: list[_Spans], grid: Grid) -> _Overlaps:
    leaves = cells.leaves
    pair, owners, shares = np.arange(len(leaves.numbers)), np.zeros(len(leaves.numbers), dtype=np.int64), leaves.shares
    for span, axis in zip(spans, grid.axes, strict=True):
        count = span.count[pair]
        entry = np.repeat(np.arange(len(pair)), count)
        offset = np.arange(len(entry)) - np.repeat(np.cumsum(count) - count, count)
        pair = pair[entry]
        place = span.first[pair] + offset
        owners, shares = owners[entry] * axis.cells + place, shares[entry] * span.share(pair, place)
    return _Overlaps(grid.cell_count, owners, leaves.numbers[pair], shares)


@dataclass(frozen=True, slots=True, eq=False)
class _Spans:
    """Along one axis: the first bin of each leaf and how many it touches; where it lies, and the edges of bins."""

    first: Wholes
    count: Wholes
    low: Floats
    high: Floats
    edges: Floats

    def share(self, leaves: Wholes, bins: Wholes) -> Floats:
        """The share of each leaf that lies in a bin: exactly 1 where all of it does."""
        low, high = self.low[leaves], self.high[leaves]
        inside = (self.count[leaves] == 1) | ~np.isfinite(low)
        ends = np.append(self.edges, np.inf)
        with np.errstate(invalid="ignore"):
            part = (np.minimum(high, ends[bins + 1]) - np.maximum(low, ends[bins])) / (high - low)
        shares: Floats = np.where(inside, 1.0, np.clip(part, 0.0, 1.0))
        return shares


def _spans(histogram: NoisyHistogram, cells: AdaptiveCells, attribute: Attribute, axis: Axis) -> _Spans:
    leaves, x = cells.leaves, histogram.domain.attributes.index(attribute)
    if not isinstance(attribute, Ordered):
        places, ones = leaves.places[:, x], np.ones(len(leaves.places), dtype=np.int64)
        nowhere = np.full(len(places), np.nan)
        return _Spans(places, ones, nowhere, nowhere, np.arange(axis.cells, dtype=np.float64))
    i = histogram.domain.ordered_axes.index(x)
    low, high = (steps_along(attribute, each[:, i]) for each in (leaves.low, leaves.high))
    edges = _edges(attribute, axis)
    room = _ROUNDING * steps_in(attribute)
    missing: NDArray[np.bool_] = np.isnan(low)
    first = np.searchsorted(edges, low + room, side="right") - 1
    last = np.searchsorted(edges, high - room, side="left") - 1
    first, last = np.clip(first, 0, axis.value_cells - 1), np.clip(last, 0, axis.value_cells - 1)
    first[missing] = last[missing] = axis.value_cells
    return _Spans(first, np.maximum(last - first, 0) + 1, low, high, edges)


def _edges(attribute: Ordered, axis: Axis) -> Floats:
    """The edges of bins in steps."""
    if isinstance(attribute, WholeValues) and isinstance(axis, RunAxis):
        return np.array(axis.starts, dtype=np.float64)
    return np.arange(axis.value_cells + 1) / axis.value_cells
