"""Upload the rows of an order: count them, draw noise once, publish the synopsis.

The charge is on record before a row is read, and it is spent for good before the first bit of noise is drawn.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from app.access.principal import Principal
from app.errors import DatasetClosed, ReadOnly, ReleaseEnded
from app.ingest.formats import MediaType
from app.ingest.upload import Ingest, read_upload
from app.ledger.appending import open_book
from app.ledger.book import read_book
from app.releases.publishing import Drawn, require_none_waiting, store
from app.releases.reading import Release, load
from app.service import Service
from core.ledger.entry import LedgerEntry
from core.ledger.kinds import State
from core.release import draw as draw_synopsis
from core.release import require_bounded
from core.synopsis import Synopsis


@dataclass(frozen=True, slots=True)
class Published:
    """A release, its synopsis, and what became of the rows: the last for the curator's reply alone."""

    release: Release
    synopsis: Synopsis
    ingest: Ingest


def require_uploadable(service: Service, caller: Principal, release_id: str) -> Release:
    """The release, if it still takes rows: asked before a body is read, and again under the lock at the end.

    A bought size may be drawn already; of a release that has noisy layers, the rest comes as counts too.
    """
    release = require_awaiting(service, caller, release_id)
    if release.standing.layers:
        raise ReleaseEnded(state=release.standing.state, digest=release.standing.digest)
    return release


def require_awaiting(service: Service, caller: Principal, release_id: str) -> Release:
    """The release, if it waits for rows or counts. With a quorum configured, it has signed the release's charge."""
    if service.settings.read_only:
        raise ReadOnly
    with read_book(service) as book:
        release = load(book, caller, release_id)
        account = book.account(release.dataset)
    if account is not None and account.closed:
        raise DatasetClosed
    if release.standing.state not in (State.ORDERED, State.COUNTING):
        raise ReleaseEnded(state=release.standing.state, digest=release.standing.digest)
    service.cosigner.require_signed(service, release.standing.seq)
    return release


def record_draw(service: Service, caller: Principal, release: Release, step: str | None) -> LedgerEntry:
    """Commit that noise is about to be drawn. Of several requests and voids that race, exactly one comes to this.

    `release` is as it was when the request came: a step that was drawn since then ends the request, because what it
    brought was counted without it.
    """
    require_none_waiting()
    with open_book(service) as book:
        book.require_open(release.dataset)
        return book.append_draw(release.id, step, after=release.standing.step, actor=caller.actor)


def upload(
    service: Service, caller: Principal, release_id: str, chunks: Iterator[bytes], *, media_type: MediaType, gzip: bool
) -> Published:
    """Turn the rows of a charged release into its published synopsis.

    Whatever fails before the `draw` entry is committed leaves the order open. Whatever fails after it leaves the
    release burnt, so that no failure gives back epsilon for noise that was drawn.
    """
    release = require_uploadable(service, caller, release_id)
    order, domain, out_of_range = release.order.order(release.domain), release.domain, release.order.out_of_range
    with read_upload(
        chunks,
        media_type=media_type,
        gzip=gzip,
        order=order,
        domain=domain,
        out_of_range=out_of_range,
        max_cells=release.max_cells,
        limits=service.settings.limits,
    ) as rows:
        require_bounded(rows, order)  # before the draw is on record, so that a refusal costs nothing
        recorded = record_draw(service, caller, release, None)
        synopsis = draw_synopsis(
            rows,
            order,
            service.noise,
            max_cells=release.max_cells,
            domain=domain,
            out_of_range=out_of_range,
            dataset=release.dataset,
            release_id=release_id,
            bought_size=release.standing.size,
        )
        ingest = rows.ingest
    store(service, Drawn.synopsis(recorded, synopsis))
    with read_book(service) as book:
        return Published(release=load(book, caller, release_id), synopsis=synopsis, ingest=ingest)
