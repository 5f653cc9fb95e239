"""Values of the kinds `date` and `datetime`: days, or microseconds, since 1970; MISSING where there is none."""

from __future__ import annotations

from contextlib import suppress

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from app.ingest.columns.converter import Column, Converter
from core.domain.attribute import MISSING, Attribute
from core.domain.dates import Datetime, day_of, microsecond_of

_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_DAY_SECONDS = 86_400
_MILLISECONDS_PER_DAY = 1000 * _DAY_SECONDS
# Year 10,208 or so. Bounds lie within the years 1 to 9999, so a time beyond this is out of bounds, like this one.
_LATEST_SECOND = 260 * 10**9
_LONGEST_TEXT = 40


class DateConverter(Converter):
    """Days of the calendar."""

    def from_text(self, text: bytes) -> int:
        """A date YYYY-MM-DD that the calendar has."""
        day = day_of(text.strip(b" \t").decode("latin-1"))
        return MISSING if day is None else day

    def reads(self, kind: pa.DataType) -> bool:
        """Dates and timestamps; a timestamp in a time zone if that zone is in the database of zones."""
        return bool(pa.types.is_date(kind)) or (pa.types.is_timestamp(kind) and _has_local_time(kind))

    def from_values(self, column: pa.Array) -> Column:
        """The day; of a timestamp, the day on the calendar of its time zone."""
        if pa.types.is_date32(column.type):
            return self.with_missing(column, column.view(pa.int32()).fill_null(0).to_numpy().astype(np.int64))
        if pa.types.is_date64(column.type):
            return self.with_missing(column, _integers(column) // _MILLISECONDS_PER_DAY)
        unit = column.type.unit
        times = _within(_integers(column), unit)
        if column.type.tz:
            local = pc.local_timestamp(pa.array(times).view(column.type))
            times = local.view(pa.int64()).to_numpy()
        return self.with_missing(column, times // (_DAY_SECONDS * _PER_SECOND[unit]))


class DatetimeConverter(Converter):
    """Moments. One that is written without an offset is in the zone of the attribute's bounds."""

    def __init__(self, attribute: Attribute) -> None:
        super().__init__(attribute)
        assert isinstance(attribute, Datetime)  # noqa: S101 - for the type checker
        self._zone = attribute.zone
        self._offset = int(attribute.zone.utcoffset(None).total_seconds() * _PER_SECOND["us"])

    def from_text(self, text: bytes) -> int:
        """An RFC 3339 moment."""
        trimmed = text.strip(b" \t")
        micro = microsecond_of(trimmed.decode("latin-1"), self._zone) if len(trimmed) <= _LONGEST_TEXT else None
        return MISSING if micro is None else micro

    def reads(self, kind: pa.DataType) -> bool:
        """Timestamps."""
        return bool(pa.types.is_timestamp(kind))

    def from_values(self, column: pa.Array) -> Column:
        """Microseconds, later digits cut off."""
        times, per_second = _within(_integers(column), column.type.unit), _PER_SECOND[column.type.unit]
        micro = times // 1000 if per_second > _PER_SECOND["us"] else times * (_PER_SECOND["us"] // per_second)
        return self.with_missing(column, micro if column.type.tz else micro - self._offset)


def _integers(column: pa.Array) -> NDArray[np.int64]:
    """The 64-bit integers that a column of times is stored as; 0 for nulls."""
    integers: NDArray[np.int64] = column.view(pa.int64()).fill_null(0).to_numpy()
    return integers


def _within(times: NDArray[np.int64], unit: str) -> NDArray[np.int64]:
    """Times moved to _LATEST_SECOND where they are later, and likewise before 1970, so that no arithmetic overflows."""
    latest = min(_LATEST_SECOND * _PER_SECOND[unit], 2**63 - 1)
    return np.clip(times, -latest, latest)


def _has_local_time(kind: pa.DataType) -> bool:
    with suppress(pa.ArrowException):
        return not kind.tz or pc.local_timestamp(pa.array([0]).view(kind)) is not None
    return False
