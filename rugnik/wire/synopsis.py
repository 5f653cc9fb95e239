"""`synopsis`: the noisy histogram itself."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from rugnik.wire.cells import Axis, Box, Reach, box_of, boxes_of, cell_frame
from rugnik.wire.common import Answer, Grid
from rugnik.wire.datasets import Unit
from rugnik.wire.limits import Doc


@dataclass(frozen=True, slots=True, kw_only=True)
class Synopsis(Answer):
    """The noisy histogram as drawn, the last attribute fastest, or a part of it. `reach` is as for a marginal.

    `epsilon` is what the whole release cost. The size of a part is the sum of its cells, at least 1.

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

    def boxes(self) -> Iterator[Box]:
        """The box of each cell that `counts` has a count for."""
        if self.cells is None:
            return boxes_of(self.attributes)
        return (box_of(self.attributes, number) for number in self.cells)

    def to_pandas(self) -> Any:
        """One row per cell that has a count."""
        return cell_frame(self.attributes, self.boxes(), count=self.counts)
