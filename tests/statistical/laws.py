"""The exact law of the noise, bins for goodness-of-fit tests, and samplers that are slightly wrong.

Design, after Tumult Core: a test accepts at p > 10^-9 and rejects at p < 10^-9 with samples so large that the right
sampler is refused once in 10^9 runs and a wrong one is accepted less often still. Nothing is seeded, nothing is flaky.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chi2

from core.budget import Epsilon
from core.mechanisms.discrete_laplace import DiscreteLaplace
from core.mechanisms.discrete_laplace_sampler import draw_noise
from core.randomness import NoiseSource

LEVEL = 1e-9
RARE = 500
Draws = NDArray[np.int64]
Sampler = Callable[[int, Epsilon], Draws]


def ours(size: int, epsilon: Epsilon) -> Draws:
    """The sampler under test."""
    return draw_noise(DiscreteLaplace.at(epsilon), size, NoiseSource())


def scaled(numerator: int, denominator: int) -> Sampler:
    """The right kind of noise at numerator / denominator times the epsilon: the mistake of a wrong scale."""
    return lambda size, epsilon: ours(size, Epsilon(epsilon.nano * numerator // denominator))


def rounded_laplace(size: int, epsilon: Epsilon) -> Draws:
    """Continuous Laplace noise rounded to whole numbers: what a float sampler would do."""
    return np.round(np.random.default_rng().laplace(scale=1 / float(epsilon), size=size)).astype(np.int64)


# Wrong at every epsilon. The last is what noising for a sensitivity of one half, or each count twice, comes to.
MUTANTS: dict[str, Sampler] = {
    "scale 10 % too large": scaled(10, 11),
    "scale 10 % too small": scaled(10, 9),
    "sensitivity of one half": scaled(2, 1),
}
# P(Z = 0) of the rounded law is off by a factor of about 1 - epsilon / 4: only a large epsilon shows it to a sample.
FLOAT_MUTANT = {"rounded floats": rounded_laplace}


def mutants(epsilon: str) -> dict[str, Sampler]:
    """The wrong samplers that can be told from the right one at this epsilon."""
    return MUTANTS | (FLOAT_MUTANT if float(epsilon) >= 0.5 else {})


def cdf(z: NDArray[np.int64], epsilon: Epsilon) -> NDArray[np.float64]:
    """P(Z <= z) = 1 - p^(z + 1) / (1 + p) for z >= 0 and p^-z / (1 + p) below, with p = exp(-epsilon)."""
    e = float(epsilon)
    tail = np.exp(-e * np.where(z >= 0, z + 1, -z)) / (1 + np.exp(-e))
    return np.where(z >= 0, 1 - tail, tail)


def cuts(epsilon: Epsilon, least: float = 2e-3) -> NDArray[np.int64]:
    """Whole numbers that end the bins: 40 quantiles and, towards either tail, halves down to `least`."""
    tails = 0.025 * 0.5 ** np.arange(1, np.log2(0.025 / least))
    levels = np.concatenate([tails, np.arange(0.025, 0.5, 0.025)])
    p = np.exp(-float(epsilon))
    right = np.ceil(-np.log(levels * (1 + p)) / float(epsilon) - 1).astype(np.int64)
    right = np.unique(right[right >= 0])
    return np.unique(np.concatenate([-right - 1, right]))


def tally(draws: Draws, ends: NDArray[np.int64]) -> NDArray[np.int64]:
    """How many draws fall into each bin: up to the first cut, (cut, next cut], …, above the last one."""
    return np.bincount(np.searchsorted(ends, draws, side="left"), minlength=len(ends) + 1)


def pooled(counts: NDArray[np.float64], rare: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Counts, one row for each sample, with the rare bins put together in one."""
    together = counts[..., rare].sum(axis=-1, keepdims=True)
    return np.concatenate([counts[..., ~rare], together], axis=-1) if rare.any() else counts


def chi_square(observed: NDArray[np.int64], probabilities: NDArray[np.float64]) -> float:
    """Pearson's p-value of counts against the probabilities of their bins.

    Bins that expect fewer than RARE counts are put together first: a rare count is skewed, and its chi-square term then
    has too heavy a tail to be trusted down to 10^-9.
    """
    if abs(probabilities.sum() - 1) > 1e-12:
        raise AssertionError("the probabilities of all bins add up to 1")
    expected = observed.sum() * probabilities
    rare = expected < RARE
    observed, expected = pooled(observed, rare), pooled(expected, rare)
    if expected[-1] < RARE / 10:  # all the rare ones together are rare
        observed, expected = (np.append(counts[:-2], counts[-2:].sum()) for counts in (observed, expected))
    if len(expected) < 2:
        raise AssertionError("the sample is too small for its bins")
    return float(chi2.sf(((observed - expected) ** 2 / expected).sum(), len(observed) - 1))


def goodness_of_fit(draws: Draws, epsilon: Epsilon) -> float:
    """The p-value of draws against the discrete Laplace law, by size and sign."""
    ends = cuts(epsilon)
    probabilities = np.diff(np.concatenate([[0.0], cdf(ends, epsilon), [1.0]]))
    return chi_square(tally(draws, ends), probabilities)


def residue_fit(draws: Draws, epsilon: Epsilon, *, modulus: int, bins: int) -> float:
    """The p-value of draws modulo a number, in equal bins: sees the digits in the middle, which quantiles do not.

    P(Z = r modulo m) = (1 - p) / (1 + p) (p^r + p^(m - r)) / (1 - p^m), summed over each bin as a geometric series.
    """
    e, width = float(epsilon), modulus // bins
    first = np.arange(bins) * width
    head = np.exp(-e * first) * -np.expm1(-e * width)
    tail = np.exp(-e * (modulus - first - width + 1)) * -np.expm1(-e * width)
    probabilities = (head + tail) / (1 + np.exp(-e)) / -np.expm1(-e * modulus)
    return chi_square(np.bincount(draws % modulus // width, minlength=bins), probabilities)


def same_law(left: Draws, right: Draws, epsilon: Epsilon) -> float:
    """The p-value of two samples having one law, whatever it is, in the bins of the right one."""
    ends = cuts(epsilon)
    table = np.stack([tally(left, ends), tally(right, ends)])
    probabilities = np.diff(np.concatenate([[0.0], cdf(ends, epsilon), [1.0]]))
    table = pooled(table, min(len(left), len(right)) * probabilities < RARE)
    expected = table.sum(axis=1, keepdims=True) * table.sum(axis=0) / table.sum()
    return float(chi2.sf(((table - expected) ** 2 / expected).sum(), table.shape[1] - 1))
