"""Where the sampler may move a centre to: a cell in proportion to its relocation weight, and uniform within it.

The weight of a cell is max(y, 0) + .02 N v, with y its noisy count or an estimate of it, and v its share of the volume.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from core.arrays import Floats
from core.clustering.axis_cells import axes_of, cells_to_fill
from core.clustering.boxes import Boxes
from core.domain.grid import Grid

_EVERYWHERE = 0.02  # the share of N that is spread evenly


class Relocation(Protocol):
    """A density on [-1, 1]^d that is constant within each of n cells."""

    centres: Floats  # (n, d), of the cells
    weights: Floats  # (n,), the probabilities of the cells

    def draw(self, shape: tuple[int, int], rng: np.random.Generator) -> tuple[Floats, Floats]:
        """Places (*shape, d), and the log density (*shape) there up to a constant."""

    def log_at(self, places: Floats) -> Floats:
        """The log density at (n, d) places, up to the same constant; none may lie on an upper face of the domain."""


class GridRelocation:
    """The cells of a grid, all of whose axes are ordered."""

    def __init__(self, counts: Floats, grid: Grid, size: float) -> None:
        self._axes = axes_of(grid)
        to_fill = cells_to_fill(self._axes)
        self._shape = tuple(axis.cells for axis in self._axes)
        self.centres = grid.centres()
        self.weights = np.maximum(counts, 0.0) + _EVERYWHERE * size / to_fill
        self.weights /= self.weights.sum()
        self._cumulative = np.cumsum(self.weights)
        self._log_density = np.log(self.weights)
        if len(to_fill) > 1:  # weight / volume; equal volumes are a part of the constant
            self._log_density += np.log(to_fill)

    def draw(self, shape: tuple[int, int], rng: np.random.Generator) -> tuple[Floats, Floats]:
        """Places (*shape, d), and the log density (*shape) there up to a constant."""
        cells = _draw_cells(self._cumulative, shape, rng)
        places = rng.random((*shape, len(self._axes)))
        for x, (axis, indices) in enumerate(zip(self._axes, np.unravel_index(cells, self._shape), strict=True)):
            places[..., x] = axis.within(indices, places[..., x])
        return places, self._log_density[cells]

    def log_at(self, places: Floats) -> Floats:
        """The log density at (n, d) places, up to the same constant."""
        flat = self._axes[0].cell_at(places[:, 0])
        for x, axis in enumerate(self._axes[1:], start=1):
            flat = flat * axis.cells + axis.cell_at(places[:, x])
        densities: Floats = self._log_density[flat]
        return densities


class BoxRelocation:
    """Boxes that fill the domain and do not overlap."""

    def __init__(self, counts: Floats, boxes: Boxes, size: float) -> None:
        self._boxes, self.centres = boxes, boxes.centres
        self.weights = np.maximum(counts, 0.0) + _EVERYWHERE * size / boxes.to_fill
        self.weights /= self.weights.sum()
        self._cumulative = np.cumsum(self.weights)
        self._log_density = np.log(self.weights * boxes.to_fill)

    def draw(self, shape: tuple[int, int], rng: np.random.Generator) -> tuple[Floats, Floats]:
        """Places (*shape, d), and the log density (*shape) there up to a constant."""
        cells = _draw_cells(self._cumulative, shape, rng)
        low, high = self._boxes.low[cells], self._boxes.high[cells]
        return low + rng.random(low.shape) * (high - low), self._log_density[cells]

    def log_at(self, places: Floats) -> Floats:
        """The log density at (n, d) places, up to the same constant. The places are few: each box is looked at."""
        inside = np.ones((len(places), len(self.weights)), dtype=np.bool_)
        for x, along in enumerate(places.T):
            inside &= self._boxes.low[:, x] <= along[:, None]
            inside &= along[:, None] < self._boxes.high[:, x]
        densities: Floats = self._log_density[inside.argmax(axis=1)]
        return densities


def _draw_cells(cumulative: Floats, shape: tuple[int, int], rng: np.random.Generator) -> NDArray[np.intp]:
    cells = np.searchsorted(cumulative, rng.random(shape) * cumulative[-1], side="right")
    inside: NDArray[np.intp] = np.minimum(cells, len(cumulative) - 1)
    return inside
