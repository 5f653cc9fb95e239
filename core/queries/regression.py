"""Linear least squares from noisy sums of products: coefficients, and the share of variance that they explain.

Let cell j have the exact count t_j and the noisy one y_j = t_j + Z_j, z_j = (1, predictors) and the target v_j at its
middle. Coefficients b of the gridded rows solve sum of t z (v - b'z) = 0; their estimates c solve the same with y. With
S = sum of y z z' and g = sum of Z z (v - b'z), subtracting one from the other gives, exactly,

    c - b = S^-1 g.

*Intervals.* Choose forms of z for which S is n times the identity, with n the noisy number of rows. The asked number is
a linear function of the coefficients, and up to a factor the coefficient of one form x, orthogonal to all others. Let c
stand for its estimate, r = v - c'z for the noisy residual, and h for how far the coefficient is above c. If it is, the
residual of the rows is e = r - h x but for the coefficients of the others. Orthogonality under S gives, exactly,

    n h = sum of y x (r - e)   and   - n h = sum of Z x_0 e_0 - D' G n,

with x_0 and e_0 the same functions made orthogonal under the exact counts, and D and G what noise does to that: their
entries are sum of Z o x_0 / n and sum of Z o e_0 / n over the other forms o. So the error is first of all a sum of
noise with fixed weights, of radius r(h), and D' G is of the second order (Neyman 1959). All h are kept with

    (n h)^2 <= f (V(x, h) + 3 / n^2 (sum over o of Var(sum of Z o x)) (sum over o of V(o, h)))

where V(o, h) = Var(sum of Z o (r - h x)) and f = r(h)^2 / V(x, h). The last term bounds the mean square of n D' G for
normal noise (Cauchy-Schwarz; 3 is the fourth moment). This is a quadratic inequality in h as in Fieller (1954), and
where it has no finite roots, the noise may hide that the form does not vary: there is no value and no interval. That
weights are taken at estimates is of the second order too; coverage is measured
(`tests/core/queries/test_regression.py`), not proved. It falls short at high levels where rows sit in few of many cells
(`docs/methods/statistics.md` has the figures).

*R squared* is 1 - sum of t (v - b'z)^2 / sum of t (v - mean)^2, a ratio of noisy sums, whose Fieller set solves a
quadratic (`core.intervals.ratios`). The noisy sum of squares at c falls short of that at b by exactly
sum over forms of (sum of Z z (v - b'z))^2 / n. It exceeds its mean by more than the quantile of chi-square with one
degree with probability alpha at most (Szekely and Bakirov 2003); the same holds for the sum about the noisy mean. The
ends of the interval allow for both.

*The grid.* Rows lie off the middles of their cells, in predictor l by h_l at most, as a root mean square over rows.
With w_l what a step along predictor l is in the coordinates above, and H^2 = sum over l, m of h_l h_m |w_l'w_m|, rows
move by H there as a root mean square (triangle and Cauchy-Schwarz inequalities), in whatever directions. With h that of
the target, and s the standard deviation of v - b'z, least squares of the rows themselves differ from b by at most
(h + sum of h_l |b_l|) / (1 - H) + H s / (1 - H)^2 in the same coordinates, if H < 1 (singular values of a matrix move
by the norm of a change at most, Weyl 1912). That is for the worst rows, with the noisy S and c for those of the rows.
Rows that lie evenly around a smooth density make variances at the middles too large by the variance within cells and
leave covariances as they are (Sheppard 1898): slopes are too flat. `sheppard` has the coefficients without that.
It is w^2 / 12 for cells of width w and (r^2 - 1) / 12 for runs of r whole values; where cells differ, its mean over
noisy counts.

References: Fieller (1954); Neyman (1959); Sheppard (1898); Fuller (1987) on errors in variables.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

import numpy as np

from core.arrays import Floats
from core.errors import InvalidQuery
from core.intervals.levels import Interval, alpha_of
from core.intervals.ratios import Ends
from core.noisy_histogram import NoisyHistogram
from core.queries.least_squares import FLAT, Errors, Fit
from core.queries.second_moments import SecondMoments, second_moments

_MOST_MOVED = 0.9  # H beyond which the bound is of no use
MOST_PREDICTORS = 12


@dataclass(frozen=True, slots=True)
class Coefficient:
    """A coefficient in the attributes' own units; `name` is None for the constant.

    `value` is None where the noise hides it, `interval` where nothing bounds it. `shift` is how far the grid can move
    it at most; `sheppard` is its value with Sheppard's correction.
    """

    name: str | None
    value: float | None
    interval: Interval | None
    shift: float | None
    sheppard: float | None


@dataclass(frozen=True, slots=True)
class Regression:
    """Least squares of a target on predictors, over the rows with a value of all of them.

    `undetermined` says why coefficients have no value or no interval, in a sentence.
    """

    coefficients: tuple[Coefficient, ...]
    r_squared: float | None
    r_squared_interval: Interval
    undetermined: str | None


_NO_ROWS = "No rows with a value of all these attributes can be told from noise."
_HIDDEN = (
    "Some coefficients have no value: within the noise, a predictor may not vary, or may follow from the others. Name "
    "fewer predictors, or ask about more rows."
)
_LISTED = (
    "Of a release with a threshold, nothing bounds where the rows outside the listed cells lie: coefficients are those "
    "of the listed cells, and have no interval."
)


def regression(histogram: NoisyHistogram, target: str, on: tuple[str, ...], *, level: float) -> Regression:
    """Least squares. Each interval holds by itself at the level. InvalidQuery where an attribute does not fit."""
    alpha = alpha_of(level)
    if not 1 <= len(on) <= MOST_PREDICTORS:
        raise InvalidQuery(f"A regression takes 1 to {MOST_PREDICTORS} predictors.")
    moments = second_moments(histogram, (*on, target))
    fit = Fit.of(moments)
    if fit is None:
        return _unknown(level, on, _NO_ROWS if moments.rows <= 0.0 else _HIDDEN)
    if moments.noise is None:
        return _answer(moments, fit, level, None, _LISTED)
    errors = Errors(moments, fit, moments.noise, moments.noise.covariances(), alpha)
    return _answer(moments, fit, level, errors, None)


def _unknown(level: float, on: tuple[str, ...], why: str) -> Regression:
    nothing = tuple(Coefficient(name, None, None, None, None) for name in (None, *on))
    return Regression(nothing, None, Interval(level, 0.0, 1.0), why)


def _answer(moments: SecondMoments, fit: Fit, level: float, errors: Errors | None, why: str | None) -> Regression:
    p = len(moments.attributes) - 1
    back = _own_units(moments)
    own = back @ fit.estimates
    own[0] += moments.middle[p]
    shift = _grid_shift(moments, fit)
    norms = np.linalg.norm(back @ fit.whitening.T, axis=1)
    corrected = None if errors is None else _with_sheppard(moments)  # listed cells may have means for middles
    all_ends: list[Ends | None] = [None if errors is None else errors.interval(row) for row in back]
    unexplained = (0.0, 1.0) if errors is None else errors.unexplained(list(zip(back[1:], all_ends[1:], strict=True)))
    coefficients = []
    for k, name in enumerate((None, *(attribute.name for attribute in moments.attributes[:p]))):
        value = float(own[k])
        ends = all_ends[k]
        if errors is not None and ends is None:
            coefficients.append(Coefficient(name, None, None, None, None))
            why = _HIDDEN
            continue
        interval = None if ends is None else Interval(level, value + ends[0], value + ends[1])
        sheppard = None if corrected is None else float(back[k] @ corrected + (moments.middle[p] if k == 0 else 0.0))
        coefficients.append(
            Coefficient(name, value, interval, None if shift is None else float(norms[k] * shift), sheppard)
        )
    share = 1.0 - fit.squares / fit.total if fit.total > 0.0 else None
    explained = None if share is None else min(max(share, 0.0), 1.0)
    low, high = 1.0 - unexplained[1], 1.0 - unexplained[0]
    if explained is not None:
        low, high = min(low, explained), max(high, explained)
    interval = Interval(level, low, high)
    return Regression(tuple(coefficients), explained, interval, why)


def _own_units(moments: SecondMoments) -> Floats:
    """The matrix from coefficients in coordinates to those in own units, but for the target's middle.

    v = m_v + h_v (c_0 + sum of c_l (x_l - m_l) / h_l).
    """
    p = len(moments.attributes) - 1
    slopes = moments.half[p] / moments.half[:p]
    back: Floats = np.zeros((p + 1, p + 1))
    back[np.arange(p + 1), np.arange(p + 1)] = np.append(moments.half[p], slopes)
    back[0, 1:] = -slopes * moments.middle[:p]
    return back


def _grid_shift(moments: SecondMoments, fit: Fit) -> float | None:
    """How far the grid moves coefficients at most, in the coordinates of `Fit`; None where nothing bounds it."""
    p = len(moments.attributes) - 1
    steps = fit.whitening[:, 1:] * moments.reach[:p]
    moved = sqrt(float(np.abs(steps.T @ steps).sum()))
    if moved >= _MOST_MOVED:
        return None
    direct = float(moments.reach[p] + np.abs(fit.estimates[1:]) @ moments.reach[:p])
    deviation = sqrt(max(fit.squares, 0.0) / moments.rows)
    return direct / (1.0 - moved) + moved * deviation / (1.0 - moved) ** 2


def _with_sheppard(moments: SecondMoments) -> Floats | None:
    """Estimates from variances without what even rows in cells add."""
    p = len(moments.attributes) - 1
    gram = moments.sums[: p + 1, : p + 1].copy()
    gram[np.arange(1, p + 1), np.arange(1, p + 1)] -= moments.rows * moments.within[:p]
    scale = np.diag(gram)
    if scale.min() <= 0.0 or np.linalg.eigvalsh(gram / np.sqrt(np.outer(scale, scale)))[0] <= FLAT:
        return None
    return np.asarray(np.linalg.solve(gram, moments.sums[: p + 1, p + 1]), dtype=np.float64)
