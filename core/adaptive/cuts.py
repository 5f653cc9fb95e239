"""How often a cell is halved, from its noisy count: exact whole-number arithmetic, the same on every platform.

A cell with noisy count y, whose parts will be counted with noise of the rate e, wants about x^(2d / (2 + d)) parts with
x = e y / c: so many that the error of taking the rows of a part to be spread evenly is about that of its noise (for two
attributes the guideline of Qardaji, Yang and Li 2013). Parts come from halving, so their number is 2^h with the least h
that reaches it:

    2^(h (2 + d)) >= (e y / c)^(2d).

e is rational, so this compares whole numbers. A `Version` names this arithmetic with its constants in every synopsis:
who reads one works out the same cells from the stored counts.
"""

from __future__ import annotations

from enum import IntEnum
from fractions import Fraction
from functools import lru_cache

import numpy as np

from core.arrays import Wholes

BASE_SHARE, COARSE_SHARE = Fraction(1, 10), Fraction(2, 10)  # of epsilon; the leaves have the rest of their path
COARSE_CONSTANT, LEAF_CONSTANT = 40, 6  # c
LEAST_SIGNAL = 100  # N epsilon / K below this: the grid of the paper serves instead
MOST_BASE_CELLS, MOST_ALONG_AN_AXIS = 64, 8  # of the base, for one combination of categories
MAX_ORDERED = 3  # attributes that cells are halved along
_BEYOND = 2**53  # rows that no noisy count has: sizes are at most 10^12
MOST_HALVINGS = 62  # of a cell in one layer


class Version(IntEnum):
    """How the cells of a release are worked out, and the counts of boxes. New releases have the newest."""

    FUSED = 1
    SHRUNK = 2

    @property
    def shrinks(self) -> bool:
        """Whether counts are answered with shrunk estimates (`core.adaptive.shrinkage`). Cells are the same in both."""
        return self is Version.SHRUNK


NEWEST = Version.SHRUNK


def halvings(counts: Wholes, *, rate: Fraction, constant: int, ordered: int) -> Wholes:
    """h for each noisy count, at most 62. `ordered` is d; cells without an ordered attribute are not halved."""
    if not ordered:
        return np.zeros(len(counts), dtype=np.int64)
    return np.searchsorted(_most_rows_of_all(rate, constant, ordered), counts, side="left").astype(np.int64)


def least_rows(rate: Fraction, constant: int, ordered: int) -> list[int]:
    """The least noisy count that is halved once, twice and so on; thresholds that no count reaches are left out."""
    most = _most_rows_of_all(rate, constant, ordered)
    return [int(y) + 1 for y in most if y < _BEYOND]


@lru_cache(maxsize=256)
def _most_rows_of_all(rate: Fraction, constant: int, d: int) -> Wholes:
    """The largest y that h halvings are enough for, for h from 0 to 61. Depends on public numbers alone."""
    most = np.array([_most_rows(h, rate, constant, d) for h in range(MOST_HALVINGS)], dtype=np.int64)
    most.flags.writeable = False
    return most


def _most_rows(h: int, rate: Fraction, constant: int, d: int) -> int:
    """The largest y that h halvings are enough for: the floor of the 2d-th root of 2^(h (2 + d)) (c / e)^(2d)."""
    scaled = constant / rate
    y = _root(scaled.numerator ** (2 * d) << (h * (2 + d)), 2 * d) // scaled.denominator
    return min(y, np.iinfo(np.int64).max)


def _root(number: int, degree: int) -> int:
    """The floor of a root, by bisection."""
    low, high = 0, 1 << (number.bit_length() // degree + 1)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if middle**degree <= number else (low, middle)
    return low
