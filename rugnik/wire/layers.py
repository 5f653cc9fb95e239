"""The layers of an adaptive release: its cells as boxes, in columns."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

from rugnik.wire.base import Reply
from rugnik.wire.cells import Axis, Box
from rugnik.wire.common import Value
from rugnik.wire.limits import Doc

_Columns = tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerCells(Reply):
    """The cells of one layer. Every column has an entry for each of them.

    `lower` and `upper` have a column for each attribute. Of an ordered attribute, a cell reaches from edge `lower` to
    edge `upper` of those in `Layers.edges`; where its value is missing, from the last edge to one beyond. Of a category
    it is the label with the number `lower`, and `upper` is one more.
    """

    lower: _Columns
    upper: _Columns
    counts: Annotated[tuple[int, ...], Doc("Noisy counts as drawn.")]
    noise_sd: Annotated[tuple[float, ...], Doc("The standard deviation of the noise of each count.")]
    estimates: Annotated[
        tuple[float, ...] | None,
        Doc("Of leaves: the rows in each by the counts of all layers, the best single number."),
    ] = None
    sd: Annotated[tuple[float, ...] | None, Doc("The standard deviation of each estimate's noise.")] = None
    reach: Annotated[tuple[float, ...] | None, Doc("estimate -+ reach holds for one cell at the level asked for.")] = (
        None
    )
    shares: Annotated[
        tuple[float, ...] | None,
        Doc("Of a part of the rows: the share of each leaf in it. Counts are of whole leaves, estimates of the share."),
    ] = None
    summed: Annotated[
        tuple[int, ...] | None, Doc("Where neighbours were taken together: how many leaves each cell has.")
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Layers(Reply):
    """All noisy counts of an adaptive release. `base` and `coarse` decided how their cells were cut."""

    edges: Annotated[
        tuple[tuple[Value, ...], ...], Doc("For each attribute the edges of all cells, ascending; of a category none.")
    ]
    leaf: LayerCells
    base: Annotated[LayerCells | None, Doc("Left out of parts, and where neighbours were taken together.")] = None
    coarse: Annotated[LayerCells | None, Doc("Those that were counted: parts of base cells. Left out like them.")] = (
        None
    )

    def named(self) -> Iterator[tuple[str, LayerCells]]:
        """The layers that are there, in the order in which they were drawn."""
        for name, layer in (("base", self.base), ("coarse", self.coarse), ("leaf", self.leaf)):
            if layer is not None:
                yield name, layer

    def boxes(self, layer: LayerCells, axes: tuple[Axis, ...]) -> Iterator[Box]:
        """The box of each cell of a layer."""
        columns: list[Iterator[Box]] = [
            self._sides(x, axis, layer.lower[x], layer.upper[x]) for x, axis in enumerate(axes)
        ]
        for sides in zip(*columns, strict=True):
            yield tuple(end for side in sides for end in side)

    def _sides(self, x: int, axis: Axis, lower: tuple[int, ...], upper: tuple[int, ...]) -> Iterator[Box]:
        edges = self.edges[x]
        for low, high in zip(lower, upper, strict=True):
            if axis.kind == "category":
                yield (axis.labels[low],)
            else:
                yield (None, None) if high == len(edges) else (edges[low], edges[high])
