"""Weights of k-means on the leaves of an adaptive release, whose estimates differ in variance."""

from __future__ import annotations

from math import log, sqrt

import numpy as np

from core.arrays import Floats
from core.mechanisms.threshold import EXPECTED_FALSE_CELLS


def nonnegative_leaves(estimates: Floats, variances: Floats) -> Floats:
    """The nearest non-negative numbers with the same sum, along the last axis; nothing where that is not positive.

    Near by the variances v: of all w >= 0 with sum w = sum z those with the least sum of (w - z)^2 / v. They are
    max(z - tau v, 0), with tau such that the sum is kept. Sorting by z / v finds it, as for
    `core.queries.denoise.nonnegative`.
    """
    total = estimates.sum(axis=-1, keepdims=True)
    ratios = estimates / variances
    order = np.argsort(-ratios, axis=-1, kind="stable")
    ordered = np.take_along_axis(estimates, order, axis=-1)
    spread = np.take_along_axis(np.broadcast_to(variances, estimates.shape), order, axis=-1)
    tau = (np.cumsum(ordered, axis=-1) - total) / np.cumsum(spread, axis=-1)
    kept = np.count_nonzero(ordered > tau * spread, axis=-1, keepdims=True)
    weights = np.maximum(estimates - np.take_along_axis(tau, np.maximum(kept - 1, 0), axis=-1) * variances, 0.0)
    return np.where(total > 0.0, weights, 0.0)


def outstanding_leaves(estimates: Floats, variances: Floats) -> Floats:
    """The estimates of leaves that stand out from their noise, and 0 for the others.

    About EXPECTED_FALSE_CELLS of n empty leaves stand out: the noise is taken for a Laplace law of the same variance,
    whose upper tail is exp(-sqrt(2) r / s) / 2 for the deviation s.
    """
    reach = max(0.0, log(estimates.shape[-1] / (2.0 * EXPECTED_FALSE_CELLS))) / sqrt(2.0)
    return np.where(estimates > reach * np.sqrt(variances), np.maximum(estimates, 0.0), 0.0)
