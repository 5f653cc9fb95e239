"""The discrete Laplace law: moments, tails and transforms, each against the sum of its probabilities."""

from __future__ import annotations

from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.budget import NANO, Epsilon
from core.errors import InvalidEpsilon
from core.mechanisms.discrete_laplace import DiscreteLaplace
from core.mechanisms.law import NoiseLaw
from tests.core.exact import exp_minus
from tests.core.strategies import epsilons


def laws(least: int = 1, most: int = 100 * NANO) -> st.SearchStrategy[DiscreteLaplace]:
    """Laws at all orders of magnitude of epsilon, for units of one row and of three."""
    return st.builds(DiscreteLaplace.at, epsilons(least, most), rows_per_unit=st.sampled_from([1, 3]))


def exact_tail(p: Fraction, r: int) -> Fraction:
    """P(|Z| > r) as one minus the sum of all the probabilities up to r."""
    return 1 - (1 - p) / (1 + p) * (1 + 2 * sum(p**z for z in range(1, r + 1)))


@given(laws(least=6 * 10**8, most=10 * NANO))
def test_the_variance_is_that_of_the_law(law: DiscreteLaplace) -> None:
    """Var Z equals the sum of z^2 P(z), term by term until nothing is left of it."""
    p = exp_minus(law.exact_rate, 128)
    terms = range(1, int(60 / law.exact_rate) + 2)
    with localcontext() as context:
        context.prec = 40
        q = Decimal(p.numerator) / Decimal(p.denominator)
        exact = (1 - q) / (1 + q) * 2 * sum(z * z * q**z for z in terms)
    assert law.variance == pytest.approx(float(exact), rel=1e-12)
    assert law.standard_deviation == pytest.approx(float(exact.sqrt()), rel=1e-12)


@given(laws())
def test_the_variance_keeps_its_digits_at_every_epsilon(law: DiscreteLaplace) -> None:
    """2 p / (1 - p)^2 from 10^-9 to 100, where 1 - p computed in doubles would have no digit left."""
    p = exp_minus(law.exact_rate, 512)
    assert law.variance == pytest.approx(float(2 * p / (1 - p) ** 2), rel=1e-12)


@pytest.mark.parametrize("epsilon", ["600", "746", "999.999999999"])
def test_moments_are_finite_and_positive_at_the_largest_epsilons(epsilon: str) -> None:
    """Where p is no double any more, they are bounds."""
    law = DiscreteLaplace.at(Epsilon.parse(epsilon))
    assert 0.0 < law.variance < 1e-250
    assert 1e250 < law.kurtosis < np.inf


@given(laws(least=6 * 10**8, most=10 * NANO), st.floats(1e-12, 1.0))
def test_the_tail_radius_is_the_least_that_holds_by_summing(law: DiscreteLaplace, probability: float) -> None:
    """P(|Z| > r) <= probability, and not for r - 1, by adding up the law."""
    p = exp_minus(law.exact_rate, 128)
    r = law.tail_radius(probability=probability)
    assert exact_tail(p, r) <= Fraction(probability)
    if r:
        assert exact_tail(p, r - 1) > Fraction(probability)


@given(laws(least=10**5), st.floats(1e-300, 1.0))
def test_the_tail_radius_is_the_least_that_holds(law: DiscreteLaplace, probability: float) -> None:
    """The same for small epsilons and far tails, by the closed form 2 p^(r + 1) / (1 + p)."""
    r = law.tail_radius(probability=probability)
    e = law.exact_rate
    p = exp_minus(e)
    bound = Fraction(probability) * (1 + p) / 2
    assert exp_minus(e * (r + 1), 1200) <= bound
    if r:
        assert exp_minus(e * r, 1200) > bound


RATES = [DiscreteLaplace.at(Epsilon.parse("0.3")), DiscreteLaplace.at(Epsilon.parse("2")), DiscreteLaplace(NANO, 3)]


def probabilities(law: DiscreteLaplace, reach: int = 400) -> tuple[np.ndarray, np.ndarray]:
    """z = -reach … reach and P(Z = z), straight from the formula."""
    z = np.arange(-reach, reach + 1)
    p = float(exp_minus(law.exact_rate))
    return z, (1 - p) / (1 + p) * p ** np.abs(z)


