"""Quantiles of an adaptive release, from running sums over its leaves along an attribute.

*Value.* Rows are taken to be spread evenly within a leaf, so the estimated number of rows below e is piecewise linear
in e. Noise makes it fall in places. Its running maximum from below and its running minimum from above both rise; their
mean serves.

*Interval.* As for a grid (`core.queries.quantile`), by inversion of two tests at every edge e of a leaf. Let
D(e) = (1 - q) (rows below e) - q (rows above e). A quantile at or above e has D(e) <= 0, one at or below e has
D(e) >= 0. Leaves that e cuts may have their rows on either side, and leaves that the slice cuts may have any of their
rows inside. So D(e) is at least the sum, over the leaves in the slice, of their rows times

    1 - q for leaves below e that the slice does not cut, 0 for leaves below e that it cuts, -q for all others,

and at most the same sum with

    -q for leaves above e that the slice does not cut, 0 for leaves above e that it cuts, 1 - q for all others.

Both are weighted sums of leaves, whose noise has a radius. Each test errs with alpha / 2 at most. So the interval
covers the noise and the width of the leaves.

*What the leaves add.* Without noise the quantile lies between the first edge at which all leaves that begin below it
reach a share q of the rows, and the first at which the leaves that end below it do: `Quantile.cell`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import ceil
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from core.adaptive.cells import AdaptiveCells
from core.adaptive.radius import radii
from core.adaptive.weighted import Prefixes, leaf_scales
from core.arrays import Floats, Wholes
from core.domain.attribute import Ordered
from core.domain.whole import WholeValues
from core.queries.adaptive_slices import steps_along, steps_in

Side = Literal["left", "right"]  # of an edge, as np.searchsorted has it

_ROUNDING = 1e-9  # of a value: what a place may miss a whole number of values by


@dataclass(frozen=True, slots=True)
class Place:
    """Where a quantile lies along its attribute, in the attribute's own unit: value, interval, and what leaves add."""

    value: float
    interval: tuple[float, float]
    cell: tuple[float, float]


def quantile_places(
    attribute: Ordered, cells: AdaptiveCells, i: int, qs: Sequence[float], *, alpha: float
) -> list[Place]:
    """Quantiles of the i-th ordered attribute. All leaves have values of it."""
    along = _Along(attribute, cells, i)
    return [along.place(q, alpha) for q in qs]


