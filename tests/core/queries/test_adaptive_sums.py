"""Weighted sums of leaves: many at once are the same as one by one."""

from __future__ import annotations

import numpy as np
import pytest

from core.adaptive.fusion import Fusion
from core.adaptive.weighted import Prefixes, SomeSums, SparseSums, leaf_scales
from tests.core.queries.layered import DOMAINS, layered, made_up

DOMAIN = DOMAINS["a number with missing values"]


@pytest.fixture(scope="module")
def fusion() -> Fusion:
    """The fused estimates of a release with leaves below cut and uncut base cells."""
    fusion = layered(DOMAIN, made_up(DOMAIN, 2000), "2").cells.fusion
    assert 0 < fusion.layers.leaf_is_cut.mean() < 1
    return fusion


def test_covariances_of_some_sums_are_those_of_each_pair(fusion: Fusion) -> None:
    """`Fusion.covariance` is the reference, for all leaves and for some of them."""
    rng, leaves = np.random.default_rng(0), len(fusion.leaves)
    for chosen in (np.arange(leaves), np.sort(rng.choice(leaves, leaves // 3, replace=False)), np.array([7])):
        weights = np.zeros((4, leaves))
        weights[:, chosen] = rng.normal(size=(4, len(chosen)))
        sums = SomeSums.of(fusion, chosen, weights[:, chosen])
        one_by_one = [[fusion.covariance(first, second) for second in weights] for first in weights]
        np.testing.assert_allclose(sums.covariances, one_by_one, rtol=1e-9, atol=1e-9)
        least = (np.abs(weights[:, chosen]) * leaf_scales(fusion, chosen)).max(axis=1)
        assert (sums.scales >= least - 1e-12).all()


def test_sparse_sums_are_those_of_their_leaves(fusion: Fusion) -> None:
    """Estimate, deviation and a scale that no draw exceeds; a sum of no leaves is 0."""
    rng, leaves = np.random.default_rng(1), len(fusion.leaves)
    owners = np.repeat(np.arange(5), 60)
    chosen = np.concatenate([rng.choice(leaves, 60, replace=False) for _ in range(5)])
    weights = rng.random(len(chosen))
    sums = SparseSums.of(fusion, sums=6, owners=owners, leaves=chosen, weights=weights)
    for i in range(5):
        own = np.bincount(chosen[owners == i], weights=weights[owners == i], minlength=leaves)
        assert sums.estimates[i] == pytest.approx(own @ fusion.leaves)
        assert sums.deviations[i] ** 2 == pytest.approx(fusion.variance(own))
        assert sums.scales[i] == leaf_scales(fusion, chosen[owners == i]).max()
    assert sums.estimates[5] == sums.deviations[5] == 0.0


def test_prefixes_are_sums_over_the_first_leaves(fusion: Fusion) -> None:
    """In any order, of any of the leaves, with any weights."""
    rng, leaves = np.random.default_rng(2), len(fusion.leaves)
    order = rng.permutation(leaves)[: leaves - 50]
    weights, others, whole = rng.normal(size=(3, leaves))
    whole[np.setdiff1d(np.arange(leaves), order)] = 0.0
    prefixes = Prefixes(fusion, order)
    own = prefixes.covariance(weights[order], others[order])
    variance = prefixes.covariance(weights[order], weights[order])
    fixed = prefixes.covariance_with(weights[order], whole[order])
    for i in (0, 1, 7, leaves // 2, len(order)):
        first, second = np.zeros((2, leaves))
        first[order[:i]], second[order[:i]] = weights[order[:i]], others[order[:i]]
        assert own[i] == pytest.approx(fusion.covariance(first, second), rel=1e-8, abs=1e-8)
        assert variance[i] == pytest.approx(fusion.variance(first), rel=1e-8, abs=1e-8)
        assert fixed[i] == pytest.approx(fusion.covariance(first, whole), rel=1e-8, abs=1e-8)
