"""Slices: a part of a noisy histogram is a noisy histogram as well, so every question can be asked of it."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np
from numpy.typing import NDArray

from core.cells import Cells, DenseCells, ThresholdedCells
from core.domain.domain import Domain
from core.domain.grid import Grid
from core.mechanisms.law import NoiseLaw
from core.noisy_histogram import NoisyHistogram


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Slice(NoisyHistogram):
    """A part of a histogram. No size was bought for it: its size is the sum of its cells, at least 1."""

    domain: Domain
    cells: Cells
    clusters: int
    size: int
    noise: NoiseLaw
    size_declared: bool = False

    @property
    def law(self) -> NoiseLaw:
        """The law of the noise of each cell."""
        return self.noise

    @property
    def size_law(self) -> None:
        """None was bought."""
        return None


def numeric_part(histogram: NoisyHistogram) -> NoisyHistogram:
    """The rows with a value on every ordered attribute. Of a dense histogram the counts are summed over categories.

    A thresholded histogram keeps its axes of categories: sums of listed counts have no noise of one law.
    """
    grid, axes = histogram.grid, histogram.grid.ordered_axes
    if all(axis.is_ordered and not axis.keeps_missing for axis in grid.axes):
        return histogram
    parts = [
        attribute.restricted(axis, np.arange(axis.value_cells)) if axis.is_ordered else (attribute, axis)
        for attribute, axis in zip(histogram.domain.attributes, grid.axes, strict=True)
    ]
    cells: Cells
    if isinstance(histogram.cells, DenseCells):
        others = tuple(x for x in range(grid.dimensions) if x not in axes)
        inside = tuple(slice(axis.value_cells if axis.is_ordered else None) for axis in grid.axes)
        counts: NDArray[np.int64] = histogram.cells.table()[inside].sum(axis=others).ravel()
        parts, law = [parts[x] for x in axes], histogram.law.summed(prod(grid.shape[x] for x in others))
        cells = DenseCells(Grid(tuple(axis for _attribute, axis in parts)), counts)
    else:
        places, law, smaller = (
            histogram.grid.places(_listed(histogram)),
            histogram.law,
            Grid(tuple(p[1] for p in parts)),
        )
        kept = np.all([places[:, x] < grid.axes[x].value_cells for x in axes], axis=0)
        cells = ThresholdedCells(
            smaller, smaller.numbers(places[kept]), histogram.counts[kept], histogram.cells.threshold or 1
        )
    return Slice(
        domain=Domain(tuple(attribute for attribute, _axis in parts)),
        cells=cells,
        clusters=histogram.clusters,
        size=max(1, int(cells.counts.sum())),
        noise=law,
    )


def _listed(histogram: NoisyHistogram) -> NDArray[np.int64]:
    listed = histogram.cells.listed
    return np.arange(histogram.grid.cell_count) if listed is None else listed
