"""The scan over several numbers of clusters: inertia and stability of each k, and the k that stands out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from core.arrays import Floats
from core.checkpoint import Checkpoint, carry_on
from core.clustering.certainty import certainty
from core.clustering.methods import Choice, Method, Placed, choose, labels_of, place
from core.noisy_histogram import NoisyHistogram
from core.queries.clusters import require_k, size_bounds
from core.queries.slices import numeric_part

_ALPHA_OF_SIZES = 0.05  # of their intervals: where one reaches zero, its k is not recommended
_STABLE, _FALLS = 0.9, 0.8  # of a recommended k: least stability; inertia over that of rows spread evenly
_FALLS_ALONG_ONE = 0.88  # the same where the box of those is cut along one axis
_FLAT = 1e-12  # a share of all variance that counts as none


@dataclass(frozen=True, slots=True)
class ScanLine:
    """Inertia and stability of one k."""

    k: int
    inertia: float
    stability: float


@dataclass(frozen=True, slots=True)
class Scan:
    """One line for each k, how they were had, and which k to take; None where none stands out."""

    lines: tuple[ScanLine, ...]
    choice: Choice
    recommended: Recommended | None


NOTHING_STANDS_OUT = (
    "Nothing stands out, so no k is recommended: no k of this scan has stable clusters that all have rows beyond the "
    "noise, and an inertia clearly below that of rows spread evenly over a box with the same variances."
)


@dataclass(frozen=True, slots=True)
class Recommended:
    """A k of a scan, and why in a sentence."""

    k: int
    reason: str


def scan(histogram: NoisyHistogram, ks: range, *, seed: int, checkpoint: Checkpoint = carry_on) -> Scan:
    """Inertia and stability for several k, and which of them to take, if one stands out."""
    require_k(histogram, ks[0])
    histogram = numeric_part(histogram)
    method = choose(histogram, ks[0], Method.POSTERIOR).method
    quick = method if method is Method.THRESHOLDED else Method.PROJECTED
    lines, all_have_rows, variances = [], [], np.zeros(0)
    before = place(histogram, ks[0] - 1, quick, seed=seed, checkpoint=checkpoint).inertia if ks[0] > 1 else None
    for k in ks:
        require_k(histogram, k)
        placed = place(histogram, k, quick, seed=seed, checkpoint=checkpoint)
        stability = certainty(histogram, placed, seed=seed, checkpoint=checkpoint).stability
        all_have_rows.append(_all_have_rows(histogram, placed))
        variances = _variances(placed)  # the same for every k
        lines.append(ScanLine(k=k, inertia=placed.inertia, stability=stability))
    choice = Choice(quick, "A scan tries many k, and this method takes milliseconds each.")
    return Scan(tuple(lines), choice, recommended_of(lines, all_have_rows, before, variances))


def _all_have_rows(histogram: NoisyHistogram, placed: Placed) -> bool:
    """Whether every cluster has rows beyond the noise: the lower ends of all intervals of sizes are above zero."""
    k, labels = len(placed.centres), labels_of(placed.cells, placed.centres)
    sizes = np.bincount(labels, weights=placed.counts, minlength=k).astype(np.float64)
    least, _most = size_bounds(histogram, sizes, labels, _ALPHA_OF_SIZES)
    return bool((least > 0.0).all())


def _variances(placed: Placed) -> Floats:
    """Along the principal axes of the cells with their weights, in the unit coordinates that inertia is measured in."""
    total = float(placed.weights.sum())
    if total <= 0.0:
        return np.zeros(placed.cells.shape[1])
    about = placed.cells - placed.weights @ placed.cells / total
    variances: Floats = np.maximum(np.linalg.eigvalsh((about.T * placed.weights) @ about / total), 0.0)
    return variances


def _even_rows(variances: Floats, k: int) -> tuple[float, int]:
    """The inertia per row of rows spread evenly over a box with these variances, cut into k equal boxes; and along how
    many axes it is cut.

    With m_i parts along axis i it is the sum of v_i / m_i^2, here the least of it over all real m_i >= 1 whose product
    is k: v_i / m_i^2 = min(t, v_i) for some t (reverse water-filling: Cover and Thomas 2006, section 10.3.3). Boxes
    that are long in one direction are cut across it alone. Of d equal variances it is d v k^(-2 / d).
    """
    falling = np.sort(variances)[::-1]
    falling = falling[falling > _FLAT * falling.sum()]
    for cut in range(len(falling), 0, -1):
        t = float(np.exp((np.log(falling[:cut]).sum() - 2.0 * np.log(k)) / cut))
        if cut == 1 or t <= falling[cut - 1]:
            return cut * t + float(falling[cut:].sum()), cut
    return 0.0, 0


def recommended_of(
    lines: Sequence[ScanLine], all_have_rows: Sequence[bool], before: float | None, variances: Floats
) -> Recommended | None:
    """Returns the largest k that is stable, whose clusters all have rows beyond the noise, and whose inertia falls to
    less than 0.8 of what it would fall to for evenly spread rows. None if there is none.

    Those rows lie in a box with the `variances` of the rows asked about: in a thin strip inertia falls as it does on a
    line, whatever the number of attributes. A square of such rows falls to 0.85 of that at k = 4, which four tiles fill
    well. Parts of a line fit for every k, so 0.88 is enough where the box is cut along one axis. `before` is the
    inertia at one k less than the first; None if the first k is 1, which is never recommended.
    """
    inertias = [before, *(line.inertia for line in lines)]
    chosen = None
    for line, last, have_rows in zip(lines, inertias, all_have_rows, strict=False):
        if last is None or line.k < 2 or line.stability < _STABLE or not have_rows:
            continue
        fewer, _axes = _even_rows(variances, line.k - 1)
        even, axes = _even_rows(variances, line.k)
        if line.inertia * fewer < (_FALLS if axes > 1 else _FALLS_ALONG_ONE) * last * even:
            chosen = line
    if chosen is None:
        return None
    return Recommended(
        chosen.k,
        f"The largest k whose clusters are stable ({chosen.stability:.2f}, at least {_STABLE}) and all have rows "
        "beyond the noise, and whose inertia falls by clearly more than it would of rows that are spread evenly over a "
        "box with the same variances.",
    )
