"""Regions of an adaptive release: the leaves nearest to each centre. Their rows and means, with the noise of both.

The rows of a region are the sum n of the fused estimates z_j of its leaves, and the sum S of z_j h_j goes with them,
where h_j is the height of leaf j's centre along an attribute: 0 at the lower bound, 1 at the upper one. Both are
weighted sums of all layers' noise (`core.adaptive.weighted`). With q the radius in standard deviations, the Fieller
(1954) interval of the mean S / n is the set of all m with

    (S - m n)^2 <= q^2 (Var S - 2 m Cov(S, n) + m^2 Var n).

Cov(S, n) comes from Var(S + n). The radius allows for a law with heavier tails than the normal one
(`core.adaptive.radius`). As for a grid, this holds for regions that were fixed beforehand.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from core.adaptive.cells import AdaptiveCells
from core.adaptive.radius import radii
from core.adaptive.weighted import SparseSums
from core.arrays import Floats


@dataclass(frozen=True, slots=True, eq=False)
class Regions:
    """k regions: rows n with their deviation, (k,); and, (k, d), S / n, Var S and Cov(S, n).

    `scales` (k,) has the largest scale of a draw of noise in a region; regions without a leaf have no rows, and 0.
    """

    rows: Floats
    deviations: Floats
    scales: Floats
    sums: Floats
    variances: Floats
    covariances: Floats

    @classmethod
    def of(cls, cells: AdaptiveCells, labels: NDArray[np.int64], k: int) -> Regions:
        """The regions of the leaves with these labels."""
        heights = (cells.centres() + 1.0) / 2.0
        rows = _sums(cells, labels, np.ones(len(labels)), k)
        of_heights = [_sums(cells, labels, along, k) for along in heights.T]
        of_both = [_sums(cells, labels, along + 1.0, k) for along in heights.T]
        variances = np.stack([each.deviations**2 for each in of_heights], axis=1)
        both = np.stack([each.deviations**2 for each in of_both], axis=1)
        return cls(
            rows=rows.estimates,
            deviations=rows.deviations,
            scales=rows.scales,
            sums=np.stack([each.estimates for each in of_heights], axis=1),
            variances=variances,
            covariances=(both - variances - rows.deviations[:, None] ** 2) / 2.0,
        )

    @property
    def means(self) -> Floats:
        """(k, d): S / n, within 0 and 1; 1/2 for a region without rows."""
        rows = self.rows[:, None]
        means: Floats = np.clip(np.where(rows > 0.0, self.sums / np.where(rows > 0.0, rows, 1.0), 0.5), 0.0, 1.0)
        return means

    def bounds(self, alpha: float) -> tuple[Floats, Floats]:
        """(k,) twice: n less and plus its radius."""
        reach = self._radii(alpha) * self.deviations
        return self.rows - reach, self.rows + reach

    def mean_bounds(self, alpha: float) -> tuple[Floats, Floats]:
        """(k, d) twice: the Fieller interval of each mean; 0 and 1 where n may be zero."""
        squared = (self._radii(alpha) ** 2)[:, None]
        rows, deviations = self.rows[:, None], self.deviations[:, None]
        a = rows**2 - squared * deviations**2
        b = rows * self.sums - squared * self.covariances
        c = self.sums**2 - squared * self.variances
        certain = (a > 0.0) & (rows > 0.0)
        half = np.sqrt(np.maximum(b**2 - a * c, 0.0))
        divisor = np.where(certain, a, 1.0)
        low, high = (np.where(certain, (b + side * half) / divisor, side) for side in (-1.0, 1.0))
        return np.clip(low, 0.0, 1.0), np.clip(high, 0.0, 1.0)

    def _radii(self, alpha: float) -> Floats:
        """(k,): radii in standard deviations of n, those of S being of the same draws."""
        scales = np.where(self.scales > 0.0, self.scales, 1.0)
        deviations = np.where(self.deviations > 0.0, self.deviations, 1.0)
        return radii(deviations, scales, alpha=alpha) / deviations


def _sums(cells: AdaptiveCells, labels: NDArray[np.int64], weights: Floats, k: int) -> SparseSums:
    leaves = cells.leaves
    return SparseSums.of(cells.fusion, sums=k, owners=labels, leaves=leaves.numbers, weights=weights * leaves.shares)
