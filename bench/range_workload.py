"""What `bench.ranges` asks: ranges that follow from a set's name, their exact counts, and the errors of answers."""

from __future__ import annotations

from math import log
from typing import NamedTuple

import numpy as np

from bench.published import Floats
from bench.rangesets import RangeSet
from bench.synopses import RowsInMemory, rows_in_memory
from core.queries.boxes import Box, Range

KINDS = ("random", "1 %")
MEASURES = tuple(f"{name}, {kind}" for kind in KINDS for name in ("RMSE", "relative"))
RANGES = 300  # of each kind


def ranges_of(kind: str, d: int, rng: np.random.Generator) -> Floats:
    """(ranges, 2, d): lower and upper ends in [0, 1]."""
    if kind == "random":
        return np.sort(rng.random((RANGES, 2, d)), axis=1)
    stretch = rng.uniform(-log(2), log(2), (RANGES, d))
    sides = 0.01 ** (1 / d) * np.exp(stretch - stretch.mean(axis=1, keepdims=True))
    lower = rng.random((RANGES, d)) * (1 - sides)
    return np.stack([lower, lower + sides], axis=1)


def exact_counts(rows: Floats, ranges: Floats) -> Floats:
    """How many rows lie in each range."""
    first, *others = rows[np.argsort(rows[:, 0], kind="stable")].T.copy()
    counts = np.empty(len(ranges))
    for i, (lower, upper) in enumerate(ranges):
        start, stop = np.searchsorted(first, (lower[0], upper[0]))
        inside = np.ones(stop - start, dtype=np.bool_)
        for x, column in enumerate(others, start=1):
            inside &= (column[start:stop] >= lower[x]) & (column[start:stop] < upper[x])
        counts[i] = np.count_nonzero(inside)
    return counts


def _boxes(ranges: Floats) -> tuple[Box, ...]:
    return tuple(
        tuple(Range(f"x{x}", low, high) for x, (low, high) in enumerate(zip(lower, upper, strict=True)))
        for lower, upper in ranges.tolist()
    )


class Workload(NamedTuple):
    """The rows of a set, as values and as records, and the ranges with their exact counts."""

    points: Floats
    rows: RowsInMemory
    ranges: Floats
    boxes: tuple[Box, ...]
    exact: Floats

    @classmethod
    def of(cls, chosen: RangeSet) -> Workload:
        """The ranges follow from the name of the set."""
        points = chosen.rows()
        rng = np.random.default_rng(list(chosen.name.encode()))
        ranges = np.concatenate([ranges_of(kind, chosen.dimensions, rng) for kind in KINDS])
        return cls(points, rows_in_memory(points), ranges, _boxes(ranges), exact_counts(points, ranges))

    def squares_and_shares(self, answers: Floats) -> Floats:
        """By kind of range: the mean square of the errors, and the mean relative error; in the order of MEASURES."""
        errors = answers - self.exact
        relative = np.abs(errors) / np.maximum(self.exact, len(self.points) / 1000)
        parts = zip(np.split(errors, len(KINDS)), np.split(relative, len(KINDS)), strict=True)
        return np.array([mean for squares, shares in parts for mean in ((squares**2).mean(), shares.mean())])
