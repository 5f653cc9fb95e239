"""Sums of noise to check core against: their law by repeated convolution, and synopses whose cells were summed."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from math import ceil

import numpy as np

from core.budget import Epsilon
from core.cells import DenseCells
from core.mechanisms.discrete_laplace import DiscreteLaplace
from core.mechanisms.law import NoiseLaw
from core.synopsis import Synopsis

DRAWS = 4  # of each cell of a SummedSynopsis


def law_at(rate: str | float) -> DiscreteLaplace:
    """The law of a single draw at this rate."""
    return DiscreteLaplace.at(Epsilon.parse(str(rate)))


@lru_cache(maxsize=32)
def convolved(rate: float, draws: int) -> tuple[np.ndarray, np.ndarray]:
    """z = -reach … reach and P(S = z), by convolving the law of a draw with itself."""
    p = np.exp(-rate)
    spread = np.sqrt(2 * p * draws) / (1 - p)
    reach = ceil(60 / rate + 14 * spread)  # less than 10^-20 lies beyond it
    z = np.arange(-reach, reach + 1)
    single = (1 - p) / (1 + p) * p ** np.abs(z)
    probabilities = single
    for _ in range(draws - 1):
        probabilities = np.convolve(probabilities, single, mode="same")
    return z, probabilities


class SummedSynopsis(Synopsis):
    """A synopsis of which each count is a sum of four noisy counts."""

    __slots__ = ()

    @property
    def law(self) -> NoiseLaw:
        """The law of the sum."""
        return DiscreteLaplace.at(self.histogram_epsilon).summed(DRAWS)


def summed_release(exact: Synopsis, epsilon: str, seed: int) -> SummedSynopsis:
    """The same counts with four draws of noise each, from a public seed, one by one."""
    fields = {name: getattr(exact, name) for name in Synopsis.__dataclass_fields__}
    rng, success = np.random.default_rng(seed), -np.expm1(-float(epsilon))
    shape = (DRAWS, exact.grid.cell_count)
    noise = (rng.geometric(success, shape) - rng.geometric(success, shape)).sum(axis=0)
    noisy = DenseCells(exact.grid, exact.counts + noise)
    return replace(SummedSynopsis(**fields), epsilon=Epsilon.parse(epsilon), cells=noisy)
