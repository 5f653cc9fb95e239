"""What a thresholded synopsis leaves certain: bounds on true counts, where only cells of at least T are listed.

Let a set of cells have weights w_j between 0 and 1, true counts t_j, noisy counts y_j = t_j + Z_j; A are the listed
cells, those with y_j >= T. Z is discrete Laplace: the proof is for that law alone.
Wanted are bounds on C = sum of w_j t_j from Y = sum over A of w_j y_j.

*Below.* D = Y - C is a sum of independent terms: w Z where the cell is listed, -w t where it is not. With
psi = log E exp(theta Z), q = P(Z >= T) and kappa = (1 - p) / (1 - p exp(theta)), p = exp(-epsilon), w = 1 first:
f(t) = E exp(theta D_j - psi [j is listed]).

- t = 0: f(0) <= 1 + c with c = q (kappa exp(theta T) - 1).
- t >= T: f(t) - 1 = P(Z < T - t) exp(-theta t) (1 - exp(theta (T - 1)) / kappa), by summing both geometric series.
  So f(t) <= 1 is the same as kappa <= exp(theta (T - 1)): the few draws that fall below T weigh less as -t than they
  would as Z. This holds for every theta up to one where it holds, since log kappa is convex in theta. It holds for
  some theta > 0 if, and only if, T - 1 > p / (1 - p).
- T = 1 needs no such condition. With x = kappa >= 1 and y = exp(theta) >= 1, f(t) - 1 is at most
  q (1 - 1 / x) / y <= q (x y - 1) = c, because (x y - 1) x y >= x - 1.
- 0 <= t <= T: f is a sum of two exponentials in t, so convex, so at most the larger of f(0) and f(T): 1 + c.

So E exp(theta D - psi |A|) <= exp(c M) for M cells, and by Markov's inequality D exceeds
(log(1 / alpha) + psi |A| + c M) / theta with probability alpha at most. Weights below 1 put theta w for theta:
psi(theta w) <= w^2 psi(theta) and c(theta w) <= w c(theta), by convexity. Several theta are tried, each at its share of
alpha, and the best is used. In words: what is listed is hardly ever too much, but for a few false cells.

*Above*, the smaller of two bounds: (i) all rows, less what is certain to lie outside; (ii) T - 1 for each cell that is
not listed, and the noise of all. (i) needs a bound on the number of rows: a bought size and the radius of its noise. A
declared size is a statement that nobody checked: it bounds nothing, and (ii) over the whole grid serves instead. That
is wide, since rows spread thinly over many cells leave no trace in a list.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, expm1, log, log1p

import numpy as np
from numpy.typing import NDArray

from core.arrays import Floats
from core.cells import ThresholdedCells
from core.errors import InvalidQuery
from core.intervals.chernoff import chernoff_radius
from core.queries.boxes import BoundedCounts, Edges
from core.synopsis import Synopsis

_THETAS = 12
_AT_ONCE = 2**22


@dataclass(frozen=True, slots=True, eq=False)
class Weighed:
    """Sets of cells: the sums over listed cells of w y, w and w^2, and over all cells of w and w^2."""

    sums: Floats
    listed: Floats
    listed_squares: Floats
    cells: Floats
    squares: Floats


class ListedCells:
    """The listed cells of a thresholded synopsis, ready to be summed over boxes."""

    def __init__(self, synopsis: Synopsis) -> None:
        cells = synopsis.cells
        if not isinstance(cells, ThresholdedCells):
            raise InvalidQuery("This release has a count for every cell: there is nothing to list.")
        self.synopsis = synopsis
        self.threshold = cells.threshold
        self.places = cells.grid.places(cells.numbers)
        self.counts = cells.counts.astype(np.float64)

    def bounded(self, edges: Edges, *, alpha: float) -> BoundedCounts:
        """The listed count of each box, with bounds for listed and other rows: both hold but for alpha at most."""
        weighed = self.weigh(edges)
        low, high = self.bounds(weighed, alpha=alpha)
        noise_sd = self.synopsis.law.standard_deviation * np.sqrt(weighed.listed_squares)
        return BoundedCounts(count=weighed.sums, low=low, high=high, noise_sd=noise_sd)

    def region_bounds(self, sizes: Floats, cells: NDArray[np.int64], *, alpha: float) -> tuple[Floats, Floats]:
        """(low, high) for the rows in disjoint regions, from each one's listed count and number of listed cells.

        The other cells of a region are not known one by one. So its rows are at least what its listed cells are certain
        to hold. They are at most all rows less what the listed cells of the other regions are certain to hold. Each set
        of cells is given the whole grid's chances of false cells. Three statements, a third of alpha each.
        """
        sums = np.concatenate([sizes, self.synopsis.counts.sum() - sizes])
        number = np.concatenate([cells, len(self.counts) - cells]).astype(np.float64)
        own, others = self.certain(sums, number, alpha=alpha / 3).reshape(2, -1)
        return own, np.maximum(self.most_rows(alpha / 3) - others, sizes)

    def weigh(self, edges: Edges) -> Weighed:
        """Every box, by the share of each cell that it covers."""
        boxes = len(edges.low)
        sums = np.zeros((3, boxes))
        step = max(1, _AT_ONCE // max(1, len(self.counts)))
        for start in range(0, boxes, step):
            part = slice(start, start + step)
            shares = self._shares(Edges(low=edges.low[part], high=edges.high[part]))
            sums[:, part] = shares @ self.counts, shares.sum(axis=1), (shares**2).sum(axis=1)
        return Weighed(
            sums=sums[0],
            listed=sums[1],
            listed_squares=sums[2],
            cells=edges.power_sums(1),
            squares=edges.power_sums(2),
        )

    def weigh_groups(self, groups: NDArray[np.int64], cells: Floats) -> Weighed:
        """Disjoint sets of so many `cells` that make up the grid: `groups` names the set of each listed cell."""
        listed = np.bincount(groups, minlength=len(cells)).astype(np.float64)
        sums = np.bincount(groups, weights=self.counts, minlength=len(cells)).astype(np.float64)
        return Weighed(sums=sums, listed=listed, listed_squares=listed, cells=cells, squares=cells)

    def below(self, axis: int) -> Weighed:
        """For each of the m + 1 edges of an axis, all cells below it."""
        m = self.synopsis.grid.axes[axis].cells
        slabs = self.weigh_groups(self.places[:, axis], np.full(m, self.synopsis.grid.cell_count / m))
        listed, cells, sums = (np.concatenate([[0.0], np.cumsum(x)]) for x in (slabs.listed, slabs.cells, slabs.sums))
        return Weighed(sums=sums, listed=listed, listed_squares=listed, cells=cells, squares=cells)

    def _shares(self, edges: Edges) -> Floats:
        """The share of each listed cell (by column) that lies in each box (by row)."""
        shares = np.ones((len(edges.low), len(self.counts)))
        for x in range(self.places.shape[1]):
            shares *= edges.shares(x, self.places[:, x])
        return shares

    def bounds(self, weighed: Weighed, *, alpha: float) -> tuple[Floats, Floats]:
        """(low, high) for the true count of each set, each pair but for probability alpha at most.

        Where the statements behind the two ends contradict one another, the sum over listed cells is held all the same.
        """
        low = np.maximum(weighed.sums - self._excess(weighed, alpha / 2), 0.0)
        outside = self.outside(weighed)
        rest = np.maximum(outside.sums - self._excess(outside, alpha / 8), 0.0)
        high = np.minimum(self.most_rows(alpha / 8) - rest, self._most_in_cells(weighed, alpha / 4))
        return low, np.maximum(high, weighed.sums)

    def outside(self, weighed: Weighed) -> Weighed:
        """The rest of the grid: weights 1 - w."""
        listed, cells = float(len(self.counts)), float(self.synopsis.grid.cell_count)
        return Weighed(
            sums=self.counts.sum() - weighed.sums,
            listed=listed - weighed.listed,
            listed_squares=listed - 2 * weighed.listed + weighed.listed_squares,
            cells=cells - weighed.cells,
            squares=cells - 2 * weighed.cells + weighed.squares,
        )

    def _excess(self, weighed: Weighed, alpha: float) -> Floats:
        """What Y may exceed C by, but for probability alpha."""
        law, epsilon, T = self.synopsis.law, self.synopsis.law.rate, self.threshold  # noqa: N806 - as in the proof
        if law.draws != 1:
            raise InvalidQuery(
                "Listed cells are bounded where each has one draw of noise, not where cells were summed."
            )
        p = exp(-epsilon)
        thetas = _thetas(epsilon, T)
        psi = law.log_mgf(thetas)
        kappa = expm1(-epsilon) / np.expm1(thetas - epsilon)
        # q kappa exp(theta T) with the exponents together: q alone may be smaller than a double can hold
        c = kappa * np.exp((thetas - epsilon) * T - log1p(p)) - law.probability_at_least(T)
        cost = (
            log(_THETAS / alpha) + np.multiply.outer(weighed.listed_squares, psi) + np.multiply.outer(weighed.cells, c)
        )
        least: Floats = (cost / thetas).min(axis=1)
        return least

    def least(self, weights: Floats, *, alpha: float) -> Floats:
        """What sums of w t are at least, for rows of weights of the listed cells; any weights up to 1 of the others."""
        return self.certain(weights @ self.counts, (weights**2).sum(axis=1), alpha=alpha)

    def certain(self, sums: Floats, listed_squares: Floats, *, alpha: float) -> Floats:
        """The same from the sums of w y and of w^2 over listed cells."""
        everywhere = np.full(len(sums), float(self.synopsis.grid.cell_count))
        weighed = Weighed(
            sums=sums, listed=listed_squares, listed_squares=listed_squares, cells=everywhere, squares=everywhere
        )
        return np.maximum(sums - self._excess(weighed, alpha), 0.0)

    def rows(self) -> float:
        """An estimate of the number of all rows: a bought size, but no fewer than the listed cells hold.

        Without a bought size, what the listed cells hold.
        """
        listed = float(self.counts.sum())
        return max(listed, float(self.synopsis.size)) if self.synopsis.size_epsilon else listed

    def fewest_rows(self, alpha: float) -> float:
        """The number of all rows is at least this, but for alpha: by the bought size, by the listed cells."""
        total, listed = np.array([self.counts.sum()]), np.array([float(len(self.counts))])
        by_cells = float(self.certain(total, listed, alpha=alpha / 2)[0])
        # A noisy size below 1 was raised to 1: then it says nothing about the least.
        bought = self.synopsis.size_epsilon and self.synopsis.size > 1
        return max(by_cells, self.synopsis.size - self._size_radius(alpha / 2)) if bought else by_cells

    def most_rows(self, alpha: float) -> float:
        """The number of all rows is at most this, but for alpha: by the bought size, by the cells of the whole grid."""
        cells = np.array([float(self.synopsis.grid.cell_count)])
        listed = np.array([float(len(self.counts))])
        total = np.array([self.counts.sum()])
        everything = Weighed(sums=total, listed=listed, listed_squares=listed, cells=cells, squares=cells)
        by_cells = float(self._most_in_cells(everything, alpha / 2)[0])
        if not self.synopsis.size_epsilon:
            return by_cells
        return min(by_cells, self.synopsis.size + self._size_radius(alpha / 2))

    def _size_radius(self, alpha: float) -> float:
        """What the noise of a bought size exceeds to one side with probability alpha at most: P(Z > r) < p^r."""
        law = self.synopsis.size_law
        return max(0.0, log(1.0 / alpha) / law.rate) if law is not None else 0.0

    def _most_in_cells(self, weighed: Weighed, alpha: float) -> Floats:
        """What is listed, T - 1 in every other cell, and the noise of them all."""
        noise = chernoff_radius(self.synopsis.law, 2 * alpha, weighed.squares)
        most: Floats = weighed.sums + (self.threshold - 1) * (weighed.cells - weighed.listed) + noise
        return most


def _thetas(epsilon: float, threshold: int) -> Floats:
    """Some theta that the proof allows, spread evenly on a logarithmic scale: kappa <= exp(theta (T - 1)), or T = 1."""

    def allowed(theta: float) -> bool:
        return threshold == 1 or log(expm1(-epsilon) / expm1(theta - epsilon)) <= theta * (threshold - 1)

    most = 0.95 * epsilon
    while not allowed(most):
        most /= 1.5
        if most < 1e-6 * epsilon:
            raise InvalidQuery("The threshold of this release is too low for its epsilon to bound a count.")
    return np.geomspace(most / 200.0, most, _THETAS)
