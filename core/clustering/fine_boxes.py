"""FineBoxes: every box divided into equal parts, for densities within boxes. What `FineGrid` is for a grid."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from core.arrays import Floats
from core.clustering.boxes import Boxes

_MOST_PARTS = 2**16  # of all boxes; where there are more, boxes are not divided


@dataclass(frozen=True, slots=True, eq=False)
class FineBoxes:
    """The `parts` of the boxes `cells`, those of a box one after the other, `each` of them in a box.

    `single` (cells, d) marks the sides along which a box holds a single value: its rows lie at its centre.
    """

    cells: Boxes
    parts: Boxes
    each: int
    single: NDArray[np.bool_]

    @classmethod
    def of(cls, cells: Boxes, single: NDArray[np.bool_]) -> FineBoxes:
        """Two parts along each axis, or one where there are very many boxes."""
        each = 2**cells.dimensions
        if cells.cell_count * each > _MOST_PARTS:
            return cls(cells, cells, 1, single)
        return cls(cells, cells.divided(2), each, single)

    @property
    def cell_count(self) -> int:
        """The number of parts of all boxes."""
        return self.parts.cell_count

    def expected(self, mu: Floats, s: Floats, a: Floats) -> Floats:
        """The rows that a component expects in every part: (…, d), (…, d), (…) -> (…, parts)."""
        return self.parts.expected(mu, s, a)

    def to_fill(self) -> Floats:
        """How many parts of the volume of each fill the domain."""
        return self.parts.to_fill

    def centres(self) -> Floats:
        """(parts, d): where the rows of each part lie."""
        return np.stack(
            [(self.cells.centres[:, x, None] + self.offsets(x)).ravel() for x in range(self.cells.dimensions)],
            axis=1,
        )

    def offsets(self, x: int) -> Floats:
        """(cells, parts of a cell): how far along axis x each part's rows lie from the centre of their box."""
        own = self.parts.centres[:, x].reshape(-1, self.each) - self.cells.centres[:, x, None]
        return np.where(self.single[:, x, None], 0.0, own)

    def by_cell(self, values: Floats) -> Floats:
        """(samples, parts) -> (samples, cells, parts of a cell)."""
        return values.reshape(len(values), -1, self.each)

    def by_axis(self, values: Floats) -> Floats:
        """The inverse of `by_cell`."""
        return values.reshape(len(values), -1)
