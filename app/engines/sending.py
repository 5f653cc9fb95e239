"""Publish an order from counts: asks the service what it waits for, counts it where the rows are, sends the counts."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from app.ingest.counts_stream import SentCounts, write_counts
from app.releases.orders import ReleaseOrder
from core.arrays import Wholes
from core.counting import Drawn, Step, Target, next_target
from core.domain.domain import Domain
from core.errors import CoreError
from rugnik.errors import UnexpectedReply

if TYPE_CHECKING:
    from app.engines.counting import Engine
    from rugnik import Client
    from rugnik.wire import Awaited, Release


def send_all(client: Client, release: str, engine: Engine) -> Release:
    """Count and send step after step until the release is published. May be called again after a failure.

    It goes on where the release stands, so that no step is drawn twice.
    """
    while True:
        awaited = client.awaited(release)
        target = target_of(awaited)
        tally = engine.count(target)
        if target.step is Step.SIZE:
            client.buy_size(release, tally.total)
            continue
        sent = SentCounts(release=release, step=target.step, unit=target.order.unit, tally=tally)
        standing = client.send_counts(release, target.step.value, partial(write_counts, sent))
        if target.step.is_last:
            return standing


def target_of(awaited: Awaited) -> Target:
    """What to count; UnexpectedReply where the service, of another version perhaps, asks for another step."""
    try:
        order = ReleaseOrder.from_json(awaited.order).order(Domain.from_json(awaited.attributes))
        drawn = Drawn(size=awaited.size, base=_wholes(awaited.base), coarse=_wholes(awaited.coarse))
        target = next_target(order, drawn, max_cells=awaited.max_cells)
    except (CoreError, KeyError, TypeError, ValueError):
        target = None
    if target is None or target.step.value != awaited.step:
        raise UnexpectedReply("The service counts in other steps than this rugnik does: use the same version of both.")
    return target


def _wholes(numbers: tuple[int, ...] | None) -> Wholes | None:
    return None if numbers is None else np.array(numbers, dtype=np.int64)
