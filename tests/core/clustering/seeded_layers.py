"""Adaptive releases of made-up rows, with noise from a seed, so that a test sees the same release every time."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from core.adaptive.cells import AdaptiveCells
from core.adaptive.layers import Layers
from core.adaptive.release import LayerCounts
from core.adaptive.shares import LayerLaws
from core.budget import Epsilon
from core.domain.domain import Domain
from core.histogram import count
from core.mechanisms.law import NoiseLaw
from core.plan import DeclaredSize, Order, Rule, make_plan
from core.records import OutOfRange, take_in
from core.synopsis import Synopsis
from tests.core.rows import numbers

_MOST = 10**6


def seeded_release(
    values: NDArray[np.float64], epsilon: str, seed: int = 0, *, clusters: int = 3, domain: Domain | None = None
) -> Synopsis:
    """An adaptive release of rows in [0, 1]^d, or in another domain, whose number is declared."""
    domain = domain or Domain(numbers(values.shape[1]))
    rng = np.random.default_rng(seed)
    order = Order(
        attributes=domain.attributes,
        epsilon=Epsilon.parse(epsilon),
        clusters=clusters,
        size=DeclaredSize(len(values)),
        rule=Rule.ADAPTIVE,
    )
    plan = make_plan(order, max_cells=_MOST)
    assert plan.is_layered
    columns = tuple(
        column.astype(attribute.column_type) for column, attribute in zip(values.T, domain.attributes, strict=True)
    )
    records = take_in(columns, domain, OutOfRange.CLIP).records
    laws = LayerLaws.of(order.histogram_epsilon, order.unit)

    def noised(exact: NDArray[np.int64], law: NoiseLaw) -> NDArray[np.int64]:
        return exact + law.simulate(exact.shape, rng)

    layers = Layers(plan.grid, laws, noised(count(records, plan.grid).cells, laws.base))
    layers.cut_base(max_cells=_MOST)
    coarse = LayerCounts(layers, leaves=False)
    coarse.add(records)
    layers.take_coarse(noised(coarse.cells[layers.coarse_counted], laws.coarse))
    layers.cut_coarse(max_cells=_MOST)
    leaves = LayerCounts(layers, leaves=True)
    leaves.add(records)
    noisy, is_cut = leaves.cells.copy(), layers.leaf_is_cut
    for cut in (False, True):
        noisy[is_cut == cut] = noised(leaves.cells[is_cut == cut], laws.leaf(is_cut=cut))
    layers.take_leaves(noisy)
    return Synopsis(
        dataset="d",
        release="r",
        domain=domain,
        cells=AdaptiveCells.of(layers),
        epsilon=order.epsilon,
        size_epsilon=order.size_epsilon,
        clusters=clusters,
        rule=order.rule,
        out_of_range=OutOfRange.CLIP,
        size=plan.size,
        size_declared=True,
    )


def cells_of_release(release: Synopsis) -> AdaptiveCells:
    """The leaves."""
    assert isinstance(release.cells, AdaptiveCells)
    return release.cells
