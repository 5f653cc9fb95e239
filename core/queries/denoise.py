"""Non-negative counts from noisy ones, for what cannot use a negative count: sampling, quantiles, k-means weights."""

from __future__ import annotations

from enum import StrEnum

import numpy as np
from numpy.typing import NDArray


class CountsKind(StrEnum):
    """Which counts a question is asked of: raw sums are unbiased, non-negative ones look like counts."""

    RAW = "raw"
    NONNEGATIVE = "nonnegative"


def nonnegative(counts: NDArray[np.int64]) -> NDArray[np.float64]:
    """The nearest non-negative counts with the same sum (nothing where that is not positive).

    Projection on a simplex: w = max(y - tau, 0) with tau such that the sum is kept, found by sorting once. Clipping
    alone would keep the positive half of the noise and so invent rows in every empty region.
    """
    total = float(counts.sum())
    if total <= 0.0:
        return np.zeros(len(counts))
    descending = np.sort(counts)[::-1].astype(np.float64)
    excess = (np.cumsum(descending) - total) / np.arange(1, len(counts) + 1)
    kept = int(np.flatnonzero(descending > excess)[-1])
    weights: NDArray[np.float64] = np.maximum(counts - excess[kept], 0.0)
    return weights
