"""A least-squares fit to noisy sums, and the errors that their noise may leave in it.

`core.queries.regression` has the mathematics, and makes answers of both.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt

import numpy as np
from scipy.special import chdtri

from core.arrays import Floats
from core.intervals.ratios import Ends
from core.queries.second_moments import Noise, SecondMoments, product

FLAT = 1e-9  # a variance below this share of the largest counts as none
_HIGHEST_ALPHA = 0.215  # up to which the inequality of Szekely and Bakirov holds


@dataclass(frozen=True, slots=True, eq=False)
class Fit:
    """Estimates c in coordinates, and the coordinates in which S of the predictors is n times the identity.

    `whitening` has a form in each row: W z has the sum of squares n along each of them, and no products. `residual` is
    the form v - c'z.
    """

    estimates: Floats
    whitening: Floats
    residual: Floats
    squares: float  # sum of y (v - c'z)^2
    total: float  # sum of y (v - mean)^2

    @classmethod
    def of(cls, moments: SecondMoments) -> Fit | None:
        """None where the predictors' sums do not look like those of rows that vary."""
        if moments.rows <= 0.0:
            return None
        p = len(moments.attributes) - 1
        gram, cross = moments.sums[: p + 1, : p + 1], moments.sums[: p + 1, p + 1]
        variances = np.diag(gram)
        if variances.min() <= 0.0:
            return None
        scale = 1.0 / np.sqrt(variances)
        values, vectors = np.linalg.eigh(gram * np.outer(scale, scale))
        if values[0] <= FLAT * values[-1]:
            return None
        whitening = sqrt(moments.rows) * (vectors / np.sqrt(values)).T * scale
        estimates = whitening.T @ (whitening @ cross) / moments.rows
        residual = np.append(-estimates, 1.0)
        squares = float(residual @ moments.sums @ residual)
        total = float(moments.sums[p + 1, p + 1] - cross[0] ** 2 / moments.rows)
        return cls(estimates, whitening, residual, squares, total)


@dataclass(frozen=True, slots=True, eq=False)
class Errors:
    """What the noise may add to estimates."""

    moments: SecondMoments
    fit: Fit
    noise: Noise
    covariances: Floats
    alpha: float

    def interval(self, row: Floats) -> Ends | None:
        """How far row'b may be below and above row'c, for a row in coordinates; None where nothing bounds it."""
        turned = self.fit.whitening @ row
        length = float(np.linalg.norm(turned))
        basis = np.linalg.qr(np.column_stack([turned, np.eye(len(row))]))[0].T  # the first is along `turned`
        forms = np.column_stack([basis @ self.fit.whitening, np.zeros(len(row))])
        x, others, residual, n = forms[0], forms[1:], self.fit.residual, self.moments.rows
        parts = product(x, residual), product(x, x)
        second = 3.0 / n**2 * self._variance(product(others, x)).sum()
        more = product(others, residual), product(others, x)
        spread = np.zeros((2, 2))
        for first, slope, weight in ((parts[0][None], parts[1][None], 1.0), (*more, second)):
            spread += weight * np.array(
                [
                    [self._covariance(first, first), self._covariance(first, slope)],
                    [self._covariance(first, slope), self._covariance(slope, slope)],
                ]
            )
        ends, f = (0.0, 0.0), 0.0
        for _ in range(2):  # at the estimate, then at both ends
            f = max(f, *(self._factor(parts[0] - h * parts[1]) for h in ends))
            roots = _roots(n**2 - f * spread[1, 1], -f * spread[0, 1], -f * spread[0, 0])
            if roots is None:
                return None
            ends = roots
        return float(ends[0] * length), float(ends[1] * length)

    def unexplained(self, slopes: Sequence[tuple[Floats, Ends | None]]) -> Ends:
        """The interval of 1 - R squared, from the row of each slope with what `interval` returned for it.

        (0, 1) where nothing bounds a slope: then the rows' own fit may leave anything unexplained.
        """
        moments, fit = self.moments, self.fit
        p = len(moments.attributes) - 1
        centred = np.zeros(p + 2)
        centred[0], centred[-1] = -moments.sums[0, p + 1] / moments.rows, 1.0
        one = np.eye(p + 2)[0]
        forms = np.column_stack([fit.whitening, np.zeros(p + 1)])
        most = float(chdtri(1, min(self.alpha, _HIGHEST_ALPHA))) / moments.rows
        of_fit = most * float(self._variance(product(forms, fit.residual)).sum())
        of_mean = most * float(self._variance(product(one, centred)[None]).sum())
        residuals = [(fit.residual, 0.0)]
        for row, ends in slopes:
            if ends is None:
                return 0.0, 1.0
            turned = fit.whitening @ row
            length = float(np.linalg.norm(turned))
            x = np.append((turned / length) @ fit.whitening, 0.0)
            residuals += [(fit.residual - h / length * x, moments.rows * (h / length) ** 2) for h in ends]
        lows, highs = zip(
            *(
                self._fieller(
                    (product(residual, residual), product(centred, centred)),
                    (fit.squares + more, fit.squares + of_fit),
                    (fit.total + of_mean, fit.total),
                )
                for residual, more in residuals
            ),
            strict=True,
        )
        return min(lows), max(highs)

    def _fieller(self, parts: tuple[Floats, Floats], above: Ends, below: Ends) -> Ends:
        """The least and the largest theta in [0, 1] with |above - theta below| within the radius of the noise of that.

        `above` and `below` have a number for the one end and another for the other.
        """
        if min(below) <= 0.0:
            return 0.0, 1.0
        values, (first, second) = np.clip(np.divide(above, below), 0.0, 1.0).tolist(), parts
        f, v = max(self._factor(first - theta * second) for theta in (0.0, values[0], 1.0)), self.covariances
        ends = []
        for number in (0, 1):
            roots = _roots(
                below[number] ** 2 - f * float(second @ v @ second),
                above[number] * below[number] - f * float(first @ v @ second),
                above[number] ** 2 - f * float(first @ v @ first),
            )
            if roots is None:
                return 0.0, 1.0
            ends.append(float(np.clip(roots[number], 0.0, 1.0)))
        return min(ends[0], values[0]), max(ends[1], values[1])

    def _factor(self, combination: Floats) -> float:
        """The squared radius in variances."""
        variance = float(self._variance(combination[None])[0])
        return self.noise.radius(combination, self.alpha) ** 2 / variance if variance > 0.0 else 0.0

    def _variance(self, combinations: Floats) -> Floats:
        """The variance of the noise of each row of combinations."""
        variances: Floats = np.maximum(np.einsum("ri,ij,rj->r", combinations, self.covariances, combinations), 0.0)
        return variances

    def _covariance(self, first: Floats, second: Floats) -> float:
        """Summed over rows of combinations."""
        return float(np.einsum("ri,ij,rj->", first, self.covariances, second))


def _roots(a: float, b: float, c: float) -> Ends | None:
    """The roots of a x^2 - 2 b x + c, which is not positive somewhere; None unless a is positive."""
    if a <= 0.0:
        return None
    root = sqrt(max(b * b - a * c, 0.0))
    return (b - root) / a, (b + root) / a
