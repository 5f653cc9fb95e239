"""Requests: the reply about one, and the 202 of what waits for a second person."""

from __future__ import annotations

from typing import Any

from fastapi.responses import Response

from app.questions.encoding import encode
from app.releases.requests import Request
from rugnik import wire

WAITS: dict[int | str, dict[str, Any]] = {
    202: {"model": wire.ApprovalRequest, "description": "Nothing is spent: it waits until another key approves it."}
}


def request_reply(request: Request) -> wire.ApprovalRequest:
    """A request, and how it was decided."""
    decision = request.decision
    return wire.ApprovalRequest(
        id=request.id,
        dataset=request.dataset,
        kind=request.kind.value,
        release=request.release,
        epsilon=str(request.epsilon),
        content=request.terms,
        state=request.state.value,
        requested_by=request.entry.actor,
        requested_on=request.entry.at,
        hash=request.entry.hash,
        decided_by=None if decision is None else decision.actor,
        decided_on=None if decision is None else decision.at,
        reason=request.refusal,
    )


def waiting_response(request: Request) -> Response:
    """202 with the request, in place of what was asked for."""
    return Response(encode(request_reply(request)), status_code=202, media_type="application/json")
