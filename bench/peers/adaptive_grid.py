"""Adaptive Grid of Qardaji, Yang and Li, "Differentially private grids for geospatial data" (ICDE 2013), our own code.

    m1 = max(10, ceil(sqrt(N eps / 10) / 4)) cells per axis, counted at alpha eps, alpha = 0.5;
    m2 = ceil(sqrt(N' (1 - alpha) eps / 5)) parts per axis of a cell with noisy count N', counted at (1 - alpha) eps.

Constrained inference, for a cell with count v and parts u_j that add up to S:

    v' = (alpha m2)^2 / ((1 - alpha)^2 + (alpha m2)^2) v + (1 - alpha)^2 / ((1 - alpha)^2 + (alpha m2)^2) S,
    u_j' = u_j + (v' - S) / m2^2.

A range is the sum over parts of u_j' times the share of the part inside it. N is taken as known. The paper has two
attributes. For d others this is our extension: sqrt(x) becomes x^(2 / (2 + d)), 10 becomes 100^(1/d), and m2^2 is m2^d.
The constants and the inference are those of the implementation in dpcomp_core, which rounds m1 and m2 down where the
paper rounds up. The paper's own figures could not be repeated: its data do not ship in a package.

The noise is numpy's from a seed: a simulation, not a release.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Wholes = NDArray[np.int64]

_ALPHA = 0.5


@dataclass(frozen=True, slots=True, eq=False)
class AdaptiveGrid:
    """m1 cells per axis, the parts per axis of each cell, and the estimates of all parts, cell by cell."""

    cells_per_axis: int
    parts_per_axis: Wholes
    first: Wholes
    parts: Floats
    dimensions: int

    def count(self, ranges: Floats) -> Floats:
        """The estimate of each range, given as (ranges, 2, d): lower and upper ends in [0, 1]."""
        d, m1 = self.dimensions, self.cells_per_axis
        places = np.stack(np.unravel_index(np.arange(m1**d), (m1,) * d), axis=1)
        sums = np.add.reduceat(self.parts, self.first[:-1])
        estimates = np.empty(len(ranges))
        for i, (lower, upper) in enumerate(ranges * m1):
            share = np.clip(np.minimum(places + 1, upper) - np.maximum(places, lower), 0.0, 1.0)
            whole = (share == 1.0).all(axis=1)
            cut = np.flatnonzero((share > 0.0).all(axis=1) & ~whole)
            estimates[i] = sums[whole].sum() + self._count_cut(cut, lower - places[cut], upper - places[cut])
        return estimates

    def _count_cut(self, cells: Wholes, lower: Floats, upper: Floats) -> float:
        """The estimate of the parts of cells between `lower` and `upper`, (cells, d), where a cell has the side 1."""
        owner, places, m2 = _parts(self.parts_per_axis[cells], self.dimensions)
        low, high = lower[owner] * m2[:, None], upper[owner] * m2[:, None]
        shares = np.clip(np.minimum(places + 1, high) - np.maximum(places, low), 0.0, 1.0).prod(axis=1)
        numbers = (
            self.first[cells][owner]
            + np.arange(len(owner))
            - _starts(self.parts_per_axis[cells], self.dimensions)[owner]
        )
        return float(shares @ self.parts[numbers])


def adaptive_grid(rows: Floats, epsilon: float, rng: np.random.Generator) -> AdaptiveGrid:
    """Adaptive Grid for rows in [0, 1]^d."""
    n, d = rows.shape
    power = 2.0 / (2.0 + d)
    m1 = max(round(100 ** (1 / d)), ceil((n * epsilon / 10) ** power / 4))
    cell, inside = _located(rows, m1)
    noisy = np.bincount(cell, minlength=m1**d) + rng.laplace(0, 1 / (_ALPHA * epsilon), m1**d)
    m2 = np.maximum(np.ceil((np.maximum(noisy, 0.0) * (1 - _ALPHA) * epsilon / 5) ** power), 1).astype(np.int64)
    first = np.append(0, np.cumsum(m2**d))
    numbers = np.zeros(n, dtype=np.int64)
    for x in range(d):
        numbers = numbers * m2[cell] + np.minimum((inside[:, x] * m2[cell]).astype(np.int64), m2[cell] - 1)
    exact = np.bincount(first[cell] + numbers, minlength=first[-1])
    parts = exact + rng.laplace(0, 1 / ((1 - _ALPHA) * epsilon), len(exact))
    sums = np.add.reduceat(parts, first[:-1])
    weight = _ALPHA**2 * m2**d / ((1 - _ALPHA) ** 2 + _ALPHA**2 * m2**d)
    shift = (weight * noisy + (1 - weight) * sums - sums) / m2**d
    return AdaptiveGrid(m1, m2, first, parts + np.repeat(shift, m2**d), d)


def _located(rows: Floats, m: int) -> tuple[Wholes, Floats]:
    """The cell of each row on a grid with m cells per axis, and its place in the cell, between 0 and 1."""
    places = np.minimum((rows * m).astype(np.int64), m - 1)
    cell = np.zeros(len(rows), dtype=np.int64)
    for x in range(rows.shape[1]):
        cell = cell * m + places[:, x]
    return cell, rows * m - places


def _starts(parts_per_axis: Wholes, d: int) -> Wholes:
    return np.append(0, np.cumsum(parts_per_axis**d))[:-1].astype(np.int64)


def _parts(parts_per_axis: Wholes, d: int) -> tuple[Wholes, Wholes, Wholes]:
    """All parts of some cells: which of the cells, the (parts, d) place in it, and its parts per axis."""
    owner = np.repeat(np.arange(len(parts_per_axis)), parts_per_axis**d)
    m2 = parts_per_axis[owner]
    rest = np.arange(len(owner)) - _starts(parts_per_axis, d)[owner]
    places = np.empty((len(owner), d), dtype=np.int64)
    for x in reversed(range(d)):
        rest, places[:, x] = np.divmod(rest, m2)
    return owner, places, m2
