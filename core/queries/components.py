"""Principal components of noisy counts: shares of variance with intervals, directions with a bound on their angle.

Components are the eigenvectors v_k of the covariance or correlation matrix of the gridded rows, M, and eigenvalues l_k
are the variances along them. Let M^ be the matrix from noisy counts, E = M^ - M, n^ the noisy number of rows. With
x about the exact mean and N the noise of sums of products,

    E = (N_xx - N_1 M) / n^ - (N_x / n^) (N_x / n^)',     so     M^ - E = M

follows from a draw of N by solving for M. The law of N is known, so candidates for M are simulated: draws of N are
normal with the covariances of the noise, from a public seed, and as much longer as radii of sums of noise are than
those of a normal law. A correlation matrix is that of each candidate. (Where a candidate has no rows or no positive
variances, no bound holds for it.)

*Bounds.* For each draw, with d = (least distance of l^_k from other eigenvalues) - |E|, |E| the spectral norm:

    sin(angle of v^_k and v_k) <= |E v_k| / d                        (Davis and Kahan 1970),
    |l^_k - l_k - v_k' E v_k| <= |E v_k|^2 / d                       (Kato 1949, Temple 1928),
    |l^_k - l_k| <= |E|                                              (Weyl 1912),

with v^_k for v_k on the right sides. The quantiles of these over draws are the answer's bounds. Where that of the sine
reaches 1, the gap between eigenvalues drowns in noise: any direction in the plane of the neighbours would do as well,
and the component is undetermined. Coverage is measured (`tests/core/queries/test_components.py`).

*The grid.* Rows lie off the middles of their cells by a root mean square of h_i at most along attribute i. Then no
root of an eigenvalue of the covariance matrix moves by more than the root of sum of h_i^2 (Weyl 1912, for singular
values); with columns divided by their deviations s_i, 2 h_i / s_i stands for h_i.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from math import asin, degrees, sqrt

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from core.arrays import Floats
from core.errors import InvalidQuery
from core.intervals.levels import Interval, alpha_of
from core.noisy_histogram import NoisyHistogram
from core.queries.estimates import Estimate
from core.queries.second_moments import Noise, SecondMoments, product, products, second_moments
from core.randomness import seeded

DRAWS = 2000
_MOST = 0.5  # alpha at which radii are still compared with those of a normal law
_RESOLVED = 0.005  # the least share of draws that a quantile is taken at


class Matrix(StrEnum):
    """Whose eigenvectors components are."""

    CORRELATION = "correlation"
    COVARIANCE = "covariance"


@dataclass(frozen=True, slots=True)
class Component:
    """A direction of length 1, the largest entry positive, with the variance along it and its share of all variance.

    `angle` bounds the angle to the direction without noise, in degrees; None where that is undetermined.
    """

    loadings: tuple[float, ...]
    variance: Estimate
    share: Estimate
    angle: float | None


@dataclass(frozen=True, slots=True)
class Components:
    """Components of the values (x - centre) / scale, by variance. `shift`: how far the grid moves their deviations."""

    names: tuple[str, ...]
    centre: tuple[float, ...]
    scale: tuple[float, ...]
    components: tuple[Component, ...]
    shift: float
    warning: str | None


_NOTHING = "No rows with a value of all these attributes, or no variance of one of them, can be told from noise."
_LISTED = (
    "Of a release with a threshold, nothing bounds where the rows outside the listed cells lie: components are those "
    "of the listed cells, and nothing bounds their error."
)


def components(
    histogram: NoisyHistogram, names: tuple[str, ...], *, matrix: Matrix, level: float, seed: int
) -> Components:
    """The components of the ordered attributes with these names; of all of them where none is named."""
    alpha = alpha_of(level)
    chosen = names or tuple(attribute.name for attribute in histogram.domain.ordered)
    if len(chosen) < 2:
        raise InvalidQuery("Principal components need at least two attributes that are no categories.")
    moments = second_moments(histogram, chosen)
    if moments.rows <= 0.0 or np.diag(moments.covariance).min() <= 0.0:
        unit = tuple(1.0 for _ in chosen)
        return Components(chosen, tuple(moments.middle.tolist()), unit, (), 0.0, _NOTHING)
    deviations = np.sqrt(np.diag(moments.covariance))
    is_correlation = matrix is Matrix.CORRELATION
    scale = deviations if is_correlation else 1.0 / moments.half  # in coordinates
    shift = float(np.linalg.norm((2.0 if is_correlation else 1.0) * moments.reach / scale))
    noisy = moments.covariance / np.outer(scale, scale)
    most = float(len(chosen)) if is_correlation else float((moments.half**2).sum())
    drawn = None if moments.noise is None else _drawn(moments, moments.noise, alpha, seed)
    errors = None if drawn is None else _errors(moments, drawn, noisy, None if is_correlation else scale)
    made = tuple(_component(noisy, errors, k, level, most) for k in range(len(chosen)))
    undetermined = [k + 1 for k, each in enumerate(made) if each.angle is None]
    warning = _LISTED if errors is None else _undetermined(undetermined) if undetermined else None
    return Components(
        names=chosen,
        centre=tuple(moments.middle.tolist()),
        scale=tuple((moments.half * scale).tolist()) if is_correlation else tuple(1.0 for _ in chosen),
        components=made,
        shift=shift,
        warning=warning,
    )


def _undetermined(numbers: list[int]) -> str:
    listed = ", ".join(map(str, numbers))
    word = "Component" if len(numbers) == 1 else "Components"
    return f"{word} {listed}: undetermined; the noise may exceed the gap to a neighbouring variance."


@dataclass(frozen=True, slots=True, eq=False)
class _Draws:
    """E of each candidate; `valid` where there is one."""

    errors: Floats
    norms: Floats
    valid: NDArray[np.bool_]


def _drawn(moments: SecondMoments, noise: Noise, alpha: float, seed: int) -> Floats:
    """(draws, d + 1, d + 1): noise of the sums of products, as wide as its radii at alpha say."""
    d, covariances = len(moments.attributes), noise.covariances()
    alpha = min(alpha, _MOST)  # at a lower level both radii vanish
    values, vectors = np.linalg.eigh(covariances)
    factor = vectors * np.sqrt(np.maximum(values, 0.0))
    usual, wider = -float(ndtri(max(alpha, _RESOLVED) / 2.0)), 1.0
    for form in np.eye(d + 1):
        square = product(form, form)
        deviation = sqrt(float(square @ covariances @ square))
        wider = max(wider, noise.radius(square, alpha) / (usual * deviation) if deviation > 0.0 else 1.0)
    normal = seeded(seed).standard_normal((DRAWS, len(factor))) @ (wider * factor.T)
    drawn = np.empty((DRAWS, d + 1, d + 1))
    for column, (i, j) in enumerate(products(d)):
        drawn[:, i, j] = drawn[:, j, i] = normal[:, column]
    return drawn


def _errors(moments: SecondMoments, noise: Floats, noisy: Floats, scale: Floats | None) -> _Draws:
    """With a fixed scale, or with that of each candidate."""
    n = moments.rows
    rows = n - noise[:, 0, 0]
    means = noise[:, 0, 1:] / n
    covariance = moments.covariance
    valid = rows > 0.0
    divisor = np.where(valid, rows, 1.0)[:, None, None]
    second = means[:, :, None] * means[:, None, :]
    errors = (noise[:, 1:, 1:] - noise[:, :1, :1] * covariance - n * second) / divisor
    candidates = covariance - errors
    variances = np.einsum("rii->ri", candidates)
    valid &= (variances > 0.0).all(axis=1)
    own = np.sqrt(np.where(variances > 0.0, variances, 1.0))
    by = own if scale is None else np.broadcast_to(scale, variances.shape)
    errors = noisy - candidates / (by[:, :, None] * by[:, None, :])
    return _Draws(errors, np.abs(np.linalg.eigvalsh(errors)).max(axis=1), valid)


def _component(noisy: Floats, draws: _Draws | None, k: int, level: float, most: float) -> Component:
    values, vectors = np.linalg.eigh(noisy)
    values, vectors = values[::-1], vectors[:, ::-1]
    v, value, total = vectors[:, k], float(values[k]), float(np.trace(noisy))
    v = v * np.sign(v[np.argmax(np.abs(v))])
    variance, share = max(value, 0.0), float(np.clip(value / total, 0.0, 1.0))
    loadings = tuple(v.tolist())
    if draws is None:
        nothing = Interval(level, 0.0, 1.0)
        return Component(
            loadings, Estimate(variance, Interval(level, 0.0, max(most, variance))), Estimate(share, nothing), None
        )
    gap = np.abs(np.delete(values, k) - value).min() - draws.norms
    moved = draws.errors @ v
    lengths, along = np.linalg.norm(moved, axis=1), moved @ v
    apart = draws.valid & (gap > 0.0)
    distance = np.where(apart, gap, 1.0)
    sines = np.where(apart, lengths / distance, np.inf)
    beyond = np.where(apart, lengths**2 / distance, np.inf)
    of_total = np.einsum("rii->r", draws.errors)
    left = np.where(draws.valid & (of_total < total), 1.0 - of_total / total, np.nan)
    of_value = np.where(draws.valid, np.minimum(np.abs(along) + beyond, draws.norms), np.inf)
    of_share = np.minimum(np.abs(along - share * of_total) + beyond, draws.norms + share * np.abs(of_total))
    of_share = np.where(np.isnan(left), np.inf, of_share / (total * left))
    alpha = alpha_of(level)
    sine, reach, part = (_quantile(each, alpha) for each in (sines, of_value, of_share))
    return Component(
        loadings=loadings,
        variance=Estimate(variance, Interval(level, max(0.0, value - reach), max(variance, min(value + reach, most)))),
        share=Estimate(share, Interval(level, max(0.0, share - part), min(1.0, share + part))),
        angle=degrees(asin(sine)) if sine < 1.0 else None,
    )


def _quantile(values: Floats, alpha: float) -> float:
    """The least of the draws that no more than alpha of them exceed."""
    return float(np.quantile(values, 1.0 - max(alpha, _RESOLVED), method="higher"))
