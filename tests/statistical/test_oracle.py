"""Two-sample tests against OpenDP's integer Laplace mechanism: ours passes, slightly wrong samplers fail."""

from __future__ import annotations

import numpy as np
import opendp.prelude as dp
import pytest

from core.budget import Epsilon
from tests.statistical.laws import LEVEL, Draws, goodness_of_fit, mutants, ours, same_law

dp.enable_features("contrib")
SAMPLES = 100_000


def oracle(size: int, epsilon: Epsilon) -> Draws:
    """Draws of OpenDP at scale 1 / epsilon."""
    space = dp.vector_domain(dp.atom_domain(T=int)), dp.l1_distance(T=int)
    mechanism = dp.m.make_laplace(*space, scale=1 / float(epsilon))
    return np.array(mechanism([0] * size), dtype=np.int64)


@pytest.mark.parametrize("text", ["2", "1", "0.1", "0.005", "0.000001"])
def test_the_noise_cannot_be_told_from_that_of_opendp(text: str) -> None:
    """A two-sample test accepts ours at p > 10^-9 and rejects each wrong sampler at p < 10^-9, on the same oracle."""
    epsilon = Epsilon.parse(text)
    drawn = oracle(SAMPLES, epsilon)
    assert goodness_of_fit(drawn, epsilon) > LEVEL
    assert same_law(ours(4 * SAMPLES, epsilon), drawn, epsilon) > LEVEL
    for name, sampler in mutants(text).items():
        assert same_law(sampler(4 * SAMPLES, epsilon), drawn, epsilon) < LEVEL, name
