"""Synthetic rows: drawn from the non-negative counts, spread evenly within a cell, the same again for the same seed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.adaptive.cells import AdaptiveCells
from core.adaptive.leaves import Leaves
from core.arrays import Floats
from core.domain.attribute import Attribute, Ordered
from core.domain.axis import Axis
from core.domain.whole import WholeValues
from core.errors import InvalidQuery
from core.noisy_histogram import NoisyHistogram
from core.queries.adaptive_slices import steps_along
from core.queries.denoise import nonnegative
from core.randomness import seeded

BLOCK_ROWS = 2**16


def cumulative_weights(synopsis: NoisyHistogram) -> NDArray[np.float64]:
    """The running sum of the weights that cells are drawn by: non-negative counts, or equal ones where all are zero."""
    weights = nonnegative(_estimates(synopsis))
    if not len(weights):
        raise InvalidQuery("No cell of this release reached its threshold: there is nothing to draw rows from.")
    return np.cumsum(weights if weights.any() else np.ones(len(weights)))


def _estimates(synopsis: NoisyHistogram) -> NDArray[np.int64] | Floats:
    """What is known of the rows in each listed cell: of an adaptive release, what all layers together say."""
    return synopsis.cells.estimates if isinstance(synopsis.cells, AdaptiveCells) else synopsis.counts


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
        inside = rng.random((BLOCK_ROWS, grid.dimensions))[:rows]
        if isinstance(synopsis.cells, AdaptiveCells):
            yield _in_leaves(synopsis, synopsis.cells.leaves, picked[:rows], inside)
            continue
        places = grid.places(synopsis.cells.numbers_at(picked))[:rows]
        yield tuple(
            _column(attribute, axis, places[:, x], inside[:, x])
            for x, (attribute, axis) in enumerate(zip(attributes, grid.axes, strict=True))
        )


def _in_leaves(synopsis: NoisyHistogram, leaves: Leaves, picked: NDArray[np.int64], inside: Floats) -> Block:
    """A row in each of these leaves."""
    columns = []
    ordered = iter(range(leaves.low.shape[1]))
    for x, (attribute, axis) in enumerate(zip(synopsis.domain.attributes, synopsis.grid.axes, strict=True)):
        places = leaves.places[picked, x]
        missing = places == axis.cells - 1 if attribute.keeps_missing else None
        if isinstance(attribute, Ordered):
            i = next(ordered)
            low, high = leaves.low[picked, i], leaves.high[picked, i]
            if missing is not None:
                low[missing], high[missing] = -1.0, 1.0
            columns.append(Column(values_between(attribute, low, high, inside[:, x]), missing))
        else:
            columns.append(Column(places if missing is None else np.where(missing, 0, places), missing))
    return tuple(columns)


def values_between(attribute: Ordered, low: Floats, high: Floats, uniform: Floats) -> NDArray[Any]:
    """A value between each pair of ends in unit coordinates; of whole kinds, each value is equally likely."""
    first, last = steps_along(attribute, low), steps_along(attribute, high)
    if not isinstance(attribute, WholeValues):
        values = attribute.start + (first + (last - first) * uniform) * attribute.width
        return np.minimum(values, attribute.stop)
    numbers = np.minimum(first + np.floor((last - first) * uniform), last - 1.0).astype(np.int64)
    return attribute.typed(attribute.first + numbers)


def _column(attribute: Attribute, axis: Axis, places: NDArray[np.int64], uniform: Floats) -> Column:
    missing = None
    if attribute.keeps_missing:
        missing = places == axis.cells - 1
        places = np.where(missing, 0, places)
    return Column(attribute.sample(axis, places, uniform) if isinstance(attribute, Ordered) else places, missing)
