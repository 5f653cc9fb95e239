"""Survivors have the same law as noising every cell and thresholding; the tests also reject wrong samplers."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy.stats import binom

from core.budget import Epsilon
from core.mechanisms.discrete_laplace import DiscreteLaplace
from core.mechanisms.survivors import draw_gap, survivors
from core.randomness import NoiseSource
from tests.statistical.laws import LEVEL, cdf, chi_square

EPSILON = Epsilon.parse("0.5")
LAW = DiscreteLaplace.at(EPSILON)
THRESHOLD = 4
CELLS = 1500
OCCUPIED = np.arange(0, CELLS, 3)  # a third of the cells, at counts around the threshold
COUNTS = np.arange(len(OCCUPIED)) % 8
RUNS = 40


def reaching(t: np.ndarray) -> np.ndarray:
    """P(t + Z >= THRESHOLD)."""
    return 1 - cdf(THRESHOLD - 1 - t, EPSILON)


def sparse() -> tuple[np.ndarray, np.ndarray]:
    """The survivors, drawn without visiting the empty cells."""
    return survivors(OCCUPIED, COUNTS, cell_count=CELLS, threshold=THRESHOLD, law=LAW, noise=NoiseSource())


def at_another_threshold(off: int) -> Callable[[], tuple[np.ndarray, np.ndarray]]:
    """The mistake of a threshold that is off by a little in one of the two halves."""

    def mutant() -> tuple[np.ndarray, np.ndarray]:
        return survivors(OCCUPIED, COUNTS, cell_count=CELLS, threshold=THRESHOLD + off, law=LAW, noise=NoiseSource())

    return mutant


def only_empty_coins() -> tuple[np.ndarray, np.ndarray]:
    """The mistake of letting the coins of occupied cells count as well: those cells survive too often."""
    cells, counts = sparse()
    more, values = survivors(
        np.array([], dtype=np.int64),
        np.array([], dtype=np.int64),
        cell_count=CELLS,
        threshold=THRESHOLD,
        law=LAW,
        noise=NoiseSource(),
    )
    new = np.isin(more, OCCUPIED) & ~np.isin(more, cells)
    return np.append(cells, more[new]), np.append(counts, values[new])


def judged(draw: Callable[[], tuple[np.ndarray, np.ndarray]]) -> float:
    """The least p-value: how many survive by true count, their values, and where the empty ones lie."""
    truth = np.zeros(CELLS, dtype=np.int64)
    truth[OCCUPIED] = COUNTS
    survived, values, places = np.zeros(8), [], []
    for _ in range(RUNS):
        cells, counts = draw()
        survived += np.bincount(truth[cells], minlength=8)
        values.append(counts[truth[cells] == 0] - THRESHOLD)
        places.append(cells[truth[cells] == 0])
    trials = RUNS * np.bincount(truth, minlength=8)
    tails = binom.cdf(survived, trials, reaching(np.arange(8))), binom.sf(survived - 1, trials, reaching(np.arange(8)))
    excess, p = np.concatenate(values), np.exp(-float(EPSILON))
    law = np.append((1 - p) * p ** np.arange(9), p**9)
    in_law = chi_square(np.bincount(np.clip(excess, 0, 9), minlength=10), law) if (excess >= 0).all() else 0.0
    zeros = np.flatnonzero(truth == 0)
    spread = np.bincount(np.searchsorted(zeros, np.concatenate(places)) * 3 // len(zeros), minlength=3)
    return float(min(*(2 * np.minimum(*tails)), in_law, chi_square(spread, np.full(3, 1 / 3))))


def test_survivors_have_the_law_of_noising_every_cell() -> None:
    """By true count, by value and by place they are what thresholding the whole noisy histogram leaves."""
    assert judged(sparse) > LEVEL


@pytest.mark.parametrize(
    "mutant", [at_another_threshold(1), at_another_threshold(-1), only_empty_coins], ids=["above", "below", "coins"]
)
def test_survivors_of_another_law_are_rejected(mutant: Callable[[], tuple[np.ndarray, np.ndarray]]) -> None:
    """A threshold that is off by one, and occupied cells that survive by their coin, are found out."""
    assert judged(mutant) < LEVEL


def test_gaps_are_geometric() -> None:
    """5,000 gaps follow P(gap >= k) = (1 - q)^k, and not that of a coin half as likely again, or a third less."""
    gaps = np.array([draw_gap(THRESHOLD, LAW, NoiseSource(), most=10**9) for _ in range(5000)])
    for off, fits in ((1.0, True), (1.5, False), (0.67, False)):
        q = off * float(reaching(np.array([0]))[0])
        ends = np.unique(np.floor(np.log(1 - np.arange(0.1, 1, 0.1)) / np.log1p(-q)).astype(int))
        probabilities = np.diff(np.concatenate([[0.0], 1 - (1 - q) ** (ends + 1), [1.0]]))
        tally = np.bincount(np.searchsorted(ends, gaps, side="left"), minlength=len(ends) + 1)
        assert (chi_square(tally, probabilities) > LEVEL) == fits
