"""The sampler of discrete Laplace noise: thresholds, refinement and digits, each against exact arithmetic.

A sampler that is exact can be tested exactly. These tests write the random bits themselves and compare what comes out
with the inverse CDF of the whole bit string, computed by other means (tests.core.exact). That the bits make the right
law when they are random is then shown in tests/statistical.

Rates are nano / (10^9 c). The service uses c = 1 today; c = 3 makes the rate a number that no decimal can write.
"""

from __future__ import annotations

import os
import random
from bisect import bisect_left
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import cache
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from core.budget import NANO, Epsilon
from core.mechanisms.discrete_laplace import DiscreteLaplace
from core.mechanisms.discrete_laplace_sampler import _BLOCK, Digit, _tables, draw_excess, draw_noise
from core.randomness import NoiseSource
from tests.core.exact import exp_bounds, exp_minus, inverse_cdf, threshold
from tests.core.scripted import ScriptedBits, ScriptedBytes, Undecided
from tests.core.strategies import epsilons

# epsilon, or epsilon / c: the rate of the noise for units of at most c rows
EPSILONS = ["0.000000001", "0.0001", "0.005", "0.01", "0.1", "1", "3.5", "100", "0.04/3", "1/3"]


@cache
def law_at(text: str) -> DiscreteLaplace:
    """The law at epsilon, or at epsilon / c."""
    epsilon, _, rows = text.partition("/")
    return DiscreteLaplace.at(Epsilon.parse(epsilon), rows_per_unit=int(rows or 1))


@cache
def digits_of(text: str) -> tuple[tuple[int, Fraction, int | None], ...]:
    """(weight, rate, size) of each digit of a geometric number at this epsilon, lowest first."""
    return tuple((table.weight, table.digit.rate, table.digit.size) for table in _tables(law_at(text).exact_rate))


def draw_digit(text: str, place: int, u: int, width: int) -> tuple[int, int]:
    """The digit that the sampler draws from the bit string (u, width) at one place, and how many bits it looked at.

    All other digits, and the geometric number that is subtracted, get zeros, which are the digit 0.
    """
    digits = digits_of(text)
    strings = [(0, 16)] * (2 * len(digits))
    strings[place] = (u, width)
    noise = ScriptedBits(strings)
    drawn = int(draw_noise(law_at(text), 1, noise)[0])
    assert not noise.waiting
    digit, rest = divmod(drawn, digits[place][0])
    assert rest == 0
    return digit, noise.used[place]


def assert_exact(text: str, place: int, u: int, width: int) -> None:
    """The sampler makes of a bit string what exact arithmetic makes of it, and asks for more only where it must.

    All ones are the exception to the second half: they always ask for more (see `_make_table`).
    """
    _, rate, size = digits_of(text)[place]
    try:
        digit, used = draw_digit(text, place, u, width)
    except Undecided:
        assert inverse_cdf(u, width, rate=rate, size=size) is None or u == 2**width - 1
        return
    assert inverse_cdf(u >> (width - used), used, rate=rate, size=size) == digit
    if used > 16:
        before = max(16, used - 64)
        prefix = u >> (width - before)
        assert inverse_cdf(prefix, before, rate=rate, size=size) is None or prefix == 2**before - 1


PLACES = [(text, place) for text in EPSILONS for place in range(len(digits_of(text)))]


@given(st.fractions(0, 120, max_denominator=NANO), st.sampled_from([16, 64, 200]))
def test_the_yardstick_agrees_with_decimal(x: Fraction, bits: int) -> None:
    """Two independent exponentials, the series of these tests and decimal's, bracket one another."""
    low, high = exp_bounds(x, bits)
    with localcontext() as context:
        context.prec = 120
        reference = (-Decimal(x.numerator) / Decimal(x.denominator)).exp()
        assert Decimal(low) - 1 <= reference * 2**bits <= Decimal(high) + 1
    assert 0 <= high - low <= 3


