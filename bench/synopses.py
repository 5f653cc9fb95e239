"""Synopses for benchmarks: the service's grid and the released law of noise, from a fixed seed instead of entropy."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bench.published import Floats
from core.budget import Epsilon
from core.cells import DenseCells
from core.domain.domain import Domain
from core.domain.number import Number
from core.histogram import count
from core.plan import DeclaredSize, EstimatedSize, Order, Rule, make_plan
from core.records import OutOfRange, take_in
from core.synopsis import Synopsis

_MAX_CELLS = 4_000_000


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
    exact = count(take_in(tuple(points.T), domain, OutOfRange.CLIP).records, plan.grid)
    return Synopsis(
        dataset="bench",
        release="bench",
        domain=domain,
        cells=DenseCells(plan.grid, exact.cells + _noise(order.histogram_epsilon, plan.grid.cell_count, rng)),
        epsilon=order.epsilon,
        size_epsilon=order.size_epsilon,
        clusters=clusters,
        rule=order.rule,
        out_of_range=OutOfRange.CLIP,
        size=plan.size,
        size_declared=declared,
    )


def _noise(epsilon: Epsilon, size: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """The difference of two geometric draws: the released law, from a seed, so it protects nobody."""
    p = -np.expm1(-float(epsilon))
    return rng.geometric(p, size) - rng.geometric(p, size)
