"""Stage 1: plan, order, upload and publish, void.

The charge is safe before a row is read, and spent for good before the first bit of noise is drawn.
"""

from __future__ import annotations

import secrets
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256

from sqlalchemy import select, type_coerce
from sqlalchemy.types import NullType

from app.access.auth import Principal, Role
from app.access.quotas import require_room_for_order
from app.errors import CorruptSynopsis, DatasetClosed, IdempotencyConflict, NotFound, NotReady, ReleaseEnded
from app.ingest.formats import MediaType
from app.ingest.upload import Ingest, read_upload
from app.ledger.book import Book, Standing, State, open_book, read_book
from app.releases import datasets
from app.releases.orders import ReleaseOrder
from app.releases.publishing import Drawn, require_none_waiting
from app.releases.publishing import publish as publish_drawn
from app.service import Service
from app.storage.tables import synopses
from core.canonical import canonical_json
from core.domain.domain import Domain
from core.errors import CoreError, InvalidSynopsis
from core.forecast import Forecast, forecast
from core.ledger.books import ReleaseRecord
from core.ledger.chain import Kind, LedgerEntry
from core.release import draw as draw_synopsis
from core.synopsis import Synopsis


@dataclass(frozen=True, slots=True)
class Release:
    """One run of stage 1: its order, where it stands, and its synopsis once it is published."""

    id: str
    dataset: str
    order: ReleaseOrder
    max_cells: int
    standing: Standing


@dataclass(frozen=True, slots=True)
class Published:
    """A release, its synopsis, and what became of the rows: the last for the curator's reply alone."""

    release: Release
    synopsis: Synopsis
    ingest: Ingest


def plan(service: Service, caller: Principal, dataset: str, wanted: ReleaseOrder) -> Forecast | None:
    """What an order would give; free, and no data is touched."""
    return _forecast(service, datasets.get_domain(service, caller, dataset), wanted)


def _forecast(service: Service, domain: Domain, wanted: ReleaseOrder) -> Forecast | None:
    domain.select(wanted.attributes)
    return forecast(wanted.order, max_cells=service.settings.max_cells)


def order(
    service: Service, caller: Principal, dataset: str, wanted: ReleaseOrder, *, idempotency_key: str | None
) -> Release:
    """Charge epsilon for a release. The same Idempotency-Key with the same order gives the same release."""
    with open_book(service) as book:
        domain = datasets.load_domain(book, caller, dataset)
        release_id = _release_id(dataset, idempotency_key)
        earlier = book.release(release_id)
        if earlier is not None and earlier.account.name == dataset:
            return _same_order(_release(book, release_id, earlier), wanted)
        book.require_open(dataset)
        require_room_for_order(book, dataset)
        _forecast(service, domain, wanted)  # an order that no grid can serve is refused here, before the charge
        book.budget(dataset).charge(wanted.epsilon)
        book.append(
            Kind.CHARGE,
            dataset=dataset,
            release=release_id,
            epsilon=wanted.epsilon,
            actor=caller.actor,
            detail={"order": wanted.to_json(), "max_cells": service.settings.max_cells},
        )
    with read_book(service) as read:
        return load(read, caller, release_id)


def require_uploadable(service: Service, caller: Principal, release_id: str) -> Release:
    """The release, if it still takes an upload: asked before a body is read, and again under the lock at the end."""
    with read_book(service) as book:
        found = load(book, caller, release_id)
        account = book.account(found.dataset)
    if account is not None and account.closed:
        raise DatasetClosed
    if found.standing.state is not State.ORDERED:
        raise ReleaseEnded(state=found.standing.state, digest=found.standing.digest)
    return found


def publish(
    service: Service, caller: Principal, release_id: str, chunks: Iterator[bytes], *, media_type: MediaType, gzip: bool
) -> Published:
    """The rows of a charged release become its synopsis.

    Whatever fails before the `draw` entry is committed leaves the order open. Whatever fails after it leaves the
    release burnt, so that no failure gives back epsilon for noise that was drawn.
    """
    release = require_uploadable(service, caller, release_id)
    wanted = release.order
    domain = datasets.get_domain(service, caller, release.dataset).select(wanted.attributes)
    with read_upload(
        chunks,
        media_type=media_type,
        gzip=gzip,
        order=wanted.order,
        domain=domain,
        out_of_range=wanted.out_of_range,
        max_cells=release.max_cells,
        limits=service.settings.limits,
    ) as rows:
        recorded = _record_draw(service, caller, release)
        synopsis = draw_synopsis(
            rows,
            wanted.order,
            service.noise,
            max_cells=release.max_cells,
            domain=domain,
            out_of_range=wanted.out_of_range,
            dataset=release.dataset,
            release_id=release_id,
        )
        ingest = rows.ingest
    publish_drawn(service, Drawn.of(recorded, synopsis))
    with read_book(service) as book:
        return Published(release=load(book, caller, release_id), synopsis=synopsis, ingest=ingest)


