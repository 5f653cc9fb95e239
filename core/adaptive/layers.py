"""Layers: the cells of an adaptive release, worked out from its noisy counts, in three layers.

1. *Base*: the cells of a grid with few cells along each ordered axis, for each combination of categories.
2. *Coarse cells*: every base cell is cut as its noisy count says. One that is not cut is a coarse cell itself, and is
   not counted a second time.
3. *Leaves*: every coarse cell is cut as its newest noisy count says. All leaves are counted.

The number of halvings of a cell follows from its noisy count (`core.adaptive.cuts`), lowered for all cells of a layer
alike by a number (`skipped`) that keeps the layer within a limit of cells. It is the least for which the sum over the
cells of min(2^halvings, steps of the cell) is within the limit: no cell has more parts than that.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from core.adaptive.cuts import (
    COARSE_CONSTANT,
    LEAF_CONSTANT,
    MAX_ORDERED,
    MOST_HALVINGS,
    NEWEST,
    Version,
    halvings,
)
from core.adaptive.parts import Cut, share_halvings
from core.adaptive.shares import LayerLaws
from core.arrays import Wholes
from core.domain.axis import Axis, RunAxis
from core.domain.grid import Grid
from core.errors import InvalidSynopsis

NUMBER_CODES = 2**32  # of an axis of numbers: as many as there are codes
_STEP_BITS = 32  # an axis with more values has steps of 2^s values, so that products stay below 2^63


@dataclass(frozen=True, slots=True, eq=False)
class BaseAxis:
    """Where the cells of an ordered axis begin, in codes, and the number of bits by which codes become steps."""

    axis: Axis
    starts: Wholes
    shift: int

    @classmethod
    def of(cls, axis: Axis) -> BaseAxis:
        """The cells of values of an ordered axis."""
        if isinstance(axis, RunAxis):
            starts = np.array(axis.starts, dtype=np.int64)
        else:
            cells = axis.value_cells
            starts = np.array([-(-j * NUMBER_CODES // cells) for j in range(cells + 1)], dtype=np.int64)
        widest = int(np.diff(starts).max())
        return cls(axis, starts, max(0, (widest - 1).bit_length() - _STEP_BITS))

    @property
    def codes(self) -> int:
        """How many codes values have."""
        return int(self.starts[-1])

    def widths(self) -> Wholes:
        """The width of each cell in steps; 1 for the cell of missing values."""
        widths = ((np.diff(self.starts) - 1) >> self.shift) + 1
        return np.append(widths, 1) if self.axis.keeps_missing else widths

    def steps(self, places: Wholes, codes: NDArray[np.unsignedinteger]) -> Wholes:
        """The step of each code in its cell; 0 for missing values."""
        begin = np.append(self.starts[:-1], 0)[places]
        inside: Wholes = (codes.astype(np.int64) - begin) >> self.shift
        if self.axis.keeps_missing:
            inside[places == self.axis.value_cells] = 0
        return inside


@dataclass(frozen=True, slots=True)
class Skipped:
    """How many halvings every cell does without, so that a layer has no more cells than it may."""

    coarse: int = 0
    leaves: int = 0


class Layers:
    """The cells of all layers with their noisy counts. Public: everything follows from released numbers.

    `coarse_counts` has a number for every coarse cell; for those that are base cells as they were it is 0 and means
    nothing (`coarse_counted` marks the others).
    """

    def __init__(self, base: Grid, laws: LayerLaws, base_counts: Wholes, version: Version = NEWEST) -> None:
        if base_counts.shape != (base.cell_count,):
            raise InvalidSynopsis("A synopsis has one 64-bit integer for each of its cells.")
        self.base, self.laws, self.base_counts, self.version = base, laws, base_counts, version
        self.axes = tuple(BaseAxis.of(base.axes[x]) for x in base.ordered_axes)
        self.skipped = Skipped()

    @cached_property
    def base_places(self) -> Wholes:
        """(base cells, axes): the place of each base cell on every axis of the base."""
        return self.base.places(np.arange(self.base.cell_count))

    @cached_property
    def _base_widths(self) -> Wholes:
        places = self.base_places[:, list(self.base.ordered_axes)]
        columns = [axis.widths()[places[:, x]] for x, axis in enumerate(self.axes)]
        return np.stack(columns, axis=1) if columns else np.ones((len(places), 0), dtype=np.int64)

    # Layer 2

    def cut_base(self, *, max_cells: int | None = None, skipped: int = 0) -> int:
        """Cut the base cells, skipping as few halvings as `max_cells` allows. Returns how many parts are counted."""
        widths = self._base_widths
        wanted = _wanted(self.base_counts, widths, self.laws, COARSE_CONSTANT, is_cut=None)
        self.coarse, self._coarse_halvings, skipped = _cut(wanted, widths, np.zeros_like(widths), max_cells, skipped)
        self.skipped = Skipped(skipped)
        sizes = self.coarse.sizes
        return int(sizes[sizes > 1].sum())

    @cached_property
    def coarse_base(self) -> Wholes:
        """The base cell of each coarse cell."""
        return self.coarse.parents()

    @cached_property
    def coarse_counted(self) -> NDArray[np.bool_]:
        """Which coarse cells are parts of a base cell, and so were counted."""
        counted: NDArray[np.bool_] = self.coarse.sizes[self.coarse_base] > 1
        return counted

    def take_coarse(self, counts: Wholes) -> None:
        """The noisy counts of the coarse cells that are counted, in order."""
        self.coarse_counts = np.zeros(len(self.coarse), dtype=np.int64)
        self.coarse_counts[self.coarse_counted] = counts

    # Layer 3

    def cut_coarse(self, *, max_cells: int | None = None, skipped: int = 0) -> int:
        """Cut the coarse cells. Returns how many leaves there are."""
        newest = np.where(self.coarse_counted, self.coarse_counts, self.base_counts[self.coarse_base])
        widths = self.coarse_spans[1]
        wanted = _wanted(newest, widths, self.laws, LEAF_CONSTANT, is_cut=self.coarse_counted)
        before = self._coarse_halvings[self.coarse_base]
        self.leaves, _, skipped = _cut(wanted, widths, before, max_cells, skipped)
        self.skipped = Skipped(self.skipped.coarse, skipped)
        return len(self.leaves)

    def take_leaves(self, counts: Wholes) -> None:
        """The noisy counts of all leaves, in order."""
        if counts.shape != (len(self.leaves),):
            raise InvalidSynopsis("A synopsis has one 64-bit integer for each of its cells.")
        self.leaf_counts = counts

    @cached_property
    def leaf_coarse(self) -> Wholes:
        """The coarse cell of each leaf."""
        return self.leaves.parents()

    # Places

    @cached_property
    def coarse_spans(self) -> tuple[Wholes, Wholes]:
        """(coarse cells, d) twice: begin in the base cell and width, in steps."""
        return self.coarse.spans()

    @cached_property
    def leaf_spans(self) -> tuple[Wholes, Wholes]:
        """(leaves, d) twice: begin in the base cell and width, in steps."""
        begin, widths = self.leaves.spans()
        return begin + self.coarse_spans[0][self.leaf_coarse], widths

    @cached_property
    def leaf_base(self) -> Wholes:
        """The base cell of each leaf."""
        return self.coarse_base[self.leaf_coarse]

    @cached_property
    def leaf_is_cut(self) -> NDArray[np.bool_]:
        """Which leaves lie in base cells that were cut."""
        is_cut: NDArray[np.bool_] = self.coarse_counted[self.leaf_coarse]
        return is_cut

    def boxes(self, layer: int) -> tuple[Wholes, Wholes]:
        """(cells, d) twice: where the cells of layer 0, 1 or 2 begin and end along each ordered axis, in codes.

        A cell of missing values has nothing along that axis: it begins and ends at the number of codes.
        """
        zero = np.zeros_like(self._base_widths)
        if layer == 0:
            bases, (begin, widths) = np.arange(len(zero)), (zero, self._base_widths)
        elif layer == 1:
            bases, (begin, widths) = self.coarse_base, self.coarse_spans
        else:
            bases, (begin, widths) = self.leaf_base, self.leaf_spans
        low, high = np.empty_like(begin), np.empty_like(begin)
        for x, (axis, column) in enumerate(zip(self.axes, self.base.ordered_axes, strict=True)):
            places = self.base_places[bases, column]
            start = np.append(axis.starts, axis.codes)
            low[:, x] = np.minimum(start[places] + (begin[:, x] << axis.shift), start[places + 1])
            high[:, x] = np.minimum(start[places] + ((begin[:, x] + widths[:, x]) << axis.shift), start[places + 1])
        return low, high

    # Bytes

    def integers(self) -> Iterator[Wholes]:
        """All noisy counts in the order in which a synopsis stores them."""
        yield self.base_counts
        yield self.coarse_counts[self.coarse_counted]
        yield self.leaf_counts

    @classmethod
    def from_integers(
        cls, base: Grid, laws: LayerLaws, integers: Wholes, skipped: Skipped, version: Version = NEWEST
    ) -> Layers:
        """The layers whose counts these are. InvalidSynopsis where they are not as many as the counts say.

        Time and memory are in proportion to the number of integers, whatever the integers are: the number of parts is
        compared with it before any array has an entry for each part.
        """
        if not 1 <= len(base.ordered_axes) <= MAX_ORDERED or max(skipped.coarse, skipped.leaves) > MOST_HALVINGS:
            raise InvalidSynopsis("No release of the adaptive rule has such layers.")
        layers = cls(base, laws, integers[: base.cell_count], version)
        # An axis that is cut into all of its values has more than half of the parts that its halvings would make.
        room = len(integers) << len(layers.axes)
        counted = layers.cut_base(skipped=skipped.coarse, max_cells=room)
        end = base.cell_count + counted
        if layers.skipped.coarse != skipped.coarse or end > len(integers):
            raise InvalidSynopsis("A synopsis has one 64-bit integer for each of its cells.")
        layers.take_coarse(integers[base.cell_count : end])
        layers.cut_coarse(skipped=skipped.leaves, max_cells=room)
        if layers.skipped.leaves != skipped.leaves:
            raise InvalidSynopsis("A synopsis has one 64-bit integer for each of its cells.")
        layers.take_leaves(integers[end:])
        return layers


def _wanted(
    counts: Wholes, widths: Wholes, laws: LayerLaws, constant: int, *, is_cut: NDArray[np.bool_] | None
) -> Wholes:
    """The halvings of each cell. d is the number of axes along which a cell can be cut at all."""
    wanted = np.zeros(len(counts), dtype=np.int64)
    dimensions = (widths > 1).sum(axis=1)
    paths = np.zeros(len(counts), dtype=np.bool_) if is_cut is None else is_cut
    for d in np.unique(dimensions[dimensions > 0]).tolist():
        for cut in (False, True):
            cells = np.flatnonzero((dimensions == d) & (paths == cut))
            rate = laws.leaf(is_cut=cut).exact_rate
            wanted[cells] = halvings(counts[cells], rate=rate, constant=constant, ordered=d)
    return wanted


def _cut(
    wanted: Wholes, widths: Wholes, before: Wholes, max_cells: int | None, skipped: int
) -> tuple[Cut, Wholes, int]:
    """The cut with the least number of skipped halvings, from `skipped` on, that has at most `max_cells` parts.

    Sums of whole numbers up to 2^53 are exact in double precision, and larger ones are above any limit.
    """
    room = float("inf") if max_cells is None else max(max_cells, len(wanted))
    capacity = widths.astype(np.float64).prod(axis=1)
    while np.minimum(np.left_shift(1, np.maximum(wanted - skipped, 0)), capacity).sum() > room:
        skipped += 1
    parts, along = share_halvings(np.maximum(wanted - skipped, 0), widths, before)
    return Cut.of(widths, parts), before + along, skipped
