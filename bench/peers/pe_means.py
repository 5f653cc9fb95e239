"""PE-means of Humphries and others (arXiv 2606.00342, 2026): k-means by private evolution, our own code.

Rows are in [-1, 1]^d. A population of candidate centres evolves for T = floor(4 sqrt(d)) generations, times
epsilon if that is above 1, but 4 at most: they tried no larger one. A generation

1. lets each row vote for its nearest candidate: a histogram, which one row changes by 1, whatever d is;
2. adds Gaussian noise of the deviation s sqrt(T), s for a query of sensitivity 1, to each candidate's votes;
3. keeps the candidates with the most noisy votes, as many as together have N votes, at most those above 0;
4. takes the centres of weighted k-means on them (weights: noisy votes); those of the last generation are the result;
5. halves L if the sum of squared votes kept is less than that of the noise, (candidates) s^2 T, but not below 4;
6. has as the next population these centres, and L mutants of each: Levy flights of the index 1.75 (Mantegna 1994), of
   0.01 times the domain's radius along each axis, moved back into the domain.

At first L = max(4, N / 5K), and the (L + 1) K candidates are packed in the domain (`bench.peers.packing`). All of
this, with delta = 1 / N^1.1, was read from the authors' published source (t3humphries/PE-means): only the paper's
abstract could be read here.

Two things are ours. Their domain is a ball around rows that were centred and scaled by what the rows are; here it is
the public [-1, 1]^d, with the radius sqrt(d). And there are at most 4,000 candidates: N / 5 would take hours for 10^6
rows. Where both could be tried, this costs little: WCSS over no privacy at N = 10^5, K = 8, epsilon 0.1 is 1.01 with
4,000 and 1.04 with 20,000 at d = 4; 1.04 and 1.04 at d = 16 (one draw each).

The noise is numpy's from a seed: a simulation, not a release.
"""

from __future__ import annotations

from math import gamma, pi, sin, sqrt

import numpy as np
from numpy.typing import NDArray

from bench.peers.gaussian_noise import deviation
from bench.peers.packing import packed
from core.clustering.kmeans import kmeans

Floats = NDArray[np.float64]

MOST_CANDIDATES = 4000
_LEVY, _STEP = 1.75, 0.01
_LEAST_MUTANTS = 4
_RESTARTS, _MOST_FOLD = 10, 4
_PIVOTS, _ROWS_AT_ONCE = 64, 2048


def delta_for(n: int) -> float:
    """The delta of the authors' source."""
    return float(n**-1.1)


def generations(d: int, epsilon: float) -> int:
    """T."""
    return max(1, int(max(1.0, min(epsilon, _MOST_FOLD)) * int(4 * sqrt(d))))


def noise_for(d: int, epsilon: float, delta: float) -> float:
    """The deviation of the noise of each vote count in each generation."""
    return deviation(epsilon, delta) * sqrt(generations(d, epsilon))


def pe_means_centres(rows: Floats, clusters: int, epsilon: float, delta: float, rng: np.random.Generator) -> Floats:
    """Centres, (clusters, d), of rows in [-1, 1]^d."""
    n, d = rows.shape
    noise = noise_for(d, epsilon, delta)
    mutants = max(_LEAST_MUTANTS, min(n // (5 * clusters), MOST_CANDIDATES // clusters - 1))
    population = packed((mutants + 1) * clusters, d, rng)
    narrow = rows.astype(np.float32)
    centres = population[:clusters]
    for generation in range(generations(d, epsilon)):
        if generation:
            population = np.concatenate([centres, mutated(np.tile(centres, (mutants, 1)), rng)])
        noisy = noisy_votes(narrow, population, noise, rng)
        weights = standing_out(noisy, n)
        if not weights.any():
            continue
        centres = kmeans(population, weights, clusters, restarts=_RESTARTS, rng=rng).centres
        if np.square(weights).sum() < len(weights) * noise**2:
            mutants = max(mutants // 2, _LEAST_MUTANTS)
    return centres


def noisy_votes(rows: NDArray[np.float32], population: Floats, noise: float, rng: np.random.Generator) -> Floats:
    """All that is released of a generation."""
    return votes(rows, population) + rng.normal(0, noise, len(population))


def votes(rows: NDArray[np.float32], population: Floats) -> NDArray[np.int64]:
    """How many rows are nearest to each candidate. No row is compared with candidates that cannot be the nearest.

    The first candidates serve as pivots. A row at the distance u of its nearest pivot has its nearest candidate within
    2u of this pivot. Rows of a pivot are taken in blocks by falling u.
    """
    candidates = population.astype(np.float32)
    pivots = candidates[:_PIVOTS]
    number = np.zeros(len(population), dtype=np.int64)
    blocks = (slice(start, start + _ROWS_AT_ONCE) for start in range(0, len(rows), _ROWS_AT_ONCE))
    near = [_nearest(rows[block], pivots) for block in blocks]
    pivot, u = (np.concatenate(each) for each in zip(*near, strict=True))
    order = np.lexsort((-u, pivot))
    ends = np.searchsorted(pivot[order], np.arange(len(pivots) + 1))
    for p, own in enumerate(pivots):
        apart = np.sqrt(np.square(candidates - own).sum(axis=1))
        for start in range(ends[p], ends[p + 1], _ROWS_AT_ONCE):
            block = order[start : min(start + _ROWS_AT_ONCE, ends[p + 1])]
            possible = np.flatnonzero(apart <= 2 * u[block[0]] + 1e-3)
            nearest = _nearest(rows[block], candidates[possible])[0]
            number += np.bincount(possible[nearest], minlength=len(population))
    return number


def _nearest(rows: NDArray[np.float32], places: NDArray[np.float32]) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """For each row the nearest place, where |c|^2 / 2 - r.c is least, and the distance."""
    halves = np.square(places).sum(axis=1) / 2 - rows @ places.T
    nearest = np.argmin(halves, axis=1)
    squares = np.square(rows).sum(axis=1) + 2 * halves[np.arange(len(rows)), nearest]
    return nearest, np.sqrt(np.maximum(squares, 0))


def standing_out(noisy: Floats, n: int) -> Floats:
    """Noisy votes of the most voted candidates that together have n votes; 0 for others, and for those below 0."""
    falling = np.sort(noisy)[::-1]
    place = int(np.argmax(np.cumsum(falling) >= n)) if np.cumsum(falling).max() >= n else len(falling)
    threshold = falling[place] if place < len(falling) else 0.0
    return np.where(noisy >= max(threshold, 0.0), noisy, 0.0)


def mutated(places: Floats, rng: np.random.Generator) -> Floats:
    """Each place after a Levy flight, within [-1, 1]^d."""
    top = gamma(1 + _LEVY) * sin(pi * _LEVY / 2)
    sigma = (top / (gamma((1 + _LEVY) / 2) * _LEVY * 2 ** ((_LEVY - 1) / 2))) ** (1 / _LEVY)
    flights = rng.normal(0, sigma, places.shape) / np.abs(rng.normal(size=places.shape)) ** (1 / _LEVY)
    return np.clip(places + _STEP * sqrt(places.shape[1]) * flights, -1, 1)
