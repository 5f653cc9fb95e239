"""`components`: principal components."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from rugnik.wire.base import Reply, frame
from rugnik.wire.common import Answer, Estimate


@dataclass(frozen=True, slots=True, kw_only=True)
class Component(Reply):
    """A direction of length 1, one loading for each attribute; its variance, and its share of all variance.

    `angle` is how far the noise can turn the direction at most, in degrees, with the probability asked for; null where
    the component is undetermined: the noise may exceed the gap to a neighbouring variance. An angle bounds each loading
    too: by 2 sin(angle / 2).
    """

    variance: Estimate
    share: Estimate
    loadings: tuple[float, ...]
    angle: float | None


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Components(Answer):
    """Principal components of (value - center) / scale over the gridded rows, by variance; none where nothing is told.

    Dates count in days and datetimes in seconds, both from 1970. `discretisation` is how far the grid can move the
    root of any variance at most.
    """

    path: ClassVar[str] = "components"

    attributes: tuple[str, ...]
    center: tuple[float, ...]
    scale: tuple[float, ...]
    components: tuple[Component, ...]
    discretisation: float
    warnings: tuple[str, ...]

    def to_pandas(self) -> Any:
        """One row per component, with a column for the loading of each attribute."""
        each = self.components
        columns: dict[str, list[Any]] = {
            "variance": [one.variance.value for one in each],
            "share": [one.share.value for one in each],
            "share_low": [one.share.interval.low for one in each],
            "share_high": [one.share.interval.high for one in each],
            "angle": [one.angle for one in each],
        }
        for x, name in enumerate(self.attributes):
            columns[f"loading of {name}"] = [one.loadings[x] for one in each]
        return frame(columns)
