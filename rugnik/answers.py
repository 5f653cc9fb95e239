"""Answers of stage 2: every number with its error, none of them for epsilon. `to_pandas()` gives a tidy table.

Histograms, whole or of some attributes, are in `rugnik.histograms`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from rugnik.decoding import Reply, frame


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer(Reply):
    """What every answer carries."""

    release: str
    synopsis_digest: str
    epsilon_spent: str
    question: str
    parameters: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ends(Reply):
    """low to high."""

    low: float
    high: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval(Ends):
    """low to high, which covers the noise with probability `level` or more; of a count or a quantile, the grid too."""

    level: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Noise(Ends):
    """low to high covers what the count would be without noise, cut cells by their share; `sd` is the noise's."""

    sd: float


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Count(Answer):
    """A range count. `interval` covers the number of rows in the box: noise and cut cells together.

    Its parts: `noise` at the same level, and `discretisation`, the count without, and with, all of the cells that the
    box cuts. `snapped` has the edges that each range was moved to, where that was asked for.
    """

    count: float
    interval: Interval
    noise: Noise
    discretisation: Ends
    snapped: Mapping[str, Ends] | None = None

    def __repr__(self) -> str:
        whole = f"{_span(self.interval)} rows at level {self.interval.level:g}, about {round(self.count):,}"
        cut, noise = _span(self.discretisation), _span(self.noise)
        return f"Count({whole}; noise alone: {noise}; without and with cut cells: {cut})"


def _span(ends: Ends) -> str:
    return f"{round(ends.low):,} to {round(ends.high):,}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ManyEnds(Reply):
    """low and high for each box."""

    low: tuple[float, ...]
    high: tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ManyNoises(ManyEnds):
    """The interval and the standard deviation of the noise of each box."""

    sd: tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts(Answer):
    """Range counts, one entry per box in each tuple; low to high covers noise and cut cells together."""

    counts: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    noise: ManyNoises
    discretisation: ManyEnds

    def to_pandas(self) -> Any:
        """One row per box, in the order asked: the interval of the whole error first, then its parts."""
        parts = {"noise_low": self.noise.low, "noise_high": self.noise.high, "noise_sd": self.noise.sd}
        cut = {"without_cut_cells": self.discretisation.low, "with_cut_cells": self.discretisation.high}
        return frame({"count": self.counts, "low": self.low, "high": self.high} | parts | cut)


@dataclass(frozen=True, slots=True, kw_only=True)
class Quantile(Reply):
    """A quantile; its interval covers noise and cell width."""

    q: float
    value: float
    interval: Interval
    discretisation: Ends


@dataclass(frozen=True, slots=True, kw_only=True)
class Quantiles(Answer):
    """Quantiles of one attribute."""

    quantiles: tuple[Quantile, ...]

    def to_pandas(self) -> Any:
        """One row per quantile."""
        found = self.quantiles
        values = {"q": [one.q for one in found], "value": [one.value for one in found]}
        return frame(
            values | {"low": [one.interval.low for one in found], "high": [one.interval.high for one in found]}
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate(Reply):
    """A value, or None where the noise leaves nothing to divide by, and its interval."""

    value: float | None
    interval: Interval


@dataclass(frozen=True, slots=True, kw_only=True)
class AttributeMoments(Reply):
    """Mean and variance of one attribute."""

    name: str
    mean: Estimate
    variance: Estimate


@dataclass(frozen=True, slots=True, kw_only=True)
class PairMoments(Reply):
    """Covariance and correlation of two attributes."""

    attributes: tuple[str, ...]
    covariance: Estimate
    correlation: Estimate


@dataclass(frozen=True, slots=True, kw_only=True)
class Moments(Answer):
    """Size, means, variances, covariances and correlations."""

    size: Estimate
    attributes: tuple[AttributeMoments, ...]
    pairs: tuple[PairMoments, ...]

    def estimates(self) -> Iterator[tuple[str, str, Estimate]]:
        """Every moment: its name, what it is of, and its estimate."""
        yield "size", "", self.size
        for one in self.attributes:
            yield "mean", one.name, one.mean
            yield "variance", one.name, one.variance
        for pair in self.pairs:
            yield "covariance", ", ".join(pair.attributes), pair.covariance
            yield "correlation", ", ".join(pair.attributes), pair.correlation

    def to_pandas(self) -> Any:
        """One row per moment."""
        found = list(self.estimates())
        return frame(
            {
                "moment": [name for name, _, _ in found],
                "of": [of for _, of, _ in found],
                "value": [one.value for _, _, one in found],
                "low": [one.interval.low for _, _, one in found],
                "high": [one.interval.high for _, _, one in found],
            }
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterUncertainty(Reply):
    """What noise leaves certain of one cluster: intervals for each coordinate of its centre and for its size.

    `region` holds for all coordinates together; `noise_probability` is that next to no rows are there.
    """

    center: tuple[Interval, ...]
    size: Interval
    region: tuple[Interval, ...] = ()
    noise_probability: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Merge(Reply):
    """Two clusters, counted from 0, and the probability that the rows have one centre for both."""

    clusters: tuple[int, ...]
    probability: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Clusters(Answer):
    """k clusters, the largest first, in the attributes' own units."""

    attributes: tuple[str, ...]
    centers: tuple[tuple[float, ...], ...]
    sizes: tuple[float, ...]
    uncertainty: tuple[ClusterUncertainty, ...]
    inertia: float
    stability: float
    method: str
    warnings: tuple[str, ...]
    method_reason: str | None = None
    merges: tuple[Merge, ...] = ()

    def to_pandas(self) -> Any:
        """One row per cluster: its size and centre, each with the ends of its interval."""
        certain = self.uncertainty
        columns: dict[str, list[Any]] = {
            "size": list(self.sizes),
            "size_low": [one.size.low for one in certain],
            "size_high": [one.size.high for one in certain],
        }
        for x, name in enumerate(self.attributes):
            columns[name] = [center[x] for center in self.centers]
            columns[f"{name}_low"] = [one.center[x].low for one in certain]
            columns[f"{name}_high"] = [one.center[x].high for one in certain]
        if any(one.noise_probability is not None for one in certain):
            columns["noise_probability"] = [one.noise_probability for one in certain]
        return frame(columns)


@dataclass(frozen=True, slots=True, kw_only=True)
class ScanLine(Reply):
    """One k."""

    k: int
    inertia: float
    stability: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Scan(Answer):
    """Inertia and stability for each k."""

    scan: tuple[ScanLine, ...]
    method: str | None = None
    method_reason: str | None = None

    def to_pandas(self) -> Any:
        """One row per k."""
        return frame({name: [getattr(line, name) for line in self.scan] for name in ("k", "inertia", "stability")})


@dataclass(frozen=True, slots=True, kw_only=True)
class Assignment(Answer):
    """The number of the nearest centre for each point."""

    labels: tuple[int, ...]
    centers: tuple[tuple[float, ...], ...]
    method: str | None = None
    method_reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows(Answer):
    """Synthetic rows, one number per attribute."""

    attributes: tuple[str, ...]
    rows: tuple[tuple[float, ...], ...]

    def to_pandas(self) -> Any:
        """One row per synthetic row."""
        return frame({name: [row[x] for row in self.rows] for x, name in enumerate(self.attributes)})
