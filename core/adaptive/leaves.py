"""Leaves: the finest cells of an adaptive release, or parts of them, as arrays."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from core.adaptive.layers import Layers
from core.arrays import Floats, Wholes


@dataclass(frozen=True, slots=True, eq=False)
class Leaves:
    """Some leaves, each cut down to the part of it that counts.

    `low` and `high` (leaves, d) are the ends of those parts along each ordered attribute in unit coordinates: -1 to 1
    from one bound of the histogram's own attribute to the other; NaN where the value is missing. `places` (leaves,
    attributes) has the cell of the base on every axis: for categories, the category. `shares` is what part of each leaf
    counts, `numbers` its number among all leaves of the release.
    """

    numbers: Wholes
    low: Floats
    high: Floats
    places: Wholes
    shares: Floats


def all_leaves(layers: Layers) -> Leaves:
    """Every leaf, whole."""
    low, high = unit_boxes(layers, 2)
    number = len(layers.leaves)
    places = layers.base_places[layers.leaf_base]
    return Leaves(numbers=np.arange(number), low=low, high=high, places=places, shares=np.ones(number))


def unit_boxes(layers: Layers, layer: int) -> tuple[Floats, Floats]:
    """(cells, d) twice: where the cells of layer 0, 1 or 2 begin and end in unit coordinates; NaN if missing."""
    codes = np.array([axis.codes for axis in layers.axes], dtype=np.float64)
    low, high = (2.0 * ends / codes - 1.0 for ends in layers.boxes(layer))
    missing = low >= high
    low[missing], high[missing] = np.nan, np.nan
    return low, high
