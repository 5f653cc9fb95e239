"""Which boxes a count with snap=true was about: the ends of each range, moved to the nearest cell edges."""

from __future__ import annotations

import numpy as np

from core.adaptive.layers import NUMBER_CODES
from core.domain.attribute import Ordered
from core.domain.whole import WholeValues
from core.queries.boxes import Box, Range
from core.queries.edges import Edges
from core.queries.layer_sums import LayerSums
from core.queries.tables import RangeTable
from rugnik import wire


def snapped_boxes(table: RangeTable, boxes: tuple[Box, ...]) -> tuple[dict[str, wire.ValueEnds], ...]:
    """For each box the ends that its ranges were moved to, by attribute, as ranges of the attribute are written."""
    histogram = table.synopsis
    edges = Edges.of(boxes, histogram.domain, histogram.grid)
    if isinstance(table, LayerSums):
        return _at_leaves(table, boxes, table.nearest(edges))
    edges = edges.nearest(histogram.grid)
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


def _at_leaves(table: LayerSums, boxes: tuple[Box, ...], edges: Edges) -> tuple[dict[str, wire.ValueEnds], ...]:
    """The same for the ends of boxes at edges of leaves."""
    low, high = table.in_codes(edges)
    return tuple(
        {
            attribute.name: _ends(attribute, int(low[i, x]), int(high[i, x]))
            for x, attribute in enumerate(table.synopsis.domain.ordered)
            if any(isinstance(part, Range) and part.attribute == attribute.name for part in box)
        }
        for i, box in enumerate(boxes)
    )


def _ends(attribute: Ordered, low: int, high: int) -> wire.ValueEnds:
    """The ends of a range that holds the codes from `low` up to `high`."""
    if isinstance(attribute, WholeValues):
        bounds = attribute.within(attribute.first + low, attribute.first + high - 1).declaration()
        return wire.ValueEnds(low=bounds["lower"], high=bounds["upper"])
    lower, upper = (attribute.start + code / NUMBER_CODES * attribute.width for code in (low, high))
    return wire.ValueEnds(low=lower, high=upper)
