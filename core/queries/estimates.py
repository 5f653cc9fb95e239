"""What moments are made of: estimates with intervals, for attributes and pairs of them."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

from core.arrays import Floats
from core.domain.attribute import Ordered
from core.errors import InvalidQuery
from core.intervals.levels import Interval
from core.noisy_histogram import NoisyHistogram


@dataclass(frozen=True, slots=True)
class Estimate:
    """A value (None where the noise leaves nothing to divide by) and its interval."""

    value: float | None
    interval: Interval


@dataclass(frozen=True, slots=True)
class AttributeMoments:
    """Mean and variance of an ordered attribute, over the rows that have a value of it.

    The grid moves mean and standard deviation by h = `discretisation` at most. So it moves a variance of s^2 by
    h (2 s + h) at most; `variance_shift` is that for the largest s of the variance's interval.
    """

    name: str
    mean: Estimate
    variance: Estimate
    discretisation: float

    @property
    def variance_shift(self) -> float:
        """How far the grid moves the variance at most, wherever it lies in its interval."""
        h = self.discretisation
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


def half_cell(synopsis: NoisyHistogram, x: int) -> float:
    """How far a row lies from its cell's centre at most, in the attribute's own unit: of numbers, half a cell."""
    return ordered_attribute(synopsis, x).reach(synopsis.grid.axes[x])
