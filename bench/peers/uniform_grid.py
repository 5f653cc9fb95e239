"""Uniform Grid of Qardaji, Yang and Li, "Differentially private grids for geospatial data" (ICDE 2013), our own code.

m = sqrt(N eps / 10) cells per axis, rounded up, each counted with Laplace noise of scale 1 / eps. A range is the sum
over cells of the count times the share of the cell inside it. N is taken as known. The paper has two attributes. For d
others this is our extension, as in `adaptive_grid`: sqrt(x) becomes x^(2 / (2 + d)).

The rule `eugkm` of the service has the same grid. It differs in its noise, which is discrete, and in its answers.

The noise is numpy's from a seed: a simulation, not a release.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class UniformGrid:
    """Noisy counts of equal cells of [0, 1]^d, an array with one axis per attribute."""

    counts: Floats

    def count(self, ranges: Floats) -> Floats:
        """The estimate of each range, given as (ranges, 2, d): lower and upper ends in [0, 1]."""
        estimates = np.empty(len(ranges))
        for i, (lower, upper) in enumerate(ranges):
            left = self.counts
            for x in reversed(range(self.counts.ndim)):
                m = self.counts.shape[x]
                cell = np.arange(m)
                left = left @ np.clip(np.minimum(cell + 1, m * upper[x]) - np.maximum(cell, m * lower[x]), 0.0, 1.0)
            estimates[i] = left
        return estimates


def cells_per_axis(size: int, epsilon: float, dimensions: int) -> int:
    """The size of the grid, from the number of rows."""
    cells: float = (size * epsilon / 10) ** (2 / (2 + dimensions))
    return max(1, ceil(cells))


def uniform_grid(rows: Floats, epsilon: float, rng: np.random.Generator) -> UniformGrid:
    """Uniform Grid for rows in [0, 1]^d."""
    n, d = rows.shape
    m = cells_per_axis(n, epsilon, d)
    places = np.minimum((rows * m).astype(np.int64), m - 1)
    exact = np.bincount(np.ravel_multi_index(tuple(places.T), (m,) * d), minlength=m**d)
    return UniformGrid((exact + rng.laplace(0, 1 / epsilon, m**d)).reshape((m,) * d))
