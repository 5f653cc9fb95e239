"""Order a release, which charges its epsilon before any row is read; and void an order, which gives it back."""

from __future__ import annotations

import secrets
from hashlib import sha256

from app.access.principal import Principal
from app.access.quotas import require_room_for_order
from app.errors import IdempotencyConflict, RequestDecided
from app.ledger.appending import open_book
from app.ledger.book import read_book
from app.releases import datasets, requests
from app.releases.orders import ReleaseOrder
from app.releases.planning import forecast_order
from app.releases.reading import Release, load, release_of
from app.releases.requests import Request
from app.service import Service
from core.canonical import canonical_json
from core.ledger.kinds import Kind


def order(
    service: Service, caller: Principal, dataset: str, wanted: ReleaseOrder, *, idempotency_key: str | None
) -> Release | Request:
    """Charge epsilon for a release; where that takes a second person, ask for it.

    The same Idempotency-Key with the same order gives the same release, or the same request.
    """
    with open_book(service) as book:
        schema = datasets.load_schema(book, caller, dataset)
        release_id = _release_id(dataset, idempotency_key)
        earlier = book.release(release_id)
        if earlier is not None and earlier.account.name == dataset:
            return _same_order(release_of(book, release_id, earlier), wanted)
        asked = requests.asked_for_release(book, release_id)
        if asked is not None and asked.dataset == dataset:
            return _same_request(asked, wanted)
        book.require_open(dataset)
        require_room_for_order(book, dataset)
        forecast_order(service, schema, wanted)  # an order that no grid can serve is refused here, before the charge
        book.budget(dataset).charge(wanted.epsilon)
        detail = {"order": wanted.to_json(), "max_cells": service.settings.max_cells}
        if requests.needs_second_person(book, dataset, wanted.epsilon):
            return requests.ask(
                book, caller, Kind.CHARGE, dataset=dataset, release=release_id, epsilon=wanted.epsilon, terms=detail
            )
        book.append(
            Kind.CHARGE,
            dataset=dataset,
            release=release_id,
            epsilon=wanted.epsilon,
            actor=caller.actor,
            detail=detail,
        )
    with read_book(service) as read:
        return load(read, caller, release_id)


def void(service: Service, caller: Principal, release_id: str) -> Release | Request:
    """Give back the epsilon of an order for which nothing was drawn; where that takes a second person, ask for it."""
    with open_book(service) as book:
        release = load(book, caller, release_id)
        standing = book.require_ordered(release_id)
        if requests.needs_second_person(book, release.dataset, standing.epsilon):
            return requests.asked_to_void(book, release_id) or requests.ask(
                book,
                caller,
                Kind.VOID,
                dataset=release.dataset,
                release=release_id,
                epsilon=standing.epsilon,
                terms={},
            )
        book.append(
            Kind.VOID,
            dataset=release.dataset,
            release=release_id,
            epsilon=standing.epsilon,
            actor=caller.actor,
            detail={},
        )
    with read_book(service) as read:
        return load(read, caller, release_id)


def _release_id(dataset: str, idempotency_key: str | None) -> str:
    """A random id; with an Idempotency-Key a hash of it, so that the ledger alone recognises a repeated order."""
    if idempotency_key is None:
        return f"r{secrets.token_hex(8)}"
    return f"r{sha256(canonical_json([dataset, idempotency_key])).hexdigest()[:16]}"


def _same_request(asked: Request, wanted: ReleaseOrder) -> Request:
    if asked.terms["order"] != wanted.to_json():
        raise IdempotencyConflict
    if asked.decision is not None:
        raise RequestDecided(state=asked.state.value, decided_by=asked.decision.actor)
    return asked


def _same_order(earlier: Release, wanted: ReleaseOrder) -> Release:
    if earlier.order != wanted:
        raise IdempotencyConflict
    return earlier
