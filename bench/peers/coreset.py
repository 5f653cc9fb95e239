"""k-means on a private coreset, as Google's library does it; our own code.

Chang, Ghazi, Kumar and Manurangsi, "Locally private k-means in one round" (ICML 2021), and for the central model Chang
and Kamath, "Practical differentially private clustering" (2021), with the documentation of Google's library:

1. *Tree.* Rows are grouped by SimHash: bit l of a row is the side of the l-th random hyperplane through the origin. A
   node with a noisy count of at least 3 t branches, down to depth 20; a child with a noisy count below t is dropped
   with its rows; a node without children is a leaf.
2. *Coreset.* Each leaf gives its noisy mean, moved back into the ball, with its noisy count as the weight.
3. *Centres.* k-means on the coreset. Where it has fewer points than clusters, the library returns fewer centres. Here
   the others are at the origin, which costs no privacy and lowers the WCSS.

A row is in at most 21 counts, with discrete Laplace noise of parameter 1 / (20 alpha), and in one sum, with Gaussian
noise of standard deviation alpha r, where r = sqrt(d) bounds the rows. The least alpha for (epsilon, delta) comes from
the exact composition: a count of sensitivity 1 has the privacy loss +-a, so that with B ~ Binomial(21, 1 / (1 + e^-a)),

    delta(epsilon) = E[delta_Gauss(epsilon - a (2 B - 21))]        (Balle and Wang 2018 for delta_Gauss).

The threshold is t = max(1, min(10 sqrt(d) alpha, noisy N / (2 K))), rounded down. The descriptions leave open this
formula, the 20, the depth and the factor 3: they are the defaults of the library's source.

The paper's WCSS table prints neither delta nor what becomes of missing centres. They were fitted to its row, so that
agreement with it is no independent confirmation. Root mean square of log(measured / printed) on 24 of its entries:

    missing centres   at the origin .027, trees drawn until there are none .23, uniform .33, left out .71
    delta             1 / N^2 .027, 10^-6 .049, N^-1.5 .10, 1 / N .20
    calibration       exact .027, epsilon split 4 : 1 between the sum and the counts .080

The noise is numpy's from a seed: a simulation, not a release.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import inf, sqrt

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import log_ndtr, ndtr
from scipy.stats import binom

from core.clustering.kmeans import kmeans

Floats = NDArray[np.float64]
Wholes = NDArray[np.int64]

DEPTH = 20
_COUNTS_PER_SUM = 20.0
_BRANCHING = 3
_RESTARTS = 10


@dataclass(frozen=True, slots=True)
class Noise:
    """`alpha`: standard deviation of a sum of rows in a ball of radius 1. 0 is without noise."""

    alpha: float

    @property
    def loss(self) -> float:
        """The parameter a of the discrete Laplace noise of a count, which is its privacy loss."""
        return 1 / (_COUNTS_PER_SUM * self.alpha) if self.alpha else inf

    def delta(self, epsilon: float) -> float:
        """The exact delta at epsilon of one sum and a count at each of the 21 levels."""
        levels = DEPTH + 1
        positive = np.arange(levels + 1)
        chances = binom.pmf(positive, levels, 1 / (1 + np.exp(-self.loss)))
        rest = epsilon - self.loss * (2 * positive - levels)
        half = 1 / (2 * self.alpha)
        gauss = ndtr(half - rest * self.alpha) - np.exp(rest + log_ndtr(-half - rest * self.alpha))
        return float(chances @ gauss)

    def count(self, exact: Wholes, rng: np.random.Generator) -> Wholes:
        """Counts with discrete Laplace noise."""
        if not self.alpha:
            return exact
        up, down = rng.geometric(-np.expm1(-self.loss), (2, len(exact)))
        noisy: Wholes = exact + up - down
        return noisy

    def total(self, exact: Floats, radius: float, rng: np.random.Generator) -> Floats:
        """Sums of rows with Gaussian noise."""
        return exact + self.alpha * radius * rng.normal(size=exact.shape)


@lru_cache
def calibrated(epsilon: float, delta: float) -> Noise:
    """The least noise that is (epsilon, delta)-DP."""
    if epsilon == inf:
        return Noise(0.0)
    log_alpha = brentq(lambda x: Noise(float(np.exp(x))).delta(epsilon) - delta, -5.0, 15.0, xtol=1e-9)
    return Noise(float(np.exp(log_alpha + 1e-9)))


def coreset(rows: Floats, clusters: int, noise: Noise, rng: np.random.Generator) -> tuple[Floats, Wholes]:
    """Points and weights, one of each leaf of the tree; rows in [-1, 1]^d."""
    n, d = rows.shape
    radius = sqrt(d)
    counts = np.maximum(noise.count(np.array([n]), rng), 1)
    least = max(1, min(int(10 * sqrt(d) * noise.alpha), int(counts[0]) // (2 * clusters)))
    inside, node = rows, np.zeros(n, dtype=np.int64)  # the rows that are in no leaf yet, and the node of each
    sums, weights = [], []
    for level in range(DEPTH + 1):
        children, kept, side = _children(inside, node, counts, least, noise, rng)
        kept &= level < DEPTH
        branched: NDArray[np.bool_] = np.logical_or.reduce(kept, axis=1)
        exact: Floats = np.stack([np.bincount(node, axis, len(counts)) for axis in inside.T], axis=1).astype(np.float64)
        sums.append(noise.total(exact[~branched], radius, rng))
        weights.append(counts[~branched])
        if not kept.any():
            break
        number = np.where(kept, np.cumsum(kept).reshape(kept.shape) - 1, -1)
        node = number[node, side]
        inside, node, counts = inside[node >= 0], node[node >= 0], children[kept]
    weight = np.concatenate(weights)
    points = np.concatenate(sums) / weight[:, None]
    return points / np.maximum(np.linalg.norm(points, axis=1, keepdims=True) / radius, 1.0), weight


def _children(
    rows: Floats, node: Wholes, counts: Wholes, least: int, noise: Noise, rng: np.random.Generator
) -> tuple[Wholes, NDArray[np.bool_], Wholes]:
    """Noisy counts of both children of every node, (nodes, 2); which of them stay; and the side of each row."""
    side = (rows @ rng.normal(size=rows.shape[1]) < 0).astype(np.int64)
    exact = np.bincount(2 * node + side, minlength=2 * len(counts))
    noisy = noise.count(exact, rng).reshape(-1, 2)
    kept: NDArray[np.bool_] = np.greater_equal(noisy, least) & np.greater_equal(counts, _BRANCHING * least)[:, None]
    return noisy, kept, side


def coreset_centres(rows: Floats, clusters: int, epsilon: float, delta: float, rng: np.random.Generator) -> Floats:
    """Centres for rows in [-1, 1]^d, as an (epsilon, delta)-DP release would give them."""
    points, weights = coreset(rows, clusters, calibrated(epsilon, delta), rng)
    if len(points) <= clusters:
        return np.concatenate([points, np.zeros((clusters - len(points), points.shape[1]))])
    return kmeans(points, weights.astype(np.float64), clusters, restarts=_RESTARTS, rng=rng).centres
