"""How far a fused estimate may be off by noise: the r with P(|error| > r) <= alpha.

The error is a weighted sum of independent draws, of which none has a larger scale than B. With variance s^2 it is no
further from normal than a sum of n = s^2 / (2 B^2) Laplace draws of equal scale, for which radii are exact.

The weights depend a little on the same draws, because the cuts do. What that adds on average is taken off
(`core.adaptive.selection`); what it does to the spread `MARGIN` allows for. In simulations of 2 to 1,200 rows a base
cell a factor of 1.06 was enough at 50, 95 and 99 % for base cells and parts of them (`python -m bench.adaptive_noise`,
docs/methods/adaptive.md). That is measured, not proved.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from scipy.special import ndtri

from core.arrays import Floats
from core.intervals.radius import equal_radii
from core.mechanisms.discrete_laplace import DiscreteLaplace

MARGIN = 1.1  # on the radius of fixed weights
_FINE = DiscreteLaplace(nano=10**6)  # steps so small that the law is as good as continuous
_DRAWS = 2 ** np.arange(13)


def radii(deviation: Floats, scale: Floats, *, alpha: float) -> Floats:
    """The radius of each error, from its standard deviation and the largest scale of a draw in it."""
    draws = (deviation / scale) ** 2 / 2.0
    nearest = np.clip(np.floor(np.log2(np.maximum(draws, 1.0))), 0, len(_DRAWS) - 1).astype(np.int64)
    radius: Floats = MARGIN * deviation * _standard_radii(alpha)[nearest]
    return radius


@lru_cache(maxsize=256)
def _standard_radii(alpha: float) -> Floats:
    """The radii of sums of 1, 2, 4, … Laplace draws, in standard deviations of the sum."""
    laplace = equal_radii(_FINE, _DRAWS, alpha=alpha) / (_FINE.standard_deviation * np.sqrt(_DRAWS))
    standard: Floats = np.maximum(laplace, -ndtri(alpha / 2.0))  # at low levels a normal sum has the larger radius
    return standard
