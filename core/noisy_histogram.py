"""NoisyHistogram: what questions are asked of. Noisy counts on a grid, the law of their noise, and what the size is.

A `core.synopsis.Synopsis` is the whole of a release. A part of it (`core.queries.slices`) is a histogram as well, so
every question can be asked of a part.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from core.cells import Cells
from core.domain.domain import Domain
from core.domain.grid import Grid
from core.mechanisms.law import NoiseLaw


@dataclass(frozen=True, slots=True)
class WholeSize:
    """The bought size of a whole release, and what a part of it leaves outside.

    `size` has noise of `law`. Outside there are so many `cells`, of which `listed` are listed, with noisy counts that
    add up to `rows`. Of a thresholded release nothing else bounds how many rows a part has.
    """

    size: int
    law: NoiseLaw
    rows: float = 0.0
    listed: int = 0
    cells: int = 0

    def less(self, *, rows: float, listed: int, cells: int) -> WholeSize:
        """The same for a part that leaves more outside."""
        return replace(self, rows=self.rows + rows, listed=self.listed + listed, cells=self.cells + cells)


class NoisyHistogram(ABC):
    """Noisy counts of `cells`, each with noise of the same law, over the attributes of `domain`.

    `clusters` is the number that the grid was planned for. `size` is a statement of the curator if `size_declared`, a
    noisy count if there is a `size_law`, and else the number that the grid was planned for, which says nothing more.
    """

    __slots__ = ()

    domain: Domain
    cells: Cells
    clusters: int
    size: int
    size_declared: bool

    @property
    @abstractmethod
    def law(self) -> NoiseLaw:
        """The law of the noise of each cell."""

    @property
    @abstractmethod
    def size_law(self) -> NoiseLaw | None:
        """The law of the noise of a bought size; None where none was bought for exactly these rows."""

    @property
    def whole_size(self) -> WholeSize | None:
        """The bought size of the whole release; None where its size was declared."""
        law = self.size_law
        return None if law is None else WholeSize(self.size, law)

    @property
    def grid(self) -> Grid:
        """The grid of the cells."""
        return self.cells.grid

    @property
    def counts(self) -> NDArray[np.int64]:
        """The noisy counts of the listed cells, as drawn: signed, the last attribute fastest, read-only."""
        return self.cells.counts

    @property
    def threshold(self) -> int | None:
        """The least noisy count that is listed; None where every cell is listed."""
        return self.cells.threshold
