"""Exact counts that are taken elsewhere than the noise is drawn: what to count next, and the counts that result.

A curator's own process, or a cluster, counts rows where they lie and sends only counts to the service. One release
takes one to four steps, each with a target that follows from public numbers and from noisy counts drawn before:

    size     the number of records, where the size is bought
    cells    records per cell of the planned grid; with this the release is complete
    base, coarse, leaves    the same in place of `cells` for a layered plan, one layer after the other

`Target.counter` counts records for a step, and `Tally` is what a step sends. Tallies of disjoint parts of the rows add
up, so that a file, a worker and a cluster run the same code. Records reach a counter through `core.records.take_in`, so
the first step of the proof in `core.release` holds for them as for an upload.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import assert_never

import numpy as np
from numpy.typing import NDArray

from core.adaptive.layers import Layers
from core.adaptive.release import LayerCounts
from core.adaptive.shares import LayerLaws
from core.arrays import Wholes
from core.domain.axis import OFFSET_STEPS
from core.errors import InvalidCounts, InvalidRecords
from core.histogram import Counts, OccupiedCounts, empty_counts
from core.plan import MAX_SIZE, DeclaredSize, Order, Plan, make_plan
from core.records import Records

_DENSE = 8  # tallies that list at least one cell in so many are added up in an array of all cells: 10 times as fast


class Step(StrEnum):
    """A step of a release whose rows are counted elsewhere, in the order in which steps are taken."""

    SIZE = "size"
    BASE = "base"
    COARSE = "coarse"
    LEAVES = "leaves"
    CELLS = "cells"

    @property
    def is_last(self) -> bool:
        """Whether nothing is counted after it."""
        return self in (Step.LEAVES, Step.CELLS)


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Tally:
    """Exact counts of one step: the cells that hold a record, ascending, and how many each holds. Private.

    `sums` has, for each of these cells, the sums of the records' offsets from its middle (`core.offsets`); None where
    the order buys none. Unlike `core.histogram.Counts` a tally may be sent: from a worker to the curator's process, and
    from there to the service.
    """

    cells: NDArray[np.int64]
    numbers: NDArray[np.int64]
    sums: NDArray[np.int64] | None = None

    @property
    def total(self) -> int:
        """The number of records."""
        return int(self.numbers.sum())

    @classmethod
    def of_size(cls, records: int) -> Tally:
        """The tally of the step SIZE: all records in one cell."""
        held = min(records, 1)
        return cls(np.zeros(held, dtype=np.int64), np.full(held, records, dtype=np.int64))

    @classmethod
    def merged(cls, tallies: Iterable[Tally]) -> Tally:
        """The tally of all rows from tallies of disjoint parts of them; at least one. They must agree about sums."""
        parts = list(tallies)
        if len(parts) == 1:
            return parts[0]
        gathered = [part.sums for part in parts if part.sums is not None]
        length = 1 + max((int(part.cells[-1]) for part in parts if len(part.cells)), default=-1)
        if not gathered and length <= _DENSE * sum(len(part.cells) for part in parts):
            counts = np.zeros(length, dtype=np.int64)
            for part in parts:
                counts[part.cells] += part.numbers  # a part lists no cell twice
            cells = np.flatnonzero(counts)
            return cls(cells, counts[cells])
        cells, place = np.unique(np.concatenate([part.cells for part in parts]), return_inverse=True)
        numbers = np.zeros(len(cells), dtype=np.int64)
        np.add.at(numbers, place, np.concatenate([part.numbers for part in parts]))
        if not gathered:
            return cls(cells, numbers)
        if len(gathered) != len(parts):
            raise InvalidRecords("Tallies with and without sums of offsets do not add up.")
        sums = np.zeros((len(cells), gathered[0].shape[1]), dtype=np.int64)
        np.add.at(sums, place, np.concatenate(gathered))
        return cls(cells, numbers, sums)

    def __repr__(self) -> str:
        return "Tally(…)"


@dataclass(frozen=True, slots=True, eq=False)
class Target:
    """What is counted in a step. Public: it follows from the order and from what was drawn before.

    `plan` is None for the size, which comes before the grid. `layers` holds the layers drawn before, and the cuts
    of the one that is counted; None unless the step is COARSE or LEAVES.
    """

    step: Step
    order: Order
    plan: Plan | None = None
    layers: Layers | None = None

    @property
    def planned(self) -> Plan:
        """The plan of every step but the size."""
        if self.plan is None:
            raise InvalidRecords("The size of this order is bought first.")
        return self.plan

    @property
    def cut_layers(self) -> Layers:
        """The layers of the steps COARSE and LEAVES."""
        if self.layers is None:
            raise InvalidRecords("There are no layers before the counts of the base.")
        return self.layers

    @property
    def cell_count(self) -> int:
        """How many cells may hold records; 1 for the size."""
        match self.step:
            case Step.SIZE:
                return 1
            case Step.COARSE:
                return len(self.cut_layers.coarse)
            case Step.LEAVES:
                return len(self.cut_layers.leaves)
            case Step.CELLS | Step.BASE:
                return self.planned.grid.cell_count
            case _:
                assert_never(self.step)

    @property
    def offset_axes(self) -> int:
        """How many sums of offsets each cell has: one for each ordered axis if the order buys them, else none."""
        return len(self.plan.grid.ordered_axes) if self.plan is not None and self.order.offsets else 0

    def require_fitting(self, tally: Tally) -> None:
        """Raise InvalidCounts unless a tally can be one of this step: cells in order and on the grid, records in each.

        Sums of offsets are no larger than so many records can have.
        """
        cells, numbers, sums = tally.cells, tally.numbers, tally.sums
        if not len(cells) == len(numbers) <= MAX_SIZE or (
            len(cells) and not 0 <= cells[0] <= cells[-1] < self.cell_count
        ):
            raise InvalidCounts(f"Cells are numbered from 0 to {self.cell_count - 1:,} in this step.")
        if np.any(cells[1:] <= cells[:-1]):  # compared as they are, since a difference of 64 bits may overflow
            raise InvalidCounts("Each cell is listed once, in ascending order.")
        if np.any(numbers < 1) or float(numbers.sum(dtype=np.float64)) > MAX_SIZE:
            raise InvalidCounts(f"A listed cell holds at least one record, and all together at most {MAX_SIZE:,}.")
        if (0 if sums is None else sums.shape[1]) != self.offset_axes:
            raise InvalidCounts(f"Each cell has {self.offset_axes} sums of offsets in this step.")
        most = numbers[:, None] * OFFSET_STEPS
        if sums is not None and np.any((sums > most) | (sums < -most)):  # abs() of the least number is negative
            raise InvalidCounts("A sum of offsets is larger than the records of its cell can have.")

    def dense(self, tally: Tally) -> Wholes:
        """The exact number of records of every cell."""
        counts = np.zeros(self.cell_count, dtype=np.int64)
        counts[tally.cells] = tally.numbers
        return counts

    def counts(self, tally: Tally) -> Counts | OccupiedCounts:
        """A tally of the step CELLS as the counts that `core.release.release` takes."""
        if self.planned.threshold is None:
            return Counts(self.planned.grid, self.dense(tally))
        return OccupiedCounts.of(self.planned.grid, tally.cells, tally.numbers, tally.sums)

    def counter(self) -> TallyCounter:
        """A counter of records for this step, which has counted none yet."""
        return TallyCounter(self)


class TallyCounter:
    """Counts records batch by batch for one step."""

    def __init__(self, target: Target) -> None:
        self._size = 0
        self._counts: Counts | OccupiedCounts | LayerCounts | None = None
        if target.layers is not None:
            self._counts = LayerCounts(target.layers, leaves=target.step is Step.LEAVES)
        elif target.plan is not None:
            plan = target.plan
            self._counts = Counts.zero(plan.grid) if plan.is_layered else empty_counts(plan)

    def add(self, records: Records) -> None:
        """Count one more batch, in place."""
        self._size += len(records)
        if self._counts is not None:
            self._counts.add(records)

    def tally(self) -> Tally:
        """What was counted."""
        match self._counts:
            case None:
                return Tally.of_size(self._size)
            case OccupiedCounts() as counts:
                cells, numbers = counts.occupied()
                return Tally(cells, numbers, counts.sums_of(cells) if counts.has_offsets else None)
            case Counts(cells=held_by) | LayerCounts(cells=held_by):
                cells = np.flatnonzero(held_by)
                return Tally(cells, held_by[cells])

    def __repr__(self) -> str:
        return "TallyCounter(…)"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Drawn:
    """The noisy numbers that the steps of a release have given so far; None for steps that are not taken."""

    size: int | None = None
    base: Wholes | None = None
    coarse: Wholes | None = None


def next_target(order: Order, drawn: Drawn, *, max_cells: int) -> Target:
    """What is counted next: a function of public numbers alone, so that both sides work it out by themselves."""
    if not isinstance(order.size, DeclaredSize) and drawn.size is None:
        return Target(Step.SIZE, order)
    plan = make_plan(order, max_cells=max_cells, noisy_size=drawn.size)
    if not plan.is_layered:
        return Target(Step.CELLS, order, plan)
    if drawn.base is None:
        return Target(Step.BASE, order, plan)
    layers = Layers(plan.grid, LayerLaws.of(order.histogram_epsilon, order.unit), drawn.base)
    counted = layers.cut_base(max_cells=max_cells)
    if counted and drawn.coarse is None:
        return Target(Step.COARSE, order, plan, layers)
    layers.take_coarse(np.empty(0, dtype=np.int64) if drawn.coarse is None else drawn.coarse)
    layers.cut_coarse(max_cells=max_cells)
    return Target(Step.LEAVES, order, plan, layers)
