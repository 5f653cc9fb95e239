"""Known data and their synopses: what a question should say, and what it says after noise."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom

from core.budget import NOTHING, Epsilon
from core.cells import DenseCells
from core.domain.domain import Domain
from core.domain.grid import Grid
from core.domain.number import Number
from core.histogram import count
from core.mechanisms.discrete_laplace import DiscreteLaplace
from core.mechanisms.discrete_laplace_sampler import draw_noise
from core.plan import Rule
from core.queries.synthetic import synthetic_rows
from core.randomness import NoiseSource
from core.records import OutOfRange
from core.synopsis import Synopsis
from tests.core.rows import take_rows

DOMAIN = Domain((Number("a", 0, 10), Number("b", -5, 5)))
EXACT = Epsilon.parse("100")  # P(Z != 0) is about 10^-43
LEVEL = 0.95
DRAWS = 400


def rows(size: int = 600, seed: int = 0) -> NDArray[np.float64]:
    """Two attributes that depend on one another, inside the domain."""
    rng = np.random.default_rng(seed)
    a = rng.normal(4, 1.5, size)
    return np.clip(np.stack([a, rng.normal(0, 1, size) + 0.3 * (a - 4)], axis=1), [0, -5], [10, 5])


def synopsis_of(values: NDArray[np.float64], cells_per_axis: int, epsilon: Epsilon = EXACT) -> Synopsis:
    """A synopsis without noise; `noisy` adds it."""
    grid = Grid.uniform(cells_per_axis, DOMAIN.dimensions)
    counts = count(take_rows(values, DOMAIN, OutOfRange.CLIP).records, grid)
    return Synopsis(
        dataset="d",
        release="r",
        domain=DOMAIN,
        cells=DenseCells(grid, counts.cells),
        epsilon=epsilon,
        size_epsilon=NOTHING,
        clusters=4,
        rule=Rule.RUGNIK,
        out_of_range=OutOfRange.CLIP,
        size=len(values),
        size_declared=True,
    )


def drawn_rows(synopsis: Synopsis, count: int, seed: int) -> NDArray[np.float64]:
    """Synthetic rows of numbers alone, one per line."""
    blocks = [np.stack([column.values for column in block], axis=1) for block in synthetic_rows(synopsis, count, seed)]
    return np.concatenate(blocks)


def noisy(exact: Synopsis, epsilon: str, draws: int = DRAWS) -> Iterator[Synopsis]:
    """Many releases of the same counts."""
    amount = Epsilon.parse(epsilon)
    for _ in range(draws):
        noise = draw_noise(DiscreteLaplace.at(amount), exact.grid.cell_count, NoiseSource())
        yield replace(exact, epsilon=amount, cells=DenseCells(exact.grid, exact.counts + noise))


def shaken(exact: Synopsis, epsilon: str, seed: int = 0) -> Synopsis:
    """One release with noise of the right law from a fixed seed: for claims that are no matter of probability."""
    rng, p = np.random.default_rng(seed), -np.expm1(-float(epsilon))
    noise = rng.geometric(p, exact.grid.cell_count) - rng.geometric(p, exact.grid.cell_count)
    return replace(exact, epsilon=Epsilon.parse(epsilon), cells=DenseCells(exact.grid, exact.counts + noise))


def least_hits(draws: int = DRAWS, level: float = LEVEL) -> int:
    """An interval that holds with probability `level` is seen to hold less often than this once in a million tests."""
    return int(binom.ppf(1e-6, draws, level))
