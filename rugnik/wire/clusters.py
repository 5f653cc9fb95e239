"""`clusters`: k centres with their uncertainty."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from rugnik.wire.base import Reply, frame, kinds_of
from rugnik.wire.common import Answer, Interval, Value, ValueInterval
from rugnik.wire.limits import Method


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterUncertainty(Reply):
    """What noise leaves certain of one cluster: an interval for each coordinate of its centre, and for its size.

    An interval covers the mean of the gridded rows around the centre. Where the centre lies elsewhere than that mean's
    estimate (it leaves out counts that look like noise, or was moved within its cell), the interval is widened to reach
    as far beyond the centre. A centre at an end of its interval is at a bound of the domain, or has no noise.

    Those of `region` hold for all coordinates together. `noise_probability`, that next to no rows are there, is null
    for methods without a model of the counts. `discretisation` has, for each attribute, how far the grid can move the
    mean of the rows in the centre's cells: of a date in days, of a datetime in seconds.
    """

    center: tuple[ValueInterval, ...]
    region: tuple[ValueInterval, ...]
    size: Interval
    noise_probability: float | None
    discretisation: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Merge(Reply):
    """Two clusters, counted from 0, and the probability that the rows have one centre for both."""

    clusters: tuple[int, ...]
    probability: float


@dataclass(frozen=True, slots=True, kw_only=True)
class CentreShift(Reply):
    """How far the grid can move a centre, for each attribute: of a date in days, of a datetime in seconds."""

    center: tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Clusters(Answer):
    """k clusters, the largest first, in the attributes' own units; `inertia` in [-1, 1]^d.

    `attributes` are all but the categories, which have no distances. Rows without a value for one of them are left out.
    """

    path: ClassVar[str] = "clusters"

    attributes: tuple[str, ...]
    centers: tuple[tuple[Value, ...], ...]
    sizes: tuple[float, ...]
    uncertainty: tuple[ClusterUncertainty, ...]
    merges: tuple[Merge, ...]
    discretisation: CentreShift
    inertia: float
    stability: float
    method: Method
    method_reason: str
    warnings: tuple[str, ...]

    def shift(self, cluster: int) -> tuple[float, ...]:
        """How far the grid can move the centre of a cluster, for each attribute."""
        return self.uncertainty[cluster].discretisation or self.discretisation.center

    def to_pandas(self) -> Any:
        """One row per cluster: its size and centre, each with the ends of its interval, and what the grid can add."""
        certain = self.uncertainty
        columns: dict[str, list[Any]] = {
            "size": list(self.sizes),
            "size_low": [cluster.size.low for cluster in certain],
            "size_high": [cluster.size.high for cluster in certain],
        }
        for x, name in enumerate(self.attributes):
            columns[name] = [center[x] for center in self.centers]
            columns[f"{name}_low"] = [cluster.center[x].low for cluster in certain]
            columns[f"{name}_high"] = [cluster.center[x].high for cluster in certain]
            columns[f"{name}_grid"] = [self.shift(i)[x] for i in range(len(certain))]
        if any(cluster.noise_probability is not None for cluster in certain):
            columns["noise_probability"] = [cluster.noise_probability for cluster in certain]
        return frame(columns, kinds_of(columns))
