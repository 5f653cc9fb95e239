"""The discrete vector Laplace law: formulas against plain sums, sampler against law, and the privacy loss."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.budget import Epsilon
from core.errors import InvalidEpsilon
from core.mechanisms.vector_laplace import VectorLaplace
from core.mechanisms.vector_laplace_sampler import draw_vectors, uniform_below
from core.randomness import NoiseSource
from tests.core.scripted import ScriptedBytes
from tests.statistical.laws import LEVEL, chi_square

HALF = VectorLaplace(nano=10**9, sensitivity=2, dimensions=3)


def probability_of_reach(law: VectorLaplace, most: int) -> np.ndarray:
    """P(max |Z_x| = r) for r = 0 … most, and last that of all r above: vectors of that reach times p^r."""
    r, d, p = np.arange(most + 400 / law.rate), law.dimensions, np.exp(-law.rate)
    shells = np.where(r > 0, (2 * r + 1) ** d - (2 * r - 1) ** d, 1.0) * p**r
    shares = shells / shells.sum()
    return np.append(shares[: most + 1], shares[most + 1 :].sum())


def by_reach(vectors: np.ndarray, most: int) -> np.ndarray:
    """How many vectors have each reach, those above the last one together."""
    return np.bincount(np.minimum(np.abs(vectors).max(axis=1), most + 1), minlength=most + 2)


@pytest.mark.parametrize("dimensions", [1, 3, 8, 32])
def test_moments_are_those_of_the_law(dimensions: int) -> None:
    """Variance and log E exp(t Z) of a coordinate, uniform on -k … k with P(k) ~ (2k + 1)^d p^k, by adding up."""
    law = VectorLaplace(nano=3 * 10**8, sensitivity=2, dimensions=dimensions)
    k = np.arange(3000.0)
    logs = dimensions * np.log(2 * k + 1) - law.rate * k
    shares = np.exp(logs - logs.max()) / np.exp(logs - logs.max()).sum()
    assert law.variance == pytest.approx(shares @ (k * (k + 1)) / 3)
    t = law.rate * np.array([0.01, 0.3, 0.8])
    given_k = np.log(np.sinh(np.multiply.outer(t, k + 0.5))) - np.log((2 * k + 1) * np.sinh(t / 2)[:, None])
    assert law.log_mgf(t) == pytest.approx(np.log(np.exp(given_k) @ shares), rel=1e-6)


@given(st.integers(1, 10**11), st.integers(1, 1000), st.integers(7, 32))
def test_every_rate_has_a_finite_law(nano: int, rows: int, dimensions: int) -> None:
    """From the smallest epsilon of persons with a thousand rows to the largest of records."""
    law = VectorLaplace.at(Epsilon(nano), rows_per_unit=rows, largest=256, dimensions=dimensions)
    assert law.exact_rate * 10**9 * rows * 256 == nano
    assert 0 < law.standard_deviation < np.inf
    assert 0 < law.tail_radius(probability=0.05) < np.inf


def test_the_sampler_has_the_law_and_twice_its_rate_does_not() -> None:
    """100,000 vectors by their reach. A sampler with a rate off by a factor of two is rejected."""
    expected = probability_of_reach(HALF, 30)
    assert chi_square(by_reach(draw_vectors(HALF, 100_000, NoiseSource()), 30), expected) > LEVEL
    double = VectorLaplace(nano=2 * HALF.nano, sensitivity=HALF.sensitivity, dimensions=3)
    assert chi_square(by_reach(draw_vectors(double, 100_000, NoiseSource()), 30), expected) < LEVEL


def test_vectors_of_equal_reach_are_equally_likely() -> None:
    """All 25 vectors of reach 2 at most, in two dimensions, and everything beyond them."""
    law = VectorLaplace(nano=10**9, sensitivity=1, dimensions=2)
    vectors = draw_vectors(law, 100_000, NoiseSource())
    reach = probability_of_reach(law, 2)
    near = list(product(range(-2, 3), repeat=2))
    counts = [int((vectors == vector).all(axis=1).sum()) for vector in near]
    shares = [reach[r] / (8 * r if r else 1) for r in (max(map(abs, vector)) for vector in near)]
    observed = np.array([*counts, len(vectors) - sum(counts)])
    assert chi_square(observed, np.array([*shares, 1 - sum(shares)])) > LEVEL


@given(st.lists(st.integers(-5, 5), min_size=3, max_size=3), st.lists(st.integers(-2, 2), min_size=3, max_size=3))
def test_the_privacy_loss_is_the_largest_change_of_a_coordinate(noisy: list[int], change: list[int]) -> None:
    """log P(z) - log P(z - delta) is at most e max |delta|: the triangle inequality of the largest coordinate."""
    loss = max(abs(a - b) for a, b in zip(noisy, change, strict=True)) - max(map(abs, noisy))
    assert abs(loss) <= max(map(abs, change))


def test_uniform_numbers_reject_what_would_favour_the_low_ones() -> None:
    """2^64 is 1 more than a multiple of 3: the last of all 64-bit numbers is drawn again; 2^63 divides 2^64."""
    top = (2**64 - 1).to_bytes(8, "little")
    again = (4).to_bytes(8, "little")
    assert uniform_below(np.array([3]), ScriptedBytes([top, again])).tolist() == [1]
    assert uniform_below(np.array([2**62, 1]), ScriptedBytes([top + top])).tolist() == [2**62 - 1, 0]


@pytest.mark.parametrize("fields", [(0, 1, 1), (1, 0, 1), (1, 1, 0)])
def test_noise_without_an_epsilon_is_refused(fields: tuple[int, int, int]) -> None:
    """An epsilon of zero would be infinite noise, not none."""
    with pytest.raises(InvalidEpsilon):
        VectorLaplace(*fields)
