"""The weights of k-means for methods that use noisy counts alone."""

from __future__ import annotations

import numpy as np

from core.adaptive.cells import AdaptiveCells
from core.arrays import Floats
from core.clustering.choice import Method
from core.clustering.leaf_weights import nonnegative_leaves, outstanding_leaves
from core.mechanisms.threshold import least_threshold
from core.noisy_histogram import NoisyHistogram
from core.queries.denoise import nonnegative


def weights_of(histogram: NoisyHistogram, method: Method, counts: Floats) -> Floats:
    """The weights of k-means for a method that uses noisy counts alone: (cells,) or (draws, cells), as `counts` is.

    Of an adaptive release, the counts are the estimates of its leaves.
    """
    if isinstance(histogram.cells, AdaptiveCells):
        return _weights_of_leaves(histogram.cells, method, counts)
    match method:
        case Method.LLOYD:
            return positive(np.maximum(counts, 0.0))
        case Method.THRESHOLDED:
            least = histogram.threshold or least_threshold(histogram.grid.cell_count, histogram.law)
            kept = np.where(counts >= least, counts, 0.0)
            none = ~kept.any(axis=-1)
            if none.any():
                kept[none] = positive(nonnegative(counts[none].astype(np.int64)))
            return kept
    return positive(nonnegative(counts.astype(np.int64)))


def _weights_of_leaves(cells: AdaptiveCells, method: Method, estimates: Floats) -> Floats:
    if method is Method.LLOYD:
        return positive(np.maximum(estimates, 0.0))
    weights = nonnegative_leaves(estimates, cells.variances)
    if method is Method.THRESHOLDED:
        kept = outstanding_leaves(estimates, cells.variances)
        weights = np.where(kept.any(axis=-1, keepdims=True), kept, weights)
    return positive(weights)


def positive(weights: Floats) -> Floats:
    """The weights, or equal ones where all are zero."""
    return np.where(weights.any(axis=-1, keepdims=True), weights, 1.0)
