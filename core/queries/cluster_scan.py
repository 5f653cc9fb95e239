"""The scan over several numbers of clusters: inertia and stability of each k, and the k that stands out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from core.checkpoint import Checkpoint, carry_on
from core.clustering.certainty import certainty
from core.clustering.methods import Choice, Method, Placed, choose, labels_of, place
from core.noisy_histogram import NoisyHistogram
from core.queries.clusters import require_k, size_bounds
from core.queries.slices import numeric_part

_ALPHA_OF_SIZES = 0.05  # of their intervals: where one reaches zero, its k is not recommended
_STABLE, _FALLS = 0.9, 0.8  # of a recommended k: least stability; inertia over that of rows spread evenly


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
    "noise, and an inertia clearly below that of rows spread evenly."
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
    lines, all_have_rows, dimensions = [], [], len(histogram.domain.ordered)
    before = place(histogram, ks[0] - 1, quick, seed=seed, checkpoint=checkpoint).inertia if ks[0] > 1 else None
    for k in ks:
        require_k(histogram, k)
        placed = place(histogram, k, quick, seed=seed, checkpoint=checkpoint)
        stability = certainty(histogram, placed, seed=seed, checkpoint=checkpoint).stability
        all_have_rows.append(_all_have_rows(histogram, placed))
        lines.append(ScanLine(k=k, inertia=placed.inertia, stability=stability))
    choice = Choice(quick, "A scan tries many k, and this method takes milliseconds each.")
    return Scan(tuple(lines), choice, recommended_of(lines, all_have_rows, before, dimensions))


def _all_have_rows(histogram: NoisyHistogram, placed: Placed) -> bool:
    """Whether every cluster has rows beyond the noise: the lower ends of all intervals of sizes are above zero."""
    k, labels = len(placed.centres), labels_of(placed.cells, placed.centres)
    sizes = np.bincount(labels, weights=placed.counts, minlength=k).astype(np.float64)
    least, _most = size_bounds(histogram, sizes, labels, _ALPHA_OF_SIZES)
    return bool((least > 0.0).all())


def recommended_of(
    lines: Sequence[ScanLine], all_have_rows: Sequence[bool], before: float | None, dimensions: int
) -> Recommended | None:
    """Returns the largest k that is stable, whose clusters all have rows beyond the noise, and whose inertia falls to
    less than 0.8 of what it would fall to for evenly spread rows. None if there is none.

    From k - 1 to k, the inertia of rows spread evenly over d dimensions falls to ((k - 1) / k)^(2/d) of what it was
    (Krzanowski and Lai 1988), and so does what noise adds to counts. A square of such rows falls to 0.85 of that at
    k = 4, which four tiles fill well. `before` is the inertia at one k less than the first; None if the first k is 1,
    which is never recommended.
    """
    inertias = [before, *(line.inertia for line in lines)]
    chosen = None
    for line, last, have_rows in zip(lines, inertias, all_have_rows, strict=False):
        if last is None or line.k < 2 or line.stability < _STABLE or not have_rows:
            continue
        if line.inertia < _FALLS * last * ((line.k - 1) / line.k) ** (2.0 / dimensions):
            chosen = line
    if chosen is None:
        return None
    return Recommended(
        chosen.k,
        f"The largest k whose clusters are stable ({chosen.stability:.2f}, at least {_STABLE}) and all have rows "
        "beyond the noise, and whose inertia falls by clearly more than it would of rows that are spread evenly.",
    )
