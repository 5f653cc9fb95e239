"""FastLloyd of Diaa, Humphries and Kerschbaum (arXiv 2405.02437), our own code.

Its protocol lets several parties share the sums; here one party has all rows, and the noise is the same. Rows are in
[-1, 1]^d, centres start at packed places (`bench.peers.packing`). Iteration t has a radius: first R = sqrt(d), half the
diagonal, then alpha sqrt(d) / K^(1/d), alpha = 0.8. It

1. assigns each row to the nearest centre, and leaves out rows that are farther than R from it;
2. takes for each cluster the number of its rows and the sum of their differences from the *previous* centre. A row
   changes one such sum by at most R: that is the point of the radius;
3. adds Gaussian noise. Of mu^2 / T, sums have the share sqrt(4d) / (1 + sqrt(4d)) and numbers the rest;
4. moves each centre by noisy sum / noisy number, by R at most, and folds it back into [-1, 1]^d at the faces.

A cluster without rows counts as one row at its centre. T keeps the expected error of an iteration small, and is 2 to 7:

    T = 0.016 N^2 / (K^3 eta^2 (1 + sqrt(4d))^2 s^2),  eta = alpha sqrt(d) / K^(1/d),

s the deviation of the noise for a query of sensitivity 1. All of this, with delta = 1 / (N ln N), was read from the
authors' published source (D-Diaa/FastLloyd), since only the beginning of the paper could be read here. alpha is that of
the comparison in t3humphries/PE-means.

The noise is numpy's from a seed: a simulation, not a release.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log, sqrt

import numpy as np
from numpy.typing import NDArray

from bench.peers.gaussian_noise import deviation
from bench.peers.packing import packed
from core.clustering.kmeans import nearest

Floats = NDArray[np.float64]

_ALPHA = 0.8
_LEAST, _MOST = 2, 7


def delta_for(n: int) -> float:
    """The delta of the authors' source."""
    return 1 / (n * log(n))


@dataclass(frozen=True, slots=True)
class Noise:
    """The radius of each iteration, the deviation of the noise of its sums, and that of all numbers of rows."""

    radii: tuple[float, ...]
    of_sums: tuple[float, ...]
    of_numbers: float


def noise_for(n: int, d: int, clusters: int, epsilon: float, delta: float) -> Noise:
    """The number of iterations, and the noise that shares (epsilon, delta) between all of their queries."""
    s = deviation(epsilon, delta)
    later = _ALPHA * sqrt(d) / clusters ** (1 / d)
    both = 1 + sqrt(4 * d)
    iterations = int(np.clip(0.016 * n**2 / (clusters**3 * (later * both * s) ** 2), _LEAST, _MOST))
    radii = (sqrt(d), *([later] * (iterations - 1)))
    of_sums = tuple(s * sqrt(iterations * both / sqrt(4 * d)) * radius for radius in radii)
    return Noise(radii, of_sums, s * sqrt(iterations * both))


def fast_lloyd_centres(rows: Floats, clusters: int, epsilon: float, delta: float, rng: np.random.Generator) -> Floats:
    """Centres, (clusters, d), of rows in [-1, 1]^d."""
    n, d = rows.shape
    noise = noise_for(n, d, clusters, epsilon, delta)
    centres = packed(clusters, d, rng)
    for radius, of_sums in zip(noise.radii, noise.of_sums, strict=True):
        sums, numbers = sums_and_numbers(rows, centres, radius)
        noisy_sums = sums + rng.normal(0, of_sums, sums.shape)
        noisy_numbers = np.round(numbers + rng.normal(0, noise.of_numbers, clusters))
        steps = noisy_sums / (noisy_numbers + 1e-9)[:, None]
        lengths = np.linalg.norm(steps, axis=1, keepdims=True)
        centres = folded(centres + steps * np.minimum(1.0, radius / np.maximum(lengths, 1e-300)))
    return centres


def sums_and_numbers(rows: Floats, centres: Floats, radius: float) -> tuple[Floats, Floats]:
    """Sums of differences from the nearest centre, and numbers, of rows within the radius; at least 1 row each."""
    labels, squares = nearest(rows, centres[None])
    near = squares[0] <= radius**2
    label, kept = labels[0][near], rows[near]
    numbers = np.bincount(label, minlength=len(centres)).astype(np.float64)
    columns = [np.bincount(label, weights=column, minlength=len(centres)) for column in kept.T]
    return np.stack(columns, axis=1) - centres * numbers[:, None], np.maximum(numbers, 1.0)


def folded(places: Floats) -> Floats:
    """Places reflected at the faces of [-1, 1]^d, as often as needed."""
    inside: Floats = 1 - np.abs((places + 1) % 4 - 2)
    return inside
