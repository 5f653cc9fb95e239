"""`moments`: size, means, variances, covariances and correlations."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

from rugnik.wire.base import Reply, frame
from rugnik.wire.common import Answer, Estimate, ValueEstimate


@dataclass(frozen=True, slots=True, kw_only=True)
class Shift(Reply):
    """How far the grid can move a mean and a standard deviation: of a date in days, of a datetime in seconds.

    `variance`, in the square of that unit, is how far it can move the variance, wherever that lies in its interval.
    """

    mean: float
    sd: float
    variance: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AttributeMoments(Reply):
    """Mean and variance of one attribute; the variance of a date is in days^2, of a datetime in seconds^2."""

    name: str
    mean: ValueEstimate
    variance: Estimate
    discretisation: Shift


@dataclass(frozen=True, slots=True, kw_only=True)
class PairMoments(Reply):
    """Covariance and correlation of two attributes."""

    attributes: tuple[str, ...]
    covariance: Estimate
    correlation: Estimate


@dataclass(frozen=True, slots=True, kw_only=True)
class Moments(Answer):
    """The moments of the gridded rows. `size` combines a bought size with the sum of all cells.

    Categories have no moments. Rows without a value for an attribute count in `size` and not in its moments.

    Of a thresholded release, values are those of the listed cells, and intervals allow for all rows. A declared size
    bounds nothing there, so that without a bought one intervals may be as wide as the domain.
    """

    path: ClassVar[str] = "moments"

    size: Estimate
    attributes: tuple[AttributeMoments, ...]
    pairs: tuple[PairMoments, ...]

    def estimates(self) -> Iterator[tuple[str, str, Estimate | ValueEstimate]]:
        """Every moment: its name, the attribute or attributes it is of, and its estimate."""
        yield "size", "", self.size
        for attribute in self.attributes:
            yield "mean", attribute.name, attribute.mean
            yield "variance", attribute.name, attribute.variance
        for pair in self.pairs:
            yield "covariance", ", ".join(pair.attributes), pair.covariance
            yield "correlation", ", ".join(pair.attributes), pair.correlation

    def shifts(self) -> Iterator[float | None]:
        """For each of `estimates`, how far the grid can move it; None where there is no such bound.

        No grid moves the size. Covariances and correlations have no bound.
        """
        yield 0.0
        for attribute in self.attributes:
            yield attribute.discretisation.mean
            yield attribute.discretisation.variance
        for _ in self.pairs:
            yield from (None, None)

    def to_pandas(self) -> Any:
        """One row per moment; `grid` is how far the grid can move it, beside the interval for the noise."""
        listed = list(self.estimates())
        return frame(
            {
                "moment": [name for name, _, _ in listed],
                "of": [of for _, of, _ in listed],
                "value": [estimate.value for _, _, estimate in listed],
                "low": [estimate.interval.low for _, _, estimate in listed],
                "high": [estimate.interval.high for _, _, estimate in listed],
                "grid": list(self.shifts()),
            }
        )