class _Along:
    """The leaves along an attribute. Edges are places from 0 to `steps_in(attribute)`, ascending."""

    def __init__(self, attribute: Ordered, cells: AdaptiveCells, i: int) -> None:
        self._attribute, self._cells = attribute, cells
        self._low, self._high = (steps_along(attribute, each[:, i]) for each in (cells.leaves.low, cells.leaves.high))
        self._edges = np.unique(np.concatenate([self._low, self._high, [0.0, steps_in(attribute)]]))
        self._is_cut = cells.leaves.shares < 1.0
        self._rows = cells.fusion.leaves[cells.leaves.numbers]
        self._scale = float(leaf_scales(cells.fusion, cells.leaves.numbers).max())
        self._by_low, self._by_high = (np.argsort(each, kind="stable") for each in (self._low, self._high))

    def place(self, q: float, alpha: float) -> Place:
        """One quantile."""
        place = self._reached(self._below, q)
        value = self._value(place)
        least, greatest = self._least.bounds(q, -1.0, alpha), self._greatest.bounds(q, 1.0, alpha)
        first, last = _kept(least <= 0.0, greatest >= 0.0)
        low, high = self._edges[first], self._edges[last + 1]
        from_, to = self._first(self._touching, q), self._first(self._inside, q) + 1
        begin, end = self._edges[min(from_, len(self._edges) - 2)], self._edges[min(to, len(self._edges) - 1)]
        return Place(
            value=value,
            interval=_holding(self._ends(min(low, place), max(high, place)), value),
            cell=_holding(self._ends(min(begin, place), max(end, place)), value),
        )

    # The estimated number of rows below each edge

    @cached_property
    def _below(self) -> Floats:
        """Rows of leaves that are cut by an edge count by the share below it."""
        density = self._cells.estimates / (self._high - self._low)
        slopes = np.zeros(len(self._edges))
        for ends, sign in ((self._low, 1.0), (self._high, -1.0)):
            places = np.searchsorted(self._edges, ends)
            slopes += sign * np.bincount(places, weights=density, minlength=len(slopes))
        return _rising(np.append(0.0, np.cumsum(np.cumsum(slopes)[:-1] * np.diff(self._edges))))

    @cached_property
    def _inside(self) -> Floats:
        """Of the leaves that end at an edge or below it."""
        return self._summed(self._high, self._by_high, "right")

    @cached_property
    def _touching(self) -> Floats:
        """Of the leaves that begin below an edge."""
        return self._summed(self._low, self._by_low, "left")

    def _summed(self, ends: Floats, order: Wholes, side: Side) -> Floats:
        running = np.append(0.0, np.cumsum(self._cells.estimates[order]))
        places = np.searchsorted(ends[order], self._edges, side=side)
        return _rising(running[places])

    def _reached(self, below: Floats, q: float) -> float:
        """The place that a share q of all rows lies below; without rows, that of all places."""
        if below[-1] <= 0.0:
            return q * float(self._edges[-1])
        bin_ = self._first(below, q)
        rise = below[bin_ + 1] - below[bin_]
        share = (q * below[-1] - below[bin_]) / rise if rise > 0.0 else 0.0
        edges = self._edges
        return float(edges[bin_] + min(max(share, 0.0), 1.0) * (edges[bin_ + 1] - edges[bin_]))

    def _first(self, below: Floats, q: float) -> int:
        """The last edge before a share q of all rows is reached: the number of the bin in which that happens."""
        if below[-1] <= 0.0:
            return min(int(np.searchsorted(self._edges, q * self._edges[-1], side="right")) - 1, len(below) - 2)
        wanted = q * below[-1]
        return min(max(int(np.searchsorted(below, wanted, side="left")) - 1, 0), len(below) - 2)

    # Bounds on D

    @cached_property
    def _least(self) -> _Statistic:
        """1 on uncut leaves below, less q (1 on all leaves, less 1 on cut leaves below)."""
        cut = self._is_cut.astype(np.float64)
        return self._statistic(self._high, self._by_high, "right", 1.0 - cut, whole=np.ones(len(cut)), taken=-cut)

    @cached_property
    def _greatest(self) -> _Statistic:
        """1 on leaves that begin below, less q (1 on uncut leaves, and 1 on cut leaves that begin below)."""
        cut = self._is_cut.astype(np.float64)
        return self._statistic(self._low, self._by_low, "left", np.ones(len(cut)), whole=1.0 - cut, taken=cut)

    def _statistic(
        self, ends: Floats, order: Wholes, side: Side, weights: Floats, *, whole: Floats, taken: Floats
    ) -> _Statistic:
        """Sums with weights P - q (W + T): P and T over the leaves up to an edge, W over all leaves."""
        rows, p, t, w = (each[order] for each in (self._rows, weights, taken, whole))
        prefixes = Prefixes(self._cells.fusion, self._cells.leaves.numbers[order])
        of_whole = prefixes.covariance_with(w, w)[-1]
        p_p, p_w = prefixes.covariance(p, p), prefixes.covariance_with(p, w)
        if t.any():
            p_t, t_t, t_w = prefixes.covariance(p, t), prefixes.covariance(t, t), prefixes.covariance_with(t, w)
        else:
            p_t = t_t = t_w = np.zeros(len(p) + 1)
        at = np.searchsorted(ends[order], self._edges, side=side)
        first = np.append(0.0, np.cumsum(p * rows))[at]
        second = np.append(0.0, np.cumsum(t * rows))[at] + float(w @ rows)
        return _Statistic(first, second, p_p[at], (p_w + p_t)[at], (of_whole + 2.0 * t_w + t_t)[at], self._scale)

    # From places to values

    def _value(self, place: float) -> float:
        """The value at a place; of whole kinds, the least with the share that a place stands for at or below it."""
        attribute = self._attribute
        if not isinstance(attribute, WholeValues):
            return float(min(attribute.start + place * attribute.width, attribute.stop))
        number = min(max(ceil(place - _ROUNDING), 1), attribute.values) - 1
        return (attribute.first + number) / attribute.steps_per_unit

    def _ends(self, low: float, high: float) -> tuple[float, float]:
        """Two places as values; of whole kinds, the first and the last value between them."""
        attribute = self._attribute
        if not isinstance(attribute, WholeValues):
            return self._value(low), self._value(high)
        first = min(int(low + _ROUNDING), attribute.values - 1)
        last = max(ceil(high - _ROUNDING) - 1, first)
        per_unit = attribute.steps_per_unit
        return (attribute.first + first) / per_unit, (attribute.first + last) / per_unit


@dataclass(frozen=True, slots=True, eq=False)
class _Statistic:
    """first - q second at every edge, with variance v - 2 q c + q^2 u."""

    first: Floats
    second: Floats
    v: Floats
    c: Floats
    u: Floats
    scale: float

    def bounds(self, q: float, sign: float, alpha: float) -> Floats:
        """Less or more by the radius of its noise. No weight is larger than 1 - q or q."""
        deviation = np.sqrt(np.maximum(self.v - 2.0 * q * self.c + q * q * self.u, 0.0))
        scale = np.full(len(deviation), max(q, 1.0 - q) * self.scale)
        bounds: Floats = self.first - q * self.second + sign * radii(deviation, scale, alpha=alpha)
        return bounds


def _holding(ends: tuple[float, float], value: float) -> tuple[float, float]:
    """Two ends with the value between them, whatever the rounding to whole values."""
    return min(ends[0], value), max(ends[1], value)


def _rising(sums: Floats) -> Floats:
    """The mean of the running maximum from below and the running minimum from above, from 0 to the last."""
    bounded = np.clip(sums, 0.0, max(float(sums[-1]), 0.0))
    from_above = np.minimum.accumulate(bounded[::-1])[::-1]
    rising: Floats = (np.maximum.accumulate(bounded) + from_above) / 2.0
    return rising


def _kept(may_begin: NDArray[np.bool_], may_end: NDArray[np.bool_]) -> tuple[int, int]:
    """The first and the last bin between two edges that the tests leave."""
    may_begin[0] = may_end[-1] = True
    kept: Wholes = np.flatnonzero(may_begin[:-1] & may_end[1:])
    if not len(kept):  # the two tests contradict one another: keep every bin either of them allows
        kept = np.flatnonzero(may_begin[:-1] | may_end[1:])
    return int(kept[0]), int(kept[-1])
