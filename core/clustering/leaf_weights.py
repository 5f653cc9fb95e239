"""Weights of k-means on the leaves of an adaptive release, whose estimates differ in variance."""

from __future__ import annotations

from math import log, sqrt

import numpy as np

from core.arrays import Floats
from core.mechanisms.threshold import EXPECTED_FALSE_CELLS


def nonnegative_leaves(estimates: Floats, variances: Floats) -> Floats:
    """The nearest non-negative numbers with the same sum, along the last axis; nothing where that is not positive.

    Near by the variances v: of all w >= 0 with sum w = sum z those with the least sum of (w - z)^2 / v. They are
    max(z - tau v, 0), with tau such that the sum is kept. As in Michelot (1986), tau is worked out as if all of z were
    above tau v, then for those of them that are, until all are: it only rises, so that what is out stays out.
    """
    variances = np.broadcast_to(variances, estimates.shape)
    pairs = zip(estimates.reshape(-1, estimates.shape[-1]), variances.reshape(-1, estimates.shape[-1]), strict=True)
    return np.stack([_projected(z, v) for z, v in pairs]).reshape(estimates.shape)


def _projected(z: Floats, v: Floats) -> Floats:
    """One row of `nonnegative_leaves`."""
    total, tau = float(z.sum()), 0.0
    if total <= 0.0:
        return np.zeros_like(z)
    above = z > 0.0
    left, spread = z[above], v[above]
    while len(left):
        tau = (float(left.sum()) - total) / float(spread.sum())
        above = left > tau * spread
        if above.all():
            break
        left, spread = left[above], spread[above]
    weights: Floats = np.maximum(z - tau * v, 0.0)
    return weights


def outstanding_leaves(estimates: Floats, variances: Floats) -> Floats:
    """The estimates of leaves that stand out from their noise, and 0 for the others.

    About EXPECTED_FALSE_CELLS of n empty leaves stand out: the noise is taken for a Laplace law of the same variance,
    whose upper tail is exp(-sqrt(2) r / s) / 2 for the deviation s.
    """
    reach = max(0.0, log(estimates.shape[-1] / (2.0 * EXPECTED_FALSE_CELLS))) / sqrt(2.0)
    return np.where(estimates > reach * np.sqrt(variances), np.maximum(estimates, 0.0), 0.0)
