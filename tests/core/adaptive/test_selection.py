"""What selection adds to an estimate is known from the noisy count alone: checked by sums over the law of the noise."""

from __future__ import annotations

import numpy as np
import pytest

from core.adaptive.cuts import MOST_HALVINGS
from core.adaptive.fusion import Fusion
from core.adaptive.layers import Layers
from core.adaptive.selection import base_gain, coarse_gain
from core.arrays import Floats, Wholes
from core.domain.axis import CategoryAxis, UniformAxis
from core.domain.grid import Grid
from core.mechanisms.discrete_laplace import DiscreteLaplace
from tests.core.adaptive.trees import laws_at

REACH = 60.0  # rates: what lies beyond has a probability below exp(-60)


def probabilities(law: DiscreteLaplace, errors: Wholes) -> Floats:
    """P(Z = z)."""
    q = np.exp(-law.rate)
    return (1 - q) / (1 + q) * q ** np.abs(errors)


def around(rows: int, law: DiscreteLaplace) -> Wholes:
    """All noisy counts that a cell of so many rows can have."""
    reach = int(REACH / law.rate)
    return np.arange(rows - reach, rows + reach + 1)


@pytest.mark.parametrize("epsilon", ["0.5", "2"])
@pytest.mark.parametrize("d", [1, 2, 3])
@pytest.mark.parametrize("rows", [0, 3, 20, 90])
def test_the_gain_of_a_coarse_cell_is_estimated_without_bias(epsilon: str, d: int, rows: int) -> None:
    """A coarse cell for each noisy count: weight times noise, and the gain, have one mean."""
    laws = laws_at(epsilon)
    counts = around(rows, laws.coarse)
    layers = Layers(Grid.uniform(1, d), laws, np.array([10**12]))
    layers.cut_base(max_cells=2 ** (len(counts).bit_length() + 1))
    assert len(layers.coarse) >= len(counts)
    many = np.full(len(layers.coarse), -1)
    many[: len(counts)] = counts
    layers.take_coarse(many)
    layers.take_leaves(np.zeros(layers.cut_coarse(), dtype=np.int64))
    fusion = Fusion(layers)
    weight = (fusion.u * fusion.coarse_weight)[: len(counts)]
    p = probabilities(laws.coarse, counts - rows)
    expected = (p * weight * (counts - rows)).sum()
    assert (p * coarse_gain(layers)[: len(counts)]).sum() == pytest.approx(expected, rel=1e-8, abs=1e-12)
    assert expected > 0


@pytest.mark.parametrize("d", [1, 2, 3])
@pytest.mark.parametrize("rows", [0, 5, 20, 90])
def test_the_gain_of_an_uncut_base_cell_is_estimated_without_bias(d: int, rows: int) -> None:
    """A base cell for each noisy count, in a release that skips all halvings of base cells."""
    laws = laws_at("2")
    counts = around(rows, laws.base)
    layers = Layers(Grid((CategoryAxis(len(counts)), *(UniformAxis(1),) * d)), laws, counts)
    assert layers.cut_base(skipped=MOST_HALVINGS) == 0
    layers.take_coarse(np.empty(0, dtype=np.int64))
    layers.take_leaves(np.zeros(layers.cut_coarse(), dtype=np.int64))
    p = probabilities(laws.base, counts - rows)
    expected = (p * Fusion(layers).t / laws.base.variance * (counts - rows)).sum()
    assert (p * base_gain(layers)).sum() == pytest.approx(expected, rel=1e-8, abs=1e-12)
    assert expected > 0
