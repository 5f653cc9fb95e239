"""Rows for the demo: synthetic bike trips in an invented city, from a public seed, so everybody gets the same rows.

A trip has a start (x, y), in km from the south-west corner of a city of 10 by 10 km, and an hour of the day. Most trips
start at one of four hot spots, the others anywhere. The first hot spot is busy in the morning, the second in the
evening. The bounds of the attributes are those of the city and of the clock.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

SEED = 20_261_116
DATASET = "bike-trips"
SCHEMA: dict[str, Any] = {
    "name": DATASET,
    "description": "Made-up bike trips: where and when each one starts, in km and hours. Public seed, no real person.",
    "budget": "3.0",
    "attributes": [
        {"name": "x", "lower": 0, "upper": 10},
        {"name": "y", "lower": 0, "upper": 10},
        {"name": "hour", "lower": 0, "upper": 24},
    ],
}
# share of trips; mean of x and of y, standard deviation in km; mean hour, standard deviation in hours
_HOT_SPOTS = (
    (0.30, 2.5, 7.0, 0.6, 8.0, 1.0),  # the station
    (0.25, 7.5, 6.5, 0.7, 17.5, 1.2),  # offices
    (0.18, 5.0, 2.5, 0.5, 12.5, 2.0),  # the market
    (0.15, 8.0, 1.8, 0.5, 20.0, 1.5),  # the harbour
)


def trips(count: int, seed: int = SEED) -> Iterator[tuple[float, float, float]]:
    """Yield `count` trips (x, y, hour). A seed gives the same trips each time; a larger count adds trips at the end."""
    draw = random.Random(seed)  # noqa: S311 - public on purpose
    for _ in range(count):
        share, spot = draw.random(), None
        for candidate in _HOT_SPOTS:
            share -= candidate[0]
            if share < 0:
                spot = candidate
                break
        if spot is None:
            x, y, hour = draw.uniform(0, 10), draw.uniform(0, 10), draw.gauss(14.0, 4.5)
        else:
            _, x0, y0, spread, usual, hours = spot
            x, y, hour = draw.gauss(x0, spread), draw.gauss(y0, spread), draw.gauss(usual, hours)
        yield _within(x, 10.0), _within(y, 10.0), _within(hour, 24.0)


def _within(value: float, upper: float) -> float:
    return min(max(value, 0.0), upper)


def csv(count: int, seed: int = SEED) -> bytes:
    """`count` trips as a CSV file with a header."""
    lines = [f"{x:.3f},{y:.3f},{hour:.2f}\n" for x, y, hour in trips(count, seed)]
    return ("x,y,hour\n" + "".join(lines)).encode()
