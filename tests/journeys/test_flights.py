"""A table like real flights, from file to answers: whole hours, carriers, days, gaps, and planes that fly often.

At epsilon 20 there is next to no noise, so that counts of boxes that cut no cell are the truth. At epsilon 1
the intervals are to hold it as often as they say.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

import numpy as np
import pandas as pd
import pytest

from app.access.permissions import Role
from rugnik import Client
from tests.support.service.live import Live

ROWS, BOXES, EPSILON = 20_000, 300, "20"
CARRIERS = ["AA", "B6", "DL", "EV", "MQ", "UA", "US"]
FIRST, LAST = date(2013, 1, 1), date(2013, 1, 31)
ATTRIBUTES: list[dict[str, Any]] = [
    {"name": "day", "kind": "date", "lower": FIRST.isoformat(), "upper": LAST.isoformat()},
    {"name": "hour", "kind": "integer", "lower": 5, "upper": 23},
    {"name": "carrier", "kind": "category", "values": CARRIERS, "other": True},
    {"name": "delay", "kind": "number", "lower": -60, "upper": 300, "missing": "keep"},
    {"name": "distance", "kind": "integer", "lower": 0, "upper": 4999},
]


def flights(seed: int = 20_130_101) -> pd.DataFrame:
    """Made-up flights of January 2013. Busy hours and long delays are not spread evenly."""
    rng = np.random.default_rng(seed)
    hours = np.clip(np.rint(rng.choice([8, 17], ROWS) + rng.normal(0, 2.5, ROWS)), 5, 23).astype(int)
    delay = np.round(rng.exponential(20, ROWS) - 12, 1)
    return pd.DataFrame(
        {
            "tailnum": [f"N{number:04d}" for number in rng.integers(0, 900, ROWS)],
            "day": [FIRST + timedelta(days=int(each)) for each in rng.integers(0, 31, ROWS)],
            "hour": hours,
            "carrier": rng.choice([*CARRIERS, "ZZ"], ROWS, p=[0.1, 0.16, 0.14, 0.16, 0.08, 0.18, 0.06, 0.12]),
            "delay": np.where(rng.random(ROWS) < 0.03, np.nan, delay),
            "distance": rng.choice([187, 733, 1089, 2475], ROWS) + rng.integers(-90, 90, ROWS),
        }
    )


@dataclass(frozen=True)
class Journey:
    """A service with releases of the flights, by the attributes and epsilon of each."""

    rows: pd.DataFrame
    analyst: Client
    curator: Client
    dataset: str

    def release(self, attributes: list[str], epsilon: str) -> str:
        """A new release from the rows as CSV, as an airline would send them."""
        order = self.curator.order(self.dataset, epsilon=epsilon, clusters=4, attributes=attributes, declared=ROWS)
        text = io.StringIO()
        self.rows.to_csv(text, index=False)
        published = self.curator.upload(order.id, text.getvalue().encode(), media_type="text/csv")
        assert published.ingest is not None
        assert (published.ingest.rows_read, published.ingest.rows_dropped) == (ROWS, 0)
        return order.id


@pytest.fixture
def journey(live: Live) -> Iterator[Journey]:
    """A dataset for each test, which orders what it needs."""
    with live.client(Role.CURATOR) as curator, live.client(Role.ANALYST) as analyst:
        name = f"{live.city}-flights"
        curator.register_dataset(name, ATTRIBUTES, budget=EPSILON)
        yield Journey(flights(), analyst, curator, name)


def boxes(rng: np.random.Generator, kind: str) -> dict[str, Any]:
    """A random range or choice of an attribute of a kind."""
    if kind == "category":
        chosen = rng.choice([*CARRIERS, "(other)"], size=rng.integers(1, 5), replace=False)
        return {"carrier": sorted(chosen.tolist())}
    if kind == "date":
        first, last = sorted(rng.integers(0, 31, 2).tolist())
        return {"day": (FIRST + timedelta(days=first), FIRST + timedelta(days=last))}
    first, last = sorted(rng.integers(5, 24, 2).tolist())
    return {"hour": (first, last)}


def truth(rows: pd.DataFrame, box: dict[str, Any]) -> int:
    """How many flights lie in a box; integers and dates hold both ends."""
    inside = np.ones(len(rows), dtype=bool)
    for name, part in box.items():
        if isinstance(part, list):
            labels = rows[name].where(rows[name].isin(CARRIERS), "(other)")
            inside &= labels.isin(part).to_numpy()
        else:
            inside &= ((rows[name] >= part[0]) & (rows[name] <= part[1])).to_numpy()
    return int(inside.sum())


@pytest.mark.parametrize("kind", ["integer", "date", "category"])
def test_counts_without_noise_are_the_truth(journey: Journey, kind: str) -> None:
    """Every hour, day and carrier has a cell of its own, so no box cuts one."""
    release = journey.release(["day", "hour", "carrier"], EPSILON)
    rng = np.random.default_rng(1)
    asked = [boxes(rng, kind) for _ in range(BOXES)]
    counted = journey.analyst.counts(release, asked)
    assert list(counted.counts) == [truth(journey.rows, box) for box in asked]
    both = [boxes(rng, kind) | boxes(rng, "category") for _ in range(BOXES)]
    assert list(journey.analyst.counts(release, both).counts) == [truth(journey.rows, box) for box in both]


def disjoint(rng: np.random.Generator, kind: str) -> list[dict[str, Any]]:
    """300 random boxes of a kind of which no two share a cell, so that their noises are independent."""
    days = [(FIRST + timedelta(days=d),) * 2 for d in range(31)]
    carriers, hours = [[each] for each in [*CARRIERS, "(other)"]], [(hour, hour) for hour in range(5, 24)]
    if kind == "integer":
        asked = [boxes(rng, kind) | {"day": day, "carrier": carrier} for day in days for carrier in carriers]
    elif kind == "date":
        asked = [boxes(rng, kind) | {"hour": hour, "carrier": carrier} for hour in hours for carrier in carriers]
    else:
        asked = [boxes(rng, kind) | {"day": day, "hour": hour} for day in days for hour in hours]
    return [asked[i] for i in rng.permutation(len(asked))[:BOXES]]


@pytest.mark.parametrize("kind", ["integer", "date", "category"])
def test_intervals_hold_the_truth_as_often_as_they_say(journey: Journey, kind: str) -> None:
    """Random boxes at epsilon 1 and 95 %, with independent noise: as many hold the truth as chance leaves of 95 %."""
    held: list[bool] = []
    for seed in (1, 2):  # of some kinds there are fewer than 300 such boxes in a release
        release = journey.release(["day", "hour", "carrier"], "1")
        asked = disjoint(np.random.default_rng(seed), kind)
        counted = journey.analyst.counts(release, asked)
        ends = zip(asked, counted.low, counted.high, strict=True)
        held += [low <= truth(journey.rows, box) <= high for box, low, high in ends]
    assert len(held) >= BOXES
    assert np.mean(held) >= 0.95 - 5 * (0.95 * 0.05 / len(held)) ** 0.5


def test_centres_of_whole_numbers_are_not_half_a_cell_off(journey: Journey) -> None:
    """Each centre is the mean of the flights nearest to it, within the noise and its own interval."""
    release = journey.release(["hour", "distance"], EPSILON)
    answer = journey.analyst.clusters(release, 4)
    bounds = np.array([[4.5, 23.5], [-0.5, 4999.5]])
    scaled = (journey.rows[["hour", "distance"]].to_numpy() - bounds[:, 0]) / (bounds[:, 1] - bounds[:, 0])
    centres = (np.array(answer.centers) - bounds[:, 0]) / (bounds[:, 1] - bounds[:, 0])
    nearest = np.argmin(((scaled[:, None] - centres) ** 2).sum(axis=2), axis=1)
    for i, center in enumerate(answer.centers):
        own = journey.rows[nearest == i]
        assert abs(float(center[0]) - own["hour"].mean()) < 0.1  # a tenth of an hour; a cell is an hour
        assert abs(float(center[1]) - own["distance"].mean()) <= 2 * answer.discretisation.center[1]


def test_gaps_have_a_cell_and_carriers_have_answers_of_their_own(journey: Journey) -> None:
    """Missing delays are counted, left out of quantiles, and drawn as such; groups add up."""
    release = journey.release(["carrier", "delay"], EPSILON)
    missing = int(journey.rows["delay"].isna().sum())
    assert round(journey.analyst.count(release, {"delay": "(missing)"}).count) == missing
    median = journey.analyst.quantiles(release, "delay", [0.5]).quantiles[0]
    assert median.interval.low <= journey.rows["delay"].median() <= median.interval.high
    rows = journey.analyst.rows(release, 5000, seed=1)
    drawn = pd.DataFrame([list(row) for row in rows.rows], columns=list(rows.attributes))
    assert abs(drawn["delay"].isna().mean() - missing / ROWS) < 0.01
    assert set(drawn["carrier"]) == {*CARRIERS, "(other)"}


def test_a_plane_that_flies_often_is_protected_as_one(journey: Journey, live: Live) -> None:
    """With the plane as the unit, at most two flights of each are counted."""
    name = f"{live.city}-planes"
    unit = {"kind": "person", "column": "tailnum", "max_rows": 2}
    journey.curator.register_dataset(name, ATTRIBUTES[:3], budget=EPSILON, unit=unit)
    order = journey.curator.order(name, epsilon=EPSILON, clusters=4, declared=2000)
    published = journey.curator.upload(order.id, journey.rows)
    kept = int(journey.rows.groupby("tailnum").size().clip(upper=2).sum())
    assert published.ingest is not None
    assert published.ingest.rows_over_limit == ROWS - kept
    interval = journey.analyst.count(order.id, level=0.999999).interval
    assert interval.low <= kept <= interval.high
    assert interval.high - interval.low < 100
