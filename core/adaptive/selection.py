"""Selection: what an estimate gains because a count that is high by chance is cut into more parts.

A count y = x + Z has the weight g(y) against the sum of its parts: the more parts, the more noise their sum has, and
the more weight has y. g rises by D_k where y reaches a threshold t_k of the cuts. So y has more weight when its noise
is positive, and the fused estimate would be too high by E[g(y) Z] on average. A sum over thousands of cells adds that
up.

For discrete Laplace noise with q = exp(-rate), and a function that rises by 1 at t, summing the geometric series gives

    E[1{y >= t} Z] = E[h(y - t)],    h(j) = q / (1 - q^2) (q^|j| + q^|j + 1|).

With m = t - x both sides are q^m (m (1 - q) + q) / (1 - q^2) for m >= 1, and for m <= 0 the same with 1 - m in place of
m. So sum of D_k h(y - t_k), which follows from y alone, is an unbiased estimate of the gain, and is taken off.

For a coarse cell, and for a base cell that is not cut, this is exact: g has the number of leaves in it and nothing
else. The weight of a base cell that is cut depends on its coarse cells too; there g is what it would be if its rows
were spread evenly.
"""

from __future__ import annotations

import numpy as np

from core.adaptive.cuts import COARSE_CONSTANT, LEAF_CONSTANT, halvings, least_rows
from core.adaptive.layers import Layers
from core.arrays import Floats, Wholes
from core.mechanisms.discrete_laplace import DiscreteLaplace

_FAR = 40.0  # rates: beyond, q^|j| is nothing


def coarse_gain(layers: Layers) -> Floats:
    """For each coarse cell the estimated gain of its own count; 0 where it was not counted."""
    gain = np.zeros(len(layers.coarse))
    widths = layers.coarse_spans[1]
    laws, room = layers.laws, _room(widths)
    for cells, d in _by_dimensions(widths, layers.coarse_counted):
        rooms, which = np.unique(room[cells], return_inverse=True)
        rises = _Rises(laws.coarse, layers.coarse_counts[cells], which)
        for h, t in enumerate(least_rows(laws.leaf_cut.exact_rate, LEAF_CONSTANT, d), start=1):
            below, above = (_parts(each - layers.skipped.leaves, rooms) for each in (h - 1, h))
            w, v = laws.leaf_cut.variance, laws.coarse.variance
            rises.add(t, _weight(above * w, v) - _weight(below * w, v))
        gain[cells] = rises.gain
    return gain


def base_gain(layers: Layers) -> Floats:
    """For each base cell the estimated gain of its count."""
    gain = np.zeros(len(layers.base_counts))
    widths = layers.coarse.widths
    laws, room = layers.laws, _room(widths)
    for cells, d in _by_dimensions(widths, np.ones(len(widths), dtype=np.bool_)):
        rooms, which = np.unique(room[cells], return_inverse=True)
        rises = _Rises(laws.base, layers.base_counts[cells], which)
        thresholds = {
            *least_rows(laws.leaf_uncut.exact_rate, LEAF_CONSTANT, d),
            *least_rows(laws.leaf_uncut.exact_rate, COARSE_CONSTANT, d),
        }
        for t in sorted(filter(rises.reaches, thresholds)):
            below, above = (_spread_evenly(layers, rows, d, rooms) for rows in (t - 1, t))
            rises.add(t, _weight(above, laws.base.variance) - _weight(below, laws.base.variance))
        gain[cells] = rises.gain
    return gain


class _Rises:
    """Noisy counts, and the gain from each rise of their weight that is added.

    Cells with equal room have equal rises: `which` has the number of each cell's room among the distinct ones.
    """

    def __init__(self, law: DiscreteLaplace, counts: Wholes, which: Wholes) -> None:
        self._rate, self._counts, self._which = law.rate, counts, which
        self.gain = np.zeros(len(counts))

    def reaches(self, threshold: int) -> bool:
        """Whether any count is so near a threshold that its weight could have risen there."""
        return bool((np.abs(self._counts - float(threshold)) * self._rate < _FAR).any())

    def add(self, threshold: int, rises: Floats) -> None:
        """At this threshold the weight of the counts rises by so much, for each distinct room."""
        distance = self._counts - float(threshold)
        near = np.flatnonzero(np.abs(distance) * self._rate < _FAR)
        tails = (np.exp(-self._rate * np.abs(distance[near] + j)) for j in (0.0, 1.0))
        scale = 0.5 / np.sinh(self._rate)  # q / (1 - q^2): in this form a tiny rate loses no digits
        self.gain[near] += scale * sum(tails) * rises[self._which[near]]


def _spread_evenly(layers: Layers, rows: int, d: int, room: Floats) -> Floats:
    """U, the variance of the sum of everything below a base cell of so many rows if they are spread evenly."""
    laws, skipped = layers.laws, layers.skipped
    number = np.array([rows])
    cut = halvings(number, rate=laws.leaf_uncut.exact_rate, constant=COARSE_CONSTANT, ordered=d)
    parts = _parts(int(cut[0]) - skipped.coarse, room)
    each = np.rint(rows / parts).astype(np.int64)
    finer = halvings(each, rate=laws.leaf_cut.exact_rate, constant=LEAF_CONSTANT, ordered=d)
    leaves = _parts(finer - skipped.leaves, room / parts)
    uncut = halvings(number, rate=laws.leaf_uncut.exact_rate, constant=LEAF_CONSTANT, ordered=d)
    alone = _parts(int(uncut[0]) - skipped.leaves, room) * laws.leaf_uncut.variance
    together = parts / (1.0 / laws.coarse.variance + 1.0 / (leaves * laws.leaf_cut.variance))
    return np.where(parts > 1.0, together, alone)


def _weight(below: Floats, variance: float) -> Floats:
    """The weight of a count of this variance against parts whose sum has the variance `below`."""
    return below / (below + variance)


def _parts(halved: int | Wholes, room: Floats) -> Floats:
    """About how many parts so many halvings make of cells that have room for so many."""
    return np.minimum(np.exp2(np.maximum(halved, 0)), room)


def _room(widths: Wholes) -> Floats:
    room: Floats = widths.astype(np.float64).prod(axis=1)
    return room


def _by_dimensions(widths: Wholes, chosen: np.typing.NDArray[np.bool_]) -> list[tuple[Wholes, int]]:
    """The chosen cells that can be cut, by the number of axes along which they can."""
    dimensions = np.where(chosen, (widths > 1).sum(axis=1), 0)
    return [(np.flatnonzero(dimensions == d), d) for d in np.unique(dimensions[dimensions > 0]).tolist()]
