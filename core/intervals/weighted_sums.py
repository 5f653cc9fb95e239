"""Weighted sums of noise, S = sum of w_j Z_j, described by what the methods of this package need to know of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from core.arrays import Floats

STEPS = 32  # the lattice method rounds weights to this many steps of the largest weight

Rounding = Callable[[Floats], NDArray[np.int64]]


@dataclass(frozen=True, slots=True, eq=False)
class Sums:
    """Many weighted sums of cells: for each its largest |w|, its sums of w^2 and w^4, and its weights by size.

    `equal` is true for sums whose weights are certain to be the same, to the last bit.
    `steps(rows, rounding)` counts, for the sums numbered `rows`, the cells that weigh 1, 2, … STEPS steps of the
    largest weight, rounded in that way: shape (len(rows), STEPS). Only the lattice method calls it.
    """

    largest: Floats
    squares: Floats
    fourths: Floats
    equal: NDArray[np.bool_]
    steps: Callable[[NDArray[np.int64], Rounding], Floats]

    def repeated(self, times: int) -> Sums:
        """The sums in which each cell stands for so many of the same weight."""
        if times == 1:
            return self
        return replace(
            self,
            squares=times * self.squares,
            fourths=times * self.fourths,
            steps=lambda rows, rounding: times * self.steps(rows, rounding),
        )


def up(steps: Floats) -> NDArray[np.int64]:
    """The next whole number, but x + 10^-9 counts as x."""
    return np.ceil(steps - 1e-9).astype(np.int64)


def down(steps: Floats) -> NDArray[np.int64]:
    """The whole number before, but x - 10^-9 counts as x."""
    return np.floor(steps + 1e-9).astype(np.int64)


def by_steps(steps: NDArray[np.int64], times: Floats, owner: NDArray[np.int64], sums: int) -> Floats:
    """(sums, STEPS): how many cells of each sum have a weight of 1, 2, … STEPS steps.

    Entry i of the first three arguments says that sum number `owner[i]` has `times[i]` cells of `steps[i]` steps. Cells
    of no step are left out.
    """
    counted = np.bincount(owner * (STEPS + 1) + steps, weights=times, minlength=sums * (STEPS + 1))
    return counted.astype(np.float64).reshape(sums, STEPS + 1)[:, 1:]


def weighted_sum(weights: Floats, times: float = 1.0) -> Sums:
    """One sum, each of whose weights stands for `times` cells."""
    sizes = np.abs(weights.ravel())
    largest = float(sizes.max(initial=0.0))
    return Sums(
        largest=np.array([largest]),
        squares=times * np.array([(sizes**2).sum()]),
        fourths=times * np.array([(sizes**4).sum()]),
        equal=np.array([bool((sizes[sizes > 0.0] == largest).all())]),
        steps=lambda _rows, rounding: by_steps(
            rounding(sizes / largest * STEPS), np.full(len(sizes), times), np.zeros(len(sizes), np.int64), 1
        ),
    )


def plain_sums(cells: NDArray[np.int64]) -> Sums:
    """Sums of so many cells each, all of weight 1."""
    ones, number = np.ones(len(cells)), cells.astype(np.float64)
    return Sums(
        largest=ones,
        squares=number,
        fourths=number,
        equal=np.ones(len(cells), dtype=np.bool_),
        steps=lambda rows, _rounding: np.multiply.outer(number[rows], np.arange(1, STEPS + 1) == STEPS),
    )
