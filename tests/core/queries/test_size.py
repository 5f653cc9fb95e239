"""The number of rows: two noisy counts combined, their exact noise, and what a declaration is good for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from core.budget import Epsilon
from core.cells import DenseCells
from core.intervals.radius import equal_radius
from core.mechanisms.discrete_laplace import DiscreteLaplace
from core.queries.moments import moments
from core.queries.size import Part, expected_rows, noisy_size, sum_radius
from core.synopsis import Synopsis
from tests.core.queries.worlds import least_hits, rows, shaken, synopsis_of

EPSILON, BOUGHT = Epsilon.parse("1"), Epsilon.parse("0.2")


def bought(size: int, draws: int, m: int = 5) -> Iterator[Synopsis]:
    """Releases of the same rows whose size was bought, from public seeds."""
    exact, rng = synopsis_of(rows(size), m), np.random.default_rng(0)
    for seed in range(draws):
        counts = shaken(exact, "0.8", seed).counts
        noise = int(rng.geometric(1 - np.exp(-0.2)) - rng.geometric(1 - np.exp(-0.2)))
        noisy = max(1, size + noise)
        cells = DenseCells(exact.grid, counts)
        yield replace(exact, epsilon=EPSILON, size_epsilon=BOUGHT, size=noisy, size_declared=False, cells=cells)


def test_a_declared_size_serves_the_model_unless_the_counts_rule_it_out() -> None:
    """Noise in the counts does not touch it; ten times too many rows declared, and the sum of the counts serves."""
    release = shaken(synopsis_of(rows(600), 8), "0.5")
    assert expected_rows(release) == 600.0
    assert expected_rows(replace(release, size=6000)) == release.counts.sum()


def test_a_declared_size_is_no_observation() -> None:
    """Whatever is declared, the answer about the size is the same: the sum of the counts, with the noise of it."""
    release = shaken(synopsis_of(rows(600), 8), "0.5")
    size = noisy_size(release)
    assert size.rows == release.counts.sum()
    assert size.noise_sd == pytest.approx(8 * DiscreteLaplace.at(Epsilon.parse("0.5")).standard_deviation)
    for declared in (1, 600, 10**9):
        assert moments(replace(release, size=declared), level=0.95) == moments(release, level=0.95)


def test_a_bought_size_and_the_sum_are_combined_by_their_precision() -> None:
    """Over many releases the combination is unbiased and scatters as it says, less than either of its parts."""
    sizes = [noisy_size(release) for release in bought(600, 400)]
    values, sd = np.array([size.rows for size in sizes]), sizes[0].noise_sd
    assert sd < min(
        DiscreteLaplace.at(BOUGHT).standard_deviation, 5 * DiscreteLaplace.at(EPSILON - BOUGHT).standard_deviation
    )
    assert abs(values.mean() - 600) < 5 * sd / 20
    assert values.std() == pytest.approx(sd, rel=0.2)


@pytest.mark.parametrize("size", [600, 4])
def test_the_size_of_an_answer_uses_the_bought_one_and_covers(size: int) -> None:
    """Its interval is narrower than that of the sum alone, and holds as often as it says, also near no rows at all."""
    draws, hits = 300, 0
    alone = equal_radius(DiscreteLaplace.at(EPSILON - BOUGHT), 25, alpha=0.05)
    for release in bought(size, draws):
        size_answer = moments(release, level=0.95).size
        low, high = size_answer.interval.low, size_answer.interval.high
        hits += low <= size <= high
        assert size_answer.value is not None
        assert low <= size_answer.value <= high
        if release.size > 1:
            assert high - low < 1.7 * alone
    assert hits >= least_hits(draws)


@pytest.mark.parametrize(("first", "second", "cells"), [("0.2", "0.8", 25), ("0.05", "0.95", 400), ("3", "9", 9)])
@pytest.mark.parametrize("alpha", [0.05, 0.001, 1e-6])
def test_the_radius_of_two_kinds_of_noise_is_that_of_their_law(
    first: str, second: str, cells: int, alpha: float
) -> None:
    """Against the law on a lattice: the radius is missed with alpha at most, and a hundredth less would not do."""
    share = 0.25
    laws = [DiscreteLaplace.at(Epsilon.parse(text)) for text in (first, second)]
    parts = Part(laws[0], share, 1), Part(laws[1], 1 - share, cells)
    reach = sum_radius(parts, alpha)
    length = 2**18  # X is a whole number of quarters
    angles = 2 * np.pi * np.arange(length // 2 + 1) / length
    exponent = np.zeros(len(angles))
    for part in parts:
        p = np.exp(-part.law.rate)
        exponent += part.times * np.log1p(4 * p / (1 - p) ** 2 * np.sin(4 * part.weight * angles / 2) ** 2)
    law = np.fft.irfft(np.exp(-exponent), n=length)[: length // 2]

    def exceeded(r: float) -> float:
        return float(1 - law[0] - 2 * law[1 : int(np.floor(4 * r + 1e-9)) + 1].sum())

    assert exceeded(reach) <= alpha * (1 + 1e-4)
    assert exceeded(0.99 * reach - 0.25) > alpha


def test_there_is_always_a_row_to_speak_of() -> None:
    """Noise below zero leaves the model a size of 1, which everything can divide by."""
    release = synopsis_of(rows(20), 3)
    cells = DenseCells(release.grid, np.full(9, -50))
    empty = replace(release, size_declared=False, size=1, cells=cells, size_epsilon=BOUGHT, epsilon=EPSILON)
    assert expected_rows(empty) == 1.0
    assert expected_rows(replace(empty, size_epsilon=Epsilon(0))) == 1.0
