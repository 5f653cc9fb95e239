"""Answers as JSON, and the parts that several of them are made of."""

from __future__ import annotations

from typing import Any

import numpy as np
import orjson

from core.adaptive.cells import AdaptiveCells
from core.cells import Cells
from core.domain.attribute import Attribute, Ordered
from core.domain.axis import Axis
from core.domain.category import Category
from core.domain.grid import Grid
from core.intervals.levels import Interval
from core.queries.estimates import Estimate
from rugnik import wire
from rugnik.wire.base import json_fields


def encode(reply: wire.Reply) -> bytes:
    """The JSON of a wire object: fields in their order, those that have their default left out, arrays as lists."""
    option = orjson.OPT_PASSTHROUGH_DATACLASS | orjson.OPT_SERIALIZE_NUMPY
    return orjson.dumps(reply, default=json_fields, option=option)


def listed(array: Any) -> Any:
    """An array where a wire type has a tuple or a list: orjson writes it as it is, without a Python object per number.

    It returns its argument. Its type is Any because NumPy's arrays are no sequences to a type checker.
    """
    return array


def interval_reply(interval: Interval) -> wire.Interval:
    """From an interval of core."""
    return wire.Interval(level=interval.level, low=interval.low, high=interval.high)


def ends_reply(ends: tuple[float, float]) -> wire.Ends:
    """From a pair."""
    return wire.Ends(low=ends[0], high=ends[1])


def estimate_reply(estimate: Estimate) -> wire.Estimate:
    """From an estimate of core."""
    return wire.Estimate(value=estimate.value, interval=interval_reply(estimate.interval))


def grid_reply(grid: Grid, *, layered: bool = False, leaves: int | None = None) -> wire.Grid:
    """From a grid of core; of a layered release from that of its base, with the number of leaves once it is drawn."""
    return wire.Grid(
        cells_per_axis=None if layered else grid.cells_per_axis,
        dimensions=grid.dimensions,
        cells=grid.cell_count,
        shape=grid.shape,
        layered=layered,
        leaves=leaves,
    )


def cells_reply(cells: Cells) -> wire.Grid:
    """From the cells of a synopsis, or of a part of it."""
    layered = isinstance(cells, AdaptiveCells)
    return grid_reply(cells.grid, layered=layered, leaves=len(cells.counts) if layered else None)


def axis_reply(attribute: Attribute, axis: Axis, summed: int = 1) -> wire.Axis:
    """From an attribute and its axis; so many neighbouring cells of values are one, the last one maybe fewer."""
    if isinstance(attribute, Category):
        return wire.Axis(name=attribute.name, kind=attribute.kind, edges=(), labels=attribute.labels)
    assert isinstance(attribute, Ordered)  # noqa: S101 - for the type checker
    edges = attribute.edge_values(axis)
    kept = edges if summed == 1 else np.append(edges[:-1:summed], edges[-1])
    written = listed(attribute.written(kept))
    return wire.Axis(name=attribute.name, kind=attribute.kind, edges=written, missing=axis.keeps_missing)


def shown_ends(attribute: Ordered, interval: Interval) -> tuple[float | str, float | str]:
    """The ends of an interval in an attribute's own unit, as JSON has them; where that rounds, outwards."""
    return attribute.shown(interval.low, up=False), attribute.shown(interval.high, up=True)


def value_interval_reply(attribute: Ordered, interval: Interval) -> wire.ValueInterval:
    """From an interval in an attribute's own unit; where that rounds, outwards."""
    low, high = shown_ends(attribute, interval)
    return wire.ValueInterval(level=interval.level, low=low, high=high)


def value_estimate_reply(attribute: Ordered, estimate: Estimate) -> wire.ValueEstimate:
    """From an estimate in an attribute's own unit."""
    value = None if estimate.value is None else attribute.shown(estimate.value)
    return wire.ValueEstimate(value=value, interval=value_interval_reply(attribute, estimate.interval))
