"""Cells that survive a threshold: exactly the law of "noise every cell, keep those of at least T", for little work.

A grid of 10^12 cells cannot be noised cell by cell, but almost all of its cells are empty, and nearly all of those
would fall below a threshold. What `survivors` returns has the law of the full noisy histogram with every cell below T
left out. It is a function of that histogram, so it is as private as the histogram: post-processing (Cormode, Procopiuc,
Srivastava and Tran 2012). T follows from public numbers (`least_threshold`).

The law, cell by cell and independent between cells:

1. An occupied cell of count c is kept as y = c + Z if y >= T, with Z drawn by `discrete_laplace`.
2. An empty cell is kept with probability q = P(Z >= T) = p^T / (1 + p), p = exp(-epsilon); given that, y = T + G with
   G geometric, because the upper half of the law of Z is geometric and has no memory (`geometric`).

Step 2 is drawn without visiting the cells. Flip a coin of probability q for *every* cell, in order: the number of cells
passed over before the next success is geometric, P(gap >= k) = (1 - q)^k. Coins of occupied cells are ignored, which
changes no other coin. So gaps are drawn until the grid ends, and about M q cells are ever looked at.

A gap is drawn exactly. With L = -ln(1 - q) and U uniform on (0, 1), floor(-ln(U) / L) >= k means U <= (1 - q)^k. Of U
some bits are known and of L some digits, so the quotient lies between two bounds; when both have the same floor, that
is the gap, else more bits and more digits are taken. No float is involved, and no step rounds the wrong way.
"""

from __future__ import annotations

from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal
from functools import lru_cache
from math import ceil, exp, expm1, log, log1p

import numpy as np
from numpy.typing import NDArray

from core.budget import Epsilon
from core.mechanisms.discrete_laplace import discrete_laplace, exp_bounds, geometric
from core.randomness import NoiseSource

Wholes = NDArray[np.int64]

EXPECTED_FALSE_CELLS = 5  # empty cells that survive, on average: fewer lose small cells, more blur the clusters


def least_threshold(cell_count: int, epsilon: Epsilon) -> int:
    """The least whole T >= 1 with M P(Z >= T) <= EXPECTED_FALSE_CELLS, from public numbers only.

    T = 1 where hardly any noise is left: then every cell that holds a row is listed. Above 1, T - 1 is at least twice
    p / (1 - p), the mean of geometric noise: the bounds on counts of `core.intervals.listed` need more than once, and a
    little room. That matters for small grids alone. Floats do here: any T is private, this one only has to be about
    right, and it is published with the cells.
    """
    e = float(epsilon)
    few_false = ceil((log(cell_count) - log(EXPECTED_FALSE_CELLS) - log1p(exp(-e))) / e)
    return 1 if few_false <= 1 else max(few_false, ceil(2.0 / expm1(e)) + 1)


def survivors(
    occupied: Wholes, counts: Wholes, *, cell_count: int, threshold: int, epsilon: Epsilon, noise: NoiseSource
) -> tuple[Wholes, Wholes]:
    """(cells, noisy counts) of all cells whose noisy count is at least `threshold`, in the order of the cells.

    `occupied` are the cells that hold a row, ascending, and `counts` how many rows; every other cell is empty.
    """
    noisy = counts + discrete_laplace(len(counts), epsilon, noise)
    kept = noisy >= threshold
    found = _successes(cell_count, threshold, epsilon, noise)
    # Both ascend, so a binary search tells which are occupied. np.isin would hash every occupied cell, and every other
    # thread of the process would stand still meanwhile.
    is_occupied = np.searchsorted(occupied, found, side="right") > np.searchsorted(occupied, found)
    empty = found[~is_occupied]
    values = threshold + geometric(len(empty), epsilon, noise)
    cells = np.concatenate([occupied[kept], empty])
    order = np.argsort(cells)
    return cells[order], np.concatenate([noisy[kept], values])[order]


def _successes(cell_count: int, threshold: int, epsilon: Epsilon, noise: NoiseSource) -> Wholes:
    """The cells whose coin of probability q falls on its head."""
    found = []
    cell = draw_gap(threshold, epsilon, noise, most=cell_count)
    while cell < cell_count:
        found.append(cell)
        cell += 1 + draw_gap(threshold, epsilon, noise, most=cell_count)
    return np.array(found, dtype=np.int64)


def draw_gap(threshold: int, epsilon: Epsilon, noise: NoiseSource, *, most: int) -> int:
    """How many coins of probability q fail before the next succeeds; `most` stands for that many or more."""
    # As many digits as q has zeros, twice (once in q, once in its logarithm), and some to tell one cell from the next.
    places = 48 + 2 * ceil(0.4343 * float(epsilon) * threshold)
    bits = 192
    u = noise.integer(bits)
    while True:
        context = _context(places)
        low, high = _log_bounds(threshold, epsilon, places)
        first = int(context.divide_int(_log_of_ratio(1 << bits, u + 1, places)[0], high))
        if first >= most:
            return most
        if u and first == int(context.divide_int(_log_of_ratio(1 << bits, u, places)[1], low)):
            return first
        u = (u << 64) | noise.integer(64)
        bits += 64
        places += 24


def _context(places: int) -> Context:
    return Context(prec=places + 10, Emin=MIN_EMIN, Emax=MAX_EMAX)


@lru_cache(maxsize=64)
def _log_bounds(threshold: int, epsilon: Epsilon, places: int) -> tuple[Decimal, Decimal]:
    """Bounds on L = -ln(1 - q), q = exp(-epsilon T) / (1 + exp(-epsilon))."""
    one = 10**places
    x_low, x_high = exp_bounds(epsilon.nano * threshold, places)
    p_low, p_high = exp_bounds(epsilon.nano, places)
    return (
        _log_of_ratio(one + p_high, one + p_high - max(0, x_low), places)[0],
        _log_of_ratio(one + p_low, one + p_low - x_high, places)[1],
    )


def _log_of_ratio(numerator: int, denominator: int, places: int) -> tuple[Decimal, Decimal]:
    """Bounds on ln(numerator / denominator), a difference of two correctly rounded logarithms.

    Both are below 10^4, so with 10 digits more than `places` they are off by less than 10^-(places + 6) / 2 each.
    """
    context = _context(places)
    difference = context.subtract(context.ln(Decimal(numerator)), context.ln(Decimal(denominator)))
    slack = Decimal(1).scaleb(-places - 5, context)
    return context.subtract(difference, slack), context.add(difference, slack)
