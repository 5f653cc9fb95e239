"""The mixture model on the leaves of an adaptive release, with the noisy counts of all layers.

Leaves come first, then the coarse cells that were counted, then the base cells. A cell above the leaves counts if all
of its leaves do: a part of a release (`core.queries.adaptive_slices`) may have only a few of them.
"""

from __future__ import annotations

from math import inf

import numpy as np
from numpy.typing import NDArray

from core.adaptive.cells import AdaptiveCells
from core.arrays import Floats, Wholes
from core.clustering.boxes import Boxes
from core.clustering.fine_boxes import FineBoxes
from core.clustering.layered_likelihood import Above, LayeredLikelihood, Observed
from core.clustering.posterior import Model
from core.clustering.relocation import BoxRelocation
from core.domain.axis import RunAxis
from core.noisy_histogram import NoisyHistogram

_CONTRADICTION = 6.0


def can_be_modelled(cells: AdaptiveCells) -> bool:
    """Whether the leaves are whole, and do not overlap as those of different categories do."""
    leaves = cells.leaves
    others = [x for x in range(leaves.places.shape[1]) if x not in cells.grid.ordered_axes]
    if leaves.low.shape[1] != len(cells.layers.axes):  # the missing values of an attribute alone
        return False
    return bool((leaves.shares == 1.0).all() and (leaves.places[:, others] == leaves.places[:1, others]).all())


def box_count(cells: AdaptiveCells) -> int:
    """How many boxes the model of these leaves has, at most: the leaves and all cells above them."""
    layers, numbers = cells.layers, cells.leaves.numbers
    coarse = np.unique(layers.leaf_coarse[numbers])
    return (
        len(numbers) + int(np.count_nonzero(layers.coarse_counted[coarse])) + len(np.unique(layers.coarse_base[coarse]))
    )


def leaf_rows(histogram: NoisyHistogram, cells: AdaptiveCells) -> float:
    """The N that the model starts from, at least 1: a declared size that the counts do not rule out, or their sum."""
    total, declared = float(cells.estimates.sum()), float(histogram.size)
    reach = _CONTRADICTION * float(np.sqrt(cells.variance(np.ones(len(cells.estimates)))))
    if histogram.size_declared and abs(total - declared) <= reach:
        return max(1.0, declared)
    return max(1.0, total)


def leaf_model(histogram: NoisyHistogram, cells: AdaptiveCells) -> Model:
    """The model of the leaves of a release, or of a part of it for which `can_be_modelled`."""
    layers, leaves = cells.layers, cells.leaves
    size = leaf_rows(histogram, cells)
    coarse_of, base_of = layers.leaf_coarse[leaves.numbers], layers.leaf_base[leaves.numbers]
    number, first_coarse, in_coarse = np.unique(coarse_of, return_index=True, return_counts=True)
    counted = layers.coarse_counted[number] & (in_coarse == layers.leaves.sizes[number])
    base, first_base, in_base = np.unique(base_of, return_index=True, return_counts=True)
    all_in_base = in_base == np.bincount(layers.leaf_base, minlength=layers.base.cell_count)[base]

    coarse_box, base_box = _hulls(cells, first_coarse), _hulls(cells, first_base)
    n, c = len(leaves.numbers), int(np.count_nonzero(counted))
    low = np.concatenate([leaves.low, coarse_box[0][counted], base_box[0][all_in_base]])
    high = np.concatenate([leaves.high, coarse_box[1][counted], base_box[1][all_in_base]])
    coarse_counts, base_counts = layers.coarse_counts[number], layers.base_counts[base]
    observed = [
        *_observed_leaves(cells),
        Observed(np.arange(n, n + c), coarse_counts[counted], layers.laws.coarse),
        Observed(np.arange(n + c, len(low)), base_counts[all_in_base], layers.laws.base),
    ]
    above = [
        Above(first_coarse, coarse_counts.astype(np.float64), np.where(counted, layers.laws.coarse.variance, inf)),
        Above(first_base, base_counts.astype(np.float64), np.where(all_in_base, layers.laws.base.variance, inf)),
    ]
    own = Boxes.of(leaves.low, leaves.high)
    return Model(
        layout=Boxes.of(low, high),
        relocation=BoxRelocation(cells.estimates, own, size),
        likelihood=LayeredLikelihood([part for part in observed if len(part.cells)], n, above),
        fine=FineBoxes.of(own, _single(cells)),
        centres=own.centres,
        size=size,
    )


def _observed_leaves(cells: AdaptiveCells) -> list[Observed]:
    """The leaves below base cells that were cut, and the others: two laws."""
    layers, numbers = cells.layers, cells.leaves.numbers
    is_cut, counts = layers.leaf_is_cut[numbers], layers.leaf_counts[numbers]
    places = [np.flatnonzero(is_cut == cut) for cut in (False, True)]
    return [
        Observed(chosen, counts[chosen], layers.laws.leaf(is_cut=cut))
        for cut, chosen in zip((False, True), places, strict=True)
    ]


def _hulls(cells: AdaptiveCells, first: Wholes) -> tuple[Floats, Floats]:
    """The ends of the boxes that the leaves from each of `first` to the next fill together."""
    leaves = cells.leaves
    return np.minimum.reduceat(leaves.low, first, axis=0), np.maximum.reduceat(leaves.high, first, axis=0)


def _single(cells: AdaptiveCells) -> NDArray[np.bool_]:
    """(leaves, d): the sides along which a leaf holds a single whole value."""
    layers = cells.layers
    low, high = layers.boxes(2)
    whole = np.array([isinstance(axis.axis, RunAxis) for axis in layers.axes])
    single: NDArray[np.bool_] = (high - low == 1)[cells.leaves.numbers] & whole
    return single
