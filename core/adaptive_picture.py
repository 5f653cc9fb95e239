"""The layers that the adaptive rule is expected to release, for a picture of where the rows lie. Public numbers alone.

The rule cuts cells by their noisy counts. Here each count is taken to be its expectation if the rows fill a share of
the space evenly. Base cells of the empty rest are cut by noise alone: the number of their leaves is an average over it.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, floor, log, prod

from core.plan import Order
from core.predictions import Layer, Picture

BASE_SHARE, COARSE_SHARE, COARSE_CONSTANT, LEAF_CONSTANT, LEAST_SIGNAL = 0.1, 0.2, 160, 5, 100
MOST_BASE_CELLS, MAX_ORDERED = 64, 3
_TAPER_FROM, _TAPER_OVER = 10, 30  # of the fused estimate: a planning count weighs clip((y e - 10) / 30, 0, 1)
_QUANTILES = 200


def adaptive_picture(order: Order, *, size: int, cells_per_axis: int, occupied: float) -> Picture:
    """What an order by the adaptive rule is expected to give; `cells_per_axis` is the m of the paper's rule."""
    shape, rate = order.shape, order.law.rate
    d, combinations, caps = len(shape.caps), shape.categories, shape.caps
    base = tuple(float(m) for m in shape.ordered_cells(_base(cells_per_axis, order.clusters, d)))
    rows = size / (combinations * occupied * prod(base))  # of an occupied base cell
    rest = (1 - BASE_SHARE) * rate
    coarse_parts = _parts(rows, rate=rest, constant=COARSE_CONSTANT, d=d)
    coarse = divided(base, caps, coarse_parts)
    left = rest - COARSE_SHARE * rate if coarse_parts > 1 else rest
    per_coarse = size / (combinations * occupied * prod(coarse))
    leaves = divided(coarse, caps, _parts(per_coarse, rate=left, constant=LEAF_CONSTANT, d=d))
    planning = [_planning(base, rows, BASE_SHARE * rate)]
    if coarse_parts > 1:
        planning.insert(0, _planning(coarse, per_coarse, COARSE_SHARE * rate))
    return Picture(
        size=size,
        occupied=occupied,
        categories=combinations,
        leaves=Layer(cells=leaves, rate=left),
        whole=tuple(cap is not None and m >= cap for m, cap in zip(leaves, caps, strict=True)),
        planning=tuple(planning),
        empty_cells=(1 - occupied) * prod(base) * _empty_leaves(rate, d),
        empty_rate=rest,
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


def _base(m: int, clusters: int, d: int) -> int:
    """Base cells per axis: at most 64 in all, at least enough for the clusters."""
    most = floor(float(MOST_BASE_CELLS ** (1 / d)) + 1e-9)
    return max(min(m, most), ceil(float(clusters ** (1 / d)) - 1e-9))


def _parts(rows: float, *, rate: float, constant: float, d: int) -> float:
    """How many parts a cell with this noisy count is cut into."""
    return float(max(1, ceil((rate * max(rows, 0.0) / constant) ** (2 / (2 + d)))) ** d)


def _planning(cells: tuple[float, ...], rows: float, rate: float) -> Layer:
    weight = min(1.0, max(0.0, (rows * rate - _TAPER_FROM) / _TAPER_OVER))
    return Layer(cells=cells, rate=rate, weight=weight)


def _empty_leaves(rate: float, d: int) -> float:
    """The expected number of leaves of an empty base cell: half of its noisy counts are positive and exponential."""
    levels = ((place + 0.5) / _QUANTILES for place in range(_QUANTILES))
    counts = (-log(level) / (BASE_SHARE * rate) for level in levels)
    parts = [_parts(count, rate=(1 - BASE_SHARE) * rate, constant=LEAF_CONSTANT, d=d) for count in counts]
    return (1 + sum(parts) / _QUANTILES) / 2
