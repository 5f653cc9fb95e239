"""A bought size makes counts of boxes more precise: count(box) and N - count(all other cells) are combined.

Let cell j have the exact count t_j, the noisy count y_j = t_j + Z_j and the share f_j inside a box. The bought size is
n = N + Z_n, and all M cells add up to S. Both c = sum of f y and n - (S - c) are unbiased for sum of f t. So is

    c + w (n - S)    for any weight w, with the error    sum of (f_j - w) Z_j + w Z_n.

With u = Var Z and v = Var Z_n its variance, u sum of (f - w)^2 + w^2 v, is least at w = u F_1 / (u M + v), where
F_i = sum of f^i. It is then u F_2 - w u F_1. w is 0 for a box of no cell; for a box of all cells the combination is
`core.queries.size.noisy_size`. It is used where it takes away at least a hundredth of the variance, and where the law
of its error is tractable (`_serves`). Both depend on shares and laws alone, never on counts: an interval stays valid.

*The radius.* A box of few whole cells, or of all cells, has two weights only, 1 - w and w: `sum_radius` gives the exact
law. For any other box the sum over cells has many effective draws (`core.intervals.radius`). It is normal with the
standard deviation s that makes its Cornish-Fisher radius z s, and Z_n is Laplace at a rate e. With b = e / w the sum X
of both has

    P(X > r) = Phi(-r / s) + (T_1 - T_2) / 2,    T = exp(b^2 s^2 / 2 -+ b r) Phi(+- r / s - b s)

(Reed 2006, the normal-Laplace law). Its logarithm is concave, so Newton's method from a larger r never falls below the
solution. 0.5 % and half a jump of each law are added. Extreme levels have Chernoff's bound, as in
`core.intervals.radius`.

Of a part of a release, S and M are those of the part and what lies outside it (`WholeSize`). A bought size below 1 was
raised to 1. Then the combination may be too high, so that its lower end is 0, which no count falls below.

M follows from n, so that w, and whether the combination serves, depend on the noise of n a little. With s the share of
Z_n in the variance of the error, a choice that falls to releases whose n is high costs about 0.04 s of coverage, by a
rough calculation and not a proof. It is made where s is a few hundredths: so the least gain is small. Coverage is
measured, in bench/count_coverage.py. An interval can be a few hundredths wider than that of the plain sum where the
gain is least, and wider by more where the bought size was raised to 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr, ndtri

from core.arrays import Floats
from core.intervals.inversion import SMALLEST_TAIL
from core.intervals.normal import normal_radius
from core.mechanisms.law import NoiseLaw
from core.noisy_histogram import NoisyHistogram
from core.queries.edges import Edges
from core.queries.size import Part, sum_radius

_LEAST_GAIN = 0.01  # of the variance
_MANY = 16.0  # effective draws of the sum over cells; the same for every level, so that a count has no level
_WIDER = 1.005  # for what the normal law leaves out of the sum over cells
_NEWTON_STEPS = 12
_SHARES = np.concatenate([np.geomspace(1e-4, 1 / 64, 24), np.arange(1, 32) / 32])  # of the largest t of Chernoff


@dataclass(frozen=True, slots=True, eq=False)
class _Weights:
    """The weights of the error of many boxes: sums of |f - w|^2 and |f - w|^4 over cells, the largest, and w itself."""

    inside: Floats  # F_1
    squares: Floats
    fourths: Floats
    largest: Floats
    size: Floats  # w
    whole: NDArray[np.bool_]  # boxes of whole cells
    gain: Floats  # the share of the variance that w takes away

    def part(self, rows: NDArray[np.int64]) -> _Weights:
        """Those of some boxes."""
        return _Weights(*(getattr(self, name)[rows] for name in self.__slots__))


@dataclass(frozen=True, slots=True)
class BoughtSize:
    """A bought size, the law of its noise, and that of the cells it is compared with, `cells` of them.

    `surplus` is n - S. `raised` says that the bought size was raised to 1.
    """

    law: NoiseLaw
    size_law: NoiseLaw
    cells: int
    surplus: float
    raised: bool

    @classmethod
    def of(cls, synopsis: NoisyHistogram) -> BoughtSize | None:
        """None where no size was bought."""
        whole, law = synopsis.whole_size, synopsis.law
        if whole is None:
            return None
        cells = synopsis.grid.cell_count * law.draws + whole.cells
        surplus = whole.size - (float(synopsis.counts.sum()) + whole.rows)
        return cls(law=law, size_law=whole.law, cells=cells, surplus=surplus, raised=whole.size <= 1)

    def weights(self, edges: Edges) -> tuple[_Weights, NDArray[np.int64]]:
        """The weights of all boxes, and the numbers of those that the combination serves."""
        single, draws = self.law.single, self.law.draws
        first, second, third, fourth = (draws * edges.power_sums(power) for power in (1, 2, 3, 4))
        u = single.variance
        per_cell = u / (u * self.cells + self.size_law.variance) if u > 0.0 else 0.0
        w, M = per_cell * first, float(self.cells)  # noqa: N806 - as in the formulas
        weights = _Weights(
            inside=first,
            squares=np.maximum(second - 2 * w * first + w**2 * M, 0.0),
            fourths=np.maximum(fourth - 4 * w * third + 6 * w**2 * second - 4 * w**3 * first + w**4 * M, 0.0),
            largest=np.maximum(edges.sums().largest - w, w),
            size=w,
            whole=first == second,
            gain=np.divide(w * first, second, out=np.zeros_like(w), where=second > 0.0),
        )
        return weights, np.flatnonzero(self._serves(weights))

    def _serves(self, weights: _Weights) -> NDArray[np.bool_]:
        """Where the combination has much less noise than the count, and a law that is tractable."""
        enough = weights.gain >= _LEAST_GAIN
        serves: NDArray[np.bool_] = enough & (weights.whole | (self._draws(weights) >= _MANY))
        return serves

    def _draws(self, weights: _Weights) -> Floats:
        """The effective draws of the sum over cells."""
        fourths = np.maximum(weights.fourths, np.finfo(np.float64).tiny)
        draws: Floats = 3.0 * weights.squares**2 / fourths / self.law.single.kurtosis
        return draws

    def noise_sd(self, weights: _Weights) -> Floats:
        """The standard deviation of the error."""
        variance = self.law.single.variance * weights.squares + self.size_law.variance * weights.size**2
        return np.sqrt(variance)

    def radii(self, weights: _Weights, alpha: float) -> Floats:
        """An r with P(|X| > r) <= alpha for the error X of each box."""
        resolved = alpha >= SMALLEST_TAIL
        # More draws are needed far out in the tail, as in `core.intervals.radius`.
        many = resolved & (self._draws(weights) >= _MANY * max(1.0, log(alpha) / log(1e-3)) ** 3)
        exact = resolved & weights.whole & (~many | (weights.inside == self.cells))
        reach = np.empty(len(weights.size))
        for i in np.flatnonzero(exact).tolist():
            reach[i] = _whole_radius(self.law.single, self.size_law, round(weights.inside[i]), self.cells, alpha)
        for rows, method in ((many & ~exact, self._normal_laplace), (~many & ~exact, self._chernoff)):
            chosen = np.flatnonzero(rows)
            if len(chosen):
                reach[chosen] = method(weights.part(chosen), alpha)
        return reach * (1.0 + 1e-9)

    def _normal_laplace(self, weights: _Weights, alpha: float) -> Floats:
        single, largest, w = self.law.single, weights.largest, weights.size
        alphas = np.full(len(w), alpha)
        in_units = normal_radius(single, alphas, weights.squares / largest**2, weights.squares**2 / weights.fourths)
        z = float(-ndtri(alpha / 2))
        s, b = (in_units - 0.5) * largest / z, self.size_law.rate / w
        return _WIDER * normal_laplace_radius(s, b, alpha) + 0.5 * (largest + w)

    def _chernoff(self, weights: _Weights, alpha: float) -> Floats:
        """(log(2 / alpha) + log E exp(t X)) / t for the best of several t that both laws allow."""
        single, size_law = self.law.single, self.size_law
        # log E exp(t w Z) <= (w / largest)^2 log E exp(t largest Z): see `core.intervals.chernoff`.
        most = np.minimum(single.rate / weights.largest, size_law.rate / np.maximum(weights.size, 1e-300))
        t = np.multiply.outer(most, _SHARES)
        relative = weights.squares / weights.largest**2
        growth = relative[:, None] * single.log_mgf(t * weights.largest[:, None])
        growth += size_law.log_mgf(t * weights.size[:, None])
        reach: Floats = ((growth + log(2.0 / alpha)) / t).min(axis=1)
        return reach


def normal_laplace_radius(s: Floats, b: Floats, alpha: float) -> Floats:
    """The r with P(|X| > r) = alpha, or a little more: X is normal (deviation s) and Laplace (rate b) noise, added."""
    r = s * float(-ndtri(alpha / 4)) + log(2.0 / alpha) / b  # a union bound: too large
    for _ in range(_NEWTON_STEPS):
        z, bs = r / s, b * s
        left = np.exp(bs**2 / 2 - b * r + log_ndtr(z - bs))
        right = np.exp(bs**2 / 2 + b * r + log_ndtr(-z - bs))
        beyond = np.exp(log_ndtr(-z)) + (left - right) / 2  # P(X > r)
        density = b * (left + right) / 2
        step = (np.log(2.0 * beyond) - log(alpha)) * beyond / density
        r = r + np.minimum(step, 0.0)  # rounding may overshoot upwards, at the solution
    return r


def _whole_radius(law: NoiseLaw, size_law: NoiseLaw, inside: int, cells: int, alpha: float) -> float:
    """The radius for a box of so many whole cells."""
    w = law.variance * inside / (law.variance * cells + size_law.variance)
    parts = Part(size_law, w, 1), Part(law, 1.0 - w, inside), Part(law, w, cells - inside)
    return sum_radius(tuple(part for part in parts if part.times), alpha)
