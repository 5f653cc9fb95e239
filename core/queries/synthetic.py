"""Synthetic rows: drawn from the non-negative counts, spread evenly within a cell, the same again for the same seed."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from core.errors import InvalidQuery
from core.queries.denoise import nonnegative
from core.randomness import seeded
from core.synopsis import Synopsis

BLOCK_ROWS = 2**16


def cumulative_weights(synopsis: Synopsis) -> NDArray[np.float64]:
    """The running sum of the weights that cells are drawn by: non-negative counts, or equal ones where all are zero."""
    weights = nonnegative(synopsis.counts)
    if not len(weights):
        raise InvalidQuery("No cell of this release reached its threshold: there is nothing to draw rows from.")
    return np.cumsum(weights if weights.any() else np.ones(len(weights)))


def synthetic_rows(
    synopsis: Synopsis, count: int, seed: int, cumulative: NDArray[np.float64] | None = None
) -> Iterator[NDArray[np.float64]]:
    """`count` rows in the attributes' own units, in blocks; a longer request begins with the rows of a shorter one.

    `cumulative` is `cumulative_weights(synopsis)`, where the caller has it. What is refused is refused here and not in
    `_blocks`, which runs when the reply has begun.
    """
    return _blocks(synopsis, cumulative_weights(synopsis) if cumulative is None else cumulative, count, seeded(seed))


def _blocks(
    synopsis: Synopsis, cumulative: NDArray[np.float64], count: int, rng: np.random.Generator
) -> Iterator[NDArray[np.float64]]:
    grid, domain, cells_per_axis = synopsis.grid, synopsis.domain, np.array(synopsis.grid.shape)
    for start in range(0, count, BLOCK_ROWS):
        # Whole blocks are drawn and cut afterwards, so that the rows do not depend on how many are asked for.
        picked = np.searchsorted(cumulative, rng.random(BLOCK_ROWS) * cumulative[-1], side="right")
        places = grid.places(synopsis.cells.numbers_at(picked))
        inside = rng.random((BLOCK_ROWS, grid.dimensions))
        rows = domain.lower + (places + inside) / cells_per_axis * domain.width
        yield rows[: count - start]
