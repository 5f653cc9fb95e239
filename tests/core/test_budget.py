"""Epsilon and Budget: exact amounts, refused where they cannot be held, never rounded."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.budget import NANO, Budget, Epsilon
from core.errors import CoreError, InsufficientBudget, InvalidEpsilon
from tests.core.strategies import epsilons

PARSABLE = st.integers(0, 1000 * NANO - 1).map(Epsilon)
SHARES = st.fractions(0, 1, max_denominator=10**12)
# A digit is a digit: fullwidth 1, Arabic-Indic 1, superscript 2, Roman numeral five are not.
NO_EPSILON = [
    "",
    " ",
    ".",
    "1.",
    ".5",
    "0.1234567890",
    "0.0000000001",
    "1000",
    "+1",
    "-1",
    "-0",
    "1e1",
    "1E-3",
    "0x1",
    "1_0",
    "1,5",
    "nan",
    "NaN",
    "inf",
    "Infinity",
    " 1",
    "1 ",
    "1\n",
    "\n1",
    "0.1\n",
    "1\u00a0",
    "1.1.1",
    "1\x00",
    "\uff11",
    "\u0661",
    "0.\u0661",
    "1\u00b2",
    "\u2164",
    "\u22121",
    "1/2",
    "one",
]


@given(PARSABLE)
def test_every_epsilon_reads_back_as_it_was_written(epsilon: Epsilon) -> None:
    """Printing and parsing lose not one billionth."""
    assert Epsilon.parse(str(epsilon)) == epsilon


@given(st.integers(0, 999), st.text("0123456789", min_size=1, max_size=9))
def test_parsing_is_exact(whole: int, places: str) -> None:
    """The amount is the decimal number that was written, and is printed without trailing zeros."""
    epsilon = Epsilon.parse(f"{whole}.{places}")
    assert Fraction(epsilon.nano, NANO) == Fraction(f"{whole}.{places}")
    assert str(epsilon) == f"{whole}.{places}".rstrip("0").rstrip(".")


@pytest.mark.parametrize("text", NO_EPSILON)
def test_what_is_no_plain_decimal_is_refused(text: str) -> None:
    """A tenth place, a sign, an exponent, NaN, foreign digits, spaces and nothing at all are refused, not repaired."""
    with pytest.raises(InvalidEpsilon):
        Epsilon.parse(text)


@given(st.text())
def test_any_text_is_an_exact_amount_or_refused(text: str) -> None:
    """No text is read as anything but the decimal number it spells in ASCII digits."""
    try:
        epsilon = Epsilon.parse(text)
    except InvalidEpsilon:
        return
    assert set(text) <= set("0123456789.")
    assert Fraction(epsilon.nano, NANO) == Fraction(text)


@pytest.mark.parametrize("nano", [-1, 0.5, 1.0, True, "1", None, Fraction(1), float("nan")])
def test_an_amount_is_a_whole_number_of_billionths(nano: object) -> None:
    """Neither a fraction, a float, a truth value nor a negative number is an amount."""
    with pytest.raises(InvalidEpsilon):
        Epsilon(nano)  # type: ignore[arg-type]


def test_ten_times_a_tenth_is_one() -> None:
    """Sums are exact where floats are not."""
    total = sum((Epsilon.parse("0.1") for _ in range(10)), start=Epsilon(0))
    assert total == Epsilon.parse("1")
    assert str(total) == "1"
    assert sum([0.1] * 10) != 1.0


@given(PARSABLE, PARSABLE)
def test_amounts_compare_and_add_as_their_billionths_do(one: Epsilon, other: Epsilon) -> None:
    """Order, sum, difference, truth and float value are those of the whole numbers behind them."""
    assert (one < other, one <= other, one == other) == (
        one.nano < other.nano,
        one.nano <= other.nano,
        one.nano == other.nano,
    )
    assert (one + other).nano == one.nano + other.nano
    assert one + other - other == one
    assert bool(one) == (one.nano != 0)
    assert float(one) == float(Fraction(one.nano, NANO))


def test_no_amount_falls_below_zero() -> None:
    """A difference that would be negative is refused."""
    with pytest.raises(InvalidEpsilon):
        Epsilon.parse("0.3") - Epsilon.parse("0.300000001")


@given(epsilons(), SHARES)
def test_a_part_is_rounded_down_but_never_to_nothing(epsilon: Epsilon, share: Fraction) -> None:
    """A share buys floor(share x epsilon) billionths, and one billionth where that is none."""
    exact = Fraction(epsilon.nano) * share
    part = epsilon.part(share)
    assert part.nano == max(1, exact.numerator // exact.denominator)
    assert part <= epsilon


def test_a_tenth_ten_times_fits_one_and_an_eleventh_does_not() -> None:
    """The boundary of a budget is exact, and the refusal says what was asked and what is left."""
    budget = Budget(granted=Epsilon.parse("1.0"), spent=Epsilon(0))
    tenth = Epsilon.parse("0.1")
    for _ in range(10):
        budget = budget.charge(tenth)
    assert budget.spent == budget.granted
    assert budget.remaining == Epsilon(0)
    with pytest.raises(InsufficientBudget) as refusal:
        budget.charge(tenth)
    assert refusal.value.requested == tenth
    assert refusal.value.remaining == Epsilon(0)
    with pytest.raises(InsufficientBudget) as refusal:
        budget.charge(Epsilon(1))
    assert (refusal.value.requested, refusal.value.remaining) == (Epsilon(1), Epsilon(0))
    assert budget.charge(Epsilon(0)) == budget


@given(PARSABLE, st.lists(epsilons(most=10**9), max_size=30))
def test_charges_never_exceed_the_grant(granted: Epsilon, charges: list[Epsilon]) -> None:
    """A charge is taken if and only if it fits to the billionth, and a refused one changes nothing."""
    budget = Budget(granted=granted, spent=Epsilon(0))
    spent = 0
    for epsilon in charges:
        if spent + epsilon.nano <= granted.nano:
            budget = budget.charge(epsilon)
            spent += epsilon.nano
        else:
            with pytest.raises(InsufficientBudget) as refusal:
                budget.charge(epsilon)
            assert refusal.value.requested == epsilon
            assert refusal.value.remaining.nano == granted.nano - spent
        assert budget.spent.nano == spent
        assert budget.remaining.nano == granted.nano - spent >= 0


def test_a_budget_that_is_overspent_cannot_be_written_down() -> None:
    """No Budget has spent more than was granted."""
    with pytest.raises(InsufficientBudget):
        Budget(granted=Epsilon(5), spent=Epsilon(6))


def test_a_refusal_tells_a_person_both_amounts() -> None:
    """The sentence of InsufficientBudget holds the requested and the remaining epsilon, and it is a CoreError."""
    error = InsufficientBudget(requested=Epsilon.parse("0.25"), remaining=Epsilon.parse("0.2"))
    assert "0.25" in str(error)
    assert "0.2 " in str(error)
    assert isinstance(error, CoreError)
