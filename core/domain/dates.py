"""The kinds `date` and `datetime`: days with inclusive bounds, and moments with half-open ones.

A date is a whole number of days since 1970-01-01; its own unit is a day. A datetime is a whole number of microseconds
since 1970-01-01T00:00:00Z; its own unit is a second. The bounds of a datetime are written with an offset from UTC, the
same for both. That offset is the attribute's zone: answers are written in it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, timezone
from math import ceil, floor, inf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.domain.attribute import Missing, missing_of, refused_end, require_fields
from core.domain.axis import Axis
from core.domain.whole import WholeValues, nearest_code, starts_of
from core.errors import InvalidDomain

_EPOCH = date(1970, 1, 1).toordinal()
_EPOCH_UTC = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_LAST_DAY = date.max.toordinal() - _EPOCH
_FIRST_DAY = date.min.toordinal() - _EPOCH
# Moments that every zone can write, whichever way they are rounded.
_FIRST_MOMENT, _LAST_MOMENT = datetime(1, 1, 2, tzinfo=UTC), datetime(9999, 12, 30, tzinfo=UTC)
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", re.ASCII)
# RFC 3339, section 5.6, with a space for the T as its note allows; without an offset a moment is in the declared zone.
_DATETIME = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ][0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{1,9})?([Zz]|[+-][0-9]{2}:[0-9]{2})?",
    re.ASCII,
)


_FIRST_MICRO, _LAST_MICRO = ((moment - _EPOCH_UTC) // _MICROSECOND for moment in (_FIRST_MOMENT, _LAST_MOMENT))
_BOUNDS_OF_ALL = "The bounds of a datetime lie between 0001-01-02T00:00:00Z and 9999-12-30T00:00:00Z."


def day_of(text: str) -> int | None:
    """Days since 1970-01-01 of a date YYYY-MM-DD; None for any other text and for days that no calendar has."""
    if not _DATE.fullmatch(text):
        return None
    try:
        return date.fromisoformat(text).toordinal() - _EPOCH
    except ValueError:
        return None


def microsecond_of(text: str, zone: timezone) -> int | None:
    """Microseconds since 1970 of an RFC 3339 moment, later digits cut off; in `zone` where it has no offset."""
    matched = _DATETIME.fullmatch(text)
    if matched is None:
        return None
    base = text.removesuffix(matched[1] or "")
    whole, _, fraction = base.partition(".")
    try:
        moment = datetime.fromisoformat(whole.upper().replace(" ", "T"))
        offset = _zone(matched[1]) if matched[1] else zone
    except ValueError:
        return None
    local = moment.replace(tzinfo=UTC) - _EPOCH_UTC
    micro = local // _MICROSECOND + int(fraction[:6].ljust(6, "0") or 0)
    return micro - (offset.utcoffset(None) // _MICROSECOND)


def _zone(text: str) -> timezone:
    if text in "Zz":
        return UTC
    hours, minutes = int(text[1:3]), int(text[4:6])
    if hours > 23 or minutes > 59:
        raise ValueError(text)
    offset = timedelta(hours=hours, minutes=minutes)
    return timezone(-offset if text[0] == "-" else offset)


@dataclass(frozen=True, slots=True)
class Date(WholeValues):
    """A column of days. Ranges are closed: 2026-03-01..2026-03-31 holds all of March."""

    kind = "date"
    is_text = True
    column_type = np.int64

    name: str
    lower: date
    upper: date
    missing: Missing = Missing.DROP

    @property
    def first(self) -> int:
        """The lower bound, in days since 1970-01-01."""
        return self.lower.toordinal() - _EPOCH

    @property
    def last(self) -> int:
        """The upper bound, in days since 1970-01-01."""
        return self.upper.toordinal() - _EPOCH

    def within(self, first: int, last: int) -> Date:
        """Other bounds."""
        return Date(self.name, _date(first), _date(last))

    def typed(self, numbers: NDArray[np.int64]) -> NDArray[Any]:
        """Days."""
        return numbers.astype("datetime64[D]")

    def edge_values(self, axis: Axis) -> NDArray[Any]:
        """The first day of each cell, and the day after the last one."""
        return self.values_at(starts_of(axis))

    def values_at(self, codes: NDArray[Any]) -> NDArray[Any]:
        """Days."""
        return np.minimum(self.first + nearest_code(codes), _LAST_DAY).astype("datetime64[D]")

    def written(self, values: NDArray[Any]) -> list[str]:
        """Dates YYYY-MM-DD."""
        texts: list[str] = np.datetime_as_string(values, unit="D").tolist()
        return texts

    def ends(self, lower: float, upper: float) -> tuple[float, float]:
        """From half a day below the first to half a day above the last."""
        return lower - 0.5, upper + 0.5

    def value_of(self, text: str) -> float:
        """A date YYYY-MM-DD."""
        day = day_of(text)
        if day is None:
            raise refused_end(self, f"{self.name}:{_date(self.first)}..{_date(self.last)}, both days included")
        return float(day)

    def shown(self, value: float, *, up: bool | None = None) -> str:
        """The date; the nearest day where the value lies between two."""
        return _date(_rounded(value, up)).isoformat()

    def why_empty(self, lower: float, upper: float) -> str | None:
        """Why no day lies between them; None where there is one."""
        if lower <= upper:
            return None
        return f"The range of {self.name} is empty: it holds both of its ends, so the first must not be the later one."

    def why_outside(self, lower: float, upper: float) -> str | None:
        """Why none within the bounds lies between them; None where there is one."""
        if lower <= self.last and upper >= self.first:
            return None
        return f"The range of {self.name} lies outside its bounds, {self.lower} to {self.upper}."

    def declaration(self) -> dict[str, Any]:
        """Name, kind and bounds."""
        return self._common() | {"lower": self.lower.isoformat(), "upper": self.upper.isoformat()}

    @classmethod
    def declared(cls, fields: Mapping[str, Any]) -> Date:
        """From name and bounds YYYY-MM-DD."""
        require_fields(fields, cls.kind, ("lower", "upper"), ())
        days = [day_of(end) if isinstance(end, str) else None for end in (fields["lower"], fields["upper"])]
        if days[0] is None or days[1] is None:
            raise InvalidDomain("The bounds of a date are dates, written YYYY-MM-DD.")
        return cls(fields["name"], _date(days[0]), _date(days[1]), missing_of(fields))


@dataclass(frozen=True, slots=True)
class Datetime(WholeValues):
    """A column of moments. Bounds and ranges are half-open: a moment at the upper bound lies outside.

    A row at the upper bound itself is clipped into the last cell, like every later one.
    """

    kind = "datetime"
    is_text = True
    column_type = np.int64
    steps_per_unit = 1_000_000
    edge_offset = 0.0

    name: str
    lower: datetime
    upper: datetime
    missing: Missing = Missing.DROP

    def _require_bounds(self) -> None:
        if self.lower.utcoffset() is None or self.lower.utcoffset() != self.upper.utcoffset():
            raise InvalidDomain("Both bounds of a datetime have the same offset from UTC, such as Z or +01:00.")
        if self.lower < _FIRST_MOMENT or self.upper > _LAST_MOMENT:
            raise InvalidDomain(_BOUNDS_OF_ALL)

    @property
    def zone(self) -> timezone:
        """The offset from UTC of its bounds."""
        return timezone(self.lower.utcoffset() or timedelta())

    @property
    def first(self) -> int:
        """The lower bound, in microseconds since 1970."""
        return (self.lower - _EPOCH_UTC) // _MICROSECOND

    @property
    def last(self) -> int:
        """The last microsecond before the upper bound."""
        return (self.upper - _EPOCH_UTC) // _MICROSECOND - 1

    def within(self, first: int, last: int) -> Datetime:
        """Other bounds."""
        return Datetime(self.name, _moment(first, self.zone), _moment(last + 1, self.zone))

    def typed(self, numbers: NDArray[np.int64]) -> NDArray[Any]:
        """Microseconds."""
        return numbers.astype("datetime64[us]")

    def edge_values(self, axis: Axis) -> NDArray[Any]:
        """The first moment of each cell, and the upper bound; in UTC."""
        return self.values_at(starts_of(axis))

    def values_at(self, codes: NDArray[Any]) -> NDArray[Any]:
        """Moments in UTC."""
        return (self.first + nearest_code(codes)).astype("datetime64[us]")

    def written(self, values: NDArray[Any]) -> list[str]:
        """RFC 3339 moments in the attribute's zone."""
        return [_written(_moment(micro, self.zone)) for micro in values.astype(np.int64).tolist()]

    def value_of(self, text: str) -> float:
        """An RFC 3339 moment; without an offset it is in the attribute's zone."""
        micro = microsecond_of(text, self.zone)
        if micro is None:
            raise refused_end(self, f"{self.name}:2026-03-01T00:00:00Z..2026-04-01T00:00:00Z, [lower, upper)")
        return micro / self.steps_per_unit

    def shown(self, value: float, *, up: bool | None = None) -> str:
        """The moment in the attribute's zone, to the millisecond."""
        milliseconds = _rounded(round(value * self.steps_per_unit) / 1000, up)
        return _written(_moment(milliseconds * 1000, self.zone))

    def why_empty(self, lower: float, upper: float) -> str | None:
        """Why no moment lies in [lower, upper); None where one does."""
        if lower < upper:
            return None
        return f"The range of {self.name} is empty: it holds its first end and not its last, which must be later."

    def why_outside(self, lower: float, upper: float) -> str | None:
        """Why none within the bounds lies in it; None where one does."""
        if lower < self.stop and upper > self.start:
            return None
        bounds = f"{_written(self.lower)} to {_written(self.upper)}"
        return f"The range of {self.name} lies outside its bounds, {bounds}."

    def declaration(self) -> dict[str, Any]:
        """Name, kind and bounds."""
        return self._common() | {"lower": _written(self.lower), "upper": _written(self.upper)}

    @classmethod
    def declared(cls, fields: Mapping[str, Any]) -> Datetime:
        """From name and RFC 3339 bounds with an offset."""
        require_fields(fields, cls.kind, ("lower", "upper"), ())
        lower, upper = (_bound(fields[end]) for end in ("lower", "upper"))
        return cls(fields["name"], lower, upper, missing_of(fields))


