"""Releases as they are on record: the order, the standing, and the stored synopsis."""

from __future__ import annotations

import zlib
from dataclasses import dataclass

from sqlalchemy import select, type_coerce
from sqlalchemy.types import NullType

from app.access.permissions import Permission
from app.access.principal import Principal
from app.errors import CorruptSynopsis, NoRelease, NotFound, NotReady
from app.ledger.book import Book, read_book
from app.ledger.standing import Standing
from app.releases.datasets import schema_of
from app.releases.orders import ReleaseOrder
from app.service import Service
from app.storage.tables import synopses
from core.domain.domain import Domain
from core.errors import CoreError, InvalidSynopsis
from core.ledger.accounts import ReleaseRecord
from core.ledger.kinds import Kind, State
from core.synopsis import Synopsis


@dataclass(frozen=True, slots=True)
class Release:
    """One run of stage 1: its order, where it stands, and its synopsis once it is published.

    `domain` has the attributes of the order, as the dataset declares them.
    """

    id: str
    dataset: str
    domain: Domain
    order: ReleaseOrder
    max_cells: int
    standing: Standing


def get(service: Service, caller: Principal, release_id: str) -> tuple[Release, Synopsis | None]:
    """A release, with its synopsis once it is published."""
    with read_book(service) as book:
        release = load(book, caller, release_id)
        return release, load_synopsis(book, release) if release.standing.digest else None


def latest_id(service: Service, caller: Principal, dataset: str) -> str:
    """The id of the release that was published last.

    NotFound, in the same words, where there is none, and where the dataset is missing or out of this caller's reach.
    """
    with read_book(service) as book:
        is_seen = book.account(dataset) is not None and caller.may_see(dataset)
        published = book.releases(dataset, Kind.PUBLISH, slice(-1, None)).standings if is_seen else {}
    for release_id in published:
        return release_id
    raise NotFound("There is no dataset of this name with a published release.")


def load(book: Book, caller: Principal, release_id: str) -> Release:
    """A release inside a transaction. NotFound where it is missing, out of reach, or an order that is not shown."""
    record = book.release(release_id)
    if record is None or not caller.may_see(record.account.name):
        raise no_release()
    release = release_of(book, release_id, record)
    if release.standing.state is not State.PUBLISHED and not caller.can(Permission.SEE_ORDERS):
        raise no_release()
    return release


def load_any(book: Book, release_id: str) -> Release:
    """A release inside a transaction, for a caller who was already seen to be allowed it."""
    record = book.release(release_id)
    if record is None:
        raise no_release()
    return release_of(book, release_id, record)


def release_of(book: Book, release_id: str, record: ReleaseRecord) -> Release:
    """Its order as it was charged; charges of version 0.1 do not say how many cells were allowed."""
    terms = book.charge(record).detail
    schema = schema_of(record.account)
    try:
        order = ReleaseOrder.from_json(terms["order"])
        return Release(
            id=release_id,
            dataset=record.account.name,
            domain=schema.domain.select(order.attributes),
            order=order,
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


def no_release() -> NoRelease:
    """The error for a release that is missing and for one that this caller may not see: the same words for both."""
    return NoRelease()
