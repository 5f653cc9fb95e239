"""LayerSums: counts of many boxes from the cells of an adaptive release, with the variance of their noise.

A box is followed down the layers. What it holds of a layer whole is read off sums that were made before; only the cells
on its border are followed further. Leaves that the border cuts count by the share inside, as everywhere.

All places are whole numbers of steps (`core.adaptive.parts`), counted along an axis over all base cells. Three counts
are made in one go: of the box, of the leaves that lie wholly inside it, and of all leaves that it touches. They go by
fused estimates, and so do bounds; the count that is shown is a fourth one, of the box by `Fusion.shown`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from core.adaptive.border import Border, Item, cross
from core.adaptive.cells import AdaptiveCells
from core.adaptive.radius import radii
from core.adaptive.slabs import SlabTable
from core.adaptive.strips import DIMENSIONS, StripTable
from core.adaptive.tables import CoarseTable, LeafTable, Taken
from core.arrays import Floats, Wholes
from core.domain.axis import UniformAxis
from core.errors import InvalidQuery
from core.noisy_histogram import NoisyHistogram
from core.queries.axis_steps import AxisSteps, chosen_cells
from core.queries.edges import BoundedCounts, Edges

_AT_ONCE = 2**18  # cells, or strips of cells, on borders


@dataclass(frozen=True, slots=True, eq=False)
class BoxSums:
    """(3, boxes) arrays: fused estimate, variance, and the largest scale of a single draw of noise in it.

    `shown` has the estimate of each box that is shown.
    """

    shown: Floats
    estimate: Floats
    variance: Floats
    scale: Floats


class LayerSums:
    """What counts of boxes are read from, made once for a release."""

    def __init__(self, synopsis: NoisyHistogram) -> None:
        if not isinstance(synopsis.cells, AdaptiveCells):
            raise InvalidQuery("This release has a grid.")
        self.synopsis, self._fusion = synopsis, synopsis.cells.fusion
        layers = self._fusion.layers
        self._axes = [AxisSteps(axis.widths(), axis.axis.value_cells) for axis in layers.axes]
        self._coarse, self._leaves = CoarseTable(self._fusion), LeafTable(self._fusion)
        self._slabs = [SlabTable(self._fusion, self._leaves, x) for x in range(len(layers.axes))]
        self._strips = (
            [StripTable(self._fusion, self._leaves, slabs, x) for x, slabs in enumerate(self._slabs)]
            if len(layers.axes) == DIMENSIONS
            else []
        )
        self._planning_scale = self._fusion.largest_scales

    def bounded(self, edges: Edges, *, alpha: float) -> tuple[BoundedCounts, BoundedCounts, BoundedCounts]:
        """Of each box, of the leaves inside it, of all leaves it touches: estimates, and bounds but for alpha.

        Bounds of a box are those of its fused estimate, wide enough to hold the one that is shown.
        """
        sums = self.sums(edges)
        deviation = np.sqrt(sums.variance)
        reach = radii(deviation, sums.scale, alpha=alpha)
        box, inside, around = (
            BoundedCounts(each, each - reach[i], each + reach[i], deviation[i]) for i, each in enumerate(sums.estimate)
        )
        low, high = np.minimum(box.low, sums.shown), np.maximum(box.high, sums.shown)
        return BoundedCounts(sums.shown, low, high, box.noise_sd), inside, around

    def nearest(self, edges: Edges) -> Edges:
        """Each end at the nearest edge of a leaf along its axis; ends that meet there move apart by one edge.

        Other leaves may still be cut: no line but those of the base runs between leaves everywhere.
        """
        low, high = edges.low.copy(), edges.high.copy()
        for x, axis, lines in zip(self.synopsis.grid.ordered_axes, self._axes, self._lines, strict=True):
            first, last = (_nearest(lines, axis.steps(each[:, 0, x])) for each in (low, high))
            last = np.maximum(last, np.minimum(first + 1, len(lines) - 1))
            first = np.minimum(first, last - 1)
            low[:, 0, x], high[:, 0, x] = axis.units(lines[first]), axis.units(lines[last])
        return Edges(low=low, high=high)

    def in_codes(self, edges: Edges) -> tuple[Wholes, Wholes]:
        """(boxes, d) twice: the ends of boxes along the ordered axes in codes."""
        low, high = (np.empty((len(edges), len(self._axes)), dtype=np.int64) for _ in range(2))
        pairs = zip(self.synopsis.grid.ordered_axes, self._axes, self._fusion.layers.axes, strict=True)
        for i, (x, axis, codes) in enumerate(pairs):
            for ends, each in ((low, edges.low), (high, edges.high)):
                steps = axis.steps(each[:, 0, x])
                places = np.clip(np.searchsorted(axis.starts, steps, side="right") - 1, 0, len(codes.starts) - 2)
                inside = (steps - axis.starts[places]) << codes.shift
                ends[:, i] = np.minimum(codes.starts[places] + inside, codes.starts[places + 1])
        return low, high

    @cached_property
    def _lines(self) -> list[Wholes]:
        """The edges of all leaves along each axis, in steps, ascending."""
        layers = self._fusion.layers
        begin, width = layers.leaf_spans
        places = layers.base_places[layers.leaf_base][:, list(layers.base.ordered_axes)]
        starts = [axis.starts[places[:, x]] + begin[:, x] for x, axis in enumerate(self._axes)]
        return [np.unique(np.concatenate([each, each + width[:, x]])) for x, each in enumerate(starts)]

    def sums(self, edges: Edges) -> BoxSums:
        """The same without bounds."""
        bases = len(self._fusion.base)
        # With strips a box needs a few look-ups for each base cell that it cuts, however many coarse cells that has.
        each = max(1, 4 * bases if self._strips else self.synopsis.cells.visited_by_a_box + bases)
        step = max(1, _AT_ONCE // each)
        parts = [self._some(edges.part(slice(start, start + step))) for start in range(0, len(edges), step)]
        return BoxSums(*(np.concatenate(column, axis=-1) for column in zip(*parts, strict=True)))

    def _some(self, edges: Edges) -> tuple[Floats, Floats, Floats, Floats]:
        """The columns of `BoxSums` for some boxes."""
        fusion, boxes = self._fusion, len(edges)
        owners, bases, item = self._base_cells(edges)
        first = np.searchsorted(owners, np.arange(boxes))
        scale = np.broadcast_to(np.maximum.reduceat(self._planning_scale[bases], first), (3, boxes))
        is_cut = (item.low > 0) | (item.high < fusion.layers.coarse.widths[bases])
        any_cut = is_cut.any(axis=1)
        cut, whole = np.flatnonzero(any_cut), np.flatnonzero(~any_cut)
        # What is whole is so in all three counts, and is read off the base.
        of_cut = self._cut(bases[cut], item.part(cut), is_cut[cut])
        of_whole = (fusion.shown.base, fusion.base, fusion.t, fusion.t)
        shown, estimate, variance, pulled = (
            _added(owners[cut], each, boxes) + _added(owners[whole], base[bases[whole]], boxes)
            for each, base in zip(of_cut, of_whole, strict=True)
        )
        if fusion.bought is not None:
            variance = variance - fusion.pull * pulled**2
            scale = np.maximum(scale, fusion.pull / fusion.bought.law.rate * pulled)
        return shown, estimate, np.maximum(variance, 0.0), scale

    def _base_cells(self, edges: Edges) -> tuple[Wholes, Wholes, Item]:
        """The base cells that each box touches: (box, base cell, what the box takes of it), by box."""
        grid = self.synopsis.grid
        owners, numbers = np.arange(len(edges)), np.zeros(len(edges), dtype=np.int64)
        taken: list[tuple[Wholes, Wholes, Wholes]] = []
        ordered = iter(self._axes)
        for x, axis in enumerate(grid.axes):
            if axis.is_ordered:
                lists = next(ordered).cells(edges, x, takes_the_end=isinstance(axis, UniformAxis))
            else:
                lists = chosen_cells(edges, x)
            entry, place = cross(owners, lists.first, lists.count)
            owners, numbers = owners[entry], numbers[entry] * axis.cells + lists.places[place]
            taken = [(low[entry], high[entry], end[entry]) for low, high, end in taken]
            if axis.is_ordered:
                taken.append((lists.low[place], lists.high[place], lists.end[place]))
        return owners, numbers, Item(*(np.stack(column, axis=1) for column in zip(*taken, strict=True)))

    def _cut(self, bases: Wholes, item: Item, is_cut: NDArray[np.bool_]) -> tuple[Floats, Floats, Floats, Floats]:
        """What base cells that are cut add: shown and fused estimates, variance, t times the mean of what is taken."""
        fusion, pairs = self._fusion, len(bases)
        border = Border.of(fusion.layers.coarse, bases, item)
        (inside_z, shown), inside_u = self._coarse.sums(bases, border.first, border.last)
        estimate, sum_u, sum_uu = (np.tile(each, (3, 1)) for each in (inside_z, inside_u, inside_u))
        within = np.zeros((3, pairs))
        faces = [(owner, u, *ways) for owner, u, ways in self._borders(border, is_cut)]
        if faces:
            owners, us, *each_way = zip(*faces, strict=True)
            owner, u = np.concatenate(owners), np.concatenate(us)
            for i, taken in enumerate(each_way):
                estimates, mean, spread = (np.concatenate(column, axis=-1) for column in zip(*taken, strict=True))
                part = u * mean
                for sums, terms in ((estimate, estimates[0]), (sum_u, part), (sum_uu, part * mean), (within, spread)):
                    sums[i] += _added(owner, terms, pairs)
                if i == 0:
                    shown = shown + _added(owner, estimates[1], pairs)
        total, t = fusion.total_u[bases], fusion.t[bases]
        variance = within * fusion.leaf_variance[bases] + sum_uu + sum_u**2 * ((t / total - 1.0) / total)
        return shown, estimate, variance, sum_u * (t / total)

    def _borders(self, border: Border, is_cut: NDArray[np.bool_]) -> Iterator[tuple[Wholes, Floats, Iterator[Taken]]]:
        """Items and coarse cells, taken together where they can be: u, and what is taken of them, for each count."""
        if self._strips:
            for strips in self._strips:
                yield from strips.take(border)
            for face in border.faces(least_axes=2):
                yield face.owner, self._fusion.u[face.parts], self._leaves.take(face)
            return
        alone = is_cut.sum(axis=1) == 1
        for x, slabs in enumerate(self._slabs):
            items = np.flatnonzero(alone & is_cut[:, x])
            for owner, u, ways in slabs.take(border.part(items)):
                yield items[owner], u, ways
        items = np.flatnonzero(~alone)
        for face in border.part(items).faces():
            yield items[face.owner], self._fusion.u[face.parts], self._leaves.take(face)


def _added(owners: Wholes, values: Floats, boxes: int) -> Floats:
    """(items,) or (3, items) values, added up over the items of each box."""
    if values.ndim == 1:
        return np.bincount(owners, weights=values, minlength=boxes).astype(np.float64, copy=False)
    return np.stack([_added(owners, each, boxes) for each in values])


def _nearest(lines: Wholes, steps: Wholes) -> Wholes:
    """The place of the nearest line, the upper one of two that are equally near."""
    above = np.clip(np.searchsorted(lines, steps), 1, len(lines) - 1)
    nearest: Wholes = above - (steps - lines[above - 1] < lines[above] - steps)
    return nearest
