"""AxisSteps: the base cells that boxes touch along an axis of an adaptive release, and what they take of each.

Places are whole numbers of steps (`core.adaptive.parts`), counted along an axis over all base cells.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from core.adaptive.border import cross
from core.arrays import Floats, Wholes
from core.queries.edges import Edges


@dataclass(frozen=True, slots=True, eq=False)
class CellLists:
    """For each box a list of cells of an axis: from entry `first`, `count` of them; with low, high and end in steps."""

    first: Wholes
    count: Wholes
    places: Wholes
    low: Wholes
    high: Wholes
    end: Wholes


class AxisSteps:
    """The base cells of an ordered axis in steps, counted over all of them; missing values have one step at the end."""

    def __init__(self, widths: Wholes, value_cells: int) -> None:
        self.widths = widths
        self.starts = np.append(0, np.cumsum(widths))
        self._end = self.starts[value_cells]  # of values

    def steps(self, ends: Floats) -> Wholes:
        """Ends in cell units of the base -> steps."""
        places = np.minimum(np.floor(ends).astype(np.int64), len(self.widths) - 1)
        steps: Wholes = self.starts[places] + np.rint((ends - places) * self.widths[places]).astype(np.int64)
        return steps

    def units(self, steps: Wholes) -> Floats:
        """Steps -> cell units of the base."""
        places = np.clip(np.searchsorted(self.starts, steps, side="right") - 1, 0, len(self.widths) - 1)
        units: Floats = places + (steps - self.starts[places]) / self.widths[places]
        return units

    def cells(self, edges: Edges, x: int, *, takes_the_end: bool) -> CellLists:
        """The cells that each box touches. Of numbers, a box touches the cell that begins at its upper end too."""
        low, high = self.steps(edges.low[:, 0, x]), self.steps(edges.high[:, 0, x])
        high = np.maximum(high, np.minimum(low + 1, self.starts[-1]))
        low = np.minimum(low, high - 1)
        end = np.where(high < self._end, high + takes_the_end, high)
        first, last = (np.searchsorted(self.starts, each, side="right") - 1 for each in (low, end - 1))
        count = last - first + 1
        boxes, offsets = cross(np.arange(len(low)), np.zeros(len(low), dtype=np.int64), count)
        places = first[boxes] + offsets
        start, width = self.starts[places], self.widths[places]
        low, high, end = (np.clip(each[boxes] - start, 0, width) for each in (low, high, end))
        return CellLists(np.append(0, np.cumsum(count))[:-1], count, places, low, high, end)


def chosen_cells(edges: Edges, x: int) -> CellLists:
    """The categories that each box has: all of them are whole."""
    low, high = edges.low[:, :, x].astype(np.int64), edges.high[:, :, x].astype(np.int64)
    runs = high - low
    run, offsets = cross(np.arange(runs.size), np.zeros(runs.size, dtype=np.int64), runs.ravel())
    places, count = low.ravel()[run] + offsets, runs.sum(axis=1)
    none = np.zeros(len(places), dtype=np.int64)
    return CellLists(np.append(0, np.cumsum(count))[:-1], count, places, none, none, none)
