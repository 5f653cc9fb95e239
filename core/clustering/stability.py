"""The stability of a clustering: the share of rows that stay in their cluster under other counts the noise allows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from core.adaptive.cells import AdaptiveCells
from core.arrays import Floats
from core.checkpoint import Checkpoint
from core.clustering.blocks import block_means, block_numbers
from core.clustering.kmeans import lloyd, nearest, steps_allowed
from core.clustering.leaf_noise import redrawn
from core.clustering.methods import Placed
from core.clustering.weights import weights_of
from core.noisy_histogram import NoisyHistogram
from core.offsets import Offsets
from core.randomness import seeded

_REDRAWS, _AT_ONCE = 8, 2**20  # fresh draws of noise; counts held at once


def stability(placed: Placed, moved: Floats, blocks: NDArray[np.int64] | None = None) -> float:
    """The share of weight whose nearest centre has the same number among `placed.centres` and among `moved`.

    `blocks` stands for cells where these are very many.
    """
    heavy = placed.weights > 0.0
    points, weights = placed.cells[heavy], placed.weights[heavy]
    if blocks is not None:
        points, weights = block_means(placed.cells, placed.weights, blocks)
    before, after = nearest(points, placed.centres[None])[0], nearest(points, moved)[0]
    return float(((before == after) * weights).sum() / (len(moved) * weights.sum()))


def stability_by_noise(histogram: NoisyHistogram, placed: Placed, seed: int, checkpoint: Checkpoint) -> float:
    """The stability when fresh noise of the same law is added to the counts: a parametric bootstrap (Efron 1979).

    With offsets, fresh noise is added to their sums as well.
    """
    if histogram.cells.offsets is not None and len(histogram.counts):
        return _stability_with_offsets(histogram, placed, histogram.cells.offsets, seed, checkpoint)
    cells, rng, counts = placed.cells, seeded(seed), placed.counts
    blocks = block_numbers(histogram, int(np.count_nonzero(placed.weights)))
    moved, at_once = [], max(1, _AT_ONCE // len(cells))
    for start in range(0, _REDRAWS, at_once):
        checkpoint()
        noisy = _redrawn(histogram, counts, min(at_once, _REDRAWS - start), rng)
        weights = weights_of(histogram, placed.choice.method, noisy)
        if blocks is None:
            heavy = weights.any(axis=0)
            centres = np.repeat(placed.centres[None], len(weights), axis=0)
            moved.append(lloyd(cells[heavy], weights[:, heavy], centres, checkpoint=checkpoint))
            continue
        for row in weights:
            points, masses = block_means(cells, row, blocks)
            moved.append(lloyd(points, masses, placed.centres[None], checkpoint=checkpoint))
    return stability(placed, np.concatenate(moved), blocks)


def _redrawn(histogram: NoisyHistogram, counts: Floats, times: int, rng: np.random.Generator) -> Floats:
    """(times, cells): the counts with fresh noise."""
    if isinstance(histogram.cells, AdaptiveCells):
        return np.stack([redrawn(histogram.cells, rng) for _ in range(times)])
    return (counts.astype(np.int64) + histogram.law.simulate((times, len(counts)), rng)).astype(np.float64)


def _stability_with_offsets(
    histogram: NoisyHistogram, placed: Placed, offsets: Offsets, seed: int, checkpoint: Checkpoint
) -> float:
    rng, middles, halves = seeded(seed), histogram.cells.centres(), histogram.cells.half_widths()
    moved, steps = [], steps_allowed(len(middles), _REDRAWS * placed.centres.size)  # as if all ran at once
    for _ in range(_REDRAWS):
        checkpoint()
        noisy = (histogram.counts + histogram.law.simulate((len(middles),), rng)).astype(np.float64)
        weights = weights_of(histogram, placed.choice.method, noisy)
        points = middles + halves * offsets.redrawn(rng).shrunk_means(noisy)
        heavy = weights > 0.0
        starts = placed.centres[None]
        moved.append(lloyd(points[heavy], weights[heavy], starts, iterations=steps, checkpoint=checkpoint))
    return stability(placed, np.concatenate(moved))
