"""The mixture model: normal components with diagonal covariance and a uniform background, on the cells of a grid.

The expected count of cell j, whose sides are (l_x, u_x) for the axes x = 1 … d of [-1, 1]^d, is

    lambda_j = a_0 v_j + sum over k of a_k prod over x of [Phi((u_x - mu_kx) / s_kx) - Phi((l_x - mu_kx) / s_kx)],

with v_j the cell's share of the volume (1 / M for M equal cells), Phi the normal distribution function, and the
outermost edges at infinity: rows beyond the bounds were clipped into the outermost cells. a_k is the expected number of
rows of component k, a_0 that of the background.

Priors, public constants that are the same for every synopsis (N rows, K components):

    a_k       ~ Gamma(shape 2, mean N / K)
    a_0       ~ Exponential(mean .05 N)
    log s_kx  ~ Normal(log(.25 K^(-1/d)), .6), with s_kx >= .01
    mu_k      ~ uniform where |mu_kx| <= 1 - 2 s_kx
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import log

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from core.arrays import Floats

BACKGROUND = 0.05  # the share of rows expected outside of all components
_LOG_S_DEVIATION = 0.6
_LEAST_S = 0.01
MARGIN = 2.0  # a centre keeps this many s away from the faces of the domain


@dataclass(frozen=True, slots=True, eq=False)
class Mixtures:
    """Parameters of many mixtures of K components, a mixture for each chain; a_k and a_0 in the likelihood's units.

    `components` is (chains, K, 2d + 1): mu, log s and log a of a component in one row. `log_a0` is (chains,).
    """

    components: Floats
    log_a0: Floats

    @property
    def dimensions(self) -> int:
        """d, of 2d + 1 numbers in a row."""
        return int(self.components.shape[-1] // 2)

    @property
    def mu(self) -> Floats:
        """(chains, K, d) means."""
        return self.components[..., : self.dimensions]

    @property
    def s(self) -> Floats:
        """(chains, K, d) standard deviations."""
        deviations: Floats = np.exp(self.components[..., self.dimensions : -1])
        return deviations

    @property
    def a(self) -> Floats:
        """(chains, K) expected rows of the components."""
        amounts: Floats = np.exp(self.components[..., -1])
        return amounts

    @property
    def a0(self) -> Floats:
        """(chains,) expected rows of the background."""
        amounts: Floats = np.exp(self.log_a0)
        return amounts

    def at(self, chains: NDArray[np.intp]) -> Mixtures:
        """The mixtures of these chains, copied."""
        return Mixtures(self.components[chains], self.log_a0[chains])


@dataclass(frozen=True, slots=True)
class Prior:
    """The priors of the module's docstring, for `size` = N in the likelihood's units, K components, d dimensions."""

    size: float
    k: int
    dimensions: int

    @property
    def log_s_mean(self) -> float:
        """The mean of log s."""
        return log(0.25 * self.k ** (-1.0 / self.dimensions))

    def log_density(self, component: Floats) -> Floats:
        """Of (chains, 2d + 1) components up to a constant, where `allowed`: log s is normal, a is Gamma in log a."""
        d, log_a = self.dimensions, component[:, -1]
        apart = component[:, d:-1] - self.log_s_mean
        normal = np.square(apart).sum(axis=1) / (-2.0 * _LOG_S_DEVIATION**2)
        density: Floats = normal + 2.0 * log_a - 2.0 * self.k / self.size * np.exp(log_a)
        return density

    def allowed(self, mu: Floats, s: Floats) -> NDArray[np.bool_]:
        """(chains, d) whether a mean keeps its margin and a deviation its least value."""
        inside: NDArray[np.bool_] = (np.abs(mu) <= 1.0 - MARGIN * s) & (s >= _LEAST_S)
        return inside

    def log_background_ratio(self, old: Floats, new: Floats, log_old: Floats, log_new: Floats) -> Floats:
        """The change of the log density of log a_0, where a_0 is exponential with mean .05 N."""
        change: Floats = log_new - log_old - (new - old) / (BACKGROUND * self.size)
        return change


def axis_masses(mu: Floats, s: Floats, edges: Sequence[Floats]) -> list[Floats]:
    """Normal probabilities of the intervals between the edges of each axis: (…, d) -> d arrays (…, m of the axis).

    The outermost edges are taken as infinite. Axes that share one array of edges are worked out in one call.
    """
    if all(each is edges[0] for each in edges):
        together = _masses(mu, s, edges[0])
        return [together[..., x, :] for x in range(len(edges))]
    return [_masses(mu[..., x], s[..., x], each) for x, each in enumerate(edges)]


def _masses(mu: Floats, s: Floats, edges: Floats) -> Floats:
    inner = ndtr((edges[1:-1] - mu[..., None]) / s[..., None])
    padded = np.empty((*inner.shape[:-1], len(edges)))
    padded[..., 0], padded[..., -1] = 0.0, 1.0
    padded[..., 1:-1] = inner
    masses: Floats = np.diff(padded, axis=-1)
    return masses


def products(masses: Sequence[Floats]) -> Floats:
    """Probabilities along each axis, (…, m of the axis) -> (…, M) probabilities of the cells, the last axis fastest."""
    cells = masses[0]
    for along in masses[1:]:
        cells = (cells[..., :, None] * along[..., None, :]).reshape(*cells.shape[:-1], -1)
    return cells


def expected_by_component(mu: Floats, s: Floats, a: Floats, edges: Sequence[Floats]) -> Floats:
    """The rows that each component alone expects in every cell: (…, d), (…, d), (…) -> (…, M)."""
    masses = axis_masses(mu, s, edges)
    masses[0] *= a[..., None]
    return products(masses)
