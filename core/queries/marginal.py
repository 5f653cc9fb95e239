"""The histogram of some attributes: sums over all others, with a standard error that is the same for every cell."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from core.domain import Attribute, Domain
from core.errors import InvalidDomain, InvalidQuery
from core.grid import Grid
from core.noise import standard_deviation
from core.queries.denoise import CountsKind, nonnegative
from core.queries.listed import ListedCells
from core.queries.uncertainty import Floats, equal_radius
from core.synopsis import Synopsis

MAX_LISTED_MARGINAL = 1_000_000


@dataclass(frozen=True, slots=True, eq=False)
class Marginal:
    """Counts over the cells of some attributes, the last one fastest; each sums `summed` cells of the synopsis.

    An interval for one cell is its count -+ `reach`; intervals that hold for all cells at once, -+ `reach_all`. Both
    are for the raw counts, from the known noise at `level`. A thresholded synopsis has `bounds` in their place, which
    differ from cell to cell.
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

    def edges(self, attribute: Attribute) -> Floats:
        """The cell edges of one attribute in its own units."""
        return edges_of(attribute, self.grid.cells_per_axis)


def edges_of(attribute: Attribute, cells_per_axis: int) -> Floats:
    """m + 1 edges from the lower to the upper bound, both exact."""
    return np.linspace(attribute.lower, attribute.upper, cells_per_axis + 1)


def marginal(synopsis: Synopsis, names: tuple[str, ...], *, level: float, counts: CountsKind) -> Marginal:
    """The marginal histogram of some attributes, in the order asked for."""
    domain = _selected(synopsis.domain, names)
    grid = Grid(cells_per_axis=synopsis.grid.cells_per_axis, dimensions=domain.dimensions)
    if synopsis.cells is not None:
        return _listed_marginal(ListedCells(synopsis), domain, grid, level)
    raw = raw_marginal(synopsis, names)
    summed = synopsis.grid.cell_count // grid.cell_count
    epsilon = synopsis.histogram_epsilon
    # Marginal cells share no cell of the synopsis, so their noises are independent: level^(1/M) each is level for all.
    each = level ** (1.0 / grid.cell_count)
    return Marginal(
        domain=domain,
        grid=grid,
        counts=nonnegative(raw) if counts is CountsKind.NONNEGATIVE else raw.astype(np.float64),
        summed=summed,
        level=level,
        noise_sd=standard_deviation(epsilon) * summed**0.5,
        reach=equal_radius(epsilon, level, summed),
        reach_all=equal_radius(epsilon, each, summed),
    )


def _listed_marginal(listed: ListedCells, domain: Domain, grid: Grid, level: float) -> Marginal:
    """Sums of listed cells, none of them negative, with the bounds that a threshold leaves."""
    if grid.cell_count > MAX_LISTED_MARGINAL:
        raise InvalidQuery(
            f"A marginal of a thresholded release has at most {MAX_LISTED_MARGINAL:,} cells; name fewer attributes, or "
            "take the synopsis as it is."
        )
    weighed = listed.weigh_groups(_groups(listed, domain.names), grid.cell_count)
    return Marginal(
        domain=domain,
        grid=grid,
        counts=weighed.sums,
        summed=listed.synopsis.grid.cell_count // grid.cell_count,
        level=level,
        noise_sd=None,
        reach=None,
        reach_all=None,
        bounds=listed.bounds(weighed, level),
        bounds_all=listed.bounds(weighed, 1.0 - (1.0 - level) / grid.cell_count),
    )


def _groups(listed: ListedCells, names: tuple[str, ...]) -> NDArray[np.int64]:
    """The marginal cell of each listed cell."""
    groups = np.zeros(len(listed.counts), dtype=np.int64)
    for name in names:
        groups = groups * listed.synopsis.grid.cells_per_axis
        groups += listed.places[:, listed.synopsis.domain.names.index(name)]
    return groups


def raw_marginal(synopsis: Synopsis, names: tuple[str, ...]) -> NDArray[np.int64]:
    """The noisy counts summed over every attribute that is not named."""
    if synopsis.cells is not None:
        listed = ListedCells(synopsis)
        sums = listed.weigh_groups(_groups(listed, names), synopsis.grid.cells_per_axis ** len(names)).sums
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
