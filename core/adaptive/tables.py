"""Cumulative sums within each cell of a layer, so that any block of its parts is summed by a few look-ups."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np

from core.adaptive.border import Item
from core.adaptive.fusion import Fusion
from core.adaptive.parts import Cut, starts_of_parts
from core.arrays import Floats, Wholes


class _Cumulative:
    """For each cell of a cut a table with n + 1 entries along each axis: the sum of the values of the parts below."""

    def __init__(self, cut: Cut) -> None:
        self._cut = cut
        self._sides = cut.parts + 1
        self._first = np.append(0, np.cumsum(self._sides.prod(axis=1)))

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


class CoarseTable:
    """Sums over blocks of coarse cells of one base cell."""

    def __init__(self, fusion: Fusion) -> None:
        self._cumulative = _Cumulative(fusion.layers.coarse)
        self._estimates, self._u = (self._cumulative.table(each) for each in (fusion.coarse, fusion.u))

    def sums(self, bases: Wholes, first: Wholes, last: Wholes) -> tuple[Floats, Floats]:
        """The sums of estimates and of u over the coarse cells from `first` to `last`, (items, d) each."""
        estimate, u = np.zeros(len(bases)), np.zeros(len(bases))
        some = np.flatnonzero((last > first).all(axis=1))
        bases, first, last = bases[some], first[some], last[some]
        for ends in product((0, 1), repeat=first.shape[1]):
            sign = -1.0 if (first.shape[1] - sum(ends)) % 2 else 1.0
            at = self._cumulative.at(bases, [(last if end else first)[:, x] for x, end in enumerate(ends)])
            estimate[some] += sign * self._estimates[at]
            u[some] += sign * self._u[at]
        return estimate, u


@dataclass(frozen=True, slots=True, eq=False)
class Taken:
    """What boxes take of coarse cells, for each of the three counts.

    `estimate` is the sum over leaves of their share f times their estimate; `mean` is the mean F of f over the n leaves
    of the coarse cell; `spread` is sum of f^2 - n F^2.
    """

    estimate: list[Floats]
    mean: list[Floats]
    spread: list[Floats]


class LeafTable:
    """Sums over blocks of leaves of one coarse cell, with leaves that are cut by their share."""

    def __init__(self, fusion: Fusion) -> None:
        self._cut = fusion.layers.leaves
        self._cumulative = _Cumulative(self._cut)
        self._estimates = self._cumulative.table(fusion.leaves)

    def take(self, cells: Wholes, item: Item) -> Taken:
        """Of each coarse cell what the box takes; what lies in leaves wholly inside; what lies in leaves it touches."""
        n, w = self._cut.parts[cells], self._cut.widths[cells]
        leaves = n.prod(axis=1).astype(np.float64)
        low, high = (_position(each, w, n) for each in (item.low, item.high))
        first, last = (item.low - 1) * n // w + 1, item.high * n // w
        begin = np.minimum(item.low * n // w, n - 1)
        stop = np.where(item.end > item.low, (item.end - 1) * n // w + 1, begin)
        last = np.maximum(first, last)
        squares = _squares(low, high)
        ends = [(low, high), (first, last), (begin, stop)]
        estimate, mean, spread = [self._shared(cells, low, high)], [], []
        estimate += [self._whole(cells, *each) for each in ends[1:]]
        for i, (lower, upper) in enumerate(ends):
            taken = (upper - lower).astype(np.float64)
            mean.append((taken / n).prod(axis=1))
            spread.append((squares if i == 0 else taken).prod(axis=1) - leaves * mean[i] ** 2)
        return Taken(estimate, mean, spread)

    def _whole(self, cells: Wholes, first: Wholes, last: Wholes) -> Floats:
        """Sums over blocks of whole leaves."""
        sums = np.zeros(len(cells))
        d = first.shape[1]
        for ends in product((0, 1), repeat=d):
            at = self._cumulative.at(cells, [(last if end else first)[:, x] for x, end in enumerate(ends)])
            sums += (-1.0 if (d - sum(ends)) % 2 else 1.0) * self._estimates[at]
        return sums

    def _shared(self, cells: Wholes, low: Floats, high: Floats) -> Floats:
        """Sums with leaves that are cut by their share: the cumulative sum is linear between edges, axis by axis."""
        d = low.shape[1]
        places: list[list[Wholes]] = []
        weights: list[list[Floats]] = []
        for x in range(d):
            places.append([])
            weights.append([])
            for ends, sign in ((low, -1.0), (high, 1.0)):
                below = np.floor(ends[:, x])
                part = ends[:, x] - below
                places[x] += [below.astype(np.int64), np.ceil(ends[:, x]).astype(np.int64)]
                weights[x] += [sign * (1.0 - part), sign * part]
        sums = np.zeros(len(cells))
        for corner in product(range(4), repeat=d):
            weight = weights[0][corner[0]]
            for x in range(1, d):
                weight = weight * weights[x][corner[x]]
            used = np.flatnonzero(weight)
            if len(used):
                at = self._cumulative.at(cells[used], [places[x][corner[x]][used] for x in range(d)])
                sums[used] += weight[used] * self._estimates[at]
        return sums


def _position(steps: Wholes, widths: Wholes, parts: Wholes) -> Floats:
    """Steps -> parts, with a fraction within a part."""
    below = np.minimum(steps * parts // widths, parts - 1)
    begin = starts_of_parts(below, widths, parts)
    position: Floats = below + (steps - begin) / (starts_of_parts(below + 1, widths, parts) - begin)
    return position


def _squares(low: Floats, high: Floats) -> Floats:
    """Along each axis the sum over leaves of the square of the share inside."""
    first, last = np.ceil(low), np.floor(high)
    outside = (first - low) ** 2 + np.maximum(last - first, 0.0) + (high - last) ** 2
    squares: Floats = np.where(first > last, (high - low) ** 2, outside)
    return squares
