"""/v1/requests: what waits for a second person; approve it, refuse it."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Query

from app.http.callers import CurrentService, Decider, LedgerReader
from app.http.conversions.requests import request_reply
from app.http.paging import Limit
from app.http.problems import declared
from app.http.wire_route import WireRoute
from app.releases import deciding, requests
from core.ledger.accounts import RequestState
from rugnik.wire import ApprovalRequest, ApprovalRequestList, RefusalBody
from rugnik.wire.limits import NO_CONTROL

router = APIRouter(prefix="/v1/requests", tags=["requests"], route_class=WireRoute)

RequestId = Annotated[str, Path(max_length=32, pattern=NO_CONTROL, description="The request's id.")]


@router.get("", responses=declared(404))
def list_requests(
    service: CurrentService,
    caller: LedgerReader,
    dataset: Annotated[
        str | None, Query(max_length=64, pattern=NO_CONTROL, description="Requests of this dataset only.")
    ] = None,
    state: Annotated[RequestState | None, Query(description="Requests in this state only.")] = None,
    after: Annotated[int, Query(ge=0, le=2**62, description="Requests after this number: the `next` of a page.")] = 0,
    limit: Limit = 100,
) -> ApprovalRequestList:
    """List the requests of the datasets that this key may see, oldest first."""
    listed = requests.list_all(service, caller, dataset=dataset, state=state, after=after, limit=limit + 1)
    shown = listed[:limit]
    following = shown[-1].entry.seq if len(listed) > limit else None
    return ApprovalRequestList(requests=tuple(request_reply(each) for each in shown), next=following)


@router.get("/{request_id}", responses=declared(404))
def get_request(service: CurrentService, caller: LedgerReader, request_id: RequestId) -> ApprovalRequest:
    """Look at a request: everything that it asks for, who made it, and how it was decided."""
    return request_reply(requests.get(service, caller, request_id))


@router.post("/{request_id}/approve", responses=declared(404, 409))
def approve(service: CurrentService, caller: Decider, request_id: RequestId) -> ApprovalRequest:
    """Approve what another key asked for: it happens now, exactly as asked. The budget is checked now, too."""
    return request_reply(deciding.approve(service, caller, request_id))


@router.post("/{request_id}/refuse", responses=declared(404, 409))
def refuse(
    service: CurrentService, caller: Decider, request_id: RequestId, body: RefusalBody | None = None
) -> ApprovalRequest:
    """Refuse a request for good. The key that made it may do so as well, which withdraws it."""
    return request_reply(deciding.refuse(service, caller, request_id, reason=(body or RefusalBody()).reason))
