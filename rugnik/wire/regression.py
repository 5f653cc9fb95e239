"""`regression`: linear least squares of one attribute on others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from rugnik.wire.base import Reply, frame
from rugnik.wire.common import Answer, Estimate, Interval


@dataclass(frozen=True, slots=True, kw_only=True)
class Coefficient(Reply):
    """What one more unit of a predictor adds to the target; of the constant, whose name is null, its value at zero.

    Units are those of the attributes: of a date a day, of a datetime a second, both counted from 1970. The interval
    covers the noise. `discretisation` is how far the grid can move the coefficient at most, whatever the rows; null
    where nothing useful bounds it. `sheppard` is the value with Sheppard's correction, right for rows that lie evenly
    within cells: slopes at the middles of cells are too flat. A null value cannot be told; a null interval has no ends.
    """

    name: str | None
    value: float | None
    interval: Interval | None
    discretisation: float | None
    sheppard: float | None


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Regression(Answer):
    """Least squares over the gridded rows that have a value of all these attributes: first the constant.

    `r_squared` is the share of the target's variance that they explain.
    """

    path: ClassVar[str] = "regression"

    target: str
    on: tuple[str, ...]
    coefficients: tuple[Coefficient, ...]
    r_squared: Estimate
    warnings: tuple[str, ...]

    def to_pandas(self) -> Any:
        """One row per coefficient; `grid` is how far the grid can move it, beside the interval for the noise."""
        each = self.coefficients
        return frame(
            {
                "predictor": [one.name or "(constant)" for one in each],
                "value": [one.value for one in each],
                "low": [None if one.interval is None else one.interval.low for one in each],
                "high": [None if one.interval is None else one.interval.high for one in each],
                "grid": [one.discretisation for one in each],
                "sheppard": [one.sheppard for one in each],
            }
        )
