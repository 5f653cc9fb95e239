"""Synopses of four attributes that depend on one another, for what is made of sums of products."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from core.cells import DenseCells
from core.domain.domain import Domain
from core.domain.number import Number
from core.histogram import count
from core.records import OutOfRange
from core.synopsis import Synopsis
from tests.core.queries.worlds import rows, synopsis_of
from tests.core.rows import take_rows

FOUR = Domain((Number("a", 0, 10), Number("b", -5, 5), Number("c", 0, 100), Number("y", 0, 50)))


def four_columns(size: int) -> NDArray[np.float64]:
    """y = 20 + 2 (a - 5) - 1.5 b + 0.1 (c - 50) and noise."""
    rng = np.random.default_rng(1)
    a, c = rng.normal(5, 1.5, size), rng.normal(50, 15, size)
    b = 0.6 * (a - 5) + rng.normal(0, 1, size)
    y = 20 + 2 * (a - 5) - 1.5 * b + 0.1 * (c - 50) + rng.normal(0, 3, size)
    return np.clip(np.stack([a, b, c, y], axis=1), [0, -5, 0, 0], [10, 5, 100, 50])


def four_of(values: NDArray[np.float64], cells: int) -> Synopsis:
    """A synopsis of them without noise."""
    grid = FOUR.grid(cells)
    counts = count(take_rows(values, FOUR, OutOfRange.CLIP).records, grid)
    return replace(synopsis_of(rows(10), 2), domain=FOUR, cells=DenseCells(grid, counts.cells), size=len(values))


def middles(synopsis: Synopsis) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The middle of every cell in own units, and its count."""
    return synopsis.domain.from_unit(synopsis.grid.centres()), synopsis.counts.astype(np.float64)