def _record_draw(service: Service, caller: Principal, release: Release) -> LedgerEntry:
    """Commit that noise is about to be drawn. Of several uploads and voids that race, exactly one comes to this."""
    require_none_waiting()
    with open_book(service) as book:
        book.require_open(release.dataset)
        book.require_ordered(release.id)
        return book.append(Kind.DRAW, dataset=release.dataset, release=release.id, actor=caller.actor, detail={})


def void(service: Service, caller: Principal, release_id: str) -> Release:
    """Give back the epsilon of an order for which nothing was drawn."""
    with open_book(service) as book:
        found = load(book, caller, release_id)
        standing = book.require_ordered(release_id)
        book.append(
            Kind.VOID,
            dataset=found.dataset,
            release=release_id,
            epsilon=standing.epsilon,
            actor=caller.actor,
            detail={},
        )
    with read_book(service) as read:
        return load(read, caller, release_id)


def get(service: Service, caller: Principal, release_id: str) -> tuple[Release, Synopsis | None]:
    """A release, with its synopsis once it is published."""
    with read_book(service) as book:
        found = load(book, caller, release_id)
        return found, load_synopsis(book, found) if found.standing.digest else None


def load(book: Book, caller: Principal, release_id: str) -> Release:
    """A release inside a transaction; to an analyst, one that is not published does not exist."""
    record = book.release(release_id)
    if record is None or not caller.may_see(record.account.name):
        raise no_release()
    found = _release(book, release_id, record)
    if caller.role is Role.ANALYST and found.standing.state is not State.PUBLISHED:
        raise no_release()
    return found


def load_any(book: Book, release_id: str) -> Release:
    """A release inside a transaction, for a caller who was already seen to be allowed it."""
    record = book.release(release_id)
    if record is None:
        raise no_release()
    return _release(book, release_id, record)


def _release(book: Book, release_id: str, record: ReleaseRecord) -> Release:
    """Its order as it was charged; charges of version 0.1 do not say how many cells were allowed."""
    terms = book.charge(record).detail
    try:
        return Release(
            id=release_id,
            dataset=record.account.name,
            order=ReleaseOrder.from_json(terms["order"]),
            max_cells=int(terms.get("max_cells", book.service.settings.max_cells)),
            standing=Standing.of(record),
        )
    except (CoreError, KeyError, TypeError, ValueError):
        raise NotReady(f"Entry {record.charge_seq} of the ledger holds no order that can be read.") from None


def load_synopsis(book: Book, release: Release) -> Synopsis:
    """The stored synopsis of a published release."""
    return stored_synopsis(book, release.id, release.standing.digest or "")


def stored_synopsis(book: Book, release_id: str, digest: str) -> Synopsis:
    """A synopsis that has the digest in the ledger; CorruptSynopsis where there is none or another."""
    # As the driver gives it: whoever edits a row may leave something that is no bytes.
    query = select(type_coerce(synopses.c.body, NullType())).where(synopses.c.release == release_id)
    body = book.seen(lambda tx: tx.execute(query).scalar_one_or_none())
    if body is None:
        raise CorruptSynopsis(f"The synopsis of release {release_id} is missing from the database.")
    try:
        synopsis = Synopsis.from_bytes(zlib.decompress(body))
    except (InvalidSynopsis, TypeError, zlib.error) as error:
        raise CorruptSynopsis(f"The stored synopsis of release {release_id} cannot be read.") from error
    if synopsis.digest != digest:
        raise CorruptSynopsis(f"The stored synopsis of release {release_id} does not match the ledger.")
    return synopsis


def _release_id(dataset: str, idempotency_key: str | None) -> str:
    """A new id; with an Idempotency-Key it follows from that, so that the ledger alone knows a repeated order."""
    if idempotency_key is None:
        return f"r{secrets.token_hex(8)}"
    return f"r{sha256(canonical_json([dataset, idempotency_key])).hexdigest()[:16]}"


def _same_order(earlier: Release, wanted: ReleaseOrder) -> Release:
    if earlier.order != wanted:
        raise IdempotencyConflict
    return earlier


def no_release() -> NotFound:
    """The one way to say that there is none, or none for this caller."""
    return NotFound("There is no release of this id.")