@pytest.mark.parametrize("bits", [16, 64, 128, 192])
@given(
    epsilon=epsilons(),
    rows=st.sampled_from([1, 3, 7]),
    share=st.floats(0, 1),
    size=st.sampled_from([None, 2, 1024]),
)
def test_thresholds_are_exact(bits: int, epsilon: Epsilon, rows: int, share: float, size: int | None) -> None:
    """T(k) = floor(2^w F(k)) to the last bit, for every rate, digit and width, down to tails of exp(-150)."""
    rate = Fraction(epsilon.nano, NANO * rows)
    k = int(share * min(3000, int(150 / rate)))
    assert Digit(rate=rate, size=size).threshold(k, bits) == threshold(rate, size, k, bits)


@given(
    rate=st.builds(Fraction, st.integers(1, NANO), st.sampled_from([NANO, 3 * NANO])),
    k=st.integers(0, 100),
    size=st.sampled_from([None, 1024]),
)
def test_thresholds_of_more_bits_refine_those_of_fewer(rate: Fraction, k: int, size: int | None) -> None:
    """The first 16 bits of a 64-bit threshold are the 16-bit threshold, and so on: the stages never contradict."""
    digit = Digit(rate=rate, size=size)
    assert digit.threshold(k, 16) == digit.threshold(k, 64) >> 48
    assert digit.threshold(k, 64) == digit.threshold(k, 128) >> 64
    assert digit.threshold(k, 128) == digit.threshold(k, 192) >> 64


def test_thresholds_have_known_answers() -> None:
    """1 - 1/e and (1 - exp(-1/2)) / (1 - exp(-1)) from their published digits."""
    one_minus_1_over_e = Fraction("0.63212055882855767840447622983853913255418886896823")
    assert Digit(Fraction(1), None).threshold(0, 128) == int(one_minus_1_over_e * 2**128)
    half = Fraction("0.62245933120185456463890056574550847875327936530891")  # 1 / (1 + exp(-1/2))
    assert Digit(Fraction(1, 2), 2).threshold(0, 128) == int(half * 2**128)
    assert Digit(Fraction(1, 2), 2).threshold(1, 64) == 2**64


@pytest.mark.parametrize("text", EPSILONS)
def test_the_digits_make_up_the_geometric_law(text: str) -> None:
    """Weights and rates multiply by the size of the digit below, from 1 and epsilon up; only the top has no size.

    With exp(-e g) = product of exp(-e w_i D_i) that is all that makes the digits independent and their sum exact.
    """
    digits = digits_of(text)
    exact_rate = law_at(text).exact_rate
    assert digits[0][0] == 1
    assert all(rate == exact_rate * weight for weight, rate, _ in digits)
    for (weight, _, size), (next_weight, _, _) in pairwise(digits):
        assert size is not None
        assert next_weight == weight * size
    assert digits[-1][2] is None


@pytest.mark.parametrize(("text", "place"), PLACES)
def test_every_first_word_gives_its_exact_digit(text: str, place: int) -> None:
    """All 2^16 first words, followed by ones, give the exact digit, and only those on a threshold ask for more."""
    digits = digits_of(text)
    _, rate, size = digits[place]
    exact = []
    while not exact or exact[-1] < 2**64 - 1:
        exact.append(threshold(rate, size, len(exact), 64))
    first_words = {t >> 48 for t in exact if t < 2**64} | {2**16 - 1}
    zeros = b"\0" * 2**17
    answers = [zeros] * (2 * len(digits))
    answers[place] = np.arange(2**16, dtype="<u2").tobytes()
    # The last word followed by ones is 2^64 - 1: on the last threshold, so 64 bits more decide it; zeros stay below.
    answers[place + 1 : place + 1] = [b"\xff" * 8 * len(first_words), b"\0" * 8]
    noise = ScriptedBytes(answers)
    drawn = draw_noise(law_at(text), 2**16, noise) // digits[place][0]
    assert not noise.answers
    ones = 2**48 - 1
    expected = [bisect_left(exact, word << 48 | ones) for word in range(2**16 - 1)]
    assert drawn[:-1].tolist() == expected
    assert drawn[-1] == inverse_cdf((2**64 - 1) << 64, 128, rate=rate, size=size)


