"""Synthetic rows: drawn from the non-negative counts, spread evenly within a cell, the same again for the same seed."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from core.queries.denoise import nonnegative
from core.randomness import seeded
from core.synopsis import Synopsis

BLOCK_ROWS = 2**16


def synthetic_rows(synopsis: Synopsis, count: int, seed: int) -> Iterator[NDArray[np.float64]]:
    """`count` rows in the attributes' own units, in blocks; a longer request begins with the rows of a shorter one."""
    grid, domain = synopsis.grid, synopsis.domain
    weights = nonnegative(synopsis.counts)
    cumulative = np.cumsum(weights if weights.any() else np.ones(len(weights)))
    rng = seeded(seed)
    for start in range(0, count, BLOCK_ROWS):
        # Whole blocks are drawn and cut afterwards, so that the rows do not depend on how many are asked for.
        picked = np.searchsorted(cumulative, rng.random(BLOCK_ROWS) * cumulative[-1], side="right")
        cells = np.stack(np.unravel_index(picked, (grid.cells_per_axis,) * grid.dimensions), axis=1)
        inside = rng.random((BLOCK_ROWS, grid.dimensions))
        rows = domain.lower + (cells + inside) / grid.cells_per_axis * domain.width
        yield rows[: count - start]
