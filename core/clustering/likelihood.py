"""The likelihood of the expected number of rows in a cell, given its noisy count; tabulated once for every cell.

The true count t of a cell with expectation lambda is Poisson, contaminated with a wide "slab" S (a contaminated law, as
Tukey 1960 has for the normal):

    p(t | lambda) = .998 Poisson(t | lambda) + .002 S(t),    S(t) in proportion to 1 / (t + 1) on 0 … T.

Without the slab, one cell that no mixture of normal laws explains could rule out an otherwise good fit. The noisy count
is y = t + Z, so up to a constant the likelihood is

    L(lambda) = sum over t of p(t | lambda) P(Z = y - t) / P(Z = 0),

and the terms of this sum are the posterior weights of t given lambda and y. Their moments t^0, t^1, t^2 give the
likelihood, the posterior mean and the posterior variance (`core.mechanisms.law.NoiseLaw.kernel_sums`). If Z is a single
draw and y < 0, the sum is that of y = 0 times a constant, since the noise kernel is exponential there. If Z is a sum of
draws, the tables go on below 0, as far as the kernel is not negligible (`NoiseLaw.negative_reach`).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, sqrt
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, xlogy

from core.arrays import Floats
from core.mechanisms.law import NoiseLaw

_SLAB = 0.002
_STEPS = 4  # table entries for each unit of sqrt(lambda), on which scale a Poisson count has the deviation 1/2
_LONGEST = 1000


class Likelihood(Protocol):
    """What noisy counts say about the expected counts of cells, which are (chains, cells) in units of `unit` rows."""

    @property
    def unit(self) -> int:
        """Rows in a unit."""

    def log_likelihood(self, expected: Floats) -> Floats:
        """(chains,) log likelihoods, up to a constant."""

    def moments(self, expected: Floats) -> tuple[Floats, Floats]:
        """Posterior mean and variance of the counts that are clustered, given the expected counts of all cells."""


@dataclass(frozen=True, slots=True, eq=False)
class CellLikelihood:
    """log L(lambda), and the posterior mean and variance of t, tabulated for each cell; shape (cells, entries).

    Entries are at sqrt(lambda) = 0, 1/4, 1/2, …; values between them are interpolated linearly. Counts are in units of
    `unit` rows: 1, except for large counts, which would need long tables. A Poisson law of units is wider than one of
    rows. That does no harm: with thousands of rows in a cell, no mixture fits them to within sqrt(lambda).
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
        """For (chains, cells) expectations: flat index of the entry below, fraction of a step past it."""
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

    def moments(self, expected: Floats) -> tuple[Floats, Floats]:
        """Posterior mean and variance of the count of every cell: (chains, cells) each."""
        place = self.at(expected)
        return between(self.mean, place), between(self.variance, place)


def between(table: Floats, place: tuple[NDArray[np.intp], Floats]) -> Floats:
    """Linear interpolation in a table, at places that `CellLikelihood.at` returned."""
    below, past = place
    flat = table.ravel()
    low = flat.take(below)
    values: Floats = low + past * (flat.take(below + 1) - low)
    return values


def cell_likelihood(counts: NDArray[np.int64], law: NoiseLaw) -> CellLikelihood:
    """The tables of every cell. The choice of unit bounds work and memory, however large the counts are."""
    largest, tail = max(0, int(counts.max())), law.kernel_reach
    unit = max(1, ceil((largest + tail) / _LONGEST))
    most = (largest + tail) // unit + 10
    roots = np.arange(_STEPS * (ceil(sqrt(most)) + 1) + 1) / _STEPS
    weights = _weights(most, roots**2)
    powers = np.arange(most + 1)[:, None, None] ** np.arange(3)[None, :, None]
    below = ceil(law.negative_reach / unit)
    terms = np.pad(weights[:, None, :] * powers, ((below, 0), (0, 0), (0, 0)))  # no true count is negative
    sums = law.kernel_sums(terms, unit=unit)  # (y, moment, lambda), from y = -below on
    row = np.clip(np.rint(counts / unit).astype(np.int64), -below, most)
    kept, place = np.unique(row, return_inverse=True)
    zeroth, first, second = np.moveaxis(sums[kept + below], 1, 0)
    mean = first / zeroth
    variance = np.maximum(second / zeroth - mean**2, 0.0)
    return CellLikelihood(unit=unit, log=np.log(zeroth)[place], mean=mean[place], variance=variance[place])


def _weights(most: int, expected: Floats) -> Floats:
    """p(t | lambda), shape (t = 0 … T, lambdas)."""
    t = np.arange(most + 1)[:, None]
    poisson = np.exp(xlogy(t, expected) - expected - gammaln(t + 1.0))
    slab = 1.0 / (t + 1.0)
    probabilities: Floats = (1.0 - _SLAB) * poisson + _SLAB * slab / slab.sum()
    return probabilities