@st.composite
def bit_strings_at_thresholds(draw: st.DrawFn) -> tuple[str, int, int, int]:
    """(epsilon, place, u, width): bits that follow a threshold for 16 to 256 places and then leave it by a little."""
    text, place = draw(st.sampled_from(PLACES))
    _, rate, size = digits_of(text)[place]
    # Thresholds closer to 1 than 2^-60 are followed too: the tail is where tables end.
    deepest = 1024 if size is not None else int(60 / rate)
    k = draw(st.integers(0, deepest))
    width = draw(st.sampled_from([64, 128, 192, 256]))
    step = draw(st.one_of(st.integers(-3, 3), st.sampled_from([2**48, -(2**48), 2**63, -(2**63), 2**64 + 1])))
    u = threshold(rate, size, k, width) + step
    assume(0 <= u < 2**width)
    return text, place, u, width


@given(bit_strings_at_thresholds(), st.integers(0, 2**64 - 1))
def test_bits_that_follow_a_threshold_still_give_the_exact_digit(case: tuple[str, int, int, int], more: int) -> None:
    """However long a bit string stays undecided, the digit is its exact inverse CDF and no bit is read too many."""
    text, place, u, width = case
    assert_exact(text, place, u << 64 | more, width + 64)


@given(st.sampled_from(PLACES), st.integers(0, 2**192 - 1))
def test_any_bits_give_the_exact_digit(where: tuple[str, int], u: int) -> None:
    """The same for bit strings that have nothing to do with a threshold."""
    assert_exact(*where, u, 192)


@pytest.mark.parametrize("width", [64, 128, 192, 256])
@pytest.mark.parametrize(("text", "place"), [where for where in PLACES if where[0] != "100"])
def test_each_stage_of_the_refinement_decides_what_it_can(text: str, place: int, width: int) -> None:
    """Bits that are on T(k) to the stage before are k when they end one below it and k + 1 when one above."""
    _, rate, size = digits_of(text)[place]
    for k in (0, 1):
        exact = threshold(rate, size, k, width)
        assert draw_digit(text, place, exact - 1, width) == (k, width)
        assert draw_digit(text, place, exact + 1, width) == (k + 1, width)
        with pytest.raises(Undecided):
            draw_digit(text, place, exact, width)


def test_draws_beyond_the_table_are_exact() -> None:
    """128 ones lead past the last threshold of 64 bits: near 128 ln 2 at epsilon 1, still 0 at epsilon 100."""
    ones = 2**192 - 2**64
    digit, used = draw_digit("1", 0, ones, 192)
    assert used == 192
    assert digit == inverse_cdf(ones, 192, rate=Fraction(1), size=None) == 88
    # exp(-100) is about 2^-144.3: 144 ones and a zero are below F(0), 152 ones are above it.
    assert draw_digit("100", 0, 2**192 - 2**48, 192) == (0, 192)
    assert draw_digit("100", 0, 2**192 - 2**40, 192) == (1, 192)


def test_the_difference_of_two_geometric_numbers_is_signed() -> None:
    """Bits of the second number subtract: the same strings the other way round give the opposite noise."""
    words = [threshold(Fraction(1), None, k, 16) - 1 for k in (2, 5)]
    forth = ScriptedBits([(words[0], 16), (words[1], 16)])
    back = ScriptedBits([(words[1], 16), (words[0], 16)])
    assert draw_noise(law_at("1"), 1, forth).tolist() == [2 - 5]
    assert draw_noise(law_at("1"), 1, back).tolist() == [5 - 2]


def test_digits_are_put_together_by_their_weights() -> None:
    """At 10^-4 the number is D_0 + 1024 D_1: every word decides one digit of one number."""
    (_, low_rate, low_size), (weight, top_rate, top_size) = digits_of("0.0001")
    words = [
        threshold(low_rate, low_size, 1000, 16) - 1,
        threshold(top_rate, top_size, 7, 16) - 1,
        threshold(low_rate, low_size, 3, 16) - 1,
        threshold(top_rate, top_size, 1, 16) - 1,
    ]
    noise = ScriptedBits([(word, 16) for word in words])
    assert draw_noise(law_at("0.0001"), 1, noise).tolist() == [1000 + 7 * weight - 3 - weight]


