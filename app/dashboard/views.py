"""The pages. Each calls use cases that return values; changes are requests of the page's own script to /v1."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response

from app.access.keys import list_keys
from app.access.permissions import ROLES, Permission, roles_with
from app.access.principal import Principal
from app.cards import tables
from app.cards.formats import CardFormat
from app.dashboard import compare_page, overview_page, words
from app.dashboard.ledger_page import Filters
from app.dashboard.pages import page
from app.http.callers import Anyone, Asker, Auditor, Curator, CurrentService, KeyManager, LedgerReader
from app.http.conversions.releases import release_reply
from app.http.parameters import Name, ReleaseId
from app.ingest.formats import FORMATS
from app.ledger.audits import ledger_status
from app.ledger.history import read_ledger
from app.log.receipts import receipt
from app.log.standing import log_standing, path_of
from app.releases import cards
from app.releases import overview as overviews
from app.releases.comparing import get_comparison
from app.releases.datasets import Summary
from app.releases.reading import Release
from app.service import Service
from core.budget import Epsilon
from core.ledger.kinds import Kind, State
from core.log.checkpoint import Checkpoint
from core.queries.clusters import MAX_CLUSTERS
from rugnik import wire
from rugnik.wire.about import ABOUT_FIELDS, TITLES
from rugnik.wire.limits import MAX_LABEL

router = APIRouter(include_in_schema=False, tags=["dashboard"])

_DRAWN = 300  # entries in a step chart; more would be a solid block, and the page slower
_LISTED = 50  # releases and entries on a page
_LATEST = 12

NamedRelease = Annotated[
    str | None, Query(max_length=32, pattern=r"^[a-z0-9]+$")
]  # in the query; None if none is named


@router.get("/")
def overview(request: Request, service: CurrentService, caller: Anyone) -> Response:
    """Every dataset with its budget, and how the ledger stands."""
    shown = overviews.get_overview(service, caller)
    listing = overview_page.Listing.of(request.query_params)
    rows = listing.rows(shown)
    manages = caller.can(Permission.MANAGE_KEYS) and not caller.is_limited
    return page(
        request,
        "overview.html",
        caller,
        rows=rows[: overview_page.LISTED],
        found=len(rows),
        listing=listing,
        orders=overview_page.ORDERS,
        as_table=len(shown.datasets) >= overview_page.TABLE_FROM,
        search_text=overview_page.search_text,
        glance=overview_page.glance(list_keys(service), shown.datasets) if manages and shown.readable else None,
        ledger_status=shown.status,
        readable=shown.readable,
        waiting=shown.waiting,
        words=words,
    )


@router.get("/register")
def register(request: Request, service: CurrentService, caller: Curator) -> Response:
    """A form for a new dataset."""
    return page(request, "register.html", caller, most=str(service.settings.budget_cap), about=ABOUT_FIELDS)


@router.get("/datasets/{name}")
def dataset_page(
    request: Request,
    service: CurrentService,
    caller: Anyone,
    name: Name,
    before: Annotated[int | None, Query(ge=1, le=2**62)] = None,
) -> Response:
    """One dataset: budget, what it means, newest releases and entries; with `before`, releases before that place."""
    shown = overviews.get_dataset_overview(
        service, caller, name, before=before, max_releases=_LISTED, max_entries=_DRAWN
    )
    budget_history = shown.history
    return page(
        request,
        "dataset.html",
        caller,
        plots=budget_history is not None,
        dataset=shown.summary,
        bar=words.bar(shown.summary),
        releases=shown.releases,
        charges=shown.charges,
        older=shown.older,
        newer=shown.newer,
        waiting=shown.waiting,
        newest=shown.newest,
        can_compare=caller.can(Permission.ASK) and shown.published > 1,
        history=budget_history,
        latest=budget_history.entries[: -_LATEST - 1 : -1] if budget_history else (),
        steps=words.steps(budget_history) if budget_history else None,
        meaning=words.meaning(shown.summary.budget.spent),
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
    order: NamedRelease = None,
) -> Response:
    """Plan and order a release, and upload its rows; with an order, go on where it was left."""
    dataset, ordered = overviews.get_open_order(service, caller, name, order)
    facts = {
        "dataset": name,
        "attributes": _attributes(dataset),
        "unit": dataset.unit.to_json(),
        "remaining": str(dataset.budget.remaining),
        "order": None if ordered is None else _order_facts(ordered),
    }
    return page(
        request,
        "wizard.html",
        caller,
        dataset=dataset,
        ordered=ordered,
        facts=facts,
        formats=FORMATS,
        most_clusters=MAX_CLUSTERS,
        most_label=MAX_LABEL,
        words=words,
    )


@router.get("/datasets/{name}/compare")
def compare_page_of(
    request: Request,
    service: CurrentService,
    caller: Asker,
    name: Name,
    left: NamedRelease = None,
    right: NamedRelease = None,
    attribute: Annotated[list[str] | None, Query(max_length=8)] = None,
    cells: Annotated[int | None, Query(ge=1, le=1000)] = None,
) -> Response:
    """Two releases side by side: what they count in common cells, and which differences are certain."""
    compared = get_comparison(service, caller, name, left=left, right=right)
    attributes = compare_page.chosen_attributes(compared, attribute or ())
    most = compare_page.cells_of(cells, attributes)
    return page(
        request,
        "compare.html",
        caller,
        plots=bool(attributes),
        compared=compared,
        chosen=[each.name for each in attributes],
        cells=most,
        offered=compare_page.CELLS,
        terms=compare_page.terms(compared) if compared.pair else [],
        facts=compare_page.facts(compared, attributes, most),
    )


def _order_facts(ordered: Release) -> dict[str, Any]:
    order = ordered.order
    return {"id": ordered.id, "attributes": list(order.attributes), "out_of_range": order.out_of_range.value}


@router.get("/releases/{release_id}")
def release_page(request: Request, service: CurrentService, caller: Anyone, release_id: ReleaseId) -> Response:
    """A release: to those who may ask it, its explorer; to others, what is on record."""
    release, facts = _release_facts(request, service, caller, release_id)
    asks = caller.can(Permission.ASK) and release.state == State.PUBLISHED
    template = "explorer.html" if asks else "release.html"
    askers = words.either(roles_with(Permission.ASK))
    return page(
        request, template, caller, plots=asks, release=release, facts=facts, askers=askers, State=State, words=words
    )


@router.get("/releases/{release_id}/card")
def card_page(request: Request, service: CurrentService, caller: Anyone, release_id: ReleaseId) -> Response:
    """The card of a published release on one page to print and sign."""
    card = cards.get_card(service, caller, release_id)
    epsilon = Epsilon.parse(card.predicate["privacy"]["epsilon"])
    return page(
        request,
        "card.html",
        caller,
        card=card,
        titles=TITLES,
        meaning=words.meaning(epsilon),
        tables=tables,
        formats=list(CardFormat) if caller.can(Permission.ASK) else [],
    )


def _release_facts(
    request: Request, service: Service, caller: Principal, release_id: str
) -> tuple[wire.Release, Mapping[str, Any]]:
    stored, domain = overviews.get_release_domain(service, caller, release_id)
    synopsis = None
    if stored.standing.state is State.PUBLISHED:
        answers = request.app.state.answers  # its cache saves reading a large synopsis for every page view
        synopsis = answers.prepared(answers.published(caller, release_id)).synopsis
    reply = release_reply(stored, synopsis)
    return reply, {
        "id": release_id,
        "dataset": stored.dataset,
        "attributes": [attribute.declaration() for attribute in domain.attributes],
        "plan": asdict(reply.plan),
    }


def _attributes(dataset: Summary) -> list[dict[str, Any]]:
    return [attribute.declaration() for attribute in dataset.domain.attributes]


@router.get("/ledger")
def ledger_page(request: Request, service: CurrentService, caller: LedgerReader) -> Response:
    """The ledger, newest first, searched and filtered."""
    filters = Filters.of(request.query_params)
    shown, actors = read_ledger(service, caller, filters.search(caller), before=filters.before, limit=_LISTED)
    return page(
        request,
        "ledger.html",
        caller,
        filters=filters,
        shown=shown,
        actors=actors,
        kinds=Kind,
        ledger_status=ledger_status(service) if caller.sees_whole_ledger else None,
        words=words,
    )


@router.get("/log")
def log_page(request: Request, service: CurrentService, caller: Auditor) -> Response:
    """The signed log: its checkpoint, its witnesses, and how to check it."""
    caller.require_unlimited()
    return page(request, "log.html", caller, log=log_standing(service), base=str(request.base_url).rstrip("/"))


@router.get("/releases/{release_id}/receipt")
def receipt_page(request: Request, service: CurrentService, caller: Asker, release_id: ReleaseId) -> Response:
    """The receipt of a release, and its path through the tree."""
    made = receipt(service, caller, release_id).receipt
    checkpoint = Checkpoint.of(made.checkpoint)
    return page(
        request,
        "receipt.html",
        caller,
        release=release_id,
        receipt=made,
        joins=path_of(made),
        size=checkpoint.size,
        origin=checkpoint.origin,
        root=checkpoint.root.hex(),
        names=[signature.name for signature in made.checkpoint.signatures],
    )


@router.get("/keys")
def keys_page(request: Request, service: CurrentService, caller: KeyManager) -> Response:
    """Keys: who has one, issue another, revoke."""
    caller.require_unlimited()
    keys = sorted(list_keys(service), key=lambda key: (key.revoked_at is not None, key.created_at))
    names = overviews.dataset_names(service, caller)
    return page(request, "keys.html", caller, keys=keys, names=names, roles=list(ROLES))
