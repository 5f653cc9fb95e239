"""Entropies of two attributes, and the information that one has about the other, from noisy counts.

With t_ij the count of the rows in cell i of the one attribute and cell j of the other, and n their number, in nats

    H(a, b) = log n - (1 / n) sum of t_ij log t_ij,    I(a; b) = H(a) + H(b) - H(a, b),

and H(a), H(b) likewise from sums of t_ij over j and over i (Shannon 1948). All are of cells: I of the rows' own values
is at least that of their cells (data processing inequality, Cover and Thomas 2006).

*Bias.* The plain formula with noisy counts takes noise for information. Each t log t is estimated with little or no
bias instead (`core.queries.t_log_t`): none of a single draw, a little of sums of many. Values are then moved into what
is possible, so that information close to zero is estimated too high on average.

*Intervals.* A parametric bootstrap (Efron and Tibshirani 1993): the noise is drawn again, many times and from a public
seed, on the counts made non-negative, and the standard deviation of each estimate is that over the draws. All four
estimates share their noise there, as they do in the release. An interval reaches as many of these to either side as
one cell's noise or normal noise has at the level, whichever is more, and farther by the largest bias possible, summed
over all cells. Coverage is measured, not proved.

Where this reaches over two fifths of what is possible at all (0 to log of the number of cells) to either side, there is
no value.

*Other forms of release* have no independent noise of a known law in each cell, but bounds L <= t <= U for all cells at
once. t log t grows with whole t >= 0, so its sums lie between those of L and of U. The three tables and n have a
quarter of alpha each. Such intervals are long; the values are those of the non-negative counts, kept within them.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from core.arrays import Floats
from core.errors import InvalidQuery
from core.intervals.levels import MAX_LEVEL, Interval, alpha_of, require_divisible
from core.intervals.radius import equal_radius
from core.mechanisms.law import NoiseLaw
from core.noisy_histogram import NoisyHistogram
from core.queries.boxes import require_attributes
from core.queries.denoise import CountsKind, nonnegative
from core.queries.estimates import Estimate
from core.queries.marginal import Marginal, marginal
from core.queries.slices import with_values
from core.queries.t_log_t import estimator, t_log_t
from core.randomness import seeded

MOST_CELLS, DRAWS = 20_000, 300
_BITS = 1.0 / log(2.0)
_HIDDEN = 0.4  # of what is possible: an interval that reaches farther to either side leaves no value
_ROUNDING = 1e-9  # nats: a shorter interval is a single value
_HIGHEST = 0.999996  # of which a quarter of alpha is left for each of four statements
_SEED = 0  # of the noise that is drawn again


class Entropies(NamedTuple):
    """Of the first attribute, of the second, of both together, and what they share. In bits."""

    first: Estimate
    second: Estimate
    joint: Estimate
    mutual: Estimate


@dataclass(frozen=True, slots=True)
class Information:
    """Entropies for two attributes with so many cells each, over so many rows with a value of both."""

    names: tuple[str, str]
    cells: tuple[int, int]
    rows: Estimate
    entropies: Entropies

    @property
    def possible(self) -> tuple[float, float, float, float]:
        """The most that each of them can be, in bits."""
        first, second, joint, mutual = (_BITS * _most(self.cells)).tolist()
        return first, second, joint, mutual


def information(
    histogram: NoisyHistogram, first: str, second: str, *, level: float, cells: int | None = None
) -> Information:
    """Entropies over the rows with a value of both attributes, with at most `cells` cells on each axis."""
    alpha_of(level)
    require_attributes(histogram.domain, (first, second))
    if first == second:
        raise InvalidQuery("Name two different attributes: what one tells about the other is asked for.")
    part = with_values(histogram, (first, second))
    each_level = min((3.0 + level) / 4.0, MAX_LEVEL)
    both = marginal(part, (first, second), level=each_level, counts=CountsKind.RAW, cells=cells)
    rows, columns = both.shape
    if rows * columns > MOST_CELLS:
        raise InvalidQuery(
            f"{rows} x {columns} cells are too many; ask for fewer cells on an axis, with cells=… (at most "
            f"{MOST_CELLS:,} together)."
        )
    if both.bounds_all is not None:
        require_divisible(level, _HIGHEST)
        return _by_bounds(part, both, level)
    counts = np.rint(both.counts).astype(np.int64).reshape(rows, columns)
    draws = both.grouping.cells_in_each().reshape(rows, columns) * (part.grid.cell_count // both.grid.cell_count)
    table = _Table(part.law, draws)
    return Information((first, second), (rows, columns), table.rows(counts, level), _entropies(table, counts, level))


@dataclass(frozen=True, slots=True, eq=False)
class _Table:
    """A table of two attributes: every cell sums so many draws of `law`."""

    law: NoiseLaw
    draws: NDArray[np.int64]

    def entropies(self, noisy: NDArray[np.int64]) -> Floats:
        """The four estimates for tables of noisy counts, in nats: (…, 4)."""
        counts = np.maximum(noisy.sum(axis=(-2, -1)), 1).astype(np.float64)
        parts = [
            self._sum(each, draws)
            for each, draws in (
                (noisy.sum(axis=-1), self.draws.sum(axis=1)),
                (noisy.sum(axis=-2), self.draws.sum(axis=0)),
                (noisy.reshape(*noisy.shape[:-2], -1), self.draws.ravel()),
            )
        ]
        first, second, joint = (np.log(counts) - part / counts for part in parts)
        return np.stack([first, second, joint, first + second - joint], axis=-1)

    def rows(self, noisy: NDArray[np.int64], level: float) -> Estimate:
        """The number of rows, which is no less than 0."""
        count, reach = float(noisy.sum()), equal_radius(self.law, int(self.draws.sum()), alpha=alpha_of(level))
        return Estimate(max(0.0, count), Interval(level, max(0.0, count - reach), max(0.0, count + reach)))

    def bias(self) -> Floats:
        """The most by which the four are off on average, times the number of rows."""
        first, second, joint = (
            sum(estimator(law, len(own)).bias * int(chosen.sum()) for law, chosen in _laws(self.law, own))
            for own in (self.draws.sum(axis=1), self.draws.sum(axis=0), self.draws.ravel())
        )
        return np.array([first, second, joint, first + second + joint])

    def _sum(self, noisy: NDArray[np.int64], draws: NDArray[np.int64]) -> Floats:
        """The sum of t log t over the last axis."""
        sums: Floats = np.zeros(noisy.shape[:-1])
        for law, chosen in _laws(self.law, draws):
            sums += estimator(law, len(draws))(noisy[..., chosen]).sum(axis=-1)
        return sums

    def redrawn(self, counts: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
        """The table with other noise."""
        noisy = counts.copy().ravel()
        for law, chosen in _laws(self.law, self.draws.ravel()):
            noisy[chosen] += law.simulate((int(chosen.sum()),), rng)
        return noisy.reshape(counts.shape)


def _laws(law: NoiseLaw, draws: NDArray[np.int64]) -> list[tuple[NoiseLaw, NDArray[np.bool_]]]:
    """The law of the cells with each number of draws, and which these are; groups at an end may have fewer."""
    return [(law.summed(number), draws == number) for number in np.unique(draws).tolist()]


def _most(cells: tuple[int, int]) -> Floats:
    """What the four are at most, in nats: of even counts, and of attributes that determine one another."""
    rows, columns = cells
    most: Floats = np.log([rows, columns, rows * columns, min(rows, columns)])
    return most


def _entropies(table: _Table, counts: NDArray[np.int64], level: float) -> Entropies:
    rows, columns = counts.shape
    possible = _most((rows, columns))
    alpha, size = alpha_of(level), table.rows(counts, level)
    if size.interval.low <= 0.0:
        return Entropies(*(Estimate(None, Interval(level, 0.0, most * _BITS)) for most in possible.tolist()))
    likely = np.rint(nonnegative(counts.ravel())).astype(np.int64).reshape(counts.shape)
    rng = seeded(_SEED)
    again = np.stack([table.entropies(table.redrawn(likely, rng)) for _ in range(DRAWS)])
    narrowest = table.law.summed(int(table.draws.min()))
    factor = max(-ndtri(alpha / 2.0), equal_radius(narrowest, 1, alpha=alpha) / narrowest.standard_deviation)
    radii = factor * again.std(axis=0) + table.bias() / counts.sum()
    return Entropies(
        *(
            _estimate(value, radius, most, level)
            for value, radius, most in zip(
                table.entropies(counts).tolist(), radii.tolist(), possible.tolist(), strict=True
            )
        )
    )


def _by_bounds(part: NoisyHistogram, both: Marginal, level: float) -> Information:
    """From bounds for all cells at once."""
    rows, columns = both.shape
    names = both.domain.names
    tables = [_single(part, both, x) for x in (0, 1)]
    size = marginal(part, names[:1], level=both.level, counts=CountsKind.RAW, cells=1).bounds_all
    assert both.bounds_all is not None and size is not None  # noqa: S101, PT018 - for the type checker
    fewest, most = (float(side.sum()) for side in size)
    count = max(0.0, float(both.counts.sum()))
    held = Estimate(count, Interval(level, max(0.0, min(fewest, count)), max(most, count)))
    possible = _most((rows, columns)).tolist()
    if fewest < 1.0 or count < 1.0:
        unknown = (Estimate(None, Interval(level, 0.0, each * _BITS)) for each in possible)
        return Information((names[0], names[1]), (rows, columns), held, Entropies(*unknown))
    ends = []
    for low, high in (*tables, both.bounds_all):
        least, greatest = (float(t_log_t(np.maximum(side, 1.0)).sum()) for side in (low, high))
        ends.append((log(fewest) - greatest / fewest, log(most) - least / most))
    ends = [(max(low, 0.0), min(high, cap)) for (low, high), cap in zip(ends, possible, strict=False)]
    ends.append((ends[0][0] + ends[1][0] - ends[2][1], ends[0][1] + ends[1][1] - ends[2][0]))
    table = nonnegative(both.counts).reshape(rows, columns)
    plain = [log(count) - float(t_log_t(own).sum()) / count for own in (table.sum(axis=1), table.sum(axis=0), table)]
    plain.append(plain[0] + plain[1] - plain[2])
    return Information(
        (names[0], names[1]),
        (rows, columns),
        held,
        Entropies(
            *(
                _estimate(min(max(value, low), high), (high - low) / 2.0, cap, level, (low, high))
                for value, (low, high), cap in zip(plain, ends, possible, strict=True)
            )
        ),
    )


def _single(part: NoisyHistogram, both: Marginal, x: int) -> tuple[Floats, Floats]:
    """The bounds of one attribute's cells: its own, where it has the same cells, or the sums of those of both."""
    assert both.bounds_all is not None  # noqa: S101 - for the type checker
    sums = [side.reshape(both.shape).sum(axis=1 - x) for side in both.bounds_all]
    single = marginal(part, (both.domain.names[x],), level=both.level, counts=CountsKind.RAW, cells=both.shape[x])
    if single.bounds_all is None or single.shape != both.shape[x : x + 1]:
        return sums[0], sums[1]
    return single.bounds_all


def _estimate(
    value: float, radius: float, most: float, level: float, ends: tuple[float, float] | None = None
) -> Estimate:
    """In bits, from nats: within what is possible, and without a value where the noise hides nearly all of that."""
    value = min(max(value, 0.0), most)
    if radius < _ROUNDING:
        return Estimate(value * _BITS, Interval(level, value * _BITS, value * _BITS))
    low, high = (min(max(end, 0.0), most) * _BITS for end in ends or (value - radius, value + radius))
    hidden = radius > _HIDDEN * most
    return Estimate(None if hidden else value * _BITS, Interval(level, low, high))
