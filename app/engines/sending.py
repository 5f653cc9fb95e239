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
from rugnik.errors import RugnikError, UnexpectedReply

if TYPE_CHECKING:
    from app.engines.counting import Engine
    from rugnik import Client
    from rugnik.wire import Awaited, Release


class BegunElsewhere(RugnikError):
    """Steps of a release were drawn by another run, perhaps from other rows."""


def send_all(client: Client, release: str, engine: Engine, *, is_continued: bool) -> Release:
    """Count and send step after step until the release is published, so that no step is drawn twice.

    All steps of a release must count the same rows. With `is_continued` it goes on where the release stands: the caller
    says that the rows are those of the steps before. Otherwise it raises BegunElsewhere if there are such steps.
    """
    is_ours = is_continued
    while True:
        awaited = client.awaited(release)
        if not is_ours and any(drawn is not None for drawn in (awaited.size, awaited.base, awaited.coarse)):
            raise BegunElsewhere(
                f"Another run has begun to count the order {release}, and all steps must count the same rows. If that "
                f"run has ended, and these are its files, unchanged, add '--order {release}'."
            )
        target = target_of(awaited)
        tally = engine.count(target)
        if target.step is Step.SIZE:
            client.buy_size(release, tally.total)
            is_ours = True
            continue
        sent = SentCounts(release=release, step=target.step, unit=target.order.unit, tally=tally)
        standing = client.send_counts(release, target.step.value, partial(write_counts, sent))
        if target.step.is_last:
            return standing
        is_ours = True


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
