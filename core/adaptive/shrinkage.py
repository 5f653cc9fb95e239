"""Shrinkage: the parts of a cell that holds little more than noise are taken to hold rows in proportion to their size.

Fused estimates (`core.adaptive.fusion`) are unbiased. Where a cell holds few rows, how they are shared out between its
parts is mostly noise, and a count over few parts is far off. Let a cell have the estimate P, and parts with estimates
c_i that add up to P, errors of variance u_i, and shares s_i of its volume. With V the sum of u_i, the parts become

    s_i P + k (c_i - s_i P),    k = r^2 / (1 + r^2),    r = max(P, 0)^2 / V.

They still add up to P. The rows of a part are at least 0 and at most those of the cell, so the squares of its true
deviations from s_i P add up to about P^2 at most, and those of the noise in them to about V on average. For a mean with
bounded squares the best linear factor is r / (1 + r) (Donoho, Liu and MacGibbon 1990). r^2 in place of r takes less
from cells that stand out from the noise, because what is taken there adds up over a long border of a range, and more
from those that do not.

From the top: neighbouring base cells are taken together, two along each ordered axis, again and again, up to one block
for each combination of categories and of missing values. Blocks have their fused estimates. Then come the cells of a
block, of those, and so on to base cells, coarse cells and leaves. P is that of the step before, and where it differs
from the fused estimate, the parts share the difference in proportion to their variances, as in fusion.

Counts are what this is for. They gain most where most of the space is empty. Intervals do not use it: they are those of
the fused estimates, widened where a count lies outside (docs/methods/adaptive.md has the figures).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from core.adaptive.layers import Layers
from core.arrays import Floats, Wholes


class OfLayers(NamedTuple):
    """A number for each base cell, each coarse cell and each leaf."""

    base: Floats
    coarse: Floats
    leaves: Floats


def shrunk(layers: Layers, fused: OfLayers, variances: OfLayers) -> OfLayers:
    """The shrunk estimates. A cell's variance is that of its estimate from its own count and from what is below it."""
    base = _base(layers, fused.base, variances.base)
    coarse = _shared_out(
        base, fused.base, _Parts(layers.coarse_base, fused.coarse, variances.coarse, _volumes(layers.coarse_spans[1]))
    )
    leaves = _shared_out(
        coarse,
        fused.coarse,
        _Parts(layers.leaf_coarse, fused.leaves, variances.leaves, _volumes(layers.leaf_spans[1])),
    )
    return OfLayers(base, coarse, leaves)


class _Parts(NamedTuple):
    """For each part the number of its cell, its fused estimate, the variance of that, and its volume."""

    cells: Wholes
    fused: Floats
    variances: Floats
    volumes: Floats

    def together(self) -> tuple[Floats, Floats, Floats]:
        """The sums over the parts of each cell of estimates, variances and volumes."""
        estimates, variances, volumes = (np.bincount(self.cells, each).astype(np.float64) for each in self[1:])
        return estimates, variances, volumes


def _shared_out(estimates: Floats, fused: Floats, parts: _Parts) -> Floats:
    """The estimates of the parts, from the shrunk and the fused estimates of their cells."""
    cells = parts.cells
    _, variance, volume = parts.together()
    even = (estimates / volume)[cells] * parts.volumes
    adjusted = parts.fused + ((estimates - fused) / variance)[cells] * parts.variances
    square = (np.maximum(estimates, 0.0) ** 2 / variance) ** 2
    shared: Floats = even + (square / (1.0 + square))[cells] * (adjusted - even)
    return shared


def _base(layers: Layers, fused: Floats, variances: Floats) -> Floats:
    """The estimates of the base cells: those of their blocks, shared out step by step."""
    below = _Parts(np.arange(len(fused)), fused, variances, _volumes(layers.coarse.widths))
    steps = []
    for cells in _pairs(layers):
        parts = below._replace(cells=cells)
        together = parts.together()
        steps.append((together[0], parts))
        below = _Parts(np.arange(len(together[0])), *together)
    estimates = below.fused
    for together_fused, parts in reversed(steps):
        estimates = _shared_out(estimates, together_fused, parts)
    return estimates


def _pairs(layers: Layers) -> Iterator[Wholes]:
    """From base cells up: the number of the cell two along each ordered axis that each cell is a part of."""
    places = layers.base_places.copy()
    along = list(layers.base.ordered_axes)
    ends = np.array([layers.base.axes[x].value_cells for x in along])
    missing = places[:, along] == ends  # the cell of missing values has no neighbour
    values = np.where(missing, -1, places[:, along])
    while values.max() > 0:
        values = values >> 1  # -1 stays
        places[:, along] = values
        places, cells = np.unique(places, axis=0, return_inverse=True)
        values = places[:, along]
        yield cells.ravel()


def _volumes(widths: Wholes) -> Floats:
    volumes: Floats = widths.astype(np.float64).prod(axis=1)
    return volumes
