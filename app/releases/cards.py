"""Cards of releases: made when a release is published, read as they are on record."""

from __future__ import annotations

from hashlib import sha256

from sqlalchemy import Connection, select, type_coerce
from sqlalchemy.types import NullType

from app.access.principal import Principal
from app.cards.card import Card, make_card
from app.errors import CorruptSynopsis
from app.ledger.book import Book, read_book
from app.releases.reading import load, no_release, stored_synopsis
from app.service import Service
from app.storage.tables import cards, ledger
from core.budget import Budget, Epsilon
from core.ledger.accounts import Account, ReleaseRecord
from core.ledger.kinds import Kind, State
from core.synopsis import Synopsis

_DESCRIPTIONS = {kind.value: kind.description for kind in Kind}


def get_card(service: Service, caller: Principal, release_id: str) -> Card:
    """The card of a published release: that on record, or one made now where it is older than cards.

    NotFound where the release is missing, out of this caller's reach or not published. CorruptSynopsis where the card
    on record is missing or is not the one whose digest is in the ledger.
    """
    with read_book(service) as book:
        release = load(book, caller, release_id)
        record, digest = book.release(release_id), release.standing.digest
        if release.standing.state is not State.PUBLISHED or record is None or digest is None:
            raise no_release()
        if release.standing.card is not None:
            return stored_card(book, release_id, release.standing.card)
        synopsis = stored_synopsis(book, release_id, digest)
        day = _day_of_publication(book, release_id)
        return Card.of(card_of(book, record, synopsis, digest=digest, published=day, on_record=False))


def stored_card(book: Book, release_id: str, digest: str) -> Card:
    """The card on record; CorruptSynopsis where it is missing or has another digest than the ledger says."""
    # As the driver gives it: whoever edits a row may leave something that is no text.
    query = select(type_coerce(cards.c.body, NullType())).where(cards.c.release == release_id)
    body = book.seen(lambda tx: tx.execute(query).scalar_one_or_none())
    if not isinstance(body, str) or sha256(body.encode(errors="replace")).hexdigest() != digest:
        raise CorruptSynopsis(f"The stored card of release {release_id} is missing or does not match the ledger.")
    try:
        return Card.of(body.encode())
    except ValueError:
        raise CorruptSynopsis(f"The card of release {release_id} was made by a newer version of rugnik.") from None


def card_of(
    book: Book, record: ReleaseRecord, synopsis: Synopsis, *, digest: str, published: str, on_record: bool = True
) -> bytes:
    """The bytes of the card of a release, from what is on record."""
    return make_card(
        registration=record.account.registration,
        charge=book.charge(record),
        budget=_budget_after(book, record.account, record.charge_seq),
        synopsis=synopsis,
        digest=digest,
        published=published,
        on_record=on_record,
    )


def _budget_after(book: Book, account: Account, seq: int) -> Budget:
    """The budget of a dataset right after an entry: what it is now, without the entries since then.

    There are few of these as a rule. It never raises: a synopsis that is drawn must be stored, whatever somebody did to
    a row of the ledger.
    """
    with book.replay.reading():
        granted, spent, newest = account.granted, account.spent, account.trail.newest
    later = select(ledger.c.seq, ledger.c.kind, ledger.c.epsilon_nano).where(
        ledger.c.dataset == account.name, ledger.c.seq > seq, ledger.c.seq <= newest
    )

    def look(tx: Connection) -> list[tuple[int, str, int]] | None:
        rows = [tuple(row) for row in tx.execute(later)]
        return rows if newest <= seq or any(number == newest for number, _, _ in rows) else None

    for _, kind, nano in book.seen(look) or ():
        description = _DESCRIPTIONS.get(kind)
        if description is not None:
            granted -= description.granted_sign * nano
            spent -= description.spent_sign * nano
    granted = max(0, granted)
    return Budget(granted=Epsilon(granted), spent=Epsilon(min(max(0, spent), granted)))


def _day_of_publication(book: Book, release_id: str) -> str:
    query = select(ledger.c.at).where(ledger.c.release == release_id, ledger.c.kind == Kind.PUBLISH.value)
    return str(book.seen(lambda tx: tx.execute(query).scalar_one_or_none()))
