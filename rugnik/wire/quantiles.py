"""`quantiles` of one attribute."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from rugnik.wire.base import Reply, frame, kinds_of
from rugnik.wire.common import Answer, Value, ValueEnds, ValueInterval


@dataclass(frozen=True, slots=True, kw_only=True)
class Quantile(Reply):
    """A quantile; its interval covers noise and cell width, `discretisation` is the cell it lies in."""

    q: float
    value: Value
    interval: ValueInterval
    discretisation: ValueEnds


@dataclass(frozen=True, slots=True, kw_only=True)
class Quantiles(Answer):
    """Quantiles of one attribute."""

    path: ClassVar[str] = "quantiles"

    quantiles: tuple[Quantile, ...]

    def to_pandas(self) -> Any:
        """One row per quantile; low to high covers noise and grid, and the cell is what the grid alone leaves open."""
        columns = {
            "q": [quantile.q for quantile in self.quantiles],
            "value": [quantile.value for quantile in self.quantiles],
            "low": [quantile.interval.low for quantile in self.quantiles],
            "high": [quantile.interval.high for quantile in self.quantiles],
            "cell_low": [quantile.discretisation.low for quantile in self.quantiles],
            "cell_high": [quantile.discretisation.high for quantile in self.quantiles],
        }
        return frame(columns, kinds_of(columns))
