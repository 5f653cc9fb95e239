"""Synopses for benchmarks: what `draw` gives, or the service's grid with the same law of noise from a fixed seed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bench.published import Floats
from core.adaptive.cells import AdaptiveCells
from core.adaptive.fusion import BoughtSize
from core.adaptive.layers import Layers
from core.adaptive.release import Counter, LayerCounts
from core.adaptive.shares import LayerLaws
from core.budget import Epsilon
from core.cells import DenseCells
from core.domain.domain import Domain
from core.domain.number import Number
from core.histogram import Counts, OccupiedCounts, count, empty_counts
from core.plan import DeclaredSize, EstimatedSize, Order, Plan, Rule, make_plan
from core.randomness import NoiseSource
from core.records import OutOfRange, Records, take_in
from core.release import draw
from core.synopsis import Synopsis
from core.unit import RECORD

_MAX_CELLS = 4_000_000


@dataclass(frozen=True, slots=True)
class RowsInMemory:
    """Records as `draw` takes them."""

    records: Records
    unit = RECORD

    def __len__(self) -> int:
        return len(self.records)

    def count_on(self, plan: Plan) -> Counts | OccupiedCounts:
        """Exact records per cell."""
        counts = empty_counts(plan)
        counts.add(self.records)
        return counts

    def count_into(self, counter: Counter) -> None:
        """All records in one batch."""
        counter.add(self.records)


def unit_domain(d: int) -> Domain:
    """d numbers between 0 and 1."""
    return Domain(tuple(Number(f"x{axis}", 0, 1) for axis in range(d)))


def rows_in_memory(points: Floats) -> RowsInMemory:
    """Rows in [0, 1]^d, to be drawn from."""
    return RowsInMemory(take_in(tuple(points.T), unit_domain(points.shape[1]), OutOfRange.CLIP).records)


def drawn(rows: RowsInMemory, *, epsilon: str, clusters: int, declared: bool, rule: Rule) -> Synopsis:
    """What the service would publish, with noise from the operating system: a second call gives another one."""
    domain = unit_domain(len(rows.records.columns))
    size = DeclaredSize(len(rows)) if declared else EstimatedSize()
    order = Order(attributes=domain.attributes, epsilon=Epsilon.parse(epsilon), clusters=clusters, size=size, rule=rule)
    return draw(
        rows,
        order,
        NoiseSource(),
        max_cells=_MAX_CELLS,
        domain=domain,
        out_of_range=OutOfRange.CLIP,
        dataset="bench",
        release_id="bench",
    )


def released(
    points: Floats, *, epsilon: str, clusters: int, declared: bool, rng: np.random.Generator, rule: Rule = Rule.RUGNIK
) -> Synopsis:
    """Rows in [-1, 1]^d as the service would release them, their number declared or bought with 5 % of epsilon."""
    n, d = points.shape
    size = DeclaredSize(n) if declared else EstimatedSize()
    domain = Domain(tuple(Number(f"x{axis}", -1, 1) for axis in range(d)))
    order = Order(attributes=domain.attributes, epsilon=Epsilon.parse(epsilon), clusters=clusters, size=size, rule=rule)
    noisy_size = None if declared else n + int(_noise(order.size_epsilon, 1, rng)[0])
    plan = make_plan(order, max_cells=_MAX_CELLS, noisy_size=noisy_size)
    records = take_in(tuple(points.T), domain, OutOfRange.CLIP).records
    return Synopsis(
        dataset="bench",
        release="bench",
        domain=domain,
        cells=_layered(records, plan, rng) if plan.is_layered else _dense(records, plan, rng),
        epsilon=order.epsilon,
        size_epsilon=order.size_epsilon,
        clusters=clusters,
        rule=order.rule,
        out_of_range=OutOfRange.CLIP,
        size=plan.size,
        size_declared=declared,
    )


def _dense(records: Records, plan: Plan, rng: np.random.Generator) -> DenseCells:
    exact = count(records, plan.grid)
    return DenseCells(plan.grid, exact.cells + _noise(plan.order.histogram_epsilon, plan.grid.cell_count, rng))


def _layered(records: Records, plan: Plan, rng: np.random.Generator) -> AdaptiveCells:
    """The steps of `core.adaptive.release.draw_layers`, with noise from a seed."""
    order = plan.order
    laws = LayerLaws.of(order.histogram_epsilon, order.unit)
    base = count(records, plan.grid).cells
    layers = Layers(plan.grid, laws, base + laws.base.simulate(base.shape, rng))
    layers.cut_base(max_cells=_MAX_CELLS)
    coarse, counted = LayerCounts(layers, leaves=False), layers.coarse_counted
    coarse.add(records)
    layers.take_coarse(coarse.cells[counted] + laws.coarse.simulate((int(counted.sum()),), rng))
    layers.cut_coarse(max_cells=_MAX_CELLS)
    leaves = LayerCounts(layers, leaves=True)
    leaves.add(records)
    noise = [laws.leaf(is_cut=is_cut).simulate(leaves.cells.shape, rng) for is_cut in (False, True)]
    layers.take_leaves(leaves.cells + np.where(layers.leaf_is_cut, noise[1], noise[0]))
    bought = None if order.size_law is None else BoughtSize(plan.size, order.size_law)
    return AdaptiveCells.of(layers, bought)


def _noise(epsilon: Epsilon, size: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """The difference of two geometric draws: the released law, from a seed, so it protects nobody."""
    p = -np.expm1(-float(epsilon))
    return rng.geometric(p, size) - rng.geometric(p, size)
