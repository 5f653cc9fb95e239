"""Four methods that place k centres on a noisy histogram, and the choice between them. All are post-processing.

Centres lie on the ordered axes. A dense histogram has no other axes, and no cells of missing values
(`core.queries.slices.numeric_part`). A thresholded one may have axes of categories: then several of its listed cells
have the same place.


- `posterior`: k-means on the posterior mean of the counts under a mixture model (`core.clustering.posterior`). If the
  raw counts contradict the result, `projected` serves instead.
- `projected`: k-means on the Euclidean projection of the counts on non-negative counts with the same sum. Beyond the
  limits of the posterior, `thresholded` is tried too, and the lower raw objective decides.
- `thresholded`: k-means on the cells that reach a threshold which few empty cells reach. Made for four and more
  dimensions, where nearly all cells are empty and their noise together would outweigh the rows. A release with offsets
  (`core.offsets`) has a noisy mean for each of these cells, and k-means runs on these means.
- `lloyd`: the paper's. Weighted Lloyd on counts clipped at zero, ten starts at random cells, and the best run by the
  noisy objective: a choice by the rows would be a second look at private data.

Reference for k-means: Lloyd (1982), with greedy k-means++ starts, Arthur and Vassilvitskii (2007).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod, sqrt

import numpy as np
from numpy.typing import NDArray

from core.adaptive.cells import AdaptiveCells
from core.arrays import Floats
from core.checkpoint import Checkpoint, carry_on
from core.clustering.axis_cells import ordered_shape
from core.clustering.blocks import MOST_BLOCKS, MOST_POINTS, block_means, block_numbers
from core.clustering.centres_within_cells import within_cells
from core.clustering.choice import NO_MODEL, Choice, Method, beyond_limits, choose
from core.clustering.kmeans import IN_MEMORY, kmeans, lloyd, nearest, plus_plus
from core.clustering.leaf_model import leaf_model, leaf_rows
from core.clustering.posterior import Draws, Posterior, posterior, posterior_of
from core.clustering.weights import weights_of
from core.noisy_histogram import NoisyHistogram
from core.queries.size import expected_rows
from core.randomness import seeded

__all__ = ["Choice", "Method", "Placed", "cells_of", "choose", "labels_of", "place", "weights_of"]

_WORK = 4 * 10**7  # cells x axes x clusters x restarts: what k-means may cost
_REFINED = 4
_FINISHING_STEPS = 16, 4  # on smaller blocks and on the cells, after k-means on blocks of them
# N epsilon / K from which the counts may overrule the model, and by how many standard deviations they must do so.
_ENOUGH_TO_JUDGE, _CONTRADICTION = 50.0, 2.5
LLOYD_STARTS = 10


@dataclass(frozen=True, slots=True, eq=False)
class Placed:
    """k centres in [-1, 1]^d, the heaviest first, and the cells that they were placed on.

    `cells` are (n, d) places of cells (`cells_of`) with their noisy `counts` and the `weights` of k-means; of a
    thresholded histogram, those of the listed cells. `inertia` is the weighted sum of squares. `draws` are posterior
    samples, if the method has them.
    """

    choice: Choice
    cells: Floats
    counts: Floats
    centres: Floats
    weights: Floats
    inertia: float
    draws: Draws | None = None


def place(histogram: NoisyHistogram, k: int, asked: Method, *, seed: int, checkpoint: Checkpoint = carry_on) -> Placed:
    """k centres by the method asked for, or by the one that serves instead; the same again for the same seed."""
    choice = choose(histogram, k, asked)
    if choice.method is not Method.POSTERIOR:
        placed = _by_counts(histogram, k, choice, seed, checkpoint)
        return placed if choice.rival is None else _better(histogram, placed, choice.rival, seed, checkpoint)
    placed = _by_posterior(histogram, k, choice, seed, checkpoint)
    if _signal(histogram, k) < _ENOUGH_TO_JUDGE:
        return placed
    contradicted = Choice(
        Method.PROJECTED,
        f"Projected counts serve instead of the posterior: its bell-shaped clusters fit the counts badly. {NO_MODEL}",
    )
    other = _by_counts(histogram, k, contradicted, seed, checkpoint)
    contradiction = _contradiction(histogram, placed.centres, other.centres)
    return other if contradiction > _CONTRADICTION else placed


def _better(histogram: NoisyHistogram, placed: Placed, rival: Method, seed: int, checkpoint: Checkpoint) -> Placed:
    """Of the centres placed and those of another method, the ones with the lower raw objective.

    The raw objective is the sum of y_j D_j over all cells, D_j the squared distance of cell j to the nearest centre and
    y_j its signed noisy count. For fixed centres it is an unbiased estimate of the WCSS of the gridded rows. Both sets
    of centres were fitted to these counts; neither gains much by that, since both leave most of the noise out. The
    rival is left out if fewer than k cells have weight under it: its centres would coincide.
    """
    k, choice = len(placed.centres), placed.choice
    if np.count_nonzero(weights_of(histogram, rival, placed.counts)) < k:
        return placed
    other = _by_counts(histogram, k, Choice(rival, choice.reason), seed, checkpoint)
    squares = nearest(placed.cells, np.stack([placed.centres, other.centres]))[1]
    own, others = (squares * placed.counts).sum(axis=1)
    best, left = (other, choice.method) if others < own else (placed, rival)
    shape = ordered_shape(histogram.grid)
    why = f"{beyond_limits(prod(shape), len(shape), k)}"
    reason = (
        f"{best.choice.method.capitalize()} counts serve instead of the posterior: {why}. Of the two methods left they "
        f"fit the noisy counts better than {left} ones. {NO_MODEL}"
    )
    return replace(best, choice=Choice(best.choice.method, reason))


def _contradiction(histogram: NoisyHistogram, centres: Floats, others: Floats) -> float:
    """A z-score: by how many standard deviations of its noise the raw objective prefers the others.

    With D_j(c) the squared distance of cell j to the nearest of the centres c, the statistic is

        sum of y_j (D_j(centres) - D_j(others)) / (sigma sqrt(sum of (D_j(centres) - D_j(others))^2)).

    Its numerator is an unbiased estimate of how much more WCSS the gridded rows have at `centres`; sigma is the
    deviation of the noise of a cell. The others were fitted to these very counts, so they are ahead by about one even
    where they are worse. With little signal this says nothing; with much of it model and counts should agree.
    """
    cells, counts = cells_of(histogram)
    squares = nearest(cells, np.stack([centres, others]))[1]
    ahead = squares[0] - squares[1]
    if isinstance(histogram.cells, AdaptiveCells):
        noise = sqrt(max(0.0, histogram.cells.variance(ahead)))
    else:
        noise = histogram.law.standard_deviation * float(np.sqrt(np.square(ahead).sum()))
    return float((counts * ahead).sum()) / noise if noise > 0.0 else 0.0


def _signal(histogram: NoisyHistogram, k: int) -> float:
    """N epsilon / (K sqrt(s)): rows of an even cluster, in units of the scale of the noise of a cell with s draws."""
    cells = histogram.cells
    rows = leaf_rows(histogram, cells) if isinstance(cells, AdaptiveCells) else expected_rows(histogram)
    return rows * histogram.law.rate / k / sqrt(histogram.law.draws)


def _by_counts(histogram: NoisyHistogram, k: int, choice: Choice, seed: int, checkpoint: Checkpoint) -> Placed:
    cells, counts = cells_of(histogram)
    rng = seeded(seed)
    weights = weights_of(histogram, choice.method, counts)
    if choice.method is not Method.LLOYD:
        *blocks, own = _levels(histogram, cells, weights)
        (points, masses), *finer = blocks or [own]
        many = restarts(points, masses, k)
        runs = kmeans(points, masses, k, restarts=many, rng=rng, checkpoint=checkpoint).centres[None]
        for (points, masses), steps in zip([*finer, own] if blocks else [], _FINISHING_STEPS, strict=False):
            runs = lloyd(points, masses, runs, iterations=steps, checkpoint=checkpoint)
        centres, inertia = _best(*own, runs, checkpoint)
        if choice.method is Method.THRESHOLDED and _are_on_a_grid(histogram):
            centres = within_cells(histogram, centres, labels_of(cells, centres))
        return Placed(choice, cells, counts, centres, weights, inertia)
    starts = cells[np.stack([np.resize(rng.permutation(len(cells)), k) for _ in range(LLOYD_STARTS)])]
    centres, inertia = _best(cells, weights, lloyd(cells, weights, starts, checkpoint=checkpoint), checkpoint)
    return Placed(choice, cells, counts, centres, weights, inertia)


def _levels(histogram: NoisyHistogram, cells: Floats, weights: Floats) -> list[tuple[Floats, Floats]]:
    """Places and weights that k-means runs on, one after the other: blocks of cells, smaller blocks, then the cells."""
    heavy = weights > 0.0
    number = int(np.count_nonzero(heavy))
    each = (block_numbers(histogram, number, most) for most in (MOST_BLOCKS, MOST_POINTS))
    blocks = [block_means(cells, weights, numbers) for numbers in each if numbers is not None]
    return [*blocks, (np.asfortranarray(cells[heavy]), weights[heavy])]


def _are_on_a_grid(histogram: NoisyHistogram) -> bool:
    """Whether rows count at the centres of the cells of a grid, so that centres may move within cells."""
    return not isinstance(histogram.cells, AdaptiveCells) and histogram.cells.offsets is None


def restarts(points: Floats, weights: Floats, k: int) -> int:
    """10 + k: six times as many lower the inertia by half a percent on average; fewer on large grids."""
    return int(np.clip(_WORK // (np.count_nonzero(weights) * points.shape[1] * k), 1, 10 + k))


def labels_of(cells: Floats, centres: Floats) -> NDArray[np.int64]:
    """The number of the centre nearest to each cell."""
    labels: NDArray[np.int64] = nearest(cells, centres[None])[0][0]
    return labels


def cells_of(histogram: NoisyHistogram) -> tuple[Floats, Floats]:
    """Places and noisy counts of all cells, or of the listed ones; the middle with count 0 if none is listed.

    The place of a cell is its centre or, with offsets, the mean of its rows.
    """
    if not len(histogram.counts):
        return np.zeros((1, len(histogram.grid.ordered_axes))), np.zeros(1)
    if isinstance(histogram.cells, AdaptiveCells):
        return histogram.cells.centres(), histogram.cells.estimates
    return histogram.cells.mean_places(), histogram.counts.astype(np.float64)


def _by_posterior(histogram: NoisyHistogram, k: int, choice: Choice, seed: int, checkpoint: Checkpoint) -> Placed:
    """Many starts on the cells, each at the mean place of its rows; the best few are finished on the fine grid."""
    rng = seeded(seed)
    density = _density(histogram, k, rng, checkpoint)
    fine, by_cell = density.fine.centres(), density.fine.by_cell
    shares = by_cell(density.weights[None])[0]
    weights, places = shares.sum(axis=1), histogram.cells.centres()
    for x, along in enumerate(fine.T):  # a cell that is certain to be empty keeps its centre
        sums = (shares * by_cell(along[None])[0]).sum(axis=1)
        np.divide(sums, weights, out=places[:, x], where=weights > 0.0)
    many = int(np.clip(_WORK // (len(places) * k), 4, 20 + 4 * k))
    starts = plus_plus(places, weights, k, restarts=many, rng=rng, checkpoint=checkpoint)
    centres = lloyd(places, weights, starts, checkpoint=checkpoint)
    order = np.argsort((nearest(places, centres)[1] * weights).sum(axis=1), kind="stable")
    heavy = density.weights > 1e-9 * density.weights.sum()
    refined = lloyd(fine[heavy], density.weights[heavy], centres[order[:_REFINED]], checkpoint=checkpoint)
    best, inertia = _best(fine[heavy], density.weights[heavy], refined, checkpoint)
    return Placed(choice, *cells_of(histogram), best, weights, inertia, density.draws)


def _density(histogram: NoisyHistogram, k: int, rng: np.random.Generator, checkpoint: Checkpoint) -> Posterior:
    if isinstance(histogram.cells, AdaptiveCells):
        return posterior_of(leaf_model(histogram, histogram.cells), k, rng=rng, checkpoint=checkpoint)
    return posterior(histogram, k, rng=rng, checkpoint=checkpoint)


def _best(points: Floats, weights: Floats, runs: Floats, checkpoint: Checkpoint) -> tuple[Floats, float]:
    """Of several runs the one of least weighted squares: its centres, the heaviest first, and those squares.

    Only a few runs at once where there are many points, so that memory does not grow with the number of runs.
    """
    at_once = max(1, IN_MEMORY // len(points))
    objectives: list[float] = []
    for start in range(0, len(runs), at_once):
        checkpoint()
        distances = nearest(points, runs[start : start + at_once])[1]
        objectives += (distances * weights).sum(axis=1).tolist()
    best = int(np.argmin(objectives))
    sizes = np.bincount(labels_of(points, runs[best]), weights=weights, minlength=runs.shape[1])
    return runs[best][np.argsort(-sizes, kind="stable")], objectives[best]
