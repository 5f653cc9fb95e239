"""`quantiles` of one attribute."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from rugnik.wire.base import Reply, frame
from rugnik.wire.common import Answer, Ends, Interval


@dataclass(frozen=True, slots=True, kw_only=True)
class Quantile(Reply):
    """A quantile; its interval covers noise and cell width, `discretisation` is the cell it lies in."""

    q: float
    value: float
    interval: Interval
    discretisation: Ends


@dataclass(frozen=True, slots=True, kw_only=True)
class Quantiles(Answer):
    """Quantiles of one attribute."""

    path: ClassVar[str] = "quantiles"

    quantiles: tuple[Quantile, ...]

    def to_pandas(self) -> Any:
        """One row per quantile."""
        return frame(
            {
                "q": [quantile.q for quantile in self.quantiles],
                "value": [quantile.value for quantile in self.quantiles],
                "low": [quantile.interval.low for quantile in self.quantiles],
                "high": [quantile.interval.high for quantile in self.quantiles],
            }
        )
