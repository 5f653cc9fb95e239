"""The bundle of a published release, from the stored synopsis and what others have written about it."""

from __future__ import annotations

from app.access.principal import Principal
from app.bundles.bundle import Bundle
from app.ledger.book import read_book
from app.releases import reading
from app.service import Service
from core.ledger.kinds import State


def bundle_of(
    service: Service,
    caller: Principal,
    release_id: str,
    *,
    receipt: bytes,
    card: bytes,
    croissant: bytes,
    terms: str,
    policy: str,
) -> Bundle:
    """The bundle of a release that this caller may ask; NotFound unless it is published, and for anybody else.

    The synopsis is compared with the ledger. The other members are taken as they are.
    """
    with read_book(service) as book:
        release = reading.load(book, caller, release_id)
        if release.standing.state is not State.PUBLISHED:
            raise reading.no_release()
        synopsis = reading.load_synopsis(book, release)
    return Bundle(
        synopsis=synopsis.to_bytes(), receipt=receipt, card=card, croissant=croissant, terms=terms, policy=policy
    )