def _bound(text: Any) -> datetime:
    matched = _DATETIME.fullmatch(text) if isinstance(text, str) else None
    if matched is None or matched[1] is None:
        raise InvalidDomain("The bounds of a datetime are written like 2026-01-01T00:00:00Z, with an offset from UTC.")
    micro = microsecond_of(text, UTC)
    if micro is None:
        raise InvalidDomain("A bound of a datetime is no moment of the calendar.")
    if not _FIRST_MICRO <= micro <= _LAST_MICRO:  # another could not be written in its own zone
        raise InvalidDomain(_BOUNDS_OF_ALL)
    return _moment(micro, _zone(matched[1]))


def _date(day: int) -> date:
    return date.fromordinal(min(max(day, _FIRST_DAY), _LAST_DAY) + _EPOCH)


def _moment(micro: int, zone: timezone) -> datetime:
    """The moment in a zone; one beyond all bounds moves to the nearest that can be written."""
    inside = min(max(micro, _FIRST_MICRO), _LAST_MICRO)
    return (_EPOCH_UTC + timedelta(microseconds=inside)).astimezone(zone)


def _written(moment: datetime) -> str:
    fraction = "microseconds" if moment.microsecond % 1000 else "milliseconds"
    return moment.isoformat(timespec=fraction if moment.microsecond else "seconds").replace("+00:00", "Z")


def _rounded(value: float, up: bool | None) -> int:
    if value in (inf, -inf):
        raise OverflowError("An infinite time has no date.")
    return round(value) if up is None else ceil(value) if up else floor(value)
