"""Exact draws of the cells that survive a threshold: the law of "noise every cell, keep those of at least T".

A grid of 10^12 cells cannot be noised cell by cell, but almost all of its cells are empty, and nearly all of those
would fall below a threshold. `survivors` returns cells with the law of the full noisy histogram, with every cell below
T left out. That is a function of the noisy histogram, so it is as private as the histogram: post-processing (Cormode,
Procopiuc, Srivastava and Tran 2012). T follows from public numbers (`core.mechanisms.threshold`).

The law, cell by cell and independent between cells:

1. An occupied cell of count t is kept as y = t + Z if y >= T, with Z drawn by `draw_noise`.
2. An empty cell is kept with probability q = P(Z >= T) = p^T / (1 + p), p = exp(-rate); given that, y = T + G with G
   geometric, because the upper half of the law of Z is geometric and has no memory (`draw_excess`).

Step 2 is drawn without visiting the cells. Flip a coin of probability q for *every* cell, in order: the number of cells
passed over before the next success is geometric, P(gap >= k) = (1 - q)^k. Coins of occupied cells are ignored, which
changes no other coin. So gaps are drawn until the grid ends, and about M q cells are ever visited.

A gap is drawn exactly. With L = -ln(1 - q) and U uniform on (0, 1), floor(-ln(U) / L) >= k means U <= (1 - q)^k. Some
bits of U and some digits of L put the quotient between two bounds. When both have the same floor, that is the gap; else
more bits and more digits are taken. No floating-point number is involved, and no step rounds the wrong way.
"""

from __future__ import annotations

from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal
from functools import lru_cache
from math import ceil

import numpy as np
from numpy.typing import NDArray

from core.mechanisms.discrete_laplace import DiscreteLaplace
from core.mechanisms.discrete_laplace_sampler import draw_excess, draw_noise, exp_bounds
from core.randomness import NoiseSource

Wholes = NDArray[np.int64]


def survivors(
    occupied: Wholes, counts: Wholes, *, cell_count: int, threshold: int, law: DiscreteLaplace, noise: NoiseSource
) -> tuple[Wholes, Wholes]:
    """(cells, noisy counts) of all cells whose noisy count is at least `threshold`, in the order of the cells.

    `occupied` are the cells that hold a row, ascending, and `counts` how many rows; every other cell is empty.
    """
    noisy = counts + draw_noise(law, len(counts), noise)
    kept = noisy >= threshold
    successes = _successes(cell_count, threshold, law, noise)
    # Both ascend, so a binary search tells which are occupied. np.isin would hash every occupied cell, and every other
    # thread of the process would stand still meanwhile.
    is_occupied = np.searchsorted(occupied, successes, side="right") > np.searchsorted(occupied, successes)
    empty = successes[~is_occupied]
    values = threshold + draw_excess(law, len(empty), noise)
    cells = np.concatenate([occupied[kept], empty])
    order = np.argsort(cells)
    return cells[order], np.concatenate([noisy[kept], values])[order]


def _successes(cell_count: int, threshold: int, law: DiscreteLaplace, noise: NoiseSource) -> Wholes:
    """The cells whose coin of probability q shows a success, ascending."""
    successes = []
    cell = draw_gap(threshold, law, noise, most=cell_count)
    while cell < cell_count:
        successes.append(cell)
        cell += 1 + draw_gap(threshold, law, noise, most=cell_count)
    return np.array(successes, dtype=np.int64)


def draw_gap(threshold: int, law: DiscreteLaplace, noise: NoiseSource, *, most: int) -> int:
    """How many coins of probability q fail before the next succeeds; `most` stands for that many or more."""
    # As many digits as q has zeros, twice (once in q, once in its logarithm), and 48 to tell one cell from the next.
    places = 48 + 2 * ceil(0.4343 * law.rate * threshold)
    bits = 192
    u = noise.integer(bits)
    while True:
        context = _context(places)
        low, high = _log_bounds(threshold, law, places)
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
def _log_bounds(threshold: int, law: DiscreteLaplace, places: int) -> tuple[Decimal, Decimal]:
    """Bounds on L = -ln(1 - q), q = exp(-rate T) / (1 + exp(-rate))."""
    unity = 10**places
    x_low, x_high = exp_bounds(law.exact_rate * threshold, places)
    p_low, p_high = exp_bounds(law.exact_rate, places)
    return (
        _log_of_ratio(unity + p_high, unity + p_high - max(0, x_low), places)[0],
        _log_of_ratio(unity + p_low, unity + p_low - x_high, places)[1],
    )


def _log_of_ratio(numerator: int, denominator: int, places: int) -> tuple[Decimal, Decimal]:
    """Bounds on ln(numerator / denominator), a difference of two correctly rounded logarithms.

    Both are below 10^4, so with 10 digits more than `places` they are off by less than 10^-(places + 6) / 2 each.
    """
    context = _context(places)
    difference = context.subtract(context.ln(Decimal(numerator)), context.ln(Decimal(denominator)))
    slack = Decimal(1).scaleb(-places - 5, context)
    return context.subtract(difference, slack), context.add(difference, slack)
