"""Hot spots: connected cells of one or two ordered attributes with more rows than evenly spread rows would leave there.

*Null hypothesis.* Complete spatial randomness (Diggle 2013): each of the n rows lies anywhere in the covered cells with
equal density, so that cell j has a binomial count with the probability p_j, its share of the volume. A cell stands out
if its noisy count is above a threshold u_j that noise and chance together exceed in any cell of the release with a
probability of alpha at most. Cells that share an edge are one region.

Where a unit is a person with at most c rows, the null is that persons are independent, and each row lies anywhere with
equal density; rows of one person may depend on one another in any way, all in one cell included.

*A grid.* y_j = B + S with B binomial and S the noise. For every theta > 0 below the rate of the noise,

    P(B + S >= u) <= exp(n log(1 + p (e^theta - 1)) + log E e^(theta S) - theta u)

(Chernoff 1952), so u_j is the least over theta of the sum of both logarithms and log(1 / alpha_j), divided by theta.
For n stands its upper bound. That has a tenth of alpha, and the cells share the rest (Bonferroni). Of persons with c
rows or fewer, (n / c) log(1 + p (e^(c theta) - 1)) takes the place of the first logarithm: it is the largest possible,
because k rows of a person add log(1 + p (e^(k theta) - 1)) at most (Hoelder's inequality), which is convex in k and 0
for k = 0.

*Other forms of release* have bounds L <= t <= U for all cells at once, with half of alpha. There a cell stands out if
L_j is above the threshold of a count without noise.

*Intervals of regions.* A region was chosen by the very counts that it sums, so the interval of a sum chosen beforehand
would be too short. These hold for every connected region at once. Of k cells on a line there are at most M of M cells,
in the plane at most M 4.65^k (Klarner and Rivest 1973) and C(M, k). With alpha / (k (k + 1)) for all regions of k cells
and Chernoff's bound for each, the union bound gives the radius. Where there are bounds for all cells, they are added
up. Together with the interval of n, each with half of alpha, they bound the excess over n p.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import log

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage
from scipy.special import gammaln

from core.arrays import Floats
from core.domain.attribute import Ordered
from core.errors import InvalidQuery
from core.intervals.levels import MAX_LEVEL, Interval, alpha_of, require_divisible
from core.intervals.radius import equal_radius
from core.mechanisms.law import NoiseLaw
from core.noisy_histogram import NoisyHistogram
from core.queries.boxes import require_ordered
from core.queries.denoise import CountsKind
from core.queries.estimates import Estimate
from core.queries.marginal import Marginal, marginal
from core.queries.slices import with_values

MOST_CELLS, MOST_REGIONS = 250_000, 1_000
_POLYOMINOES = log(4.65)  # growth of the number of connected regions of squares by one more square
_SHARE_OF_SIZE = 0.1  # of alpha, for the bound on n
_HIGHEST = 0.99999  # so that the parts of alpha stay within what is tested
_THETAS = 0.999 * np.geomspace(1e-6, 1.0, 400)  # shares of the rate, or of the largest theta tried
_LARGEST = 40.0


@dataclass(frozen=True, slots=True)
class Region:
    """Connected cells that stand out: their places on the axes, their rows, and how many even rows would be there."""

    cells: tuple[tuple[int, ...], ...]
    count: Estimate
    expected: float
    excess: Estimate


@dataclass(frozen=True, slots=True, eq=False)
class Hotspots:
    """Regions by excess, the largest first, among the cells of a histogram; `rows` is the number of rows in all.

    Of `in_all` regions the 1,000 with the largest excess are listed; the intervals hold for all of them.
    """

    histogram: Marginal
    rows: Estimate
    regions: tuple[Region, ...]
    in_all: int


def hotspots(histogram: NoisyHistogram, names: tuple[str, ...], *, level: float, cells: int | None = None) -> Hotspots:
    """Regions of one or two ordered attributes, over the rows with a value of each, with at most `cells` on an axis."""
    alpha = alpha_of(level)
    if len(names) not in (1, 2) or len(set(names)) != len(names):
        raise InvalidQuery("Name one attribute, or two different ones: attributes=x,y.")
    require_ordered(histogram.domain, names, lacking="neighbours")
    part = with_values(histogram, names)
    table = marginal(part, names, level=min(1.0 - alpha / 2.0, MAX_LEVEL), counts=CountsKind.RAW, cells=cells)
    if table.counts.size > MOST_CELLS:
        raise InvalidQuery(f"At most {MOST_CELLS:,} cells are searched; ask for fewer cells on an axis, with cells=….")
    shares = _volumes(table)
    evidence: _OnGrid | _Bounded
    if table.bounds_all is None:
        draws = table.grouping.cells_in_each() * (part.grid.cell_count // table.grid.cell_count)
        evidence = on_grid = _OnGrid(part.law, draws)
        rows = Interval(level, *on_grid.size(table.counts, alpha / 2.0))
        most = on_grid.size(table.counts, alpha * _SHARE_OF_SIZE)[1]
        above = table.counts >= on_grid.thresholds(shares, most, alpha * (1.0 - _SHARE_OF_SIZE))
    else:
        require_divisible(level, _HIGHEST)
        # Bounds of cells have half of alpha; that of n and chance have a quarter each.
        evidence, rows = _Bounded(*table.bounds_all), _size(part, names, level, alpha / 4.0)
        chance = _Chance(rows.high, part.law.rows_per_unit)
        above = evidence.low >= _thresholds(None, shares, chance, alpha / 4.0 / shares.size)
    labels, number = ndimage.label(above.reshape(table.shape))
    count = max(0.0, float(table.counts.sum()))
    chosen = _largest(labels.ravel(), table.counts - count * shares)
    regions = tuple(_region(table, each, shares, rows, evidence, alpha / 2.0) for each in chosen)
    held = Interval(level, min(rows.low, count), max(rows.high, count))
    return Hotspots(table, Estimate(count, held), regions, number)


def _volumes(table: Marginal) -> Floats:
    """p_j of every cell, the last axis fastest: of whole values, by their number."""
    shares = np.ones(1)
    for attribute in table.domain.attributes:
        assert isinstance(attribute, Ordered)  # noqa: S101 - for the type checker
        widths = np.diff(table.edges(attribute))
        shares = np.multiply.outer(shares, widths / widths.sum()).ravel()
    return shares


@dataclass(frozen=True, slots=True, eq=False)
class _OnGrid:
    """Cells that each sum so many draws of `law`."""

    law: NoiseLaw
    draws: NDArray[np.int64]

    def size(self, counts: Floats, alpha: float) -> tuple[float, float]:
        """The ends of the interval of n."""
        count, reach = float(counts.sum()), equal_radius(self.law, int(self.draws.sum()), alpha=alpha)
        return max(0.0, count - reach), max(0.0, count + reach)

    def thresholds(self, shares: Floats, rows: float, alpha: float) -> Floats:
        """u_j of every cell, where alpha is for all of them."""
        least, chance = np.empty(shares.size), _Chance(rows, self.law.rows_per_unit)
        for number in np.unique(self.draws).tolist():
            chosen = self.draws == number
            least[chosen] = _thresholds(self.law.summed(number), shares[chosen], chance, alpha / shares.size)
        return least

    def ends(self, table: Marginal, chosen: NDArray[np.int64], alpha: float) -> tuple[float, float]:
        """The interval of the sum of a region that was chosen by these counts."""
        k, among = len(chosen), table.counts.size
        regions = log(among)
        if len(table.shape) > 1:
            subsets = float(gammaln(among + 1) - gammaln(k + 1) - gammaln(among - k + 1))
            regions = min(regions + k * _POLYOMINOES, max(subsets, 0.0))
        draws = k * int(self.draws.max())  # the most that a region of k cells can have
        reach = _reach(self.law.summed(draws), log(2.0 / alpha) + log(k * (k + 1.0)) + regions)
        count = float(table.counts[chosen].sum())
        return count - reach, count + reach


@dataclass(frozen=True, slots=True, eq=False)
class _Bounded:
    """Cells with bounds that hold for all of them at once."""

    low: Floats
    high: Floats

    def ends(self, _table: Marginal, chosen: NDArray[np.int64], _alpha: float) -> tuple[float, float]:
        """Their sums: they hold whatever was chosen."""
        return float(self.low[chosen].sum()), float(self.high[chosen].sum())


def _largest(labels: NDArray[np.int64], excess: Floats) -> list[NDArray[np.int64]]:
    """The cells of the regions with the largest excess, by their numbers, from the number of each cell's region.

    0 is the number of cells outside of all regions. Regions of equal excess come in the order of their numbers.
    """
    largest = np.argsort(-np.bincount(labels, weights=excess)[1:], kind="stable")[:MOST_REGIONS] + 1
    order = np.argsort(labels, kind="stable")
    ends = np.searchsorted(labels[order], (largest, largest + 1))
    return [order[first:last] for first, last in ends.T.tolist()]


def _size(part: NoisyHistogram, names: tuple[str, ...], level: float, alpha: float) -> Interval:
    """n, from a histogram of one cell."""
    single = marginal(part, names[:1], level=1.0 - alpha, counts=CountsKind.RAW, cells=1)
    assert single.bounds_all is not None  # noqa: S101 - for the type checker
    low, high = single.bounds_all
    return Interval(level, max(0.0, float(low.sum())), max(0.0, float(high.sum())))


@dataclass(frozen=True, slots=True)
class _Chance:
    """So many rows of independent units, each with `per_unit` rows at most that may all lie together."""

    rows: float
    per_unit: int

    def log_mgf(self, shares: Floats, theta: float) -> Floats:
        """The largest log E e^(theta B) for the number B of rows in a cell of each share."""
        grown: Floats = np.log1p(shares * np.expm1(self.per_unit * theta)) * self.rows / self.per_unit
        return grown


def _thresholds(law: NoiseLaw | None, shares: Floats, chance: _Chance, alpha: float) -> Floats:
    """u of cells with the same noise, and of those with the same share only once."""
    distinct, places = np.unique(np.round(shares, 14), return_inverse=True)
    thresholds: Floats = _least(law, distinct, chance, -log(alpha))[places]
    return thresholds


def _least(law: NoiseLaw | None, shares: Floats, chance: _Chance, log_inverse: float) -> Floats:
    """Chernoff's bound on B + S for each share: every theta bounds it, and the best of many is taken.

    `log_inverse` is log(1 / alpha). Without a law there is no noise, and theta may be any.
    """
    largest = _LARGEST / chance.per_unit
    thetas = _THETAS * (min(law.rate, largest) if law is not None else largest)
    noise = law.log_mgf(thetas) if law is not None else np.zeros(thetas.size)
    best = np.full(shares.size, np.inf)
    for theta, growth in zip(thetas.tolist(), noise.tolist(), strict=True):
        best = np.minimum(best, (chance.log_mgf(shares, theta) + growth + log_inverse) / theta)
    return best


@lru_cache(maxsize=1024)
def _reach(law: NoiseLaw, log_inverse: float) -> float:
    """Chernoff's bound on the noise alone."""
    thetas = _THETAS * min(law.rate, _LARGEST)
    return float(((law.log_mgf(thetas) + log_inverse) / thetas).min())


def _region(
    table: Marginal,
    chosen: NDArray[np.int64],
    shares: Floats,
    rows: Interval,
    evidence: _OnGrid | _Bounded,
    alpha: float,
) -> Region:
    low, high = evidence.ends(table, chosen, alpha)
    level, low, share, count = rows.level, max(0.0, low), float(shares[chosen].sum()), float(table.counts[chosen].sum())
    places = np.stack(np.unravel_index(chosen, table.shape), axis=1)
    expected = share * max(0.0, float(table.counts.sum()))
    return Region(
        cells=tuple(tuple(place) for place in places.tolist()),
        count=Estimate(count, Interval(level, min(low, count), max(high, count))),
        expected=expected,
        excess=Estimate(
            count - expected,
            Interval(
                level, min(low - share * rows.high, count - expected), max(high - share * rows.low, count - expected)
            ),
        ),
    )
