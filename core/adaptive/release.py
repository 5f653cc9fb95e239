"""Drawing an adaptive release: three counts of the rows, each on cells that the noisy counts before it decided.

The claim: `draw_layers` is epsilon-DP with epsilon = order.histogram_epsilon, under adding or removing one unit of at
most c rows (`core.release` has the steps before and after).

1. The base grid follows from public numbers and, if one was bought, from the noisy size. Each record lies in one base
   cell, so neighbours have base counts that differ by at most c in all. They are released with noise of the rate
   e0 / c: e0-DP, e0 = floor(0.1 epsilon) in billionths.
2. Given the noisy base counts, the coarse cells are fixed (`core.adaptive.layers` takes no records to cut). They are
   disjoint and cover the box, so each record lies in one of them. Those that are parts of a base cell are counted with
   noise of the rate e1 / c, e1 = floor(0.2 epsilon).
3. Given both, the leaves are fixed, disjoint, and cover the box. Below base cells that were cut they are counted with
   noise of the rate (epsilon - e0 - e1) / c, below all others at (epsilon - e0) / c.
4. Given the counts released before, a record in a base cell that was cut changes one count of each layer, and has lost
   e0 + e1 + (epsilon - e0 - e1) = epsilon. A record in any other base cell changes no coarse count that is released and
   has lost e0 + (epsilon - e0) = epsilon. With c rows, each lost a c-th of that at most, whichever base cells they lie
   in: the log of the ratio of the probabilities of any outcome is the sum over the layers, in each of which the counts
   of disjoint cells have independent noise, and so at most the sum over the c rows of (epsilon / c) = epsilon.
"""

from __future__ import annotations

from typing import NoReturn, Protocol

import numpy as np

from core.adaptive.layers import Layers
from core.adaptive.shares import LayerLaws
from core.arrays import Wholes
from core.histogram import Counts, Increments
from core.mechanisms.discrete_laplace import DiscreteLaplace
from core.mechanisms.discrete_laplace_sampler import draw_noise
from core.plan import Plan
from core.randomness import NoiseSource
from core.records import Records


class Counter(Protocol):
    """What counts records batch by batch."""

    def add(self, records: Records) -> None:
        """Count one more batch, in place."""


class LayerRows(Protocol):
    """Rows that can be counted more than once."""

    def count_into(self, counter: Counter) -> None:
        """Pass every record to `counter`. May be called again."""


class LayerCounts:
    """Exact records per coarse cell or per leaf. Private like `core.histogram.Counts`."""

    def __init__(self, layers: Layers, *, leaves: bool) -> None:
        self._layers, self._leaves = layers, leaves
        self._increments = Increments(np.zeros(len(layers.leaves if leaves else layers.coarse), dtype=np.int64))

    @property
    def cells(self) -> Wholes:
        """The number of records of each cell."""
        return self._increments.counts

    def add(self, records: Records) -> None:
        """Count one more batch, in place: each record raises exactly one cell by one."""
        self._increments.add(locate(self._layers, records, leaves=self._leaves))

    def __repr__(self) -> str:
        return "LayerCounts(…)"

    def __reduce__(self) -> NoReturn:
        raise TypeError("Counts are private: they leave a release only with noise added.")


def locate(layers: Layers, records: Records, *, leaves: bool) -> Wholes:
    """The number of the coarse cell of each record, or of its leaf: integer arithmetic, the same on every platform."""
    numbers = np.zeros(len(records), dtype=np.int64)
    steps: list[Wholes] = []
    ordered = iter(layers.axes)
    for axis, codes in zip(layers.base.axes, records.columns, strict=True):
        places = axis.cell_of(codes)
        numbers = numbers * axis.cells + places
        if axis.is_ordered:
            steps.append(next(ordered).steps(places, codes))
    numbers, steps = layers.coarse.locate(numbers, steps)
    return layers.leaves.locate(numbers, steps)[0] if leaves else numbers


def draw_layers(rows: LayerRows, plan: Plan, noise: NoiseSource, *, max_cells: int) -> Layers:
    """The noisy counts of the three layers: steps 1 to 3 of the proof. No layer has more cells than `max_cells`."""
    base = Counts.zero(plan.grid)
    rows.count_into(base)
    layers = draw_base(base.cells, plan, noise)
    if layers.cut_base(max_cells=max_cells):
        coarse = LayerCounts(layers, leaves=False)
        rows.count_into(coarse)
        draw_coarse(coarse.cells, layers, noise)
    else:
        layers.take_coarse(np.empty(0, dtype=np.int64))
    layers.cut_coarse(max_cells=max_cells)
    leaves = LayerCounts(layers, leaves=True)
    rows.count_into(leaves)
    draw_leaves(leaves.cells, layers, noise)
    return layers


def draw_base(counts: Wholes, plan: Plan, noise: NoiseSource) -> Layers:
    """Step 1: the noisy counts of the base, from the exact number of records of each of its cells."""
    laws = LayerLaws.of(plan.order.histogram_epsilon, plan.order.unit)
    return Layers(plan.grid, laws, _noised(counts, laws.base, noise))


def draw_coarse(counts: Wholes, layers: Layers, noise: NoiseSource) -> None:
    """Step 2: from the exact counts of all coarse cells, noisy ones of those that are parts of a base cell."""
    layers.take_coarse(_noised(counts[layers.coarse_counted], layers.laws.coarse, noise))


def draw_leaves(counts: Wholes, layers: Layers, noise: NoiseSource) -> None:
    """Step 3: from the exact counts of all leaves, noisy ones."""
    layers.take_leaves(_noised_leaves(counts, layers, noise))


def _noised(counts: Wholes, law: DiscreteLaplace, noise: NoiseSource) -> Wholes:
    return counts + draw_noise(law, len(counts), noise)


def _noised_leaves(counts: Wholes, layers: Layers, noise: NoiseSource) -> Wholes:
    """Each leaf with noise of the rate that is left on its path."""
    noisy = np.empty_like(counts)
    is_cut = layers.leaf_is_cut
    for cut in (False, True):
        leaves = np.flatnonzero(is_cut == cut)
        noisy[leaves] = _noised(counts[leaves], layers.laws.leaf(is_cut=cut), noise)
    return noisy
