"""/healthz, /readyz and /metrics: for the machines that watch over the service."""

from __future__ import annotations

from typing import Literal

from fastapi import APIRouter, Request, Response
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from pydantic import BaseModel

from app.http.callers import CurrentService, MetricsReader
from app.http.problems import declared
from app.operations.observability import Metrics
from app.operations.readiness import require_ready

router = APIRouter(tags=["health"])


class HealthReply(BaseModel):
    """The service lives, or is ready."""

    status: Literal["ok"]


@router.get("/healthz")
async def healthz() -> HealthReply:
    """Tell that the process answers; touches nothing else."""
    return HealthReply(status="ok")


@router.get("/readyz", responses=declared())
async def readyz(service: CurrentService) -> HealthReply:
    """Tell whether the database is reached and migrated, agrees with the witness, and folders can be written to."""
    await require_ready(service)
    return HealthReply(status="ok")


@router.get(
    "/metrics",
    response_class=Response,
    responses=declared()
    | {200: {"content": {"text/plain": {"schema": {"type": "string"}}}, "description": "Prometheus text."}},
)
def metrics(request: Request, _reader: MetricsReader) -> Response:
    """Counters of this worker, for an admin key or the metrics key."""
    collected: Metrics = request.app.state.metrics
    return Response(generate_latest(collected.registry), media_type=CONTENT_TYPE_LATEST)
