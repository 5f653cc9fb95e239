"""`synopsis`: the noisy histogram itself."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from rugnik.wire.base import Reply
from rugnik.wire.cells import Axis, Box, Reach, box_of, boxes_of, cell_frame
from rugnik.wire.common import Answer, Grid
from rugnik.wire.datasets import Unit
from rugnik.wire.layers import LayerCells, Layers
from rugnik.wire.limits import Doc


@dataclass(frozen=True, slots=True, kw_only=True)
class Offsets(Reply):
    """Noisy sums of how far the rows of a cell lie from its middle: a list for each cell, a sum for each attribute.

    An offset runs from -`steps` at the lower edge of a cell to `steps` at its upper edge. So a cell's mean lies
    sum / (steps count) halves of a cell from its middle, but for noise of standard deviation `noise_sd` in each sum.
    """

    attributes: tuple[str, ...]
    epsilon: str
    mechanism: str
    steps: int
    noise_sd: float
    sums: tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Synopsis(Answer):
    """The noisy histogram as drawn, the last attribute fastest, or a part of it. `reach` is as for a marginal.

    `epsilon` is what the whole release cost, `epsilon_histogram` what the counts cost. The size of a part is the sum of
    its cells, at least 1.

    With a `threshold`, only cells whose noisy count reaches it, by number in `cells`; else every cell.

    Of an adaptive release `grid` and `attributes` are those of the base, `counts` those of the leaves, and `layers` has
    the boxes of all cells. Their noise differs, so that `noise_sd` and `reach` are null: both are in `layers`.
    """

    path: ClassVar[str] = "synopsis"

    dataset: str
    grid: Grid
    attributes: tuple[Axis, ...]
    epsilon: str
    epsilon_histogram: str
    mechanism: str
    size: int
    size_declared: bool
    clusters: int
    rule: str
    out_of_range: str
    unit: Annotated[Unit | None, Doc("Whose presence the noise protects; left out where it is one record.")] = None
    threshold: int | None
    cells: tuple[int, ...] | None
    counts: tuple[int, ...]
    noise_sd: float | None
    reach: Reach | None
    offsets: Annotated[
        Offsets | None, Doc("Where the rows of listed cells lie within them; left out where none were bought.")
    ] = None
    layers: Annotated[Layers | None, Doc("Of an adaptive release: all of its cells; else left out.")] = None

    def boxes(self) -> Iterator[Box]:
        """The box of each cell that `counts` has a count for."""
        if self.layers is not None:
            return self.layers.boxes(self.layers.leaf, self.attributes)
        if self.cells is None:
            return boxes_of(self.attributes)
        return (box_of(self.attributes, number) for number in self.cells)

    def to_pandas(self) -> Any:
        """One row per cell that has a count, with its sums of offsets where there are any.

        Of an adaptive release the cells of all layers, named in a column `layer`.
        """
        if self.layers is not None:
            return self._layers_frame(self.layers)
        columns: dict[str, Any] = {"count": self.counts}
        if self.offsets is not None:
            for x, name in enumerate(self.offsets.attributes):
                columns[f"{name}_offsets"] = [sums[x] for sums in self.offsets.sums]
        return cell_frame(self.attributes, self.boxes(), **columns)

    def _layers_frame(self, layers: Layers) -> Any:
        """A row for each cell of each layer; estimates are there for leaves only."""
        boxes: list[Box] = []
        columns: dict[str, list[Any]] = {}
        for name, layer in layers.named():
            boxes += layers.boxes(layer, self.attributes)
            for column, values in _layer_columns(name, layer).items():
                columns.setdefault(column, []).extend(values)
        return cell_frame(self.attributes, boxes, **columns)


def _layer_columns(name: str, layer: LayerCells) -> dict[str, Iterable[Any]]:
    cells = len(layer.counts)
    gaps = [None] * cells
    shares = {} if layer.shares is None else {"share": layer.shares}
    return {
        "layer": [name] * cells,
        "count": layer.counts,
        "noise_sd": layer.noise_sd,
        "estimate": layer.estimates or gaps,
        "sd": layer.sd or gaps,
        **shares,
    }
