"""Stage 1: plan, order, upload and publish, void. The charge is safe before a row is read."""

from __future__ import annotations

import secrets
import zlib
from collections.abc import Iterator
from dataclasses import dataclass

from sqlalchemy import Connection, insert, select

from app import datasets, ledger
from app.auth import Principal, Role
from app.errors import CorruptSynopsis, DatasetClosed, IdempotencyConflict, NotFound, ReleaseEnded
from app.ingest.formats import MediaType
from app.ingest.upload import Ingest, count_upload
from app.ledger import Standing, State, open_book
from app.orders import ReleaseOrder
from app.service import Service
from app.tables import releases, synopses
from core.chain import Kind
from core.domain import Domain
from core.errors import InvalidSynopsis
from core.forecast import Forecast, forecast
from core.release import release as make_synopsis
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
    domain = datasets.get(service, caller, dataset).domain
    return _forecast(service, domain, wanted)


def _forecast(service: Service, domain: Domain, wanted: ReleaseOrder) -> Forecast | None:
    domain.select(wanted.attributes)
    return forecast(wanted.order, max_cells=service.settings.max_cells)


def order(
    service: Service, caller: Principal, dataset: str, wanted: ReleaseOrder, *, idempotency_key: str | None
) -> Release:
    """Charge epsilon for a release. The same Idempotency-Key with the same order gives the same release."""
    with open_book(service) as book:
        domain = datasets.load(book.tx, caller, dataset).domain
        earlier = _by_idempotency_key(book.tx, dataset, idempotency_key)
        if earlier is not None:
            return _same_order(load(book.tx, caller, earlier), wanted)
        book.require_open(dataset)
        _forecast(service, domain, wanted)  # an order that no grid can serve is refused here, before the charge
        ledger.budget(book.tx, dataset).charge(wanted.epsilon)
        release_id = f"r{secrets.token_hex(8)}"
        book.tx.execute(
            insert(releases).values(
                id=release_id,
                dataset=dataset,
                order=wanted.to_text(),
                max_cells=service.settings.max_cells,
                idempotency_key=idempotency_key,
            )
        )
        book.append(
            Kind.CHARGE,
            dataset=dataset,
            release=release_id,
            epsilon=wanted.epsilon,
            actor=caller.actor,
            detail={"order": wanted.to_json()},
        )
        return load(book.tx, caller, release_id)


def require_uploadable(service: Service, caller: Principal, release_id: str) -> Release:
    """The release, if it still takes an upload: asked before a body is read, and again under the lock at the end."""
    with service.database.read_only() as tx:
        found = load(tx, caller, release_id)
        if ledger.is_closed(tx, found.dataset):
            raise DatasetClosed
        if found.standing.state is not State.ORDERED:
            raise ReleaseEnded(state=found.standing.state, digest=found.standing.digest)
        return found


def publish(
    service: Service, caller: Principal, release_id: str, chunks: Iterator[bytes], *, media_type: MediaType, gzip: bool
) -> Published:
    """The rows of a charged release become its synopsis, or nothing happened."""
    found = require_uploadable(service, caller, release_id)
    wanted = found.order
    domain = datasets.get(service, caller, found.dataset).domain.select(wanted.attributes)
    counted = count_upload(
        chunks,
        media_type=media_type,
        gzip=gzip,
        order=wanted.order,
        domain=domain,
        out_of_range=wanted.out_of_range,
        max_cells=found.max_cells,
        limits=service.settings.limits,
        noise=service.noise,
    )
    synopsis = make_synopsis(
        counted.counts,
        counted.plan,
        service.noise,
        domain=domain,
        out_of_range=wanted.out_of_range,
        dataset=found.dataset,
        release_id=release_id,
    )
    body = zlib.compress(synopsis.to_bytes(), level=6)
    with open_book(service) as book:
        book.require_open(found.dataset)
        book.require_ordered(release_id)  # neither published nor void: a racing DELETE loses or wins, never both
        book.tx.execute(insert(synopses).values(release=release_id, body=body))
        book.append(
            Kind.PUBLISH,
            dataset=found.dataset,
            release=release_id,
            actor=caller.actor,
            detail={"digest": synopsis.digest},
        )
        published = load(book.tx, caller, release_id)
    return Published(release=published, synopsis=synopsis, ingest=counted.ingest)


def void(service: Service, caller: Principal, release_id: str) -> Release:
    """Give back the epsilon of an order that was never published."""
    with open_book(service) as book:
        found = load(book.tx, caller, release_id)
        charged = book.require_ordered(release_id).charge
        book.append(
            Kind.VOID,
            dataset=found.dataset,
            release=release_id,
            epsilon=charged.epsilon,
            actor=caller.actor,
            detail={},
        )
        return load(book.tx, caller, release_id)


def get(service: Service, caller: Principal, release_id: str) -> tuple[Release, Synopsis | None]:
    """A release, with its synopsis once it is published."""
    with service.database.read_only() as tx:
        found = load(tx, caller, release_id)
        published = found.standing.state is State.PUBLISHED
        return found, load_synopsis(tx, found) if published else None


def load(tx: Connection, caller: Principal, release_id: str) -> Release:
    """A release inside a transaction; to an analyst, one that is not published does not exist."""
    found = load_any(tx, release_id)
    hidden = caller.role is Role.ANALYST and found.standing.state is not State.PUBLISHED
    if hidden or not caller.may_see(found.dataset):
        raise no_release()
    return found


def load_any(tx: Connection, release_id: str) -> Release:
    """A release inside a transaction, for a caller who was already found to be allowed it."""
    row = tx.execute(select(releases).where(releases.c.id == release_id)).mappings().first()
    if row is None:
        raise no_release()
    standing = ledger.standing(tx, release_id)
    return Release(
        id=release_id,
        dataset=row["dataset"],
        order=ReleaseOrder.from_text(row["order"]),
        max_cells=row["max_cells"],
        standing=standing,
    )


def load_synopsis(tx: Connection, release: Release) -> Synopsis:
    """The stored synopsis, checked against the digest in the ledger."""
    body = tx.execute(select(synopses.c.body).where(synopses.c.release == release.id)).scalar_one()
    try:
        synopsis = Synopsis.from_bytes(zlib.decompress(body))
    except (InvalidSynopsis, zlib.error) as error:
        raise CorruptSynopsis(f"The stored synopsis of release {release.id} cannot be read.") from error
    if synopsis.digest != release.standing.digest:
        raise CorruptSynopsis(f"The stored synopsis of release {release.id} does not match the ledger.")
    return synopsis


def _by_idempotency_key(tx: Connection, dataset: str, key: str | None) -> str | None:
    if key is None:
        return None
    query = select(releases.c.id).where(releases.c.dataset == dataset, releases.c.idempotency_key == key)
    return tx.execute(query).scalar_one_or_none()


def _same_order(earlier: Release, wanted: ReleaseOrder) -> Release:
    if earlier.order != wanted:
        raise IdempotencyConflict
    return earlier


def no_release() -> NotFound:
    """The one way to say that there is none, or none for this caller."""
    return NotFound("There is no release of this id.")
