"""`synopsis`: the noisy histogram itself."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from rugnik.wire.base import Reply
from rugnik.wire.cells import Axis, Box, Reach, box_of, boxes_of, cell_frame
from rugnik.wire.common import Answer, Grid
from rugnik.wire.datasets import Unit
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
    noise_sd: float
    reach: Reach
    offsets: Annotated[
        Offsets | None, Doc("Where the rows of listed cells lie within them; left out where none were bought.")
    ] = None

    def boxes(self) -> Iterator[Box]:
        """The box of each cell that `counts` has a count for."""
        if self.cells is None:
            return boxes_of(self.attributes)
        return (box_of(self.attributes, number) for number in self.cells)

    def to_pandas(self) -> Any:
        """One row per cell that has a count, with its sums of offsets where there are any."""
        columns: dict[str, Any] = {"count": self.counts}
        if self.offsets is not None:
            for x, name in enumerate(self.offsets.attributes):
                columns[f"{name}_offsets"] = [sums[x] for sums in self.offsets.sums]
        return cell_frame(self.attributes, self.boxes(), **columns)
