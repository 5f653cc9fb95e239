"""Predicted errors of counts and of k-means, for a picture of where the rows lie. Public numbers alone.

A picture says that the rows fill a box of share a of the space evenly (`occupied`), and that the rest is empty. A
uniform grid is a set of leaves with one rate of noise. An adaptive release has planning counts above its leaves, and
its estimate fuses them. The same formulas serve both.

Let a range have the share s of the box, with sides in proportion to those of the space, at a random place. Along an
axis with m cells it is L = m (s a)^(1/d) cells long.

Noise. A cell counts with the share f of it that is inside. Two points of the range lie in one cell of an axis with the
probability max(0, 1 - distance), so along one axis

    E sum f^2 = L - 1/3 for L >= 1,    L^2 - L^3 / 3 below.

For all axes together it is the product. Let A_i be E sum f^2 of layer i (0 the leaves, then coarser), times the leaves
per cell of layer i; v the variance of a leaf, t_i the inverse of the variance of a count of layer i. The least-squares
estimate has independent errors within the cells of layer 1, between those within the cells of layer 2, and so on. Their
variances are w_0 = v, w_i = 1 / (1/v + sum over j <= i of t_j n_j) with n_j leaves per cell of layer j. Hence

    Var = sum over i of w_i (A_i - A_(i+1)),    A beyond the last layer = 0.

Discretisation. Rows in a cut cell are taken to be spread evenly. The error is taken to be the share c of the rows in
the cells on the border, as Qardaji, Yang and Li (2013) do. For each axis x there are 2 prod over y != x of L_y border
cells. With c = sqrt(2) / 40 their guideline for d = 2, m = sqrt(N eps / 10), gives the least sum of noise,
sqrt(2 s) m / eps, and discretisation, 4 c sqrt(s) N / m. With the same c the EUGkM rule is best for ranges of all of
the space, for any d. An axis with a cell for each value is never cut.

k-means. The paper's bound h (`core.sharing`) with clusters that share the box: noise in the box counts with the box's
scale, a^(1/d), noise in the empty rest with that of the space. For a = 1 and a uniform grid it is the paper's.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import prod, sqrt

from core.budget import NANO
from core.mechanisms.discrete_laplace import DiscreteLaplace

BORDER_SHARE = sqrt(2) / 40  # c

Variance = Callable[[float], float]  # of noise, from its rate


@dataclass(frozen=True, slots=True, kw_only=True)
class Layer:
    """Counts of cells: `cells` along each ordered axis (if they covered all of the space), noise of this `rate`."""

    cells: tuple[float, ...]
    rate: float

    @property
    def count(self) -> float:
        """The number of its cells."""
        return prod(self.cells)


@dataclass(frozen=True, slots=True, kw_only=True)
class CountError:
    """Root mean square errors, in rows, of a count over the share `share` of the occupied part: noise, cut cells."""

    share: float
    noise: float
    discretisation: float

    @property
    def total(self) -> float:
        """Both together; they are independent."""
        return sqrt(self.noise**2 + self.discretisation**2)


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """N rows that fill a share of the space evenly, the cells there, and the cells of the empty rest.

    `whole` says for each ordered axis whether every value has its own cell. `planning` has the finest layer first.
    `categories` is C: each combination of categories has all of these cells.
    """

    size: int
    occupied: float
    categories: int
    leaves: Layer
    whole: tuple[bool, ...]
    planning: tuple[Layer, ...] = ()
    empty_cells: float = 0.0
    empty_rate: float = 1.0

    @property
    def cells(self) -> int:
        """All cells that are released."""
        return round(self.categories * (self.occupied * self.leaves.count + self.empty_cells))

    def count_error(self, share: float, variance: Variance) -> CountError:
        """The error of a count over this share of the occupied part, all categories together."""
        lengths = self._lengths(self.leaves, share)
        inside = prod(max(1.0, L) if whole else squares(L) for L, whole in zip(lengths, self.whole, strict=True))
        border = sum(
            2 * prod(lengths[:x] + lengths[x + 1 :]) for x, whole in enumerate(self.whole) if not whole
        )  # rows in it: all categories together
        rows = min(float(self.size), border * self.size / (self.occupied * self.leaves.count))
        return CountError(
            share=share,
            noise=sqrt(self.categories * self._variance(share, inside, variance)),
            discretisation=BORDER_SHARE * rows,
        )

    def deviation(self, clusters: int) -> float:
        """(d / K) h for this picture: the bound on the expected error of the k-means objective."""
        d, share = len(self.whole), 1 / clusters
        scale: float = self.occupied ** (1 / d)  # of the box
        width: float = share ** (1 / d)  # of a cluster in the box
        inside = clusters * self._variance(share, prod(self._lengths(self.leaves, share)), laplace)
        variance = self.categories * (inside * scale**4 + self.empty_cells * laplace(self.empty_rate))
        quantisation = self.size / 3 * sum(1 / m**2 for m in self.leaves.cells) / d
        return d * share * (sqrt(variance) * width**2 + 2 * sqrt(quantisation) * scale * width + quantisation)

    def _lengths(self, layer: Layer, share: float) -> tuple[float, ...]:
        """L for each axis."""
        side = (share * self.occupied) ** (1 / len(layer.cells)) if layer.cells else 1.0
        return tuple(side * m for m in layer.cells)

    def _variance(self, share: float, inside: float, variance: Variance) -> float:
        """Var of the estimate; `inside` is E sum f^2 of the leaves."""
        precision = 1 / variance(self.leaves.rate)
        total, last = 0.0, inside
        for layer in self.planning:
            per_cell = self.leaves.count / layer.count
            following = per_cell * prod(squares(L) for L in self._lengths(layer, share))
            total += max(0.0, last - following) / precision
            precision += per_cell / variance(layer.rate)
            last = following
        return total + last / precision


def squares(length: float) -> float:
    """E sum f^2 of the cells that a range of so many cells covers shares f of, at a random place."""
    return length - 1 / 3 if length >= 1 else length**2 - length**3 / 3


def variance_of(rate: float) -> float:
    """The variance of the noise of this rate that a release has."""
    return DiscreteLaplace(nano=max(1, round(rate * NANO))).variance


def laplace(rate: float) -> float:
    """The variance of Laplace noise, which the paper's bound has."""
    return 2 / rate**2
