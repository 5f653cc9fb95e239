"""Exact answers to check core against, by other means than its own: whole numbers and fractions, no floats.

core.mechanisms.discrete_laplace_sampler takes its exponentials from `decimal`. Here they come from the alternating
Taylor series, in whole numbers rounded outwards at every step, so that each bound is proved by its own construction.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import count

from core.domain.number import Number

NANO = 10**9


def exp_bounds(x: Fraction, bits: int) -> tuple[int, int]:
    """Whole numbers low <= 2^bits exp(-x) <= high, at most a few apart, for x >= 0.

    exp(-x) = exp(-y)^(2^s) with y = x / 2^s <= 1/2. The series of exp(-y) alternates and its terms fall, so the first
    one left out bounds the remainder. Squaring numbers up to 1 at most doubles an error: s guard bits pay for it.
    """
    halvings = max(0, int(2 * x).bit_length())
    y = x / 2**halvings
    guarded = bits + halvings + 32
    low = high = 0
    term_low = term_high = 1 << guarded
    for n in count(1):
        if n % 2:
            low, high = low + term_low, high + term_high
        else:
            low, high = low - term_high, high - term_low
        if term_high <= 1:
            break
        term_low = term_low * y.numerator // (y.denominator * n)
        term_high = -(-term_high * y.numerator // (y.denominator * n))
    low, high = max(0, low - 1), high + 1
    for _ in range(halvings):
        low, high = low * low >> guarded, -(-high * high >> guarded)
    return low >> (guarded - bits), -(-high >> (guarded - bits))


def exp_minus(x: Fraction, bits: int = 256) -> Fraction:
    """exp(-x) to about `bits` bits after the point: exact enough to judge any double."""
    low, high = exp_bounds(x, bits)
    return Fraction(low + high, 2 << bits)


def threshold(rate: Fraction, size: int | None, k: int, bits: int) -> int:
    """floor(2^bits F(k)) for the digit with P(j) proportional to exp(-rate j) on 0 … size - 1, or on all j >= 0."""
    if size is not None and k >= size - 1:
        return 1 << bits
    for precision in count(bits + 64, 64):
        one = 1 << precision
        x_low, x_high = exp_bounds(rate * (k + 1), precision)
        y_low, y_high = exp_bounds(rate * size, precision) if size is not None else (0, 0)
        low = ((one - x_high) << bits) // (one - y_low)
        high = ((one - x_low) << bits) // (one - y_high)
        if low == high:
            return low
    raise AssertionError("unreachable: the loop has no end")


def inverse_cdf(u: int, bits: int, *, rate: Fraction, size: int | None) -> int | None:
    """The least k with U < F(k), if it is the same for every U in [u, u + 1) / 2^bits; None where it is not."""
    low, high = 0, size - 1 if size is not None else int(bits / rate) + 1
    while low < high:  # the least k with T(k) >= u
        middle = (low + high) // 2
        if threshold(rate, size, middle, bits) >= u:
            high = middle
        else:
            low = middle + 1
    return low if threshold(rate, size, low, bits) > u else None


def position(value: float, attribute: Number) -> Fraction:
    """Where a value lies in its range, 0 at the lower bound and 1 at the upper one; clipped."""
    lower, upper = Fraction(attribute.lower), Fraction(attribute.upper)
    return min(max((Fraction(value) - lower) / (upper - lower), Fraction(0)), Fraction(1))


def interval(value: float, attribute: Number, m: int) -> int:
    """Which of m half-open intervals a value lies in, the last one closed."""
    return min(int(position(value, attribute) * m), m - 1)
