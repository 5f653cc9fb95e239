"""Blocks of cells: fewer points for k-means on very large dense grids."""

from __future__ import annotations

from math import prod

import numpy as np
from numpy.typing import NDArray

from core.adaptive.cells import AdaptiveCells
from core.arrays import Floats
from core.noisy_histogram import NoisyHistogram

MOST_POINTS = 2**15  # beyond so many cells k-means runs on blocks of them
MOST_BLOCKS = 2**13  # where it starts


def block_numbers(histogram: NoisyHistogram, heavy: int, most: int = MOST_BLOCKS) -> NDArray[np.int64] | None:
    """The block that each cell lies in, of about `most` or fewer.

    None if `heavy`, the number of cells with weight, is MOST_POINTS or less: few enough without blocks.

    Blocks have equally many cells along an axis, but for the last ones, and each axis has about equally many blocks; an
    axis of fewer cells is not divided. A thresholded histogram has few cells and needs no blocks. Of an adaptive
    release, blocks of leaves are coarse cells, or blocks of 2^h of them along each axis.
    """
    grid = histogram.grid
    if isinstance(histogram.cells, AdaptiveCells):
        return _leaf_blocks(histogram.cells, most) if heavy > MOST_POINTS else None
    if heavy <= MOST_POINTS or not histogram.cells.complete:
        return None
    blocks = _blocks_per_axis(grid.shape, most)
    cells = np.array([-(-m // b) for m, b in zip(grid.shape, blocks, strict=True)])  # of a block, along each axis
    places = grid.places(np.arange(grid.cell_count)) // cells
    numbers: NDArray[np.int64] = places @ np.cumprod([1, *blocks[:-1]])
    return numbers


def _leaf_blocks(cells: AdaptiveCells, most: int) -> NDArray[np.int64]:
    """The block of each leaf. A base cell is a block at least, however many they are."""
    layers, halvings = cells.layers, 0
    sides = parts = layers.coarse.parts
    while sides.prod(axis=1).sum() > most and (sides > 1).any():
        halvings += 1
        sides = -(-parts >> halvings)  # rounded up
    base, places = layers.coarse_base, layers.coarse.places() >> halvings
    numbers = np.zeros(len(base), dtype=np.int64)
    for x in range(parts.shape[1]):
        numbers = numbers * sides[base, x] + places[:, x]
    numbers += np.append(0, np.cumsum(sides.prod(axis=1)))[base]
    of_leaves: NDArray[np.int64] = numbers[layers.leaf_coarse[cells.leaves.numbers]]
    return of_leaves


def _blocks_per_axis(shape: tuple[int, ...], most: int) -> list[int]:
    """About `most` blocks in all; what an axis of few cells does not need goes to the others."""
    blocks, rest = list(shape), list(range(len(shape)))
    while rest:
        spent = prod(shape[x] for x in range(len(shape)) if x not in rest)
        each = max(2, int((most / spent) ** (1.0 / len(rest))))
        long = [x for x in rest if shape[x] > each]
        if long == rest:
            for x in rest:
                blocks[x] = each
            break
        rest = long
    return blocks


def block_means(cells: Floats, weights: Floats, blocks: NDArray[np.int64]) -> tuple[Floats, Floats]:
    """The weighted mean place and the weight of every block with positive weight."""
    masses = np.bincount(blocks, weights=weights).astype(np.float64)
    heavy = masses > 0.0
    sums = [np.bincount(blocks, weights=weights * cells[:, x])[heavy] for x in range(cells.shape[1])]
    return np.stack(sums, axis=1) / masses[heavy, None], masses[heavy]
