"""Plans, orders, uploads and voids: stage 1 over HTTP."""

from __future__ import annotations

from typing import Annotated

from anyio import to_thread
from fastapi import APIRouter, Header, Query, Request
from fastapi.responses import Response

from app.http.callers import Anyone, Curator, CurrentService
from app.http.conversions.datasets import releases_reply
from app.http.conversions.orders import ordered, plan_reply, planned, purpose_of
from app.http.conversions.releases import awaited_reply, published_reply, release_reply
from app.http.conversions.requests import WAITS, waiting_response
from app.http.paging import Limit
from app.http.parameters import Name, ReleaseId
from app.http.problems import declared
from app.http.uploads import receive_counts, receive_upload, upload_media
from app.http.wire_route import WireRoute
from app.ingest.counts_stream import MEDIA_TYPE as COUNTS
from app.releases import counting, datasets, ordering, planning, reading
from app.releases.requests import Request as Asked
from rugnik.wire import Awaited, OrderBody, Plan, PlanBody, Published, Release, ReleaseList, SizeBody

router = APIRouter(prefix="/v1", tags=["releases"], route_class=WireRoute)

IdempotencyKey = Annotated[
    str | None,
    Header(
        min_length=1,
        max_length=255,
        pattern=r"^[\x21-\x7e]+$",
        description="Repeat an order with the same key, and it is charged once.",
    ),
]


@router.post("/datasets/{name}/plans", responses=declared(404))
def plan(service: CurrentService, caller: Curator, name: Name, body: PlanBody) -> Plan:
    """See what an order would give, for no epsilon and without any data."""
    schema = datasets.get_schema(service, caller, name)
    order = planned(body, schema, max_cells=service.settings.max_cells)
    forecast = planning.plan(service, caller, name, order)
    comparison = planning.compare_rules(service, caller, name, order, purpose_of(body))
    budget = planning.budget_after(service, caller, name, order.epsilon)
    return plan_reply(order, schema, forecast, comparison, budget)


@router.post("/datasets/{name}/releases", status_code=201, response_model=Release, responses=declared(404, 409) | WAITS)
def order(
    service: CurrentService, caller: Curator, name: Name, body: OrderBody, idempotency_key: IdempotencyKey = None
) -> Release | Response:
    """Order a release: its epsilon is charged now, before any row is read.

    202 above the dataset's two-person rule: nothing is charged, and the order waits for another key.
    """
    wanted = ordered(body, datasets.get_schema(service, caller, name))
    release = ordering.order(service, caller, name, wanted, idempotency_key=idempotency_key)
    if isinstance(release, Asked):
        return waiting_response(release)
    return release_reply(*reading.get(service, caller, release.id))


@router.get("/datasets/{name}/releases", responses=declared(404))
def list_releases(
    service: CurrentService,
    caller: Anyone,
    name: Name,
    after: Annotated[int, Query(ge=0, le=2**62, description="Leave out so many releases: the `next` of a page.")] = 0,
    limit: Limit = 100,
) -> ReleaseList:
    """List the releases of a dataset, newest last; to an analyst the published ones, in the order of publication."""
    return releases_reply(datasets.list_releases(service, caller, name, after=after, limit=limit))


@router.get("/releases/{release_id}", responses=declared(404))
def get_release(service: CurrentService, caller: Anyone, release_id: ReleaseId) -> Release:
    """Look at a release; an analyst sees it once it is published."""
    return release_reply(*reading.get(service, caller, release_id))


@router.delete("/releases/{release_id}", response_model=Release, responses=declared(404, 409) | WAITS)
def void(service: CurrentService, caller: Curator, release_id: ReleaseId) -> Release | Response:
    """Void an order for which no noise was drawn: its epsilon comes back.

    202 above the dataset's two-person rule: the void waits for another key.
    """
    voided = ordering.void(service, caller, release_id)
    return waiting_response(voided) if isinstance(voided, Asked) else release_reply(voided, None)


@router.put(
    "/releases/{release_id}/records",
    responses=declared(400, 404, 409, 413, 415),
    openapi_extra={"requestBody": {"required": True, "content": upload_media()}},
)
async def upload(request: Request, service: CurrentService, caller: Curator, release_id: ReleaseId) -> Published:
    """Upload the rows: they become a noisy histogram and are gone. A try that fails before noise is drawn is free."""
    return published_reply(await receive_upload(request, service, caller, release_id))


@router.get("/releases/{release_id}/counts", responses=declared(404, 409))
def get_awaited(service: CurrentService, caller: Curator, release_id: ReleaseId) -> Awaited:
    """See what to count next, where rows are counted by the curator's own process and only counts are sent."""
    return awaited_reply(counting.awaited(service, caller, release_id))


@router.post("/releases/{release_id}/size", responses=declared(404, 409))
def buy_size(service: CurrentService, caller: Curator, release_id: ReleaseId, body: SizeBody) -> Release:
    """Draw the noisy size of an order that buys one. It is drawn once: asked again, the reply tells it again."""
    return release_reply(counting.buy_size(service, caller, release_id, body.rows), None)


@router.put(
    "/releases/{release_id}/counts",
    responses=declared(400, 404, 409, 413, 415),
    openapi_extra={
        "requestBody": {"required": True, "content": {COUNTS: {"schema": {"type": "string", "format": "binary"}}}}
    },
)
async def send_counts(request: Request, service: CurrentService, caller: Curator, release_id: ReleaseId) -> Release:
    """Send exact counts of one step; they are noised and gone. The last step publishes the release."""
    await receive_counts(request, service, caller, release_id)
    return release_reply(*await to_thread.run_sync(reading.get, service, caller, release_id))
