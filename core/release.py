"""draw(rows, order, …) -> Synopsis: the one bridge from private to public.

The claim: what `draw` returns for one order is epsilon-DP under adding or removing one unit, with
epsilon = order.epsilon. A unit (`core.unit.Unit`) is one row, or a person of whom at most c = order.unit.max_rows rows
are counted; for rows c = 1. The proof, with the function that each step names:

1. Each row becomes at most one record, by itself (`core.records.take_in`). Where units are persons, `Rows` promises to
   have at most c records of each, chosen by that person's rows alone; `require_bounded` refuses rows that promise it
   for another unit. Each record raises one cell by one (`core.histogram.Counts.add`). So neighbours have counts that
   differ by at most c in all, added up over the cells, and sizes that differ by at most c.
2. `noisy_size` adds discrete Laplace noise at the rate order.size_epsilon / c (`core.charged.Charged.size_law`) to a
   number of sensitivity c: size_epsilon-DP (`core.mechanisms.discrete_laplace`, "Privacy loss"). A declared size is a
   statement of the curator: the rows do not enter.
3. The plan is a function of public numbers and of that noisy size (`core.plan.make_plan` takes no records).
4. For a given plan, `release` noises every cell at the rate order.histogram_epsilon / c (`core.charged.Charged.law`):
   histogram_epsilon-DP, by the same privacy loss. Where the plan has a threshold, cells below it are left out of that
   noisy histogram, which is post-processing; the module `core.mechanisms.survivors` draws what remains without drawing
   the rest, with exactly that law. Where the plan is layered, `core.adaptive.release.draw_layers` counts the rows
   three times, and its own proof says that this is histogram_epsilon-DP as well.
5. Where the order buys offsets (`core.offsets`), `release` adds noise to the exact sums of offsets of the cells that
   step 4 listed. Given the list, which is public by then, take it as fixed. A record lies in one cell and adds to each
   of its sums an offset from -S to S (`core.domain.axis.Axis.offset_of`, `core.histogram.OccupiedCounts.sums_of`). So
   one record more or less moves the sums of one listed cell at most, and the largest of them by at most S; a unit of c
   records moves the largest sums by at most c S, added up over the listed cells. Cells that are listed although they
   are empty have sums of zero, and noise like all others. Each cell's vector of sums gets its own noise of the discrete
   vector Laplace law at the rate order.offset_epsilon / (c S) (`core.charged.Charged.offset_law`): offset_epsilon-DP
   (`core.mechanisms.vector_laplace`, "Privacy loss"). The list itself depends on the rows only through step 4.
6. Sequential composition, with steps that depend on the output of those before, adds them up:
   size_epsilon + histogram_epsilon + offset_epsilon = epsilon, in whole billionths (`core.charged.Charged`).
7. One charge pays for one call of `draw`, whether or not its result is kept. The caller records the call before it
   begins (`app.releases.uploading.upload`: a ledger entry of kind `draw`, committed). After that the charge is neither
   given back nor used for a second call, so a draw that a crash left on a disk is paid for as well.
8. Where rows are counted elsewhere (`core.counting`), steps 2 to 5 are the same functions, called one at a time:
   `noisy_size`, then `draw_base`, `draw_coarse` and `complete_layers`, or `release`. Each call is recorded before it
   begins, as in step 7, and no step of a charge is called twice (`core.ledger.books`, the rule of a `draw`). Three
   things are then up to the curator's own process, as it is up to the curator which rows are uploaded: each record is
   counted once, a person has at most c of them, and every step counts the same records. The last one matters for
   layers: a unit whose records changed between two steps could pay for a coarse cell on one path and for a leaf on
   another, together up to 1.2 epsilon (`core.adaptive.shares`).
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from core.adaptive.cells import AdaptiveCells
from core.adaptive.fusion import BoughtSize
from core.adaptive.layers import Layers
from core.adaptive.release import Counter, draw_layers, draw_leaves
from core.cells import Cells, DenseCells, ThresholdedCells
from core.domain.domain import Domain
from core.errors import InvalidOrder, InvalidRecords
from core.histogram import Counts, OccupiedCounts
from core.mechanisms.discrete_laplace_sampler import draw_noise
from core.mechanisms.survivors import survivors
from core.mechanisms.vector_laplace_sampler import draw_vectors
from core.offsets import Offsets
from core.plan import DeclaredSize, Order, Plan, make_plan
from core.randomness import NoiseSource
from core.records import OutOfRange
from core.synopsis import Synopsis
from core.unit import Unit


class Rows(Protocol):
    """The records of one upload, read to the last row. Private: `draw` alone makes something public of them.

    Where the unit of the order is a person, they hold at most `max_rows` records of each person. Which ones depends on
    that person's rows and on secret randomness, and on no other row.
    """

    @property
    def unit(self) -> Unit:
        """The unit whose rows were bounded; where it is a record, nothing was."""

    def __len__(self) -> int: ...

    def count_on(self, plan: Plan) -> Counts | OccupiedCounts:
        """Exact records per cell of the planned grid."""

    def count_into(self, counter: Counter) -> None:
        """Pass every record to `counter`; for layered plans, which count rows more than once."""


def draw(
    rows: Rows,
    order: Order,
    noise: NoiseSource,
    *,
    max_cells: int,
    domain: Domain,
    out_of_range: OutOfRange,
    dataset: str,
    release_id: str,
    bought_size: int | None = None,
) -> Synopsis:
    """Steps 2 to 5 of the proof: the noisy size if the order buys one, the grid, the noisy counts and sums.

    `bought_size` is the noisy size of an order for which it was drawn before; it is not drawn again.
    """
    require_bounded(rows, order)
    if bought_size is None and not isinstance(order.size, DeclaredSize):
        bought_size = noisy_size(len(rows), order, noise)
    plan = make_plan(order, max_cells=max_cells, noisy_size=bought_size)
    if plan.is_layered:
        cells = _layered(draw_layers(rows, plan, noise, max_cells=max_cells), plan)
    else:
        cells = noised(rows.count_on(plan), plan, noise)
    return _synopsis(cells, plan, domain=domain, out_of_range=out_of_range, dataset=dataset, release_id=release_id)


def require_bounded(rows: Rows, order: Order) -> None:
    """Refuse rows that were bounded for another unit than that of the order: step 1 of the proof would not hold."""
    if rows.unit != order.unit:
        raise InvalidRecords("The rows were bounded for another privacy unit than the order has.")


def noisy_size(size: int, order: Order, noise: NoiseSource) -> int:
    """The number of records, noised with the share of epsilon that the order sets aside for it."""
    if order.size_law is None:
        raise InvalidOrder("A declared size is not bought.")
    return size + int(draw_noise(order.size_law, 1, noise)[0])


def release(
    counts: Counts | OccupiedCounts,
    plan: Plan,
    noise: NoiseSource,
    *,
    domain: Domain,
    out_of_range: OutOfRange,
    dataset: str,
    release_id: str,
) -> Synopsis:
    """The exact counts with noise added to every cell, empty or not; signed, nothing clamped.

    Nothing is left out, unless the plan has a threshold: then every cell below it.
    """
    cells = noised(counts, plan, noise)
    return _synopsis(cells, plan, domain=domain, out_of_range=out_of_range, dataset=dataset, release_id=release_id)


def complete_layers(
    leaf_counts: NDArray[np.int64],
    layers: Layers,
    plan: Plan,
    noise: NoiseSource,
    *,
    domain: Domain,
    out_of_range: OutOfRange,
    dataset: str,
    release_id: str,
) -> Synopsis:
    """The last step of a layered release whose layers are counted one by one: the exact counts of leaves, noised."""
    draw_leaves(leaf_counts, layers, noise)
    cells = _layered(layers, plan)
    return _synopsis(cells, plan, domain=domain, out_of_range=out_of_range, dataset=dataset, release_id=release_id)


def _layered(layers: Layers, plan: Plan) -> Cells:
    law = plan.order.size_law
    return AdaptiveCells.of(layers, None if law is None else BoughtSize(plan.size, law))


def _synopsis(
    cells: Cells, plan: Plan, *, domain: Domain, out_of_range: OutOfRange, dataset: str, release_id: str
) -> Synopsis:
    order = plan.order
    return Synopsis(
        dataset=dataset,
        release=release_id,
        domain=domain,
        cells=cells,
        epsilon=order.epsilon,
        size_epsilon=order.size_epsilon,
        offset_epsilon=order.offset_epsilon,
        clusters=order.clusters,
        rule=order.rule,
        out_of_range=out_of_range,
        size=plan.size,
        size_declared=isinstance(order.size, DeclaredSize),
        unit=order.unit,
    )


def noised(counts: Counts | OccupiedCounts, plan: Plan, noise: NoiseSource) -> Cells:
    """Noisy counts of every cell, or of those that reach the threshold of the plan."""
    if counts.grid != plan.grid:
        raise InvalidRecords("The counts were taken on another grid than the planned one.")
    grid, law = plan.grid, plan.order.law
    match counts, plan.threshold:
        case Counts(), None:
            return DenseCells(grid, counts.cells + draw_noise(law, grid.cell_count, noise))
        case OccupiedCounts(), int(threshold):
            numbers, noisy = survivors(
                *counts.occupied(), cell_count=grid.cell_count, threshold=threshold, law=law, noise=noise
            )
            return ThresholdedCells(grid, numbers, noisy, threshold, _noised_sums(counts, numbers, plan, noise))
        case _:
            raise InvalidRecords("A plan with a threshold takes counts of occupied cells; any other, of all cells.")


def _noised_sums(counts: OccupiedCounts, listed: NDArray[np.int64], plan: Plan, noise: NoiseSource) -> Offsets | None:
    """Step 5: the exact sums of offsets of the listed cells with noise added to every one; None if none were bought."""
    law = plan.order.offset_law(len(plan.grid.ordered_axes))
    if counts.has_offsets != (law is not None):
        raise InvalidRecords("Sums of offsets are gathered where the order buys them, and nowhere else.")
    if law is None:
        return None
    return Offsets(counts.sums_of(listed) + draw_vectors(law, len(listed), noise), law)
