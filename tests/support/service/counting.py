"""Rows of the support counted by the test itself, as an engine counts them, and the bytes that it sends."""

from __future__ import annotations

from typing import Any

import numpy as np

from app.engines.sending import target_of
from app.ingest.counts_stream import MEDIA_TYPE, SentCounts, write_counts
from core.counting import Tally, Target
from core.domain.domain import Domain
from core.records import OutOfRange, Records, take_in
from core.unit import RECORD, Unit
from rugnik.wire import Awaited
from tests.support.service.api import Api

COUNTS = {"Content-Type": MEDIA_TYPE}


def city_rows() -> np.ndarray[Any, Any]:
    """The rows of `tests.support.service.api.ROWS`."""
    return np.array([[i % 100, (7 * i) % 1000] for i in range(500)])


def awaited(api: Api, release: str) -> Awaited:
    """What a release waits for."""
    reply = api.curator("GET", f"/v1/releases/{release}/counts")
    assert reply.status_code == 200, reply.text
    return Awaited.of(reply.json())


def awaited_target(api: Api, release: str) -> Target:
    """The cells that are counted next."""
    return target_of(awaited(api, release))


def records_of(target: Target, rows: np.ndarray[Any, Any]) -> Records:
    """Rows as an engine takes them in: a column for each attribute of the order."""
    return take_in(list(rows.T.astype(float)), Domain(target.order.attributes), OutOfRange.CLIP).records


def tallied(target: Target, rows: np.ndarray[Any, Any]) -> Tally:
    """The exact counts of a step."""
    counter = target.counter()
    counter.add(records_of(target, rows))
    return counter.tally()


def body_of(release: str, target: Target, tally: Tally, unit: Unit = RECORD) -> bytes:
    """The bytes that an engine sends."""
    return b"".join(write_counts(SentCounts(release=release, step=target.step, unit=unit, tally=tally)))


def counts_body(api: Api, release: str) -> bytes:
    """The counts of the rows of the support, for the step that a release waits for."""
    target = awaited_target(api, release)
    return body_of(release, target, tallied(target, city_rows()))
