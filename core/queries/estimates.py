"""What moments are made of: estimates with intervals, for attributes and pairs of them."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

import numpy as np

from core.arrays import Floats
from core.domain.attribute import Ordered
from core.domain.whole import WholeValues
from core.errors import InvalidQuery
from core.intervals.levels import Interval
from core.intervals.ratios import Ends
from core.noisy_histogram import NoisyHistogram


@dataclass(frozen=True, slots=True)
class Estimate:
    """A value (None where the noise leaves nothing to divide by) and its interval."""

    value: float | None
    interval: Interval


@dataclass(frozen=True, slots=True)
class AttributeMoments:
    """Mean and variance of an ordered attribute, over the rows that have a value of it.

    The grid moves mean and standard deviation by `discretisation` at most. With cells of different widths the standard
    deviation may move by more: `deviation_shift`. Where it moves by h at most, a variance of s^2 moves by h (2 s + h)
    at most; `variance_shift` is that for the largest s of the variance's interval.
    """

    name: str
    mean: Estimate
    variance: Estimate
    discretisation: float
    deviation_shift: float | None = None

    @property
    def sd_discretisation(self) -> float:
        """How far the cells move the standard deviation at most."""
        return self.discretisation if self.deviation_shift is None else self.deviation_shift

    @property
    def variance_shift(self) -> float:
        """How far the grid moves the variance at most, wherever it lies in its interval."""
        h = self.sd_discretisation
        return h * (2.0 * sqrt(max(self.variance.interval.high, 0.0)) + h)


@dataclass(frozen=True, slots=True)
class PairMoments:
    """Covariance and correlation of two ordered attributes, over the rows that have a value of both."""

    names: tuple[str, str]
    covariance: Estimate
    correlation: Estimate


@dataclass(frozen=True, slots=True)
class Moments:
    """All of them, for ordered attributes; the size counts every row.

    Each interval holds by itself with probability `level`, not all of them together.
    """

    level: float
    size: Estimate
    attributes: tuple[AttributeMoments, ...]
    pairs: tuple[PairMoments, ...]


def correlation(
    covariance: float | None, ends: Ends, values: tuple[float | None, float | None], of: tuple[Ends, Ends], level: float
) -> Estimate:
    """From a covariance with its interval, two variances and their intervals (`core.queries.moments`).

    No value where a variance cannot be told from zero.
    """
    (v, V), (w, W) = of  # noqa: N806 - as in the docstring of core.queries.moments
    low, high = (
        _divided(end, sqrt(V * W) if inwards else sqrt(v * w))
        for end, inwards in zip(ends, (ends[0] > 0.0, ends[1] < 0.0), strict=True)
    )
    interval = Interval(level, low, high)
    if covariance is None or min(v, w) <= 0.0 or not (values[0] and values[1]):
        return Estimate(None, interval)
    return Estimate(_divided(covariance, sqrt(values[0] * values[1])), interval)


def _divided(covariance: float, deviations: float) -> float:
    """A correlation, from -1 to 1."""
    if abs(covariance) >= deviations:
        return float(np.sign(covariance))
    return covariance / deviations


def ordered_attribute(synopsis: NoisyHistogram, x: int) -> Ordered:
    """The attribute of an axis that has edges."""
    attribute = synopsis.domain.attributes[x]
    if not isinstance(attribute, Ordered):
        raise InvalidQuery(f"{attribute.name} is a category: its values have no order and no distances.")
    return attribute


def axis_centres(synopsis: NoisyHistogram, x: int) -> Floats:
    """The centres of the value cells of one ordered attribute in its own unit."""
    edges = ordered_attribute(synopsis, x).edges(synopsis.grid.axes[x])
    return (edges[1:] + edges[:-1]) / 2


def variance_within(attribute: Ordered, widths: Floats) -> Floats:
    """The variance of rows spread evenly within cells of these widths, in the attribute's own unit.

    w^2 / 12 for width w; of whole kinds (r^2 - 1) / 12 steps for a run of r values, which is none for a single one.
    """
    if not isinstance(attribute, WholeValues):
        return widths**2 / 12.0
    return (np.rint(widths * attribute.steps_per_unit) ** 2 - 1.0) / 12.0 / attribute.steps_per_unit**2


def half_cell(synopsis: NoisyHistogram, x: int) -> float:
    """How far a row lies from its cell's centre at most, in the attribute's own unit: of numbers, half a cell."""
    return ordered_attribute(synopsis, x).reach(synopsis.grid.axes[x])
