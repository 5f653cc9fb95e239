"""Synthetic rows: drawn from the non-negative counts, spread evenly within a cell, the same again for the same seed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.arrays import Floats
from core.domain.attribute import Attribute, Ordered
from core.domain.axis import Axis
from core.errors import InvalidQuery
from core.noisy_histogram import NoisyHistogram
from core.queries.denoise import nonnegative
from core.randomness import seeded

BLOCK_ROWS = 2**16


def cumulative_weights(synopsis: NoisyHistogram) -> NDArray[np.float64]:
    """The running sum of the weights that cells are drawn by: non-negative counts, or equal ones where all are zero."""
    weights = nonnegative(synopsis.counts)
    if not len(weights):
        raise InvalidQuery("No cell of this release reached its threshold: there is nothing to draw rows from.")
    return np.cumsum(weights if weights.any() else np.ones(len(weights)))


@dataclass(frozen=True, slots=True, eq=False)
class Column:
    """The values of an attribute in some rows: float64, int64 or datetime64, as `Ordered.sample` draws them.

    Of a category they are places among its `labels`, 64-bit integers. `missing` marks rows without a value, whose
    entry in `values` means nothing; None where every row has one.
    """

    values: NDArray[Any]
    missing: NDArray[np.bool_] | None


Block = tuple[Column, ...]  # a column for each attribute


def synthetic_rows(
    synopsis: NoisyHistogram, count: int, seed: int, cumulative: NDArray[np.float64] | None = None
) -> Iterator[Block]:
    """`count` rows in blocks, a column for each attribute; a longer request begins with the rows of a shorter one.

    `cumulative` is `cumulative_weights(synopsis)`, where the caller has it. What is refused is refused here and not in
    `_blocks`, which runs when the reply has begun.
    """
    return _blocks(synopsis, cumulative_weights(synopsis) if cumulative is None else cumulative, count, seeded(seed))


def _blocks(
    synopsis: NoisyHistogram, cumulative: NDArray[np.float64], count: int, rng: np.random.Generator
) -> Iterator[Block]:
    grid, attributes = synopsis.grid, synopsis.domain.attributes
    for start in range(0, count, BLOCK_ROWS):
        # Whole blocks are drawn and cut afterwards, so that the rows do not depend on how many are asked for.
        picked = np.searchsorted(cumulative, rng.random(BLOCK_ROWS) * cumulative[-1], side="right")
        rows = min(BLOCK_ROWS, count - start)
        places = grid.places(synopsis.cells.numbers_at(picked))[:rows]
        inside = rng.random((BLOCK_ROWS, grid.dimensions))[:rows]
        yield tuple(
            _column(attribute, axis, places[:, x], inside[:, x])
            for x, (attribute, axis) in enumerate(zip(attributes, grid.axes, strict=True))
        )


def _column(attribute: Attribute, axis: Axis, places: NDArray[np.int64], uniform: Floats) -> Column:
    missing = None
    if attribute.keeps_missing:
        missing = places == axis.cells - 1
        places = np.where(missing, 0, places)
    return Column(attribute.sample(axis, places, uniform) if isinstance(attribute, Ordered) else places, missing)
