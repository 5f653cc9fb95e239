"""Intervals that follow from the known noise, for any weighted sum of cells.

A noisy count is t + Z with Z discrete Laplace, independent from cell to cell, so a sum over cells with weights w_j is
off by S = sum of w_j Z_j, whose law is known whatever the data. What is wanted is its radius: the r with
P(|S| > r) <= alpha. Three ways to it, the first that fits:

- Few cells, all of one weight: S is a sum of n independent draws. Its law is computed, not approximated: the
  characteristic function of Z to the power n, inverted by a Fourier transform.
- Few cells of different weights (a box that cuts cells, a mean): the same on a lattice. Weights are rounded to 32nds of
  the largest, and the law of the rounded sum is computed as above: once for all rounded up, which mostly is the wider,
  and once for all rounded down, since smaller weights keep S closer to the few values that it may jump between.
- Many cells: the normal law, corrected for the kurtosis of S (Cornish and Fisher) and widened by half the largest
  weight, because S jumps; far out, where one heavy cell outweighs all others, by its tail. "Many" grows with epsilon:
  what counts is how many cells have any noise.

Chernoff's bound limits the second, and replaces all three beyond the precision of a transform: alpha below 10^-9.

Errors are carried as alpha = 1 - level, never as a level: a level that is close to one cannot be divided among several
statements without losing digits. `alpha_of` is where a level that somebody asked for is judged.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from math import ceil, exp, expm1, log, sqrt

import numpy as np
from numpy.typing import NDArray
from scipy.fft import dct
from scipy.special import ndtri

from core.budget import Epsilon
from core.errors import InvalidQuery
from core.mechanisms.discrete_laplace import standard_deviation

Floats = NDArray[np.float64]
DEFAULT_LEVEL = 0.95
# The surest level that is answered. Radii are tested against exact laws up to it, split among many statements.
MAX_LEVEL = 0.999999
OUT_OF_BOUNDS = f"A level lies above 0 and is at most {MAX_LEVEL}."
STEPS = 32  # weights are rounded to this many steps of the largest

# Laplace draws whose sum is close enough to normal for the correction to do the rest: 16 of any weights, more of them
# beyond a level of 0.999. Of equal ones the exact law costs little, and what jumps by whole numbers gains from it.
_MANY, _MANY_EQUAL = 16, 256
_SMALLEST_TAIL = 1e-9
_AT_ONCE = 2**21
_CHERNOFF = np.concatenate([np.geomspace(1e-4, 1 / 64, 24), np.arange(1, 32) / 32])
# Below these epsilons the standardised law is that of the limit, and its table would only grow longer.
_FINEST_EQUAL = Epsilon.parse("0.05")
_FINEST_MIXED = Epsilon.parse("0.25")


@dataclass(frozen=True, slots=True)
class Interval:
    """low to high, which holds what the noise-free counts would have answered with probability `level` or more."""

    level: float
    low: float
    high: float


Rounding = Callable[[Floats], NDArray[np.int64]]


def alpha_of(level: float) -> float:
    """1 - level: the probability that an interval may miss with. Raises InvalidQuery for a level out of bounds."""
    if not 0.0 < level <= MAX_LEVEL:
        raise InvalidQuery(OUT_OF_BOUNDS)
    return 1.0 - level


def alpha_of_each(level: float, number: int) -> float:
    """The alpha of each of so many independent statements that hold all together with probability `level` (Sidak)."""
    return -expm1(log(level) / number)


def up(steps: Floats) -> NDArray[np.int64]:
    """To the next whole number, unless a rounding error is all that is missing."""
    return np.ceil(steps - 1e-9).astype(np.int64)


def down(steps: Floats) -> NDArray[np.int64]:
    """To the whole number before, unless a rounding error is all that is missing."""
    return np.floor(steps + 1e-9).astype(np.int64)


def around(value: float, reach: float, level: float) -> Interval:
    """value - reach to value + reach."""
    return Interval(level=level, low=value - reach, high=value + reach)


@dataclass(frozen=True, slots=True, eq=False)
class Sums:
    """Many weighted sums of cells: for each its largest weight, its sums of w^2 and w^4, and its weights by size.

    `equal` says of which sums it is known that all their weights are the same, to the last bit.
    `steps(rows, rounding)` tells for some of the sums how many cells weigh 1, 2, … STEPS steps of its largest weight,
    when rounded in such a way. It is asked only of sums of few cells of different weights.
    """

    largest: Floats
    squares: Floats
    fourths: Floats
    equal: NDArray[np.bool_]
    steps: Callable[[NDArray[np.int64], Rounding], Floats]


def radius(epsilon: Epsilon, weights: Floats, times: float = 1.0, *, alpha: float) -> float:
    """The least r (or a little more) with P(|S| > r) <= alpha; each weight stands for `times` cells."""
    sizes = np.abs(weights.ravel())
    largest = float(sizes.max(initial=0.0))
    sums = Sums(
        largest=np.array([largest]),
        squares=times * np.array([(sizes**2).sum()]),
        fourths=times * np.array([(sizes**4).sum()]),
        equal=np.array([bool((sizes[sizes > 0.0] == largest).all())]),
        steps=lambda _rows, rounding: by_steps(
            rounding(sizes / largest * STEPS), np.full(len(sizes), times), np.zeros(len(sizes), np.int64), 1
        ),
    )
    return float(radii(epsilon, sums, alpha=alpha)[0])


def equal_radius(epsilon: Epsilon, cells: int, *, alpha: float) -> float:
    """The radius of a plain sum of so many cells."""
    return float(equal_radii(epsilon, np.array([cells]), alpha=alpha)[0])


def equal_radii(epsilon: Epsilon, cells: NDArray[np.int64], *, alpha: float) -> Floats:
    """The radii of plain sums of so many cells each."""
    ones, number = np.ones(len(cells)), cells.astype(np.float64)
    sums = Sums(
        largest=ones,
        squares=number,
        fourths=number,
        equal=np.ones(len(cells), dtype=np.bool_),
        steps=lambda rows, _rounding: np.multiply.outer(number[rows], np.arange(1, STEPS + 1) == STEPS),
    )
    return radii(epsilon, sums, alpha=alpha)


def by_steps(steps: NDArray[np.int64], times: Floats, owner: NDArray[np.int64], sums: int) -> Floats:
    """How many cells of each sum have a weight of 1, 2, … STEPS steps, from the weights and the sums they belong to."""
    found = np.bincount(owner * (STEPS + 1) + steps, weights=times, minlength=sums * (STEPS + 1))
    return found.astype(np.float64).reshape(sums, STEPS + 1)[:, 1:]


def radii(epsilon: Epsilon, sums: Sums, *, alpha: float | Floats) -> Floats:
    """The radius of each of many sums, with one alpha or each with its own."""
    reach = np.zeros(len(sums.squares))
    some = np.flatnonzero(sums.squares > 0.0)
    largest, squares, fourths = sums.largest[some], sums.squares[some], sums.fourths[some]
    cells = squares / largest**2  # as many of the largest weight have the same variance
    tail = np.broadcast_to(np.asarray(alpha), reach.shape)[some]
    effective = squares**2 / fourths
    found = _many(epsilon, tail, cells, effective)
    draws = 3.0 * effective / _kurtosis(epsilon)
    exact = tail >= _SMALLEST_TAIL
    equal = exact & (draws < _MANY_EQUAL) & sums.equal[some]
    for i in np.flatnonzero(equal).tolist():
        found[i] = _equal(epsilon, float(tail[i]), round(cells[i]))
    many = _MANY * np.maximum(1.0, np.log(np.maximum(tail, 1e-300)) / log(1e-3)) ** 3
    mixed = np.flatnonzero(exact & (draws < many) & ~equal)
    if len(mixed):
        both = np.concatenate([sums.steps(some[mixed], rounding) for rounding in (up, down)])
        wide = _mixed(epsilon, np.tile(tail[mixed], 2), np.tile(cells[mixed], 2), both)
        found[mixed] = wide.reshape(2, -1).max(axis=0)
    bounded = np.union1d(mixed, np.flatnonzero(~exact))
    if len(bounded):
        bound = chernoff(epsilon, tail[bounded], cells[bounded])
        found[bounded] = np.where(exact[bounded], np.minimum(found[bounded], bound), bound)
    # The law has atoms exactly at the radius, and the rounding of sums must not leave them outside.
    reach[some] = found * largest * (1.0 + 1e-9)
    return reach


def _kurtosis(epsilon: Epsilon) -> float:
    """Excess kurtosis of Z: 3 as for Laplace when epsilon is small, large when Z is nearly always 0."""
    p = exp(-float(epsilon))
    return (p * p + 4.0 * p + 1.0) / (2.0 * p)


def _many(epsilon: Epsilon, tail: Floats, cells: Floats, effective: Floats) -> Floats:
    """The normal radius with the first Cornish-Fisher term for kurtosis, and half a jump.

    Far out a single heavy cell may be what matters: if Z is Laplace and N normal, of the variance v of all other cells,
    P(|Z + N| > r) <= exp(v epsilon^2 / 2 - epsilon r) for r > v epsilon.
    """
    unlikely = np.log(1.0 / np.maximum(tail, 1e-300))
    z = -ndtri(np.maximum(tail, 1e-300) / 2)
    corrected = z + np.maximum(z**3 - 3.0 * z, 0.0) / 24.0 * _kurtosis(epsilon) / effective
    normal = standard_deviation(epsilon) * np.sqrt(cells) * corrected
    others = np.maximum(cells - 1.0, 0.0) * (standard_deviation(epsilon) * float(epsilon)) ** 2 / 2.0
    heavy = np.where(others < unlikely, (unlikely + others) / float(epsilon), 0.0)
    wide: Floats = np.maximum(normal, heavy) + 0.5
    return wide


def chernoff(epsilon: Epsilon, tail: float | Floats, cells: Floats) -> Floats:
    """P(|S| > r) <= 2 exp(-t r) E exp(t S), for the best of some t.

    log E exp(t w Z) <= w^2 log E exp(t Z) for weights up to 1, since all cumulants of Z are positive or zero: so only
    the sum of squared weights enters.
    """
    t = float(epsilon) * _CHERNOFF
    unlikely = np.log(2.0 / np.maximum(tail, 1e-300))
    exponents = np.multiply.outer(cells, log_growth(epsilon, t)).T + unlikely
    bound: Floats = (exponents.T / t).min(axis=1)
    return bound


def log_growth(epsilon: Epsilon, t: Floats) -> Floats:
    """log E exp(t Z) = -log(1 - p (exp(t) + exp(-t) - 2) / (1 - p)^2), written so that a tiny epsilon loses no digits.

    exp(t) + exp(-t) - 2 = 4 sinh(t / 2)^2 and (1 - p)^2 / p = 4 sinh(epsilon / 2)^2.
    """
    growth: Floats = -np.log1p(-((np.sinh(t / 2) / np.sinh(float(epsilon) / 2)) ** 2))
    return growth


def _equal(epsilon: Epsilon, tail: float, n: int) -> float:
    """The radius of a sum of n draws: whole, where it is not scaled from a larger epsilon."""
    law = max(epsilon, _FINEST_EQUAL)
    found = _standard(law, tail, n)
    return (found + 1) * _scale(epsilon, law) if epsilon < law else found


def _scale(epsilon: Epsilon, law: Epsilon) -> float:
    """What a radius at the epsilon of a computed law is multiplied with for a smaller one."""
    return standard_deviation(epsilon) / standard_deviation(law)


@lru_cache(maxsize=4096)
def _standard(epsilon: Epsilon, tail: float, n: int) -> int:
    # P(|S| > r) for r = 0, 1, …: the first r at which it is small enough; entries beyond the array are smaller still.
    return int(np.argmax(tail_of_sum(epsilon, n) <= tail + 1e-12))


@lru_cache(maxsize=64)
def tail_of_sum(epsilon: Epsilon, n: int) -> Floats:
    """P(|S| > r) for r = 0, 1, 2, … where S is a sum of n discrete Laplace draws."""
    spread = standard_deviation(epsilon) * sqrt(n)
    reach = ceil(40 / float(epsilon) + 12 * spread) + 2  # beyond it less than 10^-15 is left
    length = 1 << (2 * reach).bit_length()
    tail: Floats = _tails(np.full((1, 1), float(n)), _exponents(epsilon, length, 1), length)[0]
    tail.flags.writeable = False
    return tail


def _mixed(epsilon: Epsilon, tail: Floats, cells: Floats, steps: Floats) -> Floats:
    """The radii of sums of different weights, in units of the largest, from the law of the rounded sums."""
    law = max(epsilon, _FINEST_MIXED)
    # The law is computed on a circle; what lies beyond half of it must not matter beside the tail that is asked for.
    rounded = np.maximum(cells, steps @ (np.arange(1, STEPS + 1) / STEPS) ** 2)
    reach = STEPS * chernoff(law, tail * 1e-3, rounded) + STEPS
    powers = 2.0 ** np.ceil(np.log2(2.0 * reach))
    lengths = np.where(reach <= 0.375 * powers, 0.75 * powers, powers).astype(np.int64)
    found = np.empty(len(cells))
    for length in np.unique(lengths).tolist():
        rows = np.flatnonzero(lengths == length)
        exponents = _exponents(law, length, STEPS)
        for start in range(0, len(rows), max(1, _AT_ONCE // length)):
            part = rows[start : start + max(1, _AT_ONCE // length)]
            tails = _tails(steps[part], exponents, length)
            least = np.argmax(tails <= tail[part, None] + 1e-12, axis=1)
            found[part] = (1.005 * least + 2) / STEPS  # a little more, for jumps that rounding moved
    if epsilon < law:  # the jumps of the law do not scale: half a one more
        found = (found + 0.5) * _scale(epsilon, law)
    return found


@lru_cache(maxsize=16)
def _exponents(epsilon: Epsilon, length: int, steps: int) -> Floats:
    """-log E exp(i a v Z) for v = 1 … steps and the angles a of a transform of this length.

    E exp(i a Z) = (1 - p)^2 / |1 - p exp(i a)|^2 with |1 - p exp(i a)|^2 = (1 - p)^2 + 4 p sin(a / 2)^2, written so
    that small p and small angles lose no digits.
    """
    p = exp(-float(epsilon))
    angles = 2 * np.pi * np.arange(length // 2 + 1) / length
    sines = np.sin(np.multiply.outer(np.arange(1, steps + 1), angles / 2))
    exponents: Floats = np.log1p(4 * p * sines**2 / (1 - p) ** 2)
    exponents.flags.writeable = False
    return exponents


def _tails(times: Floats, exponents: Floats, length: int) -> Floats:
    """P(|S| > r) for r = 0, 1, 2, … steps, for each row of `times`: how many draws have a weight of 1, 2, … steps."""
    # The law is symmetric: a transform by cosines, of half the length. It counts for both signs, but zero once.
    exponent = times @ exponents
    law = dct(np.exp(np.negative(exponent, out=exponent), out=exponent), type=1, axis=1)[:, : length // 2]
    tails: Floats = np.cumsum(law, axis=1)
    tails *= -2.0 / length
    tails += 1.0 + law[:, :1] / length
    return np.clip(tails, 0.0, 1.0, out=tails)
