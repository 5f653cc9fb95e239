"""The histogram of some attributes: sums over all others, with a standard error that is the same for every cell."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import assert_never

import numpy as np
from numpy.typing import NDArray

from core.adaptive.cells import AdaptiveCells
from core.arrays import Floats
from core.domain.attribute import Ordered
from core.domain.domain import Domain
from core.domain.grid import Grid
from core.errors import InvalidDomain, InvalidQuery
from core.intervals.levels import alpha_of, alpha_of_each
from core.intervals.listed import ListedCells
from core.intervals.radius import equal_radius
from core.noisy_histogram import NoisyHistogram
from core.queries.adaptive_marginal import adaptive_bins
from core.queries.denoise import CountsKind, nonnegative
from core.queries.tables import SummedArea, grid_table

MAX_LISTED_MARGINAL = 1_000_000


@dataclass(frozen=True, slots=True)
class Grouping:
    """Neighbouring cells of a grid taken together: `sizes[x]` on axis x. The last group of values may be smaller.

    Categories have no neighbours, and missing values none either: each of their cells is a group by itself.
    """

    grid: Grid
    sizes: tuple[int, ...]

    @classmethod
    def of(cls, grid: Grid, most: int | None) -> Grouping:
        """At most so many groups of values on each ordered axis; None for one group per cell."""
        return cls(
            grid,
            tuple(1 if most is None or not axis.is_ordered else -(-axis.value_cells // most) for axis in grid.axes),
        )

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of groups on each axis."""
        pairs = zip(self.grid.axes, self.sizes, strict=True)
        return tuple(-(-axis.value_cells // size) + axis.keeps_missing for axis, size in pairs)

    def starts(self) -> list[NDArray[np.int64]]:
        """For each axis the first cell of every group."""
        pairs = zip(self.grid.axes, self.sizes, strict=True)
        return [
            np.append(np.arange(0, axis.value_cells, size), np.arange(axis.value_cells, axis.cells))
            for axis, size in pairs
        ]

    def sums(self, counts: NDArray[np.int64]) -> NDArray[np.int64]:
        """Counts of the grid's cells, added up by group; the last axis fastest."""
        if all(size == 1 for size in self.sizes):
            return counts
        sums = counts.reshape(self.grid.shape)
        for x, starts in enumerate(self.starts()):
            sums = np.add.reduceat(sums, starts, axis=x)
        return sums.ravel()

    def cells_in_each(self) -> NDArray[np.int64]:
        """How many cells of the grid each group has, the last axis fastest."""
        cells = np.ones(1, dtype=np.int64)
        for starts, axis in zip(self.starts(), self.grid.axes, strict=True):
            cells = np.multiply.outer(cells, np.diff(np.append(starts, axis.cells))).ravel()
        return cells

    def group_of(self, places: NDArray[np.int64]) -> NDArray[np.int64]:
        """The number of the group of each cell, from a row with the cell's place on every axis."""
        groups = np.zeros(len(places), dtype=np.int64)
        for x, (starts, number) in enumerate(zip(self.starts(), self.shape, strict=True)):
            groups = groups * number
            groups += np.searchsorted(starts, places[:, x], side="right") - 1
        return groups


@dataclass(frozen=True, slots=True, eq=False)
class Marginal:
    """Counts over the cells of some attributes, the last one fastest; each sums `summed` cells of the synopsis.

    An interval for one cell is its count -+ `reach`; intervals that hold for all cells at once, -+ `reach_all`. Both
    are for the raw counts, from the known noise at `level`. Thresholded and adaptive releases have `bounds` in their
    place, which differ from cell to cell; counts of adaptive ones are shrunk (`core.adaptive.shrinkage`).

    Neighbouring cells of an axis may be taken together (`grouping`). The last group of values, categories and missing
    values may be fewer cells, and their noise less than `noise_sd`.
    """

    domain: Domain
    grouping: Grouping
    counts: Floats
    summed: int
    level: float
    noise_sd: float | None
    reach: float | None
    reach_all: float | None
    bounds: tuple[Floats, Floats] | None = None
    bounds_all: tuple[Floats, Floats] | None = None

    @property
    def grid(self) -> Grid:
        """The grid of the named attributes, before cells were taken together."""
        return self.grouping.grid

    @property
    def shape(self) -> tuple[int, ...]:
        """How many cells this histogram has on each axis."""
        return self.grouping.shape

    @property
    def cells_per_axis(self) -> int:
        """How many cells this histogram has on each axis, where they are equally many. Raises ValueError elsewhere."""
        (cells,) = set(self.shape)
        return cells

    @property
    def group(self) -> int:
        """How many neighbouring cells are taken together at most on an axis."""
        return max(self.grouping.sizes)

    def edges(self, attribute: Ordered) -> Floats:
        """The cell edges of one ordered attribute in its own units. Missing values have a cell after the last one."""
        x = self.domain.attributes.index(attribute)
        edges = attribute.edges(self.grid.axes[x])
        return np.append(edges[: -1 : self.grouping.sizes[x]], edges[-1])


def marginal(
    synopsis: NoisyHistogram, names: tuple[str, ...], *, level: float, counts: CountsKind, cells: int | None = None
) -> Marginal:
    """The marginal histogram of some attributes, in the order asked for, with at most `cells` cells on each axis."""
    alpha_of(level)  # refused before any work
    domain = _selected(synopsis.domain, names)
    if isinstance(synopsis.cells, AdaptiveCells):
        return _adaptive_marginal(synopsis, synopsis.cells, domain, level, counts, cells)
    grouping = Grouping.of(synopsis.grid.select(_axes(synopsis, names)), cells)
    match grid_table(synopsis):
        case SummedArea():
            return _dense_marginal(synopsis, domain, grouping, level, counts)
        case ListedCells() as listed:
            return _listed_marginal(listed, domain, grouping, level)
        case table:
            assert_never(table)


def _dense_marginal(
    synopsis: NoisyHistogram, domain: Domain, grouping: Grouping, level: float, counts: CountsKind
) -> Marginal:
    """Sums over all other attributes: raw, or the nearest that are not negative."""
    raw = grouping.sums(raw_marginal(synopsis, domain.names))
    summed = synopsis.grid.cell_count // grouping.grid.cell_count * prod(grouping.sizes)
    law = synopsis.law
    return Marginal(
        domain=domain,
        grouping=grouping,
        counts=nonnegative(raw) if counts is CountsKind.NONNEGATIVE else raw.astype(np.float64),
        summed=summed,
        level=level,
        noise_sd=law.standard_deviation * summed**0.5,
        reach=equal_radius(law, summed, alpha=alpha_of(level)),
        # Marginal cells share no cell of the synopsis, so their noises are independent.
        reach_all=equal_radius(law, summed, alpha=alpha_of_each(level, raw.size)),
    )


def _listed_marginal(listed: ListedCells, domain: Domain, grouping: Grouping, level: float) -> Marginal:
    """Sums of listed cells, none of them negative, with the bounds that a threshold leaves."""
    if prod(grouping.shape) > MAX_LISTED_MARGINAL:
        raise InvalidQuery(
            f"A marginal of a thresholded release has at most {MAX_LISTED_MARGINAL:,} cells; name fewer attributes, or "
            "take the synopsis as it is."
        )
    rest = listed.synopsis.grid.cell_count // grouping.grid.cell_count
    cells = grouping.cells_in_each().astype(np.float64) * rest
    places = listed.places[:, _axes(listed.synopsis, domain.names)]
    weighed = listed.weigh_groups(grouping.group_of(places), cells)
    return Marginal(
        domain=domain,
        grouping=grouping,
        counts=weighed.sums,
        summed=rest * prod(grouping.sizes),
        level=level,
        noise_sd=None,
        reach=None,
        reach_all=None,
        bounds=listed.bounds(weighed, alpha=alpha_of(level)),
        bounds_all=listed.bounds(weighed, alpha=alpha_of(level) / cells.size),
    )


def _adaptive_marginal(
    synopsis: NoisyHistogram,
    leaves: AdaptiveCells,
    domain: Domain,
    level: float,
    counts: CountsKind,
    cells: int | None,
) -> Marginal:
    """Counts of leaves in bins, whose noise differs from bin to bin."""
    bins = adaptive_bins(synopsis, leaves, domain, alpha=alpha_of(level), most=cells)
    return Marginal(
        domain=domain,
        grouping=Grouping.of(bins.grid, None),
        counts=nonnegative(bins.counts) if counts is CountsKind.NONNEGATIVE else bins.counts,
        summed=1,
        level=level,
        noise_sd=None,
        reach=None,
        reach_all=None,
        bounds=bins.bounds,
        bounds_all=bins.bounds_all,
    )


def raw_marginal(synopsis: NoisyHistogram, names: tuple[str, ...]) -> NDArray[np.int64]:
    """The noisy counts summed over every attribute that is not named."""
    return synopsis.cells.marginal(_axes(synopsis, names))


def _axes(synopsis: NoisyHistogram, names: tuple[str, ...]) -> tuple[int, ...]:
    return tuple(synopsis.domain.names.index(name) for name in names)


def _selected(domain: Domain, names: tuple[str, ...]) -> Domain:
    try:
        return domain.select(names)
    except InvalidDomain as error:
        raise InvalidQuery(str(error)) from None
