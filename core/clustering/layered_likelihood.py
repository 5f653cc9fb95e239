"""The likelihood of expected counts given the noisy counts of several layers of cells that count the same rows.

Each cell of each layer has a table of its own (`core.clustering.likelihood`), and the likelihoods of all cells
multiply. The noise of different cells is independent. The true count of a cell is the sum of those of its parts, so
their Poisson laws are not; to multiply them all the same counts a part of that information twice. That matters little:
the noise of the upper layers is wider than the Poisson law of their counts, or the mixture fits to within neither.

*Moments.* Given the expected counts, leaf j has the mean m_j and the variance s_j by its own noisy count. A cell above
it with noisy count y of variance v, whose leaves have the sums M and S of m and s, moves them as the conditional mean
of a normal law does:

    m_j <- m_j + s_j / (S + v) (y - M),    s_j <- s_j - s_j^2 / (S + v),

first for the coarse cells, then, with the sums of those, for the base cells.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from core.arrays import Floats, Wholes
from core.clustering.likelihood import CellLikelihood, cell_likelihood
from core.mechanisms.law import NoiseLaw

_MOST_IN_ROWS = 900  # counts up to this are tabulated in rows, whatever the largest count is


@dataclass(frozen=True, slots=True, eq=False)
class Observed:
    """Cells by their place in the layout, in any order, with noisy counts of one law."""

    cells: Wholes
    counts: Wholes
    law: NoiseLaw


@dataclass(frozen=True, slots=True, eq=False)
class Above:
    """Cells above the leaves: where the leaves of each begin, and noisy counts with their variances.

    A cell that was not counted has an infinite variance.
    """

    first: Wholes
    counts: Floats
    variances: Floats


class LayeredLikelihood:
    """A `core.clustering.likelihood.Likelihood`. The leaves come first in the layout, in order."""

    unit = 1

    def __init__(self, observed: Sequence[Observed], leaves: int, above: Sequence[Above]) -> None:
        self._leaves, self._above = leaves, tuple(above)
        self._tables = tuple(
            (part.cells, cell_likelihood(part.counts, part.law)) for whole in observed for part in _by_magnitude(whole)
        )

    def log_likelihood(self, expected: Floats) -> Floats:
        """(chains,): the sum over all cells of all layers."""
        total = np.zeros(len(expected))
        for cells, table in self._tables:
            total += table.log_likelihood(_in_units(expected, cells, table))
        return total

    def moments(self, expected: Floats) -> tuple[Floats, Floats]:
        """(chains, leaves) mean and variance of the rows in each leaf, by all layers."""
        mean, variance = np.empty((2, len(expected), self._leaves))
        for cells, table in self._tables:
            if cells[0] < self._leaves:
                own, spread = table.moments(_in_units(expected, cells, table))
                mean[:, cells], variance[:, cells] = own * table.unit, spread * table.unit**2
        for layer in self._above:
            _join(mean, variance, layer)
        return np.maximum(mean, 0.0), np.maximum(variance, 0.0)


def _in_units(expected: Floats, cells: Wholes, table: CellLikelihood) -> Floats:
    own: Floats = expected.take(cells, axis=1)
    if table.unit > 1:
        own /= table.unit
    return own


def _by_magnitude(observed: Observed) -> list[Observed]:
    """Large counts apart from the others: their tables are in coarse units."""
    large = observed.counts > _MOST_IN_ROWS
    parts: list[NDArray[np.bool_]] = [large, ~large]
    return [Observed(observed.cells[part], observed.counts[part], observed.law) for part in parts if part.any()]


def _join(mean: Floats, variance: Floats, layer: Above) -> None:
    """Move the leaves' moments, in place, by the counts of the cells above them."""
    sizes = np.diff(np.append(layer.first, mean.shape[1]))
    spread = np.add.reduceat(variance, layer.first, axis=1) + layer.variances
    gap = (layer.counts - np.add.reduceat(mean, layer.first, axis=1)) / spread
    mean += variance * np.repeat(gap, sizes, axis=1)
    variance -= variance**2 * np.repeat(1.0 / spread, sizes, axis=1)
