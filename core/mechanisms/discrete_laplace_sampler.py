"""The exact sampler of the discrete Laplace law: random bits and whole numbers, no step rounds.

Z has P(Z = z) = (1 - p) / (1 + p) p^|z| with p = exp(-e), for a rational rate e (`core.mechanisms.discrete_laplace`).
Three steps, each of which keeps that law exact:

1. *Difference.* If G and H are independent with P(G = g) = (1 - p) p^g on 0, 1, 2, …, then G - H has the law of Z:
   P(G - H = z) = sum over h of (1 - p)^2 p^(|z| + 2h) = (1 - p)^2 / (1 - p^2) p^|z| = (1 - p) / (1 + p) p^|z|.
2. *Digits.* Write G in base B: G = D_0 + B D_1 + … + B^L D_L, where D_L takes what is left. P(G = g) is proportional to
   exp(-e g), a product of one factor exp(-e B^i D_i) per digit, so the digits are independent: the lower ones with
   P(D_i = j) proportional to exp(-e B^i j) on 0 … B - 1, the top one geometric at rate e B^L. Small rates need this to
   keep tables short; from 1/64 on there is one digit.
3. *Inverse CDF with as many bits as needed* (Knuth and Yao 1976). Let F be the CDF of a digit and U uniform on [0, 1);
   the digit is the least k with U < F(k). If only the first w bits u of U are drawn, U lies in [u, u + 1) / 2^w. With
   T(k) = floor(2^w F(k)):
       u < T(k)  implies  U < (u + 1) / 2^w <= T(k) / 2^w <= F(k);
       u > T(k)  implies  U >= u / 2^w >= (T(k) + 1) / 2^w > F(k).
   So w bits decide the digit unless u equals some T(k). 16 bits decide almost every draw by one look into a table; the
   others get 48 bits more and a binary search; those still open (fewer than one draw in 2^48) get 64 bits more, again
   and again, against thresholds computed for that draw alone. T(k) is an exact whole number: exp(-x) of a rational
   x > 0 is transcendental (Lindemann 1882), so finer and finer bounds on F(k) end on the same floor.

Time does not depend on the counts, since the noise is drawn without looking at them.

Memory: 8 bytes per cell for the result, and scratch for _BLOCK cells whatever their number.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal
from fractions import Fraction
from functools import lru_cache
from itertools import count as count_from
from itertools import takewhile

import numpy as np
from numpy.typing import NDArray

from core.mechanisms.discrete_laplace import DiscreteLaplace
from core.randomness import NoiseSource

_BASE = 1024
_LEAST_TOP_RATE = Fraction(1, 64)  # a top digit at this rate needs 64 x 64 ln 2 = 2,840 table entries
_BLOCK = 2**18


def draw_noise(law: DiscreteLaplace, size: int, noise: NoiseSource) -> NDArray[np.int64]:
    """`size` independent draws of Z at exactly the rate of the law."""
    tables = _tables(law.exact_rate)
    draws = np.empty(size, dtype=np.int64)
    for start in range(0, size, _BLOCK):
        block = draws[start : start + _BLOCK]
        block[:] = _geometric(len(block), tables, noise)
        block -= _geometric(len(block), tables, noise)
    return draws


def draw_excess(law: DiscreteLaplace, size: int, noise: NoiseSource) -> NDArray[np.int64]:
    """`size` independent draws of Z - T given Z >= T, whatever T >= 0 is: geometric, P(G = g) = (1 - p) p^g."""
    return _geometric(size, _tables(law.exact_rate), noise)


@dataclass(frozen=True, slots=True)
class Digit:
    """A digit of a geometric number: P(j) proportional to exp(-rate j) on 0 … size - 1, or on all j without a size."""

    rate: Fraction
    size: int | None

    def threshold(self, k: int, bits: int) -> int:
        """T(k) = floor(2^bits F(k)), exactly; F(k) = (1 - exp(-rate (k + 1))) / (1 - exp(-rate size))."""
        if self.size is not None and k >= self.size - 1:
            return 1 << bits
        for places in count_from(bits // 3 + 24, 24):
            unity: int = 10**places
            x_low, x_high = exp_bounds(self.rate * (k + 1), places)
            y_low, y_high = exp_bounds(self.rate * self.size, places) if self.size is not None else (0, 0)
            low: int = ((unity - x_high) << bits) // (unity - y_low)
            high = ((unity - x_low) << bits) // (unity - y_high)
            if low == high:
                return low
        raise AssertionError("unreachable: the loop has no end")


def exp_bounds(x: Fraction, places: int) -> tuple[int, int]:
    """Whole numbers of 10^-places on either side of exp(-x), for a rational x > 0.

    `decimal` rounds the quotient x and the exponential correctly, to `places` + 2 significant digits each. The quotient
    is off by at most x 10^-(places + 1) / 2, which moves exp(-x) by at most x exp(-x) 10^-(places + 1) / 2, and
    x exp(-x) <= 1 / e: less than 0.02 units. The exponential is off by at most 0.01 units. Cutting to a whole number
    takes away less than one unit. So exp(-x) lies above value - 1 and below value + 2.
    """
    context = Context(prec=places + 2, Emin=MIN_EMIN, Emax=MAX_EMAX)
    exponent = context.divide(Decimal(-x.numerator), Decimal(x.denominator))
    value = int(exponent.exp(context).scaleb(places, context))
    return value - 1, value + 2


@dataclass(frozen=True, slots=True)
class _Table:
    """Thresholds of a Digit at 64 bits, and the digit for each value of the first 16 (-1 where these do not decide)."""

    digit: Digit
    weight: int
    thresholds: NDArray[np.uint64]
    first: NDArray[np.int16]

    def sample(self, size: int, noise: NoiseSource) -> NDArray[np.int64]:
        head = noise.uint16(size)
        digits = self.first[head].astype(np.int64)
        undecided = np.flatnonzero(digits < 0)
        if len(undecided):
            digits[undecided] = self._refine(head[undecided].astype(np.uint64), noise)
        return digits

    def _refine(self, head: NDArray[np.uint64], noise: NoiseSource) -> NDArray[np.int64]:
        """48 bits more for draws that 16 did not decide."""
        tail = np.frombuffer(noise.read(8 * len(head)), dtype="<u8") >> np.uint64(16)
        u = (head << np.uint64(48)) | tail
        digits, undecided = _locate(self.thresholds, u)
        for i in np.flatnonzero(undecided):
            digits[i] = resolve(self.digit, int(u[i]), 64, int(digits[i]), noise)
        return digits


def _locate(thresholds: NDArray[np.uint64], u: NDArray[np.uint64]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """The number of thresholds below each u, and whether u is on the next threshold, so that nothing is decided."""
    k = np.searchsorted(thresholds, u, side="left")
    return k, thresholds[k] == u


def resolve(digit: Digit, u: int, bits: int, k: int, noise: NoiseSource) -> int:
    """The digit of a draw whose first `bits` bits are `u` and do not decide; U > F(j) is certain for every j < k."""
    while True:
        u = (u << 64) | noise.integer(64)
        bits += 64
        while (threshold := digit.threshold(k, bits)) < u:
            k += 1
        if u < threshold:
            return k


@lru_cache(maxsize=64)
def _tables(rate: Fraction) -> tuple[_Table, ...]:
    """The digits of a geometric number at this rate, lowest first. Depends on the public rate alone."""
    digits = []
    weight = 1
    while rate * weight < _LEAST_TOP_RATE:
        digits.append((Digit(rate=rate * weight, size=_BASE), weight))
        weight *= _BASE
    digits.append((Digit(rate=rate * weight, size=None), weight))
    return tuple(_make_table(digit, weight) for digit, weight in digits)


def _make_table(digit: Digit, weight: int) -> _Table:
    """Thresholds up to the first that all 64 bits are needed for: a draw on the last entry is never decided by it."""
    last = 2**64 - 1
    below = takewhile(lambda threshold: threshold < last, (digit.threshold(k, 64) for k in count_from()))
    thresholds = np.array([*below, last], dtype=np.uint64)
    k, undecided = _locate(thresholds >> np.uint64(48), np.arange(2**16, dtype=np.uint64))
    first = np.where(undecided, -1, k).astype(np.int16)
    for array in (thresholds, first):
        array.flags.writeable = False
    return _Table(digit=digit, weight=weight, thresholds=thresholds, first=first)


def _geometric(size: int, tables: tuple[_Table, ...], noise: NoiseSource) -> NDArray[np.int64]:
    total = tables[0].sample(size, noise)
    for table in tables[1:]:
        total += table.weight * table.sample(size, noise)
    return total
