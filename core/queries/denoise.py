"""Non-negative counts from noisy ones, for what cannot use a negative count: sampling, quantiles, k-means weights."""

from __future__ import annotations

from enum import StrEnum

import numpy as np
from numpy.typing import NDArray


class CountsKind(StrEnum):
    """Which counts a question is asked of: raw sums may be negative, non-negative ones look like counts."""

    RAW = "raw"
    NONNEGATIVE = "nonnegative"


def nonnegative(counts: NDArray[np.int64] | NDArray[np.float64]) -> NDArray[np.float64]:
    """The nearest non-negative counts with the same sum (nothing where that is not positive), along the last axis.

    Projection on a simplex: w = max(y - tau, 0) with tau such that the sum is kept, found by sorting once. Clipping
    alone would keep the positive half of the noise and so invent rows in every empty region.
    """
    if not counts.shape[-1]:
        return counts.astype(np.float64)
    total = counts.sum(axis=-1, keepdims=True).astype(np.float64)
    descending = np.sort(counts, axis=-1)[..., ::-1].astype(np.float64)
    excess = (np.cumsum(descending, axis=-1) - total) / np.arange(1, counts.shape[-1] + 1)
    kept = np.maximum(np.count_nonzero(descending > excess, axis=-1, keepdims=True) - 1, 0)  # they come first
    weights = np.maximum(counts - np.take_along_axis(excess, kept, axis=-1), 0.0)
    return np.where(total > 0.0, weights, 0.0)
