"""The pages. Each reads through the use cases; whatever changes something is asked of /v1 by the page's own script."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response

from app.access import auth
from app.access.auth import ASKERS, Admin, Anyone, Curator, CurrentService, LedgerReader, Principal, Role
from app.dashboard import words
from app.dashboard.ledger_page import Filters
from app.dashboard.pages import page
from app.errors import LedgerBroken, NotFound
from app.http.conversions.releases import release_reply
from app.http.routes.datasets import Name
from app.http.routes.releases import ReleaseId
from app.ledger import history
from app.ledger.book import State, read_book
from app.releases import datasets, releases
from app.service import Service
from core.ledger.chain import Kind
from rugnik import wire

router = APIRouter(include_in_schema=False, tags=["dashboard"])

_READERS = {Role.ADMIN, Role.AUDITOR, Role.CURATOR}
_DRAWN = 1000  # entries in a step chart; more would be a solid block
_LISTED = 50  # releases and entries on a page
_LATEST = 12


@router.get("/")
def overview(request: Request, service: CurrentService, caller: Anyone) -> Response:
    """Every dataset with its budget, and how the ledger stands."""
    found, last, readable = [], {}, True
    try:
        with read_book(service) as book:
            found = datasets.summaries(book, caller)
            if caller.role in _READERS:
                last = dict(history.last_entries(book.tx, [dataset.name for dataset in found]))
    except LedgerBroken:
        readable = False
    state = history.state(service) if caller.sees_whole_ledger else None
    rows = [(dataset, words.bar(dataset), last.get(dataset.name)) for dataset in found]
    return page(request, "overview.html", caller, rows=rows, state=state, readable=readable, words=words)


@router.get("/register")
def register(request: Request, service: CurrentService, caller: Curator) -> Response:
    """A form for a new dataset."""
    return page(request, "register.html", caller, most=str(service.settings.budget_cap))


@router.get("/datasets/{name}")
def dataset_page(request: Request, service: CurrentService, caller: Anyone, name: Name) -> Response:
    """One dataset: budget, what it means, releases, and every entry that made it so."""
    reads = caller.role in _READERS
    with read_book(service) as book:
        found = datasets.summary(book, caller, name)
        kind = Kind.PUBLISH if caller.role is Role.ANALYST else Kind.CHARGE
        listed = book.newest_standings(name, kind, limit=_LISTED + 1)
        budget_history = history.history(book, name, limit=_DRAWN) if reads else None
        shown = dict(list(reversed(listed.items()))[:_LISTED])
        charges = {release: book.charge(book.replay.books.releases[release]) for release in shown}
    return page(
        request,
        "dataset.html",
        caller,
        plots=reads,
        dataset=found,
        bar=words.bar(found),
        releases=shown,
        charges=charges,
        more_releases=len(listed) > _LISTED,
        history=budget_history,
        latest=budget_history.entries[: -_LATEST - 1 : -1] if budget_history else (),
        steps=words.steps(budget_history) if budget_history else None,
        meaning=words.meaning(found.budget.spent),
        most=str(service.settings.budget_cap),
        State=State,
        words=words,
    )


@router.get("/datasets/{name}/release")
def wizard(
    request: Request,
    service: CurrentService,
    caller: Curator,
    name: Name,
    order: Annotated[str | None, Query(max_length=32, pattern=r"^[a-z0-9]+$")] = None,
) -> Response:
    """Plan and order a release, and upload its rows; with an order, go on where it was left."""
    with read_book(service) as book:
        found = datasets.summary(book, caller, name)
        ordered = releases.load(book, caller, order) if order is not None else None
    if ordered is not None and (ordered.dataset != name or ordered.standing.state is not State.ORDERED):
        raise NotFound("There is no open order of this id.")
    facts = {
        "dataset": name,
        "attributes": _attributes(found),
        "remaining": str(found.budget.remaining),
        "order": None if ordered is None else _order_facts(ordered),
    }
    return page(request, "wizard.html", caller, dataset=found, ordered=ordered, facts=facts)


def _order_facts(ordered: releases.Release) -> dict[str, Any]:
    order = ordered.order
    return {"id": ordered.id, "attributes": list(order.attributes), "out_of_range": order.out_of_range.value}


@router.get("/releases/{release_id}")
def release_page(request: Request, service: CurrentService, caller: Anyone, release_id: ReleaseId) -> Response:
    """A release: to those who may ask it, its explorer; to others, what is on record."""
    found, facts = _release_facts(request, service, caller, release_id)
    asks = caller.role in ASKERS and found.state == State.PUBLISHED
    template = "explorer.html" if asks else "release.html"
    return page(request, template, caller, plots=asks, release=found, facts=facts, State=State)


def _release_facts(
    request: Request, service: Service, caller: Principal, release_id: str
) -> tuple[wire.Release, Mapping[str, Any]]:
    with read_book(service) as book:
        stored = releases.load(book, caller, release_id)
        domain = datasets.summary(book, caller, stored.dataset).domain.select(stored.order.attributes)
    synopsis = None
    if stored.standing.state is State.PUBLISHED:
        answers = request.app.state.answers  # its memory spares a large synopsis being read for every look at it
        synopsis = answers.prepared(answers.published(caller, release_id)).synopsis
    reply = release_reply(stored, synopsis)
    attributes = [{"name": a.name, "lower": a.lower, "upper": a.upper} for a in domain.attributes]
    return reply, {
        "id": release_id,
        "dataset": stored.dataset,
        "attributes": attributes,
        "plan": asdict(reply.plan),
    }


def _attributes(dataset: datasets.Summary) -> list[dict[str, Any]]:
    return [{"name": a.name, "lower": a.lower, "upper": a.upper} for a in dataset.domain.attributes]


@router.get("/ledger")
def ledger_page(request: Request, service: CurrentService, caller: LedgerReader) -> Response:
    """The ledger, newest first, searched and filtered."""
    filters = Filters.of(request.query_params)
    with service.database.read_only() as tx:  # as it is stored, so that an entry that is not good can be looked at
        search = filters.search(caller)
        shown = history.page(tx, search, before=filters.before, limit=_LISTED)
        actors = history.actors(tx, caller.datasets, about_keys=caller.sees_whole_ledger)
    state = history.state(service) if caller.sees_whole_ledger else None
    return page(
        request,
        "ledger.html",
        caller,
        filters=filters,
        shown=shown,
        actors=actors,
        kinds=Kind,
        state=state,
        words=words,
    )


@router.get("/keys")
def keys_page(request: Request, service: CurrentService, caller: Admin) -> Response:
    """Keys: who has one, issue another, revoke."""
    caller.require_unlimited()
    found = sorted(auth.list_keys(service), key=lambda key: (key.revoked_at is not None, key.created_at), reverse=False)
    with read_book(service) as book:
        names = [dataset.name for dataset in datasets.summaries(book, caller)]
    return page(request, "keys.html", caller, keys=found, names=names)
