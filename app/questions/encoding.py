"""Answers as JSON, and the parts that several of them are made of."""

from __future__ import annotations

from typing import Any

import orjson

from core.domain.attribute import Attribute
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


def grid_reply(grid: Grid) -> wire.Grid:
    """From a grid of core."""
    return wire.Grid(cells_per_axis=grid.cells_per_axis, dimensions=grid.dimensions, cells=grid.cell_count)


def axis_reply(attribute: Attribute, edges: Any) -> wire.Axis:
    """From an attribute and the array of its cell edges."""
    return wire.Axis(name=attribute.name, edges=listed(edges))
