"""Starting centres that see no row: random places in [-1, 1]^d, far from each other and from the faces.

The sphere packing of Su et al., "Differentially private k-means clustering and a hybrid approach to private
optimization" (ACM TOPS 2017), as FastLloyd and PE-means use it: a place is drawn at least `a` from every face, and kept
if it is 2a from all others. After 100 places in a row that are too near, all is begun again with a / 2.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_TRIES = 100


def packed(count: int, d: int, rng: np.random.Generator) -> Floats:
    """`count` places, (count, d); `a` begins at 1, where only the middle is far enough from the faces."""
    a = 1.0
    while (places := _places(count, d, a, rng)) is None:
        a /= 2
    return places


def _places(count: int, d: int, a: float, rng: np.random.Generator) -> Floats | None:
    places = np.empty((count, d))
    for number in range(count):
        for candidate in rng.uniform(a - 1, 1 - a, (_TRIES, d)):
            if not number or np.square(places[:number] - candidate).sum(axis=1).min() >= 4 * a * a:
                places[number] = candidate
                break
        else:
            return None
    return places
