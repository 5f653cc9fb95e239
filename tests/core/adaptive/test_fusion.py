"""Fused estimates against generalised least squares, written with the matrices of a textbook.

The counts y of all layers are A x for the rows x of each leaf, plus noise. With the inverse variances W the estimate is
(A' W A)^-1 A' W y and its covariance matrix (A' W A)^-1. Planning counts are lowered by what selection adds to an
estimate (`core.adaptive.selection`), divided by their weight in it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from core.adaptive.fusion import BoughtSize, Fusion
from core.adaptive.layers import Layers
from core.adaptive.selection import base_gain, coarse_gain
from core.arrays import Floats
from core.domain.category import Category
from core.domain.grid import Grid
from core.domain.integer import Integer
from core.domain.number import Number
from core.unit import RECORD, Unit
from tests.core.adaptive.trees import laws_at, layers_on

GRIDS = [
    Grid.uniform(2, 1),
    Grid.uniform(1, 2),
    Grid((Category("a", ("one", "two")).axis(2), Integer("x", 0, 6).axis(2))),
    Grid((Number("x", 0, 1).axis(1), Integer("y", 3, 3).axis(1), Number("z", 0, 1).axis(1))),
]


SIZES = st.one_of(
    st.none(),
    st.builds(BoughtSize, st.integers(-100, 30_000), st.sampled_from([laws_at("0.5").coarse, laws_at("9").base])),
)


@dataclass(frozen=True)
class Dense:
    """The least squares of one tree."""

    estimate: Floats
    covariance: Floats

    @classmethod
    def of(cls, layers: Layers, bought: BoughtSize | None) -> Dense:
        """By dense linear algebra."""
        counted, number = layers.coarse_counted, len(layers.leaves)
        of_base = layers.leaf_base == np.arange(layers.base.cell_count)[:, None]
        of_coarse = (layers.leaf_coarse == np.arange(len(layers.coarse))[:, None])[counted]
        A = np.concatenate([of_base, of_coarse, np.eye(number)]).astype(np.float64)
        laws = layers.laws
        leaf = np.where(layers.leaf_is_cut, 1 / laws.leaf_cut.variance, 1 / laws.leaf_uncut.variance)
        planning = [(laws.base, len(of_base)), (laws.coarse, len(of_coarse))]
        W = np.concatenate([*(np.full(cells, 1 / law.variance) for law, cells in planning), leaf])
        leaves = np.bincount(layers.leaf_coarse, 1 / leaf)  # the variance of the sum of the leaves
        u = 1 / (counted / laws.coarse.variance + 1 / leaves)
        weight = u / laws.coarse.variance
        total = np.bincount(layers.coarse_base, u)
        base_weight = total / (total + laws.base.variance)
        base = layers.base_counts - base_gain(layers) / base_weight
        coarse = (layers.coarse_counts - coarse_gain(layers) / weight)[counted]
        y = np.concatenate([base, coarse, layers.leaf_counts])
        if bought is not None:
            A, y = np.concatenate([A, np.ones((1, number))]), np.append(y, bought.size)
            W = np.append(W, 1 / bought.law.variance)
        information = A.T @ (W[:, None] * A)
        return cls(np.linalg.solve(information, A.T @ (W * y)), np.linalg.inv(information))


@st.composite
def trees(draw: st.DrawFn) -> Layers:
    """Small trees of few and of many rows."""
    unit = draw(st.sampled_from([RECORD, Unit("p", 4)]))
    laws, rows = laws_at(draw(st.sampled_from(["0.2", "1", "3"])), unit), draw(st.sampled_from([100, 500, 3000, 20000]))
    grid, seed = draw(st.sampled_from(GRIDS)), draw(st.integers(0, 2**32))
    return layers_on(grid, laws, seed, rows=float(rows), max_cells=60)


@settings(max_examples=80)
@given(trees(), SIZES)
def test_fused_leaves_are_generalised_least_squares(layers: Layers, bought: BoughtSize | None) -> None:
    """The estimate of every leaf, and its variance."""
    fusion, dense = Fusion(layers, bought), Dense.of(layers, bought)
    scale = np.abs(dense.estimate).max() + 1
    assert np.abs(fusion.leaves - dense.estimate).max() <= 1e-8 * scale
    assert np.allclose(fusion.leaf_variances, np.diag(dense.covariance), rtol=1e-8, atol=0)


@settings(max_examples=80)
@given(trees(), SIZES, st.integers(0, 2**32))
def test_covariances_are_those_of_the_matrix(layers: Layers, bought: BoughtSize | None, seed: int) -> None:
    """Of any two weighted sums of leaves."""
    fusion, dense, rng = Fusion(layers, bought), Dense.of(layers, bought), np.random.default_rng(seed)
    f, g = rng.normal(size=(2, len(layers.leaves))) * rng.choice([0, 1, 10], size=(2, len(layers.leaves)))
    scale = np.sqrt((f @ dense.covariance @ f) * (g @ dense.covariance @ g))
    assert abs(fusion.covariance(f, g) - f @ dense.covariance @ g) <= 1e-8 * scale
    assert np.isclose(fusion.variance(f), f @ dense.covariance @ f, rtol=1e-8, atol=0)


@settings(max_examples=80)
@given(trees())
def test_the_estimates_of_a_layer_add_up_to_those_above(layers: Layers) -> None:
    """Leaves to their coarse cell, coarse cells to their base cell."""
    fusion = Fusion(layers)
    scale = np.abs(fusion.leaves).sum() + 1
    for parts, parents, whole in (
        (fusion.leaves, layers.leaf_coarse, fusion.coarse),
        (fusion.coarse, layers.coarse_base, fusion.base),
    ):
        assert np.abs(np.bincount(parents, parts, len(whole)) - whole).max() <= 1e-9 * scale


def test_what_selection_adds_is_estimated_without_bias() -> None:
    """For every true count: the mean of (weight of a noisy count) x (its noise) is the mean of the estimated gain.

    A thousand coarse cells have all noisy counts from -300 on, so that means over the noise are plain sums.
    """
    laws = laws_at("2")
    layers = Layers(Grid.uniform(1024, 1), laws, np.full(1024, 80))
    noisy = np.arange(layers.cut_base()) - 300
    layers.take_coarse(noisy)
    layers.cut_coarse()
    n, w, v = layers.leaves.sizes, laws.leaf_cut.variance, laws.coarse.variance
    weight, gain = n * w / (n * w + v), coarse_gain(layers)
    q = np.exp(-laws.coarse.rate)
    probability = (1 - q) / (1 + q) * q ** np.abs(np.arange(-250, 251))
    added = np.correlate(weight, probability * np.arange(-250, 251), "valid")
    assert added.max() > 0.1  # rows: without the correction every such cell is too high by that
    assert np.abs(added - np.correlate(gain, probability, "valid")).max() < 1e-9


def test_the_trees_of_these_tests_have_cut_and_uncut_cells() -> None:
    """The least squares above have paths of both kinds, in one tree."""
    many = [layers_on(GRIDS[0], laws_at("3"), seed, rows=300.0, max_cells=60) for seed in range(20)]
    assert any(each.leaf_is_cut.any() and not each.leaf_is_cut.all() for each in many)
