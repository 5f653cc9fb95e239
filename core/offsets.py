"""Offsets: for each listed cell the noisy sums, one for each ordered axis, of how far its rows lie from its middle.

With many attributes a grid has two to six cells on an axis, far wider than clusters are. Where in its cell a cluster
lies, counts do not tell. The sum of offsets over the rows of a cell, divided by its count, is the mean of its rows.

An offset is a whole number from -S (the lower edge) to S (the upper edge), S = OFFSET_STEPS
(`core.domain.axis.Axis.offset_of`). The proof of privacy is step 5 of `core.release`; the law of the noise and its
privacy loss are in `core.mechanisms.vector_laplace`.

Whether a release has offsets is public: its order says it. It is the curator's choice from four attributes on
(`core.plan.Order`). An order that does not mention them has them from OFFSET_DIMENSIONS ordered attributes on
(`takes_offsets`), and a plan recommends them for clusters from CHOICE_DIMENSIONS on (`core.alternatives`). With fewer
than seven, people ask a grid that keeps every cell for counts of ranges, which a threshold would bias.

Measured with a prototype (floating-point noise of the same law) on data that no figure is reported on (three seeds each
of the paper's generator, heavy tails, boxes, clusters of different widths; N = 100,000, K = 8): WCSS over no privacy at
epsilon 0.1 is 1.02 to 1.03 with offsets and 1.18 to 1.42 without at d = 7, and 1.01 and 1.02 to 1.08 at d = 6. On
crowded and skewed rows of four to six attributes it falls by far more (`python -m bench.offsets`).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from core.arrays import Floats
from core.domain.attribute import Attribute
from core.domain.axis import OFFSET_STEPS
from core.errors import InvalidSynopsis
from core.mechanisms.vector_laplace import VectorLaplace

OFFSET_DIMENSIONS = 7  # ordered attributes from which an order that does not mention offsets has them
CHOICE_DIMENSIONS = 4  # and from which a plan shows both, and recommends them for clusters
OFFSET_SHARE = Fraction(1, 2)  # of what the cells are bought with: half for the counts, half for the sums

Wholes = NDArray[np.int64]


def takes_offsets(attributes: Iterable[Attribute]) -> bool:
    """Whether a new order that does not say so buys offsets: with seven or more attributes that are no categories."""
    return sum(attribute.is_ordered for attribute in attributes) >= OFFSET_DIMENSIONS


@dataclass(frozen=True, slots=True, eq=False)
class Offsets:
    """Noisy sums of offsets as drawn, read-only: a row for each listed cell, a column for each ordered axis."""

    sums: Wholes
    law: VectorLaplace

    def __post_init__(self) -> None:
        if self.sums.ndim != 2 or self.sums.dtype != np.int64:
            raise InvalidSynopsis("The sums of a synopsis are 64-bit integers, a row for each of its cells.")
        sums = np.frombuffer(self.sums.tobytes(), dtype=np.int64).reshape(self.sums.shape)
        object.__setattr__(self, "sums", sums)

    def select(self, cells: Wholes | NDArray[np.bool_], axes: list[int]) -> Offsets:
        """Those of some cells and axes. The noise of a coordinate keeps its law."""
        return Offsets(np.ascontiguousarray(self.sums[cells][:, axes]), self.law)

    def redrawn(self, rng: np.random.Generator) -> Offsets:
        """The sums with fresh noise of nearly the same law, from a public generator. It protects nobody."""
        fresh = self.law.simulate(len(self.sums), rng)[:, : self.sums.shape[1]]
        return Offsets(self.sums + fresh.astype(np.int64), self.law)

    def shrunk_means(self, counts: Floats, axes: slice = slice(None)) -> Floats:
        """The mean offset of each cell in halves of it, from -1 to 1, shrunk towards the middle where noise prevails.

        A row for each cell, a column for each of the chosen axes. The mean s / y has noise of variance
        v = Var(Z) / (S y)^2. Rows that lie anywhere in the cell have a prior of
        variance 1/3. The linear posterior mean is (s / y) (1/3) / (1/3 + v).
        """
        rows = np.maximum(counts, 1.0)[:, None]
        noise = self.law.variance / np.square(OFFSET_STEPS * rows)
        shrunk = self.sums[:, axes] / (OFFSET_STEPS * rows) / (1.0 + 3.0 * noise)
        means: Floats = np.clip(shrunk, -1.0, 1.0)
        return means

    def to_bytes(self) -> bytes:
        """As format 3 stores them: cell by cell, little-endian 64-bit integers."""
        return self.sums.astype("<i8").tobytes()
