"""What moments are made of: estimates with intervals, for attributes and pairs of them."""

from __future__ import annotations

from dataclasses import dataclass

from core.arrays import Floats
from core.intervals.levels import Interval
from core.synopsis import Synopsis


@dataclass(frozen=True, slots=True)
class Estimate:
    """A value (None where the noise leaves nothing to divide by) and its interval."""

    value: float | None
    interval: Interval


@dataclass(frozen=True, slots=True)
class AttributeMoments:
    """Mean and variance of one attribute; the grid moves mean and standard deviation by `discretisation` at most."""

    name: str
    mean: Estimate
    variance: Estimate
    discretisation: float


@dataclass(frozen=True, slots=True)
class PairMoments:
    """Covariance and correlation of two attributes."""

    names: tuple[str, str]
    covariance: Estimate
    correlation: Estimate


@dataclass(frozen=True, slots=True)
class Moments:
    """All of them. Each interval holds by itself with probability `level`, not all of them together."""

    level: float
    size: Estimate
    attributes: tuple[AttributeMoments, ...]
    pairs: tuple[PairMoments, ...]


def axis_centres(synopsis: Synopsis, x: int) -> Floats:
    """The cell centres of one attribute in its own units."""
    edges = synopsis.domain.attributes[x].edges(synopsis.grid.axes[x])
    return (edges[1:] + edges[:-1]) / 2


def half_cell(synopsis: Synopsis, x: int) -> float:
    """Half the width of a cell of one attribute in its own units: how far a row lies from its cell's centre at most."""
    return synopsis.domain.attributes[x].width / synopsis.grid.axes[x].cells / 2
