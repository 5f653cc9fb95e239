"""The distribution of one attribute for each value or cell of another: shares of noisy counts.

The share of cell i of the one attribute within cell g of the other is t_gi / sum of t_g, a ratio of noisy counts.

*A grid.* The noise of every cell is independent, so the share has Fieller's interval (`core.intervals.ratios`), with
the weight 1 for cell i and 0 for all others. It holds however noisy the sum of cell g is.

*Other forms of release* have bounds L <= t <= U on counts in place of a law. The share is at least L_gi / U_g and at
most U_gi / L_g. Bounds on the cell and on the sum have half of alpha each. Those of leaves include what cutting them
can add.

Where the lower bound on the number of rows in cell g is not positive, there may be none: it has no shares.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np
from numpy.typing import NDArray

from core.adaptive.cells import AdaptiveCells
from core.arrays import Floats
from core.domain.attribute import Attribute
from core.domain.axis import Axis
from core.errors import InvalidQuery
from core.intervals.levels import MAX_LEVEL, alpha_of, require_divisible
from core.intervals.ratios import Ratio, ratio_intervals
from core.noisy_histogram import NoisyHistogram
from core.queries.boxes import require_attributes
from core.queries.denoise import CountsKind
from core.queries.marginal import Grouping, Marginal, marginal
from core.queries.slices import with_values

MOST_SHARES = 20_000
_HIGHEST = 0.999998  # of which half of alpha is left for each of two statements


@dataclass(frozen=True, slots=True, eq=False)
class Conditional:
    """A row for each cell of `given`, a column for each cell of `of`. Each interval holds by itself at the level.

    `rows` is the noisy number of rows in each cell of `given`, no less than 0, between its `rows_bounds`. `has_shares`
    says which of these cells have shares; those of the others are NaN, between 0 and 1. The third part of `given` and
    `of` is how many neighbouring cells are one.
    """

    level: float
    given: tuple[Attribute, Axis, int]
    of: tuple[Attribute, Axis, int]
    rows: Floats
    rows_bounds: tuple[Floats, Floats]
    has_shares: NDArray[np.bool_]
    shares: Floats
    bounds: tuple[Floats, Floats]


def conditional(
    histogram: NoisyHistogram, of: str, given: str, *, level: float, cells: int | None = None
) -> Conditional:
    """The shares of the cells of `of` among the rows in each cell of `given`; rows without a value of `of` left out."""
    alpha_of(level)
    require_attributes(histogram.domain, (of, given))
    if of == given:
        raise InvalidQuery(
            "Name two different attributes: one whose distribution is asked for, and one that it is given by."
        )
    part = with_values(histogram, (of,))
    each_level = min((1.0 + level) / 2.0, MAX_LEVEL)
    if not isinstance(part.cells, AdaptiveCells):  # refused before any count is summed
        axes = tuple(part.domain.names.index(name) for name in (given, of))
        _require_few(Grouping.of(part.grid.select(axes), cells).shape)
    both = marginal(part, (given, of), level=each_level, counts=CountsKind.RAW, cells=cells)
    shape = both.shape
    _require_few(shape)
    counts = both.counts.reshape(shape)
    if both.bounds is None:
        return _of_grid(part, both, counts, level, cells)
    require_divisible(level, _HIGHEST)
    low, high = (side.reshape(shape) for side in both.bounds)
    most = both.grid.axes[0].value_cells if isinstance(part.cells, AdaptiveCells) else cells  # the same cells of it
    sums = marginal(part, (given,), level=each_level, counts=CountsKind.RAW, cells=most)
    if sums.bounds is None or sums.shape != shape[:1]:
        raise InvalidQuery("These cells do not add up to the cells of the other attribute; ask for fewer cells.")
    rows, rows_low, rows_high = sums.counts, *sums.bounds
    has_shares = (rows_low > 0.0) & (rows > 0.0)
    above, below = np.where(has_shares, rows_high, 1.0)[:, None], np.where(has_shares, rows_low, 1.0)[:, None]
    ends = np.clip(low / above, 0.0, 1.0), np.clip(high / below, 0.0, 1.0)
    return _made(both, level, (rows, rows_low, rows_high), has_shares, counts, ends)


def _require_few(shape: tuple[int, ...]) -> None:
    if prod(shape) > MOST_SHARES:
        raise InvalidQuery(
            f"{shape[0]} x {shape[1]} shares are too many; ask for fewer cells on an axis, with cells=… (at most "
            f"{MOST_SHARES:,} shares)."
        )


def _of_grid(part: NoisyHistogram, both: Marginal, counts: Floats, level: float, cells: int | None) -> Conditional:
    times = both.grouping.cells_in_each().reshape(counts.shape) * (part.grid.cell_count / both.grid.cell_count)
    rows, all_times, alpha = counts.sum(axis=1), times.sum(axis=1), alpha_of(level)
    whole = marginal(part, both.domain.names[:1], level=level, counts=CountsKind.RAW, cells=cells)
    reach = whole.reach or 0.0
    has_shares = rows - reach > 0.0
    ratios = [
        Ratio(np.array([count, total - count]), np.array([time, every - time]), np.array([1.0, 0.0]), (0.0, 1.0))
        if every > time
        else Ratio(np.array([count]), np.array([time]), np.array([1.0]), (0.0, 1.0))
        for g in np.flatnonzero(has_shares).tolist()
        for total, every in [(rows[g], all_times[g])]
        for count, time in zip(counts[g], times[g], strict=True)
    ]
    ends = np.zeros(counts.shape), np.ones(counts.shape)
    if ratios:
        (intervals,) = ratio_intervals(part.law, ratios, (alpha,))
        for side, values in zip(ends, np.array(intervals).T, strict=True):
            side[has_shares] = values.reshape(-1, counts.shape[1])
    return _made(both, level, (rows, rows - reach, rows + reach), has_shares, counts, ends)


def _made(
    both: Marginal,
    level: float,
    rows: tuple[Floats, Floats, Floats],
    has_shares: NDArray[np.bool_],
    counts: Floats,
    ends: tuple[Floats, Floats],
) -> Conditional:
    shares = np.where(
        has_shares[:, None], np.clip(counts / np.where(has_shares, rows[0], 1.0)[:, None], 0.0, 1.0), np.nan
    )
    low = np.where(has_shares[:, None], np.minimum(ends[0], np.nan_to_num(shares)), 0.0)
    high = np.where(has_shares[:, None], np.maximum(ends[1], np.nan_to_num(shares)), 1.0)
    given, of = zip(both.domain.attributes, both.grid.axes, both.grouping.sizes, strict=True)
    count, fewest, most = (np.maximum(each, 0.0) for each in rows)  # no cell has fewer than no rows
    return Conditional(level, given, of, count, (fewest, most), has_shares, shares, (low, high))
