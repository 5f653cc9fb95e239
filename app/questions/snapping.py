"""Which boxes a count with snap=true was about: the ends of each range, moved to the nearest cell edges."""

from __future__ import annotations

import numpy as np

from core.domain.attribute import Ordered
from core.noisy_histogram import NoisyHistogram
from core.queries.boxes import Box, Range
from core.queries.edges import Edges
from rugnik import wire


def snapped_boxes(histogram: NoisyHistogram, boxes: tuple[Box, ...]) -> tuple[dict[str, wire.ValueEnds], ...]:
    """For each box the ends that its ranges were moved to, by attribute, as ranges of the attribute are written."""
    edges = Edges.of(boxes, histogram.domain, histogram.grid).nearest(histogram.grid)
    low, high = (ends[:, 0].astype(np.int64).tolist() for ends in (edges.low, edges.high))
    attributes = list(enumerate(zip(histogram.domain.attributes, histogram.grid.axes, strict=True)))
    written: dict[tuple[int, int, int], wire.ValueEnds] = {}  # boxes of a workload share many ends
    moved = []
    for i, box in enumerate(boxes):
        ranged = {part.attribute for part in box if isinstance(part, Range)}
        ends_of_box = {}
        for x, (attribute, axis) in attributes:
            if attribute.name not in ranged or not isinstance(attribute, Ordered):
                continue
            cells = x, low[i][x], high[i][x]
            if cells not in written:
                part, _ = attribute.restricted(axis, np.arange(*cells[1:], dtype=np.int64))
                bounds = part.declaration()
                written[cells] = wire.ValueEnds(low=bounds["lower"], high=bounds["upper"])
            ends_of_box[attribute.name] = written[cells]
        moved.append(ends_of_box)
    return tuple(moved)
