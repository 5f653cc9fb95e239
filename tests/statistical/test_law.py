"""The noise has the discrete Laplace law at its scale; the tests also reject samplers that are slightly wrong."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from core.budget import Epsilon
from core.plan import EstimatedSize, Order
from core.randomness import NoiseSource
from core.release import noisy_size
from tests.core.rows import numbers
from tests.statistical.laws import (
    LEVEL,
    Sampler,
    cdf,
    chi_square,
    cuts,
    goodness_of_fit,
    mutants,
    ours,
    residue_fit,
    tally,
)

# One digit from 1/64 on; 0.005 has two digits, 0.000001 three, 0.000000001 four.
EPSILONS = ["3", "1", "0.5", "0.1", "0.005", "0.000001", "0.000000001"]
SAMPLES = 400_000
WRONG = [
    pytest.param(text, sampler, id=f"{text}-{name}")
    for text in EPSILONS[:-1]  # at one billionth there is no epsilon 10 % beside it
    for name, sampler in mutants(text).items()
]


@pytest.mark.parametrize("text", EPSILONS)
def test_the_noise_is_accepted_at_its_own_scale(text: str) -> None:
    """A chi-square test over all sizes and signs accepts 400,000 draws at p > 10^-9."""
    epsilon = Epsilon.parse(text)
    assert goodness_of_fit(ours(SAMPLES, epsilon), epsilon) > LEVEL


@pytest.mark.parametrize(("text", "sampler"), WRONG)
def test_noise_of_another_law_is_rejected(text: str, sampler: Sampler) -> None:
    """The same test rejects a scale 10 % off either way, a sensitivity of one half and rounded floats at p < 10^-9."""
    epsilon = Epsilon.parse(text)
    assert goodness_of_fit(sampler(SAMPLES, epsilon), epsilon) < LEVEL


@pytest.mark.parametrize("text", ["0.005", "0.000001", "0.000000001"])
@pytest.mark.parametrize(("modulus", "bins"), [(2**6, 64), (2**10, 64), (2**14, 64), (2**20, 64), (2**24, 64)])
def test_every_digit_of_small_epsilons_has_its_law(text: str, modulus: int, bins: int) -> None:
    """Noise modulo 2^6 … 2^24 follows its exact law: lowest, middle and top digits, and how they are put together."""
    epsilon = Epsilon.parse(text)
    assert residue_fit(ours(SAMPLES, epsilon), epsilon, modulus=modulus, bins=bins) > LEVEL


def test_a_digit_that_is_missing_or_stuck_is_rejected() -> None:
    """Noise without its lowest digit, or with a middle digit that is gone or always a multiple of four, is rejected."""
    epsilon = Epsilon.parse("0.000001")
    draws = ours(SAMPLES, epsilon)
    low, middle, top = draws % 2**10, draws // 2**10 % 2**10, draws // 2**20
    for wrong in (draws - low, draws - (middle << 10), (top << 20) + (middle // 4 * 4 << 10) + low):
        fits = [
            residue_fit(wrong, epsilon, modulus=modulus, bins=bins) for modulus, bins in ((2**10, 64), (2**20, 512))
        ]
        assert min(fits) < LEVEL


@pytest.mark.parametrize("text", ["1", "0.1", "0.000001"])
@pytest.mark.parametrize("lag", [1, 2, 100, 2**18])
def test_cells_are_noised_independently(text: str, lag: int) -> None:
    """The noise of one cell says nothing of the next, nor of the one a block of draws later."""
    epsilon = Epsilon.parse(text)
    draws = ours(2**19, epsilon)
    ends = cuts(epsilon, 0.02)[::4]
    bins = np.searchsorted(ends, draws, side="left")
    count = len(ends) + 1
    probabilities = np.diff(np.concatenate([[0.0], cdf(ends, epsilon), [1.0]]))
    # Pairs that do not overlap, so that they are themselves independent: cells i and i + lag for i in every other run.
    runs = np.arange(len(draws) - lag) // lag % 2 == 0
    pairs = bins[:-lag][runs] * count + bins[lag:][runs]
    assert chi_square(np.bincount(pairs, minlength=count**2), np.outer(probabilities, probabilities).ravel()) > LEVEL


def test_a_noisy_size_has_the_law_of_its_share() -> None:
    """A fifth of an epsilon of 1 buys a size with noise at 0.2 exactly: accepted there, rejected 10 % beside it."""
    size = EstimatedSize(share=Fraction(1, 5))
    order = Order(attributes=numbers(2), epsilon=Epsilon.parse("1"), clusters=2, size=size)
    noise = NoiseSource()
    draws = np.array([noisy_size(1000, order, noise) for _ in range(40_000)]) - 1000
    ends = cuts(Epsilon.parse("0.2"), 0.0125)
    for text, fits in (("0.2", True), ("0.22", False), ("0.18", False)):
        probabilities = np.diff(np.concatenate([[0.0], cdf(ends, Epsilon.parse(text)), [1.0]]))
        assert (chi_square(tally(draws, ends), probabilities) > LEVEL) == fits
