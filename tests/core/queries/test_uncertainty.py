"""The law of a sum of noise is computed, not guessed."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm

from core.budget import Epsilon
from core.noise import tail_radius
from core.queries.uncertainty import normal_radius, radii, radius, standard_radius, tail_of_sum


def law(epsilon: float, reach: int) -> np.ndarray:
    """P(Z = z) for z = -reach … reach, straight from the formula."""
    p = np.exp(-epsilon)
    return (1 - p) / (1 + p) * p ** np.abs(np.arange(-reach, reach + 1))


@pytest.mark.parametrize("epsilon", ["0.3", "1", "5", "40"])
@pytest.mark.parametrize("n", [1, 2, 3, 7])
def test_the_tail_of_a_sum_is_that_of_its_convolution(epsilon: str, n: int) -> None:
    """The Fourier transform gives what convolving the law n times gives."""
    single = law(float(epsilon), 300)
    whole = single
    for _ in range(n - 1):
        whole = np.convolve(whole, single)
    middle = len(whole) // 2
    tail = tail_of_sum(Epsilon.parse(epsilon), n)
    for r in range(min(40, len(tail))):
        expected = 1 - whole[middle - r : middle + r + 1].sum()
        assert tail[r] == pytest.approx(expected, abs=1e-10)


@pytest.mark.parametrize("epsilon", ["0.05", "0.7", "3", "90"])
def test_one_cell_has_the_radius_of_the_noise_itself(epsilon: str) -> None:
    """For a single cell the radius is the one that the noise's own tail gives."""
    amount = Epsilon.parse(epsilon)
    for level in (0.5, 0.9, 0.95, 0.999):
        assert radius(amount, level, squares=1, fourths=1) == tail_radius(amount, probability=1 - level)


def test_many_cells_are_normal() -> None:
    """Where the normal law takes over, the exact one is within a fifth of a percent of it."""
    for level in (0.5, 0.95, 0.999):
        exact = standard_radius(Epsilon.parse("0.05"), level, 1023)
        assert exact == pytest.approx(norm.ppf(0.5 + level / 2), rel=2e-3)
        assert normal_radius(level) == pytest.approx(norm.ppf(0.5 + level / 2))


def test_many_sums_at_once_are_those_one_by_one() -> None:
    """`radii` is `radius`, from no cell at all to thousands."""
    rng = np.random.default_rng(0)
    weights = [rng.uniform(0, 1, n) for n in (1, 2, 10, 900, 5000)] + [np.zeros(3), np.ones(4)]
    squares = np.array([(w**2).sum() for w in weights])
    fourths = np.array([(w**4).sum() for w in weights])
    amount = Epsilon.parse("0.4")
    together = radii(amount, 0.9, squares=squares, fourths=fourths)
    alone = [radius(amount, 0.9, squares=s, fourths=f) for s, f in zip(squares, fourths, strict=True)]
    assert together == pytest.approx(alone, rel=1e-8)
    assert together[-2] == 0.0


def test_small_epsilons_follow_the_limit() -> None:
    """Below the finest table the radius scales with the standard deviation and still covers."""
    coarse, fine = Epsilon.parse("0.05"), Epsilon.parse("0.0001")
    ratio = radius(fine, 0.95, squares=3, fourths=3) / radius(coarse, 0.95, squares=3, fourths=3)
    assert ratio == pytest.approx(500, rel=1e-3)
