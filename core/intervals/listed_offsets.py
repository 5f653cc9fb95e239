"""Where rows lie within listed cells, from noisy sums of offsets (`core.offsets`): estimates, and bounds on a mean.

On one axis let listed cells of a region have the true counts t_j, the true sums of offsets O_j in the attribute's own
unit, and half widths h_j, so that |O_j| <= h_j t_j. Let h be the largest half width, N the rows of the region in all
cells, listed or not, and t, O the sums over its listed cells. A row lies within h of the middle of its cell, so the
mean offset of all N rows is at most

    (O + h (N - t)) / N = h - (h t - O) / N,

and at least -h + (h t + O) / N. Both brackets are zero or positive, so an upper bound on N, a lower bound on t and
bounds on O give bounds on the mean. (Offsets are rounded to S-ths of h_j, which moves the mean by at most h / S; of
datetimes, half a microsecond comes on top.)

O is bounded by the noisy sums. Their noise is independent of the counts, and so of the list: given a region, it is a
sum of independent terms w_j Z_j with w_j = h_j / S, and Chernoff's bound with the exact log E exp(t w_j Z_j) holds.
"""

from __future__ import annotations

from functools import cached_property
from math import log

import numpy as np
from numpy.typing import NDArray

from core.arrays import Floats
from core.domain.axis import OFFSET_STEPS
from core.errors import InvalidQuery
from core.intervals.levels import TINIEST
from core.intervals.listed import ListedCells
from core.mechanisms.vector_laplace import SHARES
from core.offsets import Offsets
from core.queries.estimates import axis_centres, ordered_attribute


class AxisOffsets:
    """The offsets of listed cells along axis x, in its own unit."""

    def __init__(self, listed: ListedCells, x: int) -> None:
        grid, offsets = listed.synopsis.grid, listed.synopsis.cells.offsets
        if offsets is None:
            raise InvalidQuery("This release has no offsets.")
        self._offsets: Offsets = offsets
        self._column = grid.ordered_axes.index(x)
        self._counts, self._places = listed.counts, listed.places[:, x]
        self._half = np.diff(ordered_attribute(listed.synopsis, x).edges(grid.axes[x])) / 2
        self._centres = axis_centres(listed.synopsis, x)
        self.widest = float(self._half.max())
        self._t = offsets.law.rate * SHARES

    @cached_property
    def _growth(self) -> Floats:
        """log E exp(t w Z) for a cell at each place of the axis, w being its width over the widest."""
        return np.stack([self._offsets.law.log_mgf(weight * self._t) for weight in self._half / self.widest])

    def cell_means(self) -> Floats:
        """The mean of the rows of each listed cell, shrunk towards its middle where the noise prevails."""
        inside = self._offsets.shrunk_means(self._counts, slice(self._column, self._column + 1))[:, 0]
        return self._centres[self._places] + self._half[self._places] * inside

    def sum(self, chosen: NDArray[np.bool_]) -> float:
        """The noisy sum of the offsets of all rows of the chosen cells: unbiased."""
        sums = self._offsets.sums[chosen, self._column]
        return float(sums @ self._half[self._places[chosen]]) / OFFSET_STEPS

    def mean(self, chosen: NDArray[np.bool_]) -> float:
        """The mean offset of the rows of the chosen cells, shrunk towards 0 where the noise prevails."""
        rows = float(self._counts[chosen].sum())
        noise = self._offsets.law.variance * np.count_nonzero(chosen) / (OFFSET_STEPS * max(rows, 1.0)) ** 2
        mean = self.sum(chosen) / max(rows, 1.0) / (1.0 + 3.0 * noise)
        return float(np.clip(mean, -self.widest, self.widest))

    def radius(self, chosen: NDArray[np.bool_], *, alpha: float) -> float:
        """What the noise of `sum` exceeds, to one side, with probability alpha at most."""
        cells = np.bincount(self._places[chosen], minlength=len(self._half)).astype(np.float64)
        exponents = log(1.0 / max(alpha, TINIEST)) + cells @ self._growth
        return float((exponents / self._t).min()) * self.widest / OFFSET_STEPS

    def bounds(self, chosen: NDArray[np.bool_], *, certain: float, most: float, alpha: float) -> tuple[float, float]:
        """(low, high) for the mean offset of all rows of a region, each but for probability alpha / 2.

        The chosen cells are the listed ones of the region; they hold at least `certain` rows, and the region has at
        most `most` rows in all. That these two hold is the caller's statement.
        """
        h, total, reach = self.widest, self.sum(chosen), self.radius(chosen, alpha=alpha / 2)
        above, below = (max(0.0, h * certain + side * total - reach) / max(most, 1.0) for side in (-1.0, 1.0))
        return min(h, -h + below), max(-h, h - above)
