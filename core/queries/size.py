"""The number of rows N, from what was observed with noise: the bought size and the sum of all cells.

A declared size is a statement that nobody checked. It enters no interval. As a number to start from it serves the
mixture model alone, whose prior needs one beforehand, and only as long as the counts do not rule it out.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import log, sqrt

import numpy as np
from scipy.fft import dct

from core.arrays import Floats
from core.intervals.levels import Interval
from core.intervals.radius import equal_radius
from core.mechanisms.law import NoiseLaw
from core.noisy_histogram import NoisyHistogram, WholeSize

_CONTRADICTION = 6.0
_POINTS = 2**14  # of the law of a sum, on one side of zero
_BLUR = 3.0  # the standard deviation of the normal noise that makes that law smooth, in points
_CHERNOFF = np.concatenate([np.geomspace(1e-4, 1 / 64, 24), np.arange(1, 32) / 32])


@dataclass(frozen=True, slots=True)
class Part:
    """`weight` times the sum of `times` independent draws of noise."""

    law: NoiseLaw
    weight: float
    times: int


@dataclass(frozen=True, slots=True)
class NoisySize:
    """An unbiased estimate of the number of rows, and the noise in it. Every cell of the synopsis is released."""

    rows: float
    parts: tuple[Part, ...]

    @property
    def noise_sd(self) -> float:
        """The standard deviation of the noise."""
        return sqrt(sum(part.weight**2 * part.times * part.law.variance for part in self.parts))


def noisy_size(synopsis: NoisyHistogram) -> NoisySize:
    """The sum of all cells, combined with the bought size where there is one, by inverse variance.

    The bought size n has the variance v of one draw at `size_epsilon`, the sum s of M cells that of M draws at
    `histogram_epsilon`, u. Both are unbiased and independent, so (n / v + s / u) / (1 / v + 1 / u) is the unbiased
    combination of least variance, 1 / (1 / v + 1 / u). (A bought size below 1 was raised to 1: see `size_interval`. M
    follows from n, so the weights depend on its noise a little; bench/coverage.py measures what that costs.)

    Of a part of a release, the bought size less the noisy counts of all cells outside stands for n; the noise of these
    is in v. A thresholded release has no count for each of them: there the sum of a part's listed cells serves.
    """
    summed, cells = float(synopsis.counts.sum()), synopsis.grid.cell_count
    by_cells = Part(synopsis.law, 1.0, cells)
    whole = _usable_size(synopsis)
    if whole is None:
        return NoisySize(summed, (by_cells,))
    outside = Part(synopsis.law.single, 1.0, whole.cells)
    u, v = cells * synopsis.law.variance, whole.law.variance + whole.cells * outside.law.variance
    share = u / (u + v) if u + v > 0.0 else 0.0  # without any noise both are exact
    parts = [Part(whole.law, share, 1), Part(synopsis.law, 1.0 - share, cells)]
    parts += [Part(outside.law, share, whole.cells)] if whole.cells else []
    return NoisySize(share * (whole.size - whole.rows) + (1.0 - share) * summed, tuple(parts))


def _usable_size(synopsis: NoisyHistogram) -> WholeSize | None:
    """The bought size that the sum of the cells is combined with."""
    return synopsis.whole_size if synopsis.cells.complete or synopsis.size_law is not None else None


def size_interval(synopsis: NoisyHistogram, level: float, *, alpha: float) -> Interval:
    """For the number of rows, around `noisy_size`.

    Where the bought size was raised to 1, the combination is too high, or right. Then its upper end holds all the more,
    and the lower end is zero, which the number of rows never falls below.
    """
    size = noisy_size(synopsis)
    only = size.parts[0]
    many = len(size.parts) > 1
    reach = sum_radius(size.parts, alpha) if many else equal_radius(only.law, only.times, alpha=alpha)
    low = size.rows - reach
    whole = _usable_size(synopsis)
    raised = whole is not None and whole.size <= 1
    return Interval(level, min(0.0, low) if raised else low, size.rows + reach)


@lru_cache(maxsize=4096)
def sum_radius(parts: tuple[Part, ...], alpha: float) -> float:
    """The least r, or 0.1 % more, with P(|X| > r) <= alpha, where X is the sum of the parts.

    Chernoff's bound gives an R that X exceeds with a thousandth of alpha. [-R, R] is divided into points at distance h.
    X + Y, where Y is normal with deviation s = 3 h, has a density, and a Fourier transform of its characteristic
    function gives its law at the points: beyond the transform's highest frequency, pi / h, that of Y is below 10^-19. Y
    exceeds 4 s downwards with probability 3 x 10^-5, so P(|X| > r + 4 s) <= P(|X + Y| > r) / (1 - 3 x 10^-5).
    """
    noisy = tuple(part for part in parts if part.weight > 0.0)
    reach = _chernoff(noisy, alpha * 1e-3)
    step = reach / _POINTS
    frequencies: Floats = np.pi * np.arange(_POINTS + 1, dtype=np.float64) / reach
    exponent = (_BLUR * step * frequencies) ** 2 / 2.0
    for part in noisy:
        exponent += part.times * part.law.characteristic_exponent(part.weight * frequencies)
    law = dct(np.exp(-exponent), type=1) / (2.0 * _POINTS)  # the probability of 0, and of each point on either side
    beyond = 1.0 - law[0] - 2.0 * np.cumsum(law[1:])
    last = 1 + int(np.argmax(beyond <= alpha * (1.0 - 2e-3)))  # room for what lies beyond R, and for Y
    return (last + 0.5 + 4.0 * _BLUR) * step


def _chernoff(parts: tuple[Part, ...], alpha: float) -> float:
    """P(|X| > r) <= 2 exp(-t r) E exp(t X), for the best of some t that every part allows."""
    t: Floats = min(part.law.rate / part.weight for part in parts) * _CHERNOFF
    growth = sum(part.times * part.law.log_mgf(part.weight * t) for part in parts)
    return float(((growth + log(2.0 / alpha)) / t).min())


def expected_rows(synopsis: NoisyHistogram) -> float:
    """The N that the mixture model starts from, at least 1; for a point estimate only, it is no bound.

    A declared size, unless the sum of all cells rules it out by more than 6 standard deviations of its noise: rows may
    have been dropped, or the statement was about something else. Otherwise `noisy_size`.
    """
    size = noisy_size(synopsis)
    declared = float(synopsis.size)
    if synopsis.size_declared and abs(size.rows - declared) <= _CONTRADICTION * size.noise_sd:
        return max(1.0, declared)
    return max(1.0, size.rows)
