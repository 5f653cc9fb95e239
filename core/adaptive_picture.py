"""The layers that an adaptive release is expected to have, for a picture of where the rows lie. Public numbers alone.

Cells are cut by their noisy counts (`core.adaptive.layers`). Here the counts of planning layers are taken to be those
of rows that fill a share of the space evenly. Numbers of leaves are averages over the noise of the counts that they
follow from. Base cells of the empty rest are cut by noise alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from core.adaptive.cuts import COARSE_CONSTANT, LEAF_CONSTANT, halvings
from core.adaptive.shares import LayerLaws
from core.arrays import Floats
from core.mechanisms.discrete_laplace import DiscreteLaplace
from core.plan import Plan
from core.predictions import Layer, Picture

_QUANTILES = 100  # of the noise, that numbers of leaves are averaged over
_STEPS = 8  # along each axis, to average over the part of a base cell that is in the box
_MOSTLY_CUT = 1.5  # parts of a base cell, in the mean
_MOST_ROWS = 2.0**62


def adaptive_picture(plan: Plan, occupied: float, *, max_cells: int) -> Picture:
    """What a layered plan is expected to give if the rows fill this share of the space evenly."""
    order, caps = plan.order, plan.order.shape.caps
    combinations, laws = order.shape.categories, LayerLaws.of(order.histogram_epsilon, order.unit)
    base = tuple(float(m) for m in plan.ordered_cells)
    rows = plan.size / (combinations * occupied * prod(base))  # of a base cell that lies in the box
    cuttable = _cuttable(base, caps)
    in_part = rows * _covered(base, occupied)
    cuts = _parts(in_part, laws.leaf_uncut, COARSE_CONSTANT, cuttable)
    coarse_parts = float(cuts.mean())
    is_cut = coarse_parts > _MOSTLY_CUT
    coarse = divided(base, caps, coarse_parts) if is_cut else base
    newest, leaf = (laws.coarse, laws.leaf_cut) if is_cut else (laws.base, laws.leaf_uncut)
    counts = (rows / cuts if is_cut else in_part)[:, None] + _noise(newest)
    fine = _parts(counts, leaf, LEAF_CONSTANT, _cuttable(coarse, caps)).mean(axis=1)
    leaf_parts = float((cuts * fine).mean()) / coarse_parts if is_cut else float(fine.mean())
    emptied = _parts(_noise(laws.base), laws.leaf_uncut, LEAF_CONSTANT, cuttable).mean()
    empty = (1 - occupied) * prod(base) * float(emptied)
    leaves = divided(coarse, caps, leaf_parts)
    while leaf_parts > 1 and combinations * (occupied * prod(leaves) + empty) > max_cells:
        leaf_parts /= 2  # halvings are skipped
        leaves = divided(coarse, caps, leaf_parts)
    planning = [Layer(cells=base, rate=laws.base.rate)]
    if is_cut:
        planning.insert(0, Layer(cells=coarse, rate=laws.coarse.rate))
    return Picture(
        size=plan.size,
        occupied=occupied,
        categories=combinations,
        leaves=Layer(cells=leaves, rate=leaf.rate),
        whole=tuple(cap is not None and m >= cap for m, cap in zip(leaves, caps, strict=True)),
        planning=tuple(planning),
        empty_cells=empty,
        empty_rate=laws.leaf_uncut.rate,
    )


def divided(cells: Sequence[float], caps: Sequence[int | None], parts: float) -> tuple[float, ...]:
    """`parts` times as many cells, by one factor along every axis; an axis takes no more cells than it has values."""
    wanted, result = parts, list(cells)
    free = [x for x, cap in enumerate(caps) if cap is None or cap > cells[x]]
    while free and wanted > 1:
        factor = wanted ** (1 / len(free))
        full = [x for x in free if (cap := caps[x]) is not None and cells[x] * factor >= cap]
        for x in full or free:
            result[x] = float(caps[x] or 0) if full else cells[x] * factor
            wanted /= result[x] / cells[x]
        free = [x for x in free if x not in full] if full else []
    return tuple(result)


def _cuttable(cells: Sequence[float], caps: Sequence[int | None]) -> int:
    """Along how many axes cells of these numbers can be cut."""
    return sum(cap is None or cap > m for m, cap in zip(cells, caps, strict=True))


def _covered(base: Sequence[float], occupied: float) -> Floats:
    """Shares of base cells that lie in a box of this share of the space at a random place, weighted by volume.

    Along an axis on which the box is L >= 1 cells long, the share 1 / L of it lies in the two cells at its ends, which
    are covered evenly from 0 to 1; weighted by volume, the root of an even number. For L < 1 likewise, up to L.
    """
    covered = np.ones(1)
    for m in base:
        length = m * occupied ** (1 / len(base))
        levels = (np.arange(_STEPS) + 0.5) / _STEPS
        ends = min(1 / length, length) if occupied < 1 else 0.0
        along = min(1.0, length) * np.where(levels < ends, np.sqrt(levels / (ends or 1.0)), 1.0)
        covered = np.outer(covered, along).ravel()
    return covered


def _parts(counts: Floats, law: DiscreteLaplace, constant: int, ordered: int) -> Floats:
    """The number of parts of cells with these noisy counts, if the parts have noise of this law."""
    whole = np.clip(np.rint(counts), 0, _MOST_ROWS).astype(np.int64)
    numbers = halvings(whole.ravel(), rate=law.exact_rate, constant=constant, ordered=ordered)
    return np.exp2(numbers).reshape(counts.shape)


def _noise(law: DiscreteLaplace) -> Floats:
    """Quantiles of Laplace noise of the rate of a law."""
    levels = (np.arange(_QUANTILES) + 0.5) / _QUANTILES - 0.5
    return np.asarray(-np.sign(levels) * np.log1p(-2 * np.abs(levels)) / law.rate)
