"""The number of rows that a query may use: what was declared, or the best of two noisy counts."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from core.budget import Epsilon
from core.noise import standard_deviation
from core.queries.size import best_size
from tests.core.queries.worlds import rows, shaken, synopsis_of

EPSILON, BOUGHT = Epsilon.parse("1"), Epsilon.parse("0.2")


def test_a_declared_size_is_used_as_it_is() -> None:
    """Noise in the counts does not touch it."""
    size = best_size(shaken(synopsis_of(rows(600), 8), "0.5"))
    assert (size.rows, size.noise_sd) == (600.0, 0.0)


def test_a_declared_size_that_the_counts_rule_out_is_not_used() -> None:
    """Ten times too many rows declared: the sum of the counts is nearer to the truth."""
    release = replace(shaken(synopsis_of(rows(600), 8), "0.5"), size=6000)
    assert best_size(release).rows == release.counts.sum()
    assert best_size(release).noise_sd == pytest.approx(8 * standard_deviation(Epsilon.parse("0.5")))


def test_a_bought_size_and_the_sum_are_combined_by_their_precision() -> None:
    """Over many releases the combination is unbiased and scatters as it says, less than either of its parts."""
    exact = synopsis_of(rows(600), 5)
    rng = np.random.default_rng(0)
    found = []
    for seed in range(400):
        counts = shaken(exact, "0.8", seed).counts
        noise = int(rng.geometric(1 - np.exp(-0.2)) - rng.geometric(1 - np.exp(-0.2)))
        release = replace(
            exact, epsilon=EPSILON, size_epsilon=BOUGHT, size=600 + noise, size_declared=False, counts=counts
        )
        found.append(best_size(release))
    values, sd = np.array([size.rows for size in found]), found[0].noise_sd
    assert sd < min(standard_deviation(BOUGHT), 5 * standard_deviation(EPSILON - BOUGHT))
    assert abs(values.mean() - 600) < 5 * sd / 20
    assert values.std() == pytest.approx(sd, rel=0.2)


def test_there_is_always_a_row_to_speak_of() -> None:
    """Noise below zero leaves a size of 1, which everything can divide by."""
    release = synopsis_of(rows(20), 3)
    empty = replace(release, size_declared=False, size=1, counts=np.full(9, -50), size_epsilon=BOUGHT, epsilon=EPSILON)
    assert best_size(empty).rows == 1.0
    assert best_size(replace(empty, size_epsilon=Epsilon(0))).rows == 1.0
