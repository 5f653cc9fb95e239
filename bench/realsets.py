"""Real data that ship with scikit-learn, a few attributes of each, scaled to [-1, 1]^d by bounds that could be public.

Bounds are round numbers that someone who knows the subject could state without these rows; rows beyond them are
clipped, as the service does. Where there are too many attributes for a dense grid, some sets are the first principal
components of the standardised attributes. Such a projection itself depends on the rows. Here it stands for a projection
that was published before; it is the same for every method.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from sklearn import datasets

from bench.published import Floats

PIXELS = 20_000


@dataclass(frozen=True, slots=True, eq=False)
class RealSet:
    """Rows in [-1, 1]^d, and the numbers of clusters to ask for."""

    name: str
    points: Floats
    clusters: tuple[int, ...]


@lru_cache
def real_sets() -> tuple[RealSet, ...]:
    """Flowers, wines, tumours, patients, handwriting and the colours of two photographs; 150 to 20,000 rows."""
    iris, wine = datasets.load_iris().data, datasets.load_wine().data
    cancer, diabetes = datasets.load_breast_cancer().data, datasets.load_diabetes(scaled=False).data
    digits = datasets.load_digits().data
    china, flower = (_colours(name) for name in ("china.jpg", "flower.jpg"))
    return (
        RealSet("iris petals", _scaled(iris[:, [2, 3]], (0, 8), (0, 3)), (3,)),
        RealSet("iris sepals", _scaled(iris[:, [0, 1]], (4, 8), (2, 5)), (3,)),
        RealSet("iris, 3 of 4", _scaled(iris[:, [0, 2, 3]], (4, 8), (0, 8), (0, 3)), (3,)),
        RealSet("wine, alcohol and proline", _scaled(wine[:, [0, 12]], (11, 15), (200, 1800)), (3,)),
        RealSet("wine, flavanoids and colour", _scaled(wine[:, [6, 9]], (0, 6), (0, 14)), (3, 5)),
        RealSet("wine, 3 components", _components(wine, 3, 6.0), (3,)),
        RealSet("tumours, radius and texture", _scaled(cancer[:, [0, 1]], (5, 30), (5, 40)), (2, 4)),
        RealSet("tumours, 3 of 30", _scaled(cancer[:, [0, 1, 7]], (5, 30), (5, 40), (0, 0.25)), (2, 4)),
        RealSet("tumours, 2 components", _components(cancer, 2, 15.0), (2, 5)),
        RealSet("patients, age and mass", _scaled(diabetes[:, [0, 2]], (18, 82), (15, 45)), (4,)),
        RealSet("patients, mass and pressure", _scaled(diabetes[:, [2, 3]], (15, 45), (60, 140)), (3, 6)),
        RealSet("digits, 2 components", _components(digits, 2, 10.0), (6, 10)),
        RealSet("digits, 3 components", _components(digits, 3, 10.0), (6, 10)),
        RealSet("colours of a temple", china, (4, 8)),
        RealSet("colours of a flower", flower, (4, 8)),
    )


def _scaled(values: Floats, *bounds: Sequence[float]) -> Floats:
    lower, upper = np.array(bounds, dtype=np.float64).T
    scaled: Floats = np.clip(2 * (values - lower) / (upper - lower) - 1, -1, 1)
    return scaled


def _components(values: Floats, count: int, bound: float) -> Floats:
    """The first principal components of the standardised attributes, within a round bound."""
    spread = values.std(axis=0)
    centred = (values - values.mean(axis=0)) / np.where(spread > 0, spread, 1)
    _u, _s, directions = np.linalg.svd(centred, full_matrices=False)
    scores: Floats = np.clip(centred @ directions[:count].T / bound, -1, 1)
    return scores


def _colours(name: str) -> Floats:
    """Red, green and blue of PIXELS pixels."""
    pixels = datasets.load_sample_image(name).reshape(-1, 3)
    chosen = np.random.default_rng(0).choice(len(pixels), PIXELS, replace=False)
    return _scaled(pixels[chosen].astype(np.float64), (0, 255), (0, 255), (0, 255))