@pytest.mark.parametrize("law", RATES)
def test_kurtosis_and_mean_excess_are_those_of_the_law(law: DiscreteLaplace) -> None:
    """E Z^4 / (E Z^2)^2 - 3, and E[Z - T | Z >= T] for every T."""
    z, chances = probabilities(law)
    assert law.kurtosis == pytest.approx((z**4.0 @ chances) / (z**2.0 @ chances) ** 2 - 3, rel=1e-9)
    for threshold in (0, 1, 7):
        above = z >= threshold
        excess = ((z - threshold)[above] @ chances[above]) / chances[above].sum()
        assert law.mean_excess == pytest.approx(excess, rel=1e-9)


@pytest.mark.parametrize("law", RATES)
def test_both_transforms_are_those_of_the_law(law: DiscreteLaplace) -> None:
    """log E exp(t Z) for |t| below the rate, and -log E exp(i a Z) for angles up to pi."""
    z, chances = probabilities(law)
    t = law.rate * np.array([-0.7, -0.1, 0.0, 0.3, 0.8])
    assert law.log_mgf(t) == pytest.approx(np.log(np.exp(np.outer(t, z)) @ chances), rel=1e-9, abs=1e-12)
    angles = np.array([0.0, 0.01, 0.5, 2.0, np.pi])
    assert law.characteristic_exponent(angles) == pytest.approx(
        -np.log(np.cos(np.outer(angles, z)) @ chances), abs=1e-9
    )


@pytest.mark.parametrize("law", RATES)
def test_upper_tails_are_those_of_the_law(law: DiscreteLaplace) -> None:
    """P(Z >= T) by adding up, and the least T at which it is small enough."""
    z, chances = probabilities(law)
    for threshold in (0, 1, 5, 12):
        assert law.probability_at_least(threshold) == pytest.approx(chances[z >= threshold].sum(), rel=1e-9)
    threshold = law.upper_threshold(10.0)
    assert law.probability_at_least(threshold) <= np.exp(-10.0) < law.probability_at_least(threshold - 1)


@pytest.mark.parametrize("law", RATES)
@pytest.mark.parametrize("unit", [1, 4])
def test_the_kernel_sums_are_convolutions_with_the_law(law: DiscreteLaplace, unit: int) -> None:
    """sum over t of terms[t] P(Z = unit (y - t)) / P(Z = 0), for every y; beyond the reach the kernel is negligible."""
    terms = np.random.default_rng(0).random((30, 2))
    t = np.arange(30)
    kernel = np.exp(-law.rate * unit * np.abs(t[:, None] - t))
    assert law.kernel_sums(terms, unit=unit) == pytest.approx(kernel @ terms, rel=1e-12)
    assert np.exp(-law.rate * law.kernel_reach) < 1e-6


@pytest.mark.parametrize("law", RATES)
def test_simulated_noise_has_the_law_and_its_seed(law: DiscreteLaplace) -> None:
    """The same seed gives the same draws; their variance and their share of zeros are those of the law."""
    first, again = (law.simulate((2, 10**5), np.random.default_rng(7)) for _ in range(2))
    assert first.shape == (2, 10**5)
    assert (first == again).all()
    assert first.var() == pytest.approx(law.variance, rel=0.03)
    z, chances = probabilities(law)
    assert (first == 0).mean() == pytest.approx(float(chances[z == 0][0]), rel=0.03)


def test_a_law_is_a_value_with_an_exact_rate() -> None:
    """Equal laws are equal and hash alike; the rate of three rows a unit is a third, exactly."""
    law: NoiseLaw = DiscreteLaplace(NANO, rows_per_unit=3)
    assert law == DiscreteLaplace(NANO, rows_per_unit=3)
    assert hash(law) == hash(DiscreteLaplace(NANO, rows_per_unit=3))
    assert DiscreteLaplace(NANO, rows_per_unit=3).exact_rate == Fraction(1, 3)
    assert law.with_rate_at_least(Fraction(1, 4)) is law
    assert law.with_rate_at_least(Fraction(1, 2)) == DiscreteLaplace(NANO // 2)


@pytest.mark.parametrize(("nano", "rows"), [(0, 1), (1, 0), (-1, 1)])
def test_noise_without_epsilon_is_refused(nano: int, rows: int) -> None:
    """An epsilon of zero would be infinite noise, not none."""
    with pytest.raises(InvalidEpsilon):
        DiscreteLaplace(nano, rows_per_unit=rows)
