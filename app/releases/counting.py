"""Take the counts of an order whose rows are counted elsewhere, step by step: draw noise once for each, then publish.

The promises are those of an upload (`app.releases.uploading`): the charge is on record before anything is taken, each
draw is on record before its first bit of noise, no step is drawn twice, and exact counts live for one request.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from typing import assert_never

import numpy as np
from sqlalchemy import select

from app.access.principal import Principal
from app.errors import CorruptSynopsis, ReleaseEnded
from app.ingest.counts_stream import SentCounts
from app.ledger.book import Book, read_book
from app.releases.publishing import Drawn, store
from app.releases.reading import Release, load
from app.releases.uploading import record_draw, require_awaiting
from app.service import Service
from app.storage.tables import layers as layers_table
from core import counting, release
from core.adaptive.release import draw_base, draw_coarse
from core.arrays import Wholes
from core.counting import Step, Tally, Target
from core.errors import InvalidCounts, InvalidOrder
from core.ledger.entry import LedgerEntry
from core.plan import DeclaredSize


@dataclass(frozen=True, slots=True)
class Awaited:
    """A release that waits for counts: what was drawn for it so far, and what is counted next."""

    release: Release
    drawn: counting.Drawn
    target: Target


def awaited(service: Service, caller: Principal, release_id: str) -> Awaited:
    """What a release waits for; ReleaseEnded where it waits for nothing."""
    waiting = require_awaiting(service, caller, release_id)
    with read_book(service) as book:
        drawn = _drawn(book, waiting)
    order = waiting.order.order(waiting.domain)
    return Awaited(waiting, drawn, counting.next_target(order, drawn, max_cells=waiting.max_cells))


def buy_size(service: Service, caller: Principal, release_id: str, rows: int) -> Release:
    """Draw the noisy size of an order that buys one, from the exact number of its records.

    It is drawn once. Where it is drawn already, `rows` is ignored and the release is returned as it stands.
    """
    waiting = require_awaiting(service, caller, release_id)
    if isinstance(waiting.order.size, DeclaredSize):
        raise InvalidOrder("The size of this order is declared, so none is bought: send its counts.")
    if waiting.standing.size is not None:
        return waiting
    return _take(service, caller, awaited(service, caller, release_id), Step.SIZE, Tally.of_size(rows))


def take_counts(service: Service, caller: Principal, release_id: str, sent: SentCounts) -> Release:
    """Draw the noise of one step and store the result; with the last step the release is published.

    ReleaseEnded where the release waits for another step, InvalidCounts for counts that cannot be of this one.
    """
    waiting = awaited(service, caller, release_id)
    if sent.release != release_id or sent.unit != waiting.release.order.unit:
        raise InvalidCounts("These counts were taken for another release, or for another privacy unit.")
    return _take(service, caller, waiting, sent.step, sent.tally)


def _take(service: Service, caller: Principal, waiting: Awaited, step: Step, tally: Tally) -> Release:
    if step is not waiting.target.step:
        raise ReleaseEnded(state=waiting.release.standing.state, digest=None)
    waiting.target.require_fitting(tally)
    draw = record_draw(service, caller, waiting.release, step.value)
    store(service, _draw(service, waiting, tally, draw))
    with read_book(service) as book:
        return load(book, caller, waiting.release.id)


def _draw(service: Service, waiting: Awaited, tally: Tally, draw: LedgerEntry) -> Drawn:
    """Step 8 of the proof in `core.release`: one step of the release, noised."""
    target, noise, ordered = waiting.target, service.noise, waiting.release
    match target.step:
        case Step.SIZE:
            return Drawn.size(draw, release.noisy_size(tally.total, target.order, noise))
        case Step.BASE:
            return Drawn.layer(draw, draw_base(target.dense(tally), target.planned, noise).base_counts)
        case Step.COARSE:
            layers = target.cut_layers
            draw_coarse(target.dense(tally), layers, noise)
            return Drawn.layer(draw, layers.coarse_counts[layers.coarse_counted])
        case Step.LEAVES:
            complete = partial(release.complete_layers, target.dense(tally), target.cut_layers)
        case Step.CELLS:
            complete = partial(release.release, target.counts(tally))
        case _:
            assert_never(target.step)
    synopsis = complete(
        plan=target.planned,
        noise=noise,
        domain=ordered.domain,
        out_of_range=ordered.order.out_of_range,
        dataset=ordered.dataset,
        release_id=ordered.id,
    )
    return Drawn.synopsis(draw, synopsis)


def _drawn(book: Book, waiting: Release) -> counting.Drawn:
    """What the steps taken so far have given: the size from the ledger, layers as their digests in the ledger say."""
    steps = dict(zip((Step.BASE, Step.COARSE), waiting.standing.layers, strict=False))
    counts = {step: _stored_layer(book, waiting.id, step, digest) for step, digest in steps.items()}
    return counting.Drawn(size=waiting.standing.size, base=counts.get(Step.BASE), coarse=counts.get(Step.COARSE))


def _stored_layer(book: Book, release_id: str, step: Step, digest: bytes) -> Wholes:
    query = select(layers_table.c.body).where(layers_table.c.release == release_id, layers_table.c.step == step.value)
    body = book.seen(lambda tx: tx.execute(query).scalar_one_or_none())
    try:
        stored = zlib.decompress(body) if isinstance(body, bytes) else b""
    except zlib.error:
        stored = b""
    if sha256(stored).digest() != digest:
        raise CorruptSynopsis(f"The stored counts of release {release_id} do not match the ledger.")
    return np.frombuffer(stored, dtype="<i8").astype(np.int64)
