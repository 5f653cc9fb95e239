"""AdaptiveCells: the leaves of an adaptive release, or the part of them that lies in a box.

Their counts as drawn are those of the last layer. Questions go by the fused estimates of all layers, `estimates`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from core.adaptive.cuts import Version
from core.adaptive.fusion import BoughtSize, Fusion
from core.adaptive.layers import Layers, Skipped
from core.adaptive.leaves import Leaves, all_leaves
from core.adaptive.shares import LayerLaws
from core.arrays import Floats, Wholes
from core.cells import Cells
from core.domain.grid import Grid
from core.errors import InvalidSynopsis


@dataclass(frozen=True, eq=False)
class AdaptiveCells(Cells):
    """The cells of an adaptive release. `grid` is that of the base; `box` is the part of it that is asked about.

    `leaves` are those that have a part in the box. Without a box they are all leaves. The grid of a part has the axes
    of the base; those of attributes that the box restricts have one cell for a range, or one for each chosen category.
    """

    complete = True

    fusion: Fusion
    box: tuple[Any, ...] = ()
    part: Leaves | None = None
    part_grid: Grid | None = None

    @classmethod
    def of(cls, layers: Layers, bought: BoughtSize | None = None) -> AdaptiveCells:
        """All leaves of a release."""
        return cls(Fusion(layers, bought))

    @property
    def layers(self) -> Layers:
        """The cells of all layers, and their noisy counts."""
        return self.fusion.layers

    @property
    def grid(self) -> Grid:  # type: ignore[override]  # a field of the others
        """The grid of the base, or of a part of it."""
        return self.part_grid or self.layers.base

    @property
    def counts(self) -> Wholes:  # type: ignore[override]  # a field of the others
        """The noisy counts of the leaves, as drawn."""
        return self.layers.leaf_counts if self.part is None else self.layers.leaf_counts[self.part.numbers]

    @property
    def threshold(self) -> None:
        """Every leaf is listed."""
        return None

    @property
    def listed(self) -> None:
        """Every leaf is listed."""
        return None

    @property
    def visited_by_a_box(self) -> int:
        """About the coarse cells on the border of a box."""
        return int(2 * len(self.layers.axes) * len(self.layers.coarse) ** (1 - 1 / max(1, len(self.layers.axes))))

    @property
    def memory_bytes(self) -> int:
        """Counts, estimates, boxes, places and sums: some thirty numbers for each leaf."""
        return 8 * 30 * (len(self.layers.leaves) if self.part is None else len(self.part.numbers))

    @cached_property
    def leaves(self) -> Leaves:
        """The leaves that count, each with its part."""
        return self.part or all_leaves(self.layers)

    @cached_property
    def estimates(self) -> Floats:
        """The fused estimate of the rows in each of `leaves`."""
        leaves = self.leaves
        estimates: Floats = self.fusion.leaves[leaves.numbers] * leaves.shares
        return estimates

    @cached_property
    def variances(self) -> Floats:
        """The variance of each of `estimates` by itself."""
        leaves = self.leaves
        variances: Floats = self.fusion.leaf_variances[leaves.numbers] * leaves.shares**2
        return variances

    def covariance(self, weights: Floats, others: Floats) -> float:
        """The covariance of two sums over `leaves` of weights times estimates."""
        leaves, whole = self.leaves, np.zeros((2, len(self.layers.leaves)))
        whole[0, leaves.numbers], whole[1, leaves.numbers] = weights * leaves.shares, others * leaves.shares
        return self.fusion.covariance(*whole)

    def variance(self, weights: Floats) -> float:
        """The variance of the sum over `leaves` of weights times estimates."""
        return self.covariance(weights, weights)

    def centres(self) -> Floats:
        """(leaves, d): the middle of each part along the ordered attributes, in unit coordinates."""
        return (self.leaves.low + self.leaves.high) / 2.0

    def numbers_at(self, positions: Wholes) -> Wholes:
        """The same."""
        return positions

    def marginal(self, axes: tuple[int, ...]) -> Wholes:
        """Leaves do not add up to the cells of a grid."""
        del axes
        raise TypeError("The cells of an adaptive release lie on no grid.")

    def restricted(self, grid: Grid, places: Sequence[Wholes | None]) -> Cells:
        """Parts of an adaptive release are made of leaves (`core.queries.adaptive_slices`)."""
        del grid, places
        raise TypeError("The cells of an adaptive release lie on no grid.")

    def header(self) -> dict[str, Any]:
        """The version of the arithmetic of cuts and counts, and the halvings that were skipped."""
        skipped, version = self.layers.skipped, self.layers.version.value
        return {"layers": {"skipped": [skipped.coarse, skipped.leaves], "version": version}}

    def to_bytes(self) -> bytes:
        """The counts of the base, of the coarse cells that were counted, and of the leaves."""
        return np.concatenate(list(self.layers.integers())).astype("<i8").tobytes()

    @classmethod
    def from_bytes(
        cls, base: Grid, laws: LayerLaws, data: bytes, header: dict[str, Any], bought: BoughtSize | None
    ) -> AdaptiveCells:
        """The cells that `to_bytes` and `header` wrote. Raises ValueError, TypeError or InvalidSynopsis for others."""
        if header["version"] not in list(Version):
            raise InvalidSynopsis("This synopsis was cut by another version of the adaptive rule.")
        version = Version(header["version"])
        coarse, leaves = header["skipped"]
        if not all(type(number) is int and number >= 0 for number in (coarse, leaves)):
            raise InvalidSynopsis("The skipped halvings of a synopsis are whole numbers.")
        integers = np.frombuffer(data, dtype="<i8").astype(np.int64)
        integers.flags.writeable = False
        return cls.of(Layers.from_integers(base, laws, integers, Skipped(coarse, leaves), version), bought)