def test_refinement_reaches_the_draw_that_asked_for_it() -> None:
    """Among many draws at once each undecided one gets its own further bits, in order, and the others keep theirs."""
    at = [threshold(Fraction(1), None, k, 64) for k in range(4)]
    at_128 = threshold(Fraction(1), None, 2, 128)
    heads = [0, at[1] >> 48, 5, at[2] >> 48, at[0] >> 48, at[2] >> 48]
    tails = [at[1] + 1, at[2], at[0] - 1, at[2]]  # the two that stay on T(2) ask for 64 bits more
    answers = [
        np.array(heads, dtype="<u2").tobytes(),
        np.array([(tail & (2**48 - 1)) << 16 | 0xFFFF for tail in tails], dtype="<u8").tobytes(),
        ((at_128 & (2**64 - 1)) + 1).to_bytes(8, "little"),
        ((at_128 & (2**64 - 1)) - 1).to_bytes(8, "little"),
        b"\0" * 12,
    ]
    noise = ScriptedBytes(answers)
    assert draw_noise(law_at("1"), 6, noise).tolist() == [0, 2, 0, 3, 0, 2]
    assert not noise.answers


@pytest.mark.parametrize("size", [0, 1, _BLOCK - 1, _BLOCK, _BLOCK + 1, 2 * _BLOCK + 3])
def test_every_cell_gets_its_own_draw(size: int) -> None:
    """As many draws as cells, across the blocks in which they are made, and no block repeats another."""
    drawn = draw_noise(DiscreteLaplace(1), size, NoiseSource())
    assert drawn.shape == (size,)
    assert drawn.dtype == np.int64
    blocks = [drawn[start : start + _BLOCK][:100].tolist() for start in range(0, size, _BLOCK)]
    assert len({tuple(block) for block in blocks}) == len(blocks)
    if size >= 200:
        # No value has a probability above 5 x 10^-10 there: two of 200 agree once in 10^5, ten pairs never.
        assert len(set(drawn[-200:].tolist())) > 190


def test_the_excess_over_a_threshold_is_the_geometric_number_itself() -> None:
    """Z - T given Z >= T has the law of the first of the two numbers, and takes the bits of that one alone."""
    words = [threshold(Fraction(1, 3), None, k, 16) - 1 for k in (4, 0, 11)]
    noise = ScriptedBytes([np.array(words, dtype="<u2").tobytes()])
    assert draw_excess(law_at("1/3"), 3, noise).tolist() == [4, 0, 11]
    assert not noise.answers


def test_a_unit_of_three_rows_gets_the_exact_law_at_a_third_of_epsilon() -> None:
    """All 2^16 first words at nano / (3 x 10^9): each digit k gets a share of them that is P(G = k) to two words."""
    law = DiscreteLaplace(NANO, rows_per_unit=3)
    undecided = {threshold(Fraction(1, 3), None, k, 64) >> 48 for k in range(300)}
    noise = ScriptedBytes([np.arange(2**16, dtype="<u2").tobytes(), b"\0" * 8 * len(undecided)])
    words = np.bincount(draw_excess(law, 2**16, noise))
    p = exp_minus(Fraction(1, 3), 128)
    assert len(words) > 20
    assert all(abs(int(n) - (1 - p) * p**k * 2**16) <= 2 for k, n in enumerate(words))


def test_noise_takes_only_entropy_of_the_operating_system() -> None:
    """With the same bytes from os.urandom the noise is the same; with others it is other noise."""
    recorded: list[bytes] = []
    urandom = os.urandom

    def record(count: int) -> bytes:
        recorded.append(urandom(count))
        return recorded[-1]

    law = law_at("0.01")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "urandom", record)
        first = draw_noise(law, 1000, NoiseSource())
        tape = iter(list(recorded))
        patch.setattr(os, "urandom", lambda count: next(tape))  # noqa: ARG005 - called with a count
        again = draw_noise(law, 1000, NoiseSource())
    assert sum(len(part) for part in recorded) >= 8000
    assert (first == again).all()
    assert (first != draw_noise(law, 1000, NoiseSource())).any()


def test_no_seed_moves_the_noise() -> None:
    """Seeding every generator there is does not make two draws agree."""
    draws = []
    for _ in range(2):
        random.seed(1)
        np.random.seed(1)  # noqa: NPY002 - that it changes nothing is the point
        draws.append(draw_noise(law_at("0.001"), 100, NoiseSource()).tolist())
    assert draws[0] != draws[1]
