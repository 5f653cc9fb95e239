"""What one noisy count says about the rows expected in its cell, tabulated once for every cell.

The true count t of a cell with expectation lambda has the law

    p(t | lambda) = .998 Poisson(t | lambda) + .002 S(t),    S(t) in proportion to 1 / (t + 1) on 0 … T.

The slab S keeps a fit honest on data that are no mixture of Gaussians: no cell, however odd, can veto the others. The
noisy count y has the law of t plus two-sided geometric noise, so up to a constant

    L(lambda) = sum over t of p(t | lambda) exp(-epsilon |y - t|),

and the posterior of t given lambda has the terms of this sum as weights. They come from two recurrences of positive
terms, one up and one down in t, with nothing that could cancel. For y < 0 the sum is that of y = 0 times a constant.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, sqrt

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, xlogy

Floats = NDArray[np.float64]

_SLAB = 0.002
_STEPS = 4  # table entries for each unit of sqrt(lambda), on which scale a Poisson count has the deviation 1/2
_LONGEST = 1000


@dataclass(frozen=True, slots=True, eq=False)
class CellLikelihood:
    """log L, and mean and variance of the true count, for each cell at sqrt(lambda) = 0, 1/4, 1/2, … ; linear between.

    Counts are in units of `unit` rows: 1 but for large counts, which would need long tables. A Poisson law of units is
    wider than one of rows, which is as well: with thousands of rows in a cell no mixture fits them to within a root.
    """

    unit: int
    log: Floats
    mean: Floats
    variance: Floats

    @property
    def most(self) -> int:
        """The last interval of the tables; beyond it everything stays as it is there."""
        return int(self.log.shape[1] - 2)

    def at(self, expected: Floats) -> tuple[NDArray[np.intp], Floats]:
        """Where (chains, cells) expectations lie in the tables: flat index of the entry below, and the way past it."""
        place = np.sqrt(expected)
        place *= _STEPS
        np.minimum(place, self.most + 0.999, out=place)
        below = place.astype(np.intp)
        place -= below
        below += np.arange(len(self.log)) * self.log.shape[1]
        return below, place

    def log_likelihood(self, expected: Floats) -> Floats:
        """The sum of log L over cells, for each chain."""
        below, past = self.at(expected)
        flat = self.log.ravel()
        low = flat.take(below)
        below += 1
        high = flat.take(below)
        high -= low
        high *= past
        high += low
        total: Floats = high.sum(axis=1)
        return total


def between(table: Floats, place: tuple[NDArray[np.intp], Floats]) -> Floats:
    """A table read at places that `at` gave."""
    below, past = place
    flat = table.ravel()
    low = flat.take(below)
    values: Floats = low + past * (flat.take(below + 1) - low)
    return values


def cell_likelihood(counts: NDArray[np.int64], epsilon: float) -> CellLikelihood:
    """The tables of every cell. Work and memory depend on the counts only up to a bound, by the choice of unit."""
    largest, tail = max(0, int(counts.max())), ceil(14 / epsilon)
    unit = max(1, ceil((largest + tail) / _LONGEST))
    most = (largest + tail) // unit + 10
    kernel = np.exp(-epsilon * unit)
    roots = np.arange(_STEPS * (ceil(sqrt(most)) + 1) + 1) / _STEPS
    weights = _weights(most, roots**2)
    powers = np.arange(most + 1)[:, None, None] ** np.arange(3)[None, :, None]
    terms = weights[:, None, :] * powers  # (t, moment, lambda)
    sums = terms.copy()
    for t in range(1, most + 1):
        sums[t] += kernel * sums[t - 1]
    above = np.zeros(sums.shape[1:])
    for t in range(most - 1, -1, -1):
        above = kernel * (above + terms[t + 1])
        sums[t] += above
    row = np.clip(np.rint(counts / unit).astype(np.int64), 0, most)
    kept, place = np.unique(row, return_inverse=True)
    zeroth, first, second = np.moveaxis(sums[kept], 1, 0)
    mean = first / zeroth
    variance = np.maximum(second / zeroth - mean**2, 0.0)
    return CellLikelihood(unit=unit, log=np.log(zeroth)[place], mean=mean[place], variance=variance[place])


def _weights(most: int, expected: Floats) -> Floats:
    """p(t | lambda) for t = 0 … T and each lambda."""
    t = np.arange(most + 1)[:, None]
    poisson = np.exp(xlogy(t, expected) - expected - gammaln(t + 1.0))
    slab = 1.0 / (t + 1.0)
    law: Floats = (1.0 - _SLAB) * poisson + _SLAB * slab / slab.sum()
    return law
