"""The histogram of some attributes: sums over all others, with a standard error that is the same for every cell."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from core.arrays import Floats
from core.domain.domain import Attribute, Domain
from core.domain.grid import Grid
from core.errors import InvalidDomain, InvalidQuery
from core.intervals.levels import alpha_of, alpha_of_each
from core.intervals.listed import ListedCells
from core.intervals.radius import equal_radius
from core.queries.denoise import CountsKind, nonnegative
from core.synopsis import Synopsis

MAX_LISTED_MARGINAL = 1_000_000


@dataclass(frozen=True, slots=True, eq=False)
class Marginal:
    """Counts over the cells of some attributes, the last one fastest; each sums `summed` cells of the synopsis.

    An interval for one cell is its count -+ `reach`; intervals that hold for all cells at once, -+ `reach_all`. Both
    are for the raw counts, from the known noise at `level`. A thresholded synopsis has `bounds` in their place, which
    differ from cell to cell.

    `group` neighbouring cells of an axis may be taken together; the last group may be smaller, and its noise less than
    what is told.
    """

    domain: Domain
    grid: Grid
    counts: Floats
    summed: int
    level: float
    noise_sd: float | None
    reach: float | None
    reach_all: float | None
    bounds: tuple[Floats, Floats] | None = None
    bounds_all: tuple[Floats, Floats] | None = None
    group: int = 1

    @property
    def cells_per_axis(self) -> int:
        """How many cells this histogram has on each axis."""
        return -(-self.grid.cells_per_axis // self.group)

    def edges(self, attribute: Attribute) -> Floats:
        """The cell edges of one attribute in its own units."""
        edges = edges_of(attribute, self.grid.cells_per_axis)
        return np.append(edges[: -1 : self.group], edges[-1])


def edges_of(attribute: Attribute, cells_per_axis: int) -> Floats:
    """m + 1 edges from the lower to the upper bound, both exact."""
    return np.linspace(attribute.lower, attribute.upper, cells_per_axis + 1)


def marginal(
    synopsis: Synopsis, names: tuple[str, ...], *, level: float, counts: CountsKind, cells: int | None = None
) -> Marginal:
    """The marginal histogram of some attributes, in the order asked for, with at most `cells` cells on each axis."""
    alpha, domain = alpha_of(level), _selected(synopsis.domain, names)
    grid = Grid(cells_per_axis=synopsis.grid.cells_per_axis, dimensions=domain.dimensions)
    group = 1 if cells is None else -(-grid.cells_per_axis // cells)
    if synopsis.cells is not None:
        return _listed_marginal(ListedCells(synopsis), domain, grid, level, group)
    raw = _grouped(raw_marginal(synopsis, names), grid, group)
    summed = synopsis.grid.cell_count // grid.cell_count * group**grid.dimensions
    law = synopsis.law
    return Marginal(
        domain=domain,
        grid=grid,
        counts=nonnegative(raw) if counts is CountsKind.NONNEGATIVE else raw.astype(np.float64),
        summed=summed,
        level=level,
        noise_sd=law.standard_deviation * summed**0.5,
        reach=equal_radius(law, summed, alpha=alpha),
        # Marginal cells share no cell of the synopsis, so their noises are independent.
        reach_all=equal_radius(law, summed, alpha=alpha_of_each(level, raw.size)),
        group=group,
    )


def _grouped(raw: NDArray[np.int64], grid: Grid, group: int) -> NDArray[np.int64]:
    """Neighbouring cells added up, `group` on each axis."""
    if group == 1:
        return raw
    starts = np.arange(0, grid.cells_per_axis, group)
    found = raw.reshape((grid.cells_per_axis,) * grid.dimensions)
    for axis in range(grid.dimensions):
        found = np.add.reduceat(found, starts, axis=axis)
    return found.ravel()


def _listed_marginal(listed: ListedCells, domain: Domain, grid: Grid, level: float, group: int) -> Marginal:
    """Sums of listed cells, none of them negative, with the bounds that a threshold leaves."""
    sizes = _outer_power(np.diff(np.append(np.arange(0, grid.cells_per_axis, group), grid.cells_per_axis)), grid)
    if sizes.size > MAX_LISTED_MARGINAL:
        raise InvalidQuery(
            f"A marginal of a thresholded release has at most {MAX_LISTED_MARGINAL:,} cells; name fewer attributes, or "
            "take the synopsis as it is."
        )
    rest = listed.synopsis.grid.cell_count // grid.cell_count
    weighed = listed.weigh_groups(_groups(listed, domain.names, group), sizes.astype(np.float64) * rest)
    return Marginal(
        domain=domain,
        grid=grid,
        counts=weighed.sums,
        summed=rest * group**grid.dimensions,
        level=level,
        noise_sd=None,
        reach=None,
        reach_all=None,
        bounds=listed.bounds(weighed, alpha=alpha_of(level)),
        bounds_all=listed.bounds(weighed, alpha=alpha_of(level) / sizes.size),
        group=group,
    )


def _outer_power(sizes: NDArray[np.int64], grid: Grid) -> NDArray[np.int64]:
    """How many cells of the finer grid each group of it has, the last axis fastest."""
    found = np.ones(1, dtype=np.int64)
    for _ in range(grid.dimensions):
        found = np.multiply.outer(found, sizes).ravel()
    return found


def _groups(listed: ListedCells, names: tuple[str, ...], group: int) -> NDArray[np.int64]:
    """The marginal cell of each listed cell."""
    per_axis = -(-listed.synopsis.grid.cells_per_axis // group)
    groups = np.zeros(len(listed.counts), dtype=np.int64)
    for name in names:
        groups = groups * per_axis
        groups += listed.places[:, listed.synopsis.domain.names.index(name)] // group
    return groups


def raw_marginal(synopsis: Synopsis, names: tuple[str, ...]) -> NDArray[np.int64]:
    """The noisy counts summed over every attribute that is not named."""
    if synopsis.cells is not None:
        listed = ListedCells(synopsis)
        count = synopsis.grid.cells_per_axis ** len(names)
        cells = np.full(count, synopsis.grid.cell_count / count)
        sums = listed.weigh_groups(_groups(listed, names, group=1), cells).sums
        return np.rint(sums).astype(np.int64)
    axes = [synopsis.domain.names.index(name) for name in names]
    cells = synopsis.counts.reshape((synopsis.grid.cells_per_axis,) * synopsis.grid.dimensions)
    others = tuple(axis for axis in range(synopsis.grid.dimensions) if axis not in axes)
    summed = cells.sum(axis=others)
    remaining = sorted(axes)
    ordered: NDArray[np.int64] = np.transpose(summed, [remaining.index(axis) for axis in axes]).ravel()
    return ordered


def _selected(domain: Domain, names: tuple[str, ...]) -> Domain:
    try:
        return domain.select(names)
    except InvalidDomain as error:
        raise InvalidQuery(str(error)) from None
