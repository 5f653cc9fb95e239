"""Cumulative sums within each cell of a layer, so that any block of its parts is summed by a few look-ups."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from core.adaptive.border import Face, Span
from core.adaptive.fusion import Fusion
from core.adaptive.parts import Cut, starts_of_parts
from core.arrays import Floats, Wholes


class _Cumulative:
    """For each cell of a cut a table with n + 1 entries along each axis: the sum of the values of the parts below."""

    def __init__(self, cut: Cut) -> None:
        self._cut = cut
        self._sides = cut.parts + 1
        self._first = np.append(0, np.cumsum(self._sides.prod(axis=1)))
        self._strides = np.cumprod(np.pad(self._sides[:, :0:-1], ((0, 0), (1, 0)), constant_values=1), axis=1)[:, ::-1]

    def table(self, values: Floats) -> Floats:
        """The cumulative sums of values, of which there is one for each part."""
        cut, table = self._cut, np.zeros(self._first[-1])
        shapes, kinds = np.unique(cut.parts, axis=0, return_inverse=True)
        for kind, parts in enumerate(shapes.tolist()):  # cells with equally many parts together
            cells = np.flatnonzero(kinds.ravel() == kind)
            size = int(np.prod(parts, dtype=np.int64))
            sums = values[cut.first[cells][:, None] + np.arange(size)].reshape(len(cells), *parts)
            for x in range(len(parts)):
                sums = np.cumsum(sums, axis=x + 1)
            padded = np.pad(sums, [(0, 0), *((1, 0) for _ in parts)]).reshape(len(cells), -1)
            table[self._first[cells][:, None] + np.arange(padded.shape[1])] = padded
        return table

    def at(self, cells: Wholes, places: list[Wholes]) -> Wholes:
        """Where the tables of these cells have the entries at these places along each axis."""
        numbers = np.zeros(len(cells), dtype=np.int64)
        for x, along in enumerate(places):
            numbers = numbers * self._sides[cells, x] + along
        return self._first[cells] + numbers

    def stride(self, cells: Wholes, x: int) -> Wholes:
        """How far apart two entries are that are neighbours along axis x."""
        strides: Wholes = self._strides[cells, x]
        return strides

    def last(self, cells: Wholes, axes: tuple[int, ...]) -> Wholes:
        """Where the tables have the entry at 0 along these axes and at the end of all others."""
        at = self._first[cells]
        for x in range(self._sides.shape[1]):
            if x not in axes:
                at = at + (self._sides[cells, x] - 1) * self._strides[cells, x]
        return at


class CoarseTable:
    """Sums over blocks of coarse cells of one base cell."""

    def __init__(self, fusion: Fusion) -> None:
        self._cumulative = _Cumulative(fusion.layers.coarse)
        self._estimates = np.stack([self._cumulative.table(each) for each in (fusion.coarse, fusion.shown.coarse)])
        self._u = self._cumulative.table(fusion.u)

    def sums(self, bases: Wholes, first: Wholes, last: Wholes) -> tuple[Floats, Floats]:
        """The sums over the coarse cells from `first` to `last`, (items, d) each: (2, items) of estimates, and of u."""
        estimate, u = np.zeros((2, len(bases))), np.zeros(len(bases))
        some = np.flatnonzero((last > first).all(axis=1))
        bases, first, last = bases[some], first[some], last[some]
        for ends in product((0, 1), repeat=first.shape[1]):
            sign = -1.0 if (first.shape[1] - sum(ends)) % 2 else 1.0
            at = self._cumulative.at(bases, [(last if end else first)[:, x] for x, end in enumerate(ends)])
            estimate[:, some] += sign * self._estimates[:, at]
            u[some] += sign * self._u[at]
        return estimate, u


class Taken(NamedTuple):
    """What boxes take of coarse cells.

    `estimate` is the sum over leaves of their share f times their estimate: a row for fused estimates, and one more for
    shown ones where they are asked for; `mean` is the mean F of f over the n leaves
    of the coarse cell; `spread` is sum of f^2 - n F^2.
    """

    estimate: Floats
    mean: Floats
    spread: Floats


class LeafTable:
    """Sums over blocks of leaves of one coarse cell, with leaves that are cut by their share."""

    def __init__(self, fusion: Fusion) -> None:
        self._cut = fusion.layers.leaves
        self._cumulative = _Cumulative(self._cut)
        self._estimates = np.stack([self._cumulative.table(each) for each in (fusion.leaves, fusion.shown.leaves)])
        self._leaves = self._cut.sizes.astype(np.float64)

    def take(self, face: Face) -> Iterator[Taken]:
        """Of each coarse cell what the box takes; what lies in leaves wholly inside; what lies in leaves it touches."""
        cells, cut = face.parts, self._cut
        leaves = self._leaves[cells]
        last = self._cumulative.last(cells, face.axes)
        along = [
            along_axis(span, cut.widths[cells, x], cut.parts[cells, x], self._cumulative.stride(cells, x))
            for x, span in zip(face.axes, face.spans, strict=True)
        ]
        for ways, estimates in zip(zip(*along, strict=True), rows_of_ways(self._estimates), strict=True):
            yield taken_along(ways, estimates, last, leaves)

    def sums_up_to(self, cells: Wholes, x: int, places: Wholes) -> Floats:
        """(2, cells): the sums over the leaves of coarse cells that lie below a place along axis x."""
        at = self._cumulative.last(cells, (x,)) + places * self._cumulative.stride(cells, x)
        return self._estimates[:, at]


def rows_of_ways(estimates: Floats) -> tuple[Floats, Floats, Floats]:
    """Of the rows of fused and of shown estimates, those that each of the three ways to count needs.

    Bounds are about leaves wholly inside and leaves touched, and go by fused estimates alone.
    """
    return estimates, estimates[:1], estimates[:1]


def taken_along(
    ways: tuple[Way, ...], sums: Floats, first: Wholes, leaves: Floats, without: Wholes | None = None
) -> Taken:
    """What is taken if it is cut in these ways along some axes, from cumulative sums with `first` at the lower ends.

    `sums` has a row for each kind of estimate. The sums at `without` in place of `first` are taken off, where it is
    given.
    """
    estimate = np.zeros((len(sums), len(first)))
    for corner in product(*(way.look_ups for way in ways)):
        at, weight = first, 1.0
        for offset, share in corner:
            at, weight = at + offset, weight * share
        values = sums[:, at]
        if without is not None:
            values -= sums[:, at + (without - first)]
        estimate += weight * values
    mean, squares = ways[0].mean, leaves * ways[0].squares
    for way in ways[1:]:
        mean, squares = mean * way.mean, squares * way.squares
    return Taken(estimate, mean, squares - leaves * mean * mean)


class Way(NamedTuple):
    """What is taken along one axis: look-ups (offset in the table, sign and share), mean of f, and mean of f^2."""

    look_ups: list[tuple[Wholes, Any]]
    mean: Any
    squares: Any


def along_axis(span: Span, w: Wholes, n: Wholes, stride: Wholes) -> list[Way]:
    """The three ways to count along an axis of w steps in n leaves: by shares, whole leaves, touched leaves."""
    ways = []
    (low, low_floor, first), (high, high_floor, _) = (_position(each, w, n) for each in (span.low, span.high))
    ends = [(low_floor, low - low_floor, -1.0), (high_floor, high - high_floor, 1.0)]
    look_ups: list[tuple[Wholes, Any]] = []
    for floor, part, sign in ends:
        look_ups += [(floor * stride, sign * (1.0 - part)), (np.minimum(floor + 1, n) * stride, sign * part)]
    last = np.maximum(first, high_floor)
    inside = last - first
    squares = np.where(
        low_floor == high_floor,
        (high - low) ** 2,
        (first - low) ** 2 + inside + (high - high_floor) ** 2,
    )
    ways.append(Way(look_ups, (high - low) / n, squares / n))
    begin = np.minimum(low_floor, n - 1)
    stop = np.where(span.end > span.low, (span.end - 1) * n // w + 1, begin)
    for lower, upper, taken in ((first, last, inside), (begin, stop, stop - begin)):
        ways.append(Way([(lower * stride, -1.0), (upper * stride, 1.0)], taken / n, taken / n))
    return ways


def _position(steps: Wholes, widths: Wholes, parts: Wholes) -> tuple[Floats, Wholes, Wholes]:
    """Steps -> parts with a fraction within a part; without it; and the first part that begins there or later."""
    below = steps * parts // widths
    begin = starts_of_parts(below, widths, parts)
    width = np.maximum(starts_of_parts(below + 1, widths, parts) - begin, 1)
    inside = steps - begin
    return below + inside / width, below, below + (inside > 0)
