"""Boxes: cells that lie on no grid, for the mixture model. A `core.clustering.layout.Layout`.

With (l_x, u_x) the sides of a box, a component expects a prod over x of [Phi((u_x - mu_x) / s_x) - Phi((l_x - mu_x) /
s_x)] rows in it. Boxes share sides: Phi is worked out once for the distinct edges of an axis, the differences once for
its distinct intervals, and every box takes its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from core.arrays import Floats


@dataclass(frozen=True, slots=True, eq=False)
class _Intervals:
    """The distinct intervals of an axis: their distinct `edges`, the two of each interval, and each box's interval.

    `lower` and `upper` number the edges, `of_box` (M,) the intervals. `edges` has the outermost as infinite.
    """

    edges: Floats
    lower: NDArray[np.intp]
    upper: NDArray[np.intp]
    of_box: NDArray[np.intp]

    @classmethod
    def of(cls, low: Floats, high: Floats) -> _Intervals:
        edges, numbers = np.unique(np.concatenate([low, high]), return_inverse=True)
        pairs = numbers[: len(low)] * len(edges) + numbers[len(low) :]
        distinct, of_box = np.unique(pairs, return_inverse=True)
        lower, upper = np.divmod(distinct, len(edges))
        edges = np.where(edges <= -1.0, -np.inf, np.where(edges >= 1.0, np.inf, edges))
        return cls(edges, lower, upper, of_box)

    def masses(self, mu: Floats, s: Floats) -> Floats:
        """(…), (…) -> (…, intervals) normal probabilities."""
        below = ndtr((self.edges - mu[..., None]) / s[..., None])
        masses: Floats = below[..., self.upper] - below[..., self.lower]
        return masses


@dataclass(frozen=True, slots=True, eq=False)
class Boxes:
    """M boxes in [-1, 1]^d: (M, d) `low` and `high` ends. They may overlap.

    Rows beyond the bounds were clipped, so that edges at -1 and 1 count as infinite.
    """

    low: Floats
    high: Floats
    to_fill: Floats
    intervals: tuple[_Intervals, ...]

    @classmethod
    def of(cls, low: Floats, high: Floats) -> Boxes:
        """Boxes with these ends, each of positive volume."""
        intervals = tuple(_Intervals.of(low[:, x], high[:, x]) for x in range(low.shape[1]))
        return cls(low, high, np.prod(2.0 / (high - low), axis=1), intervals)

    @property
    def dimensions(self) -> int:
        """d."""
        return int(self.low.shape[1])

    @property
    def cell_count(self) -> int:
        """M."""
        return len(self.low)

    @property
    def centres(self) -> Floats:
        """(M, d)."""
        centres: Floats = (self.low + self.high) / 2.0
        return centres

    def expected(self, mu: Floats, s: Floats, a: Floats) -> Floats:
        """The rows that a component expects in every box: (…, d), (…, d), (…) -> (…, M)."""
        first, *others = self.intervals
        total: Floats = (first.masses(mu[..., 0], s[..., 0]) * a[..., None]).take(first.of_box, axis=-1)
        for x, intervals in enumerate(others, start=1):
            total *= intervals.masses(mu[..., x], s[..., x]).take(intervals.of_box, axis=-1)
        return total

    def divided(self, parts: int) -> Boxes:
        """Every box cut into `parts` equal parts along each axis, the parts of a box one after the other."""
        if parts == 1:
            return self
        places = np.array(list(product(range(parts), repeat=self.dimensions)), dtype=np.float64)
        widths = (self.high - self.low)[:, None] / parts
        low = self.low[:, None] + places * widths
        # The last part ends where its box ends, to the last bit.
        high = np.where(places == parts - 1, self.high[:, None], self.low[:, None] + (places + 1.0) * widths)
        return Boxes.of(low.reshape(-1, self.dimensions), high.reshape(-1, self.dimensions))
