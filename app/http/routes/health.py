"""/healthz, /readyz and /metrics: for the machines that watch over the service."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

from app.http.callers import CurrentService, MetricsReader
from app.http.problems import declared
from app.operations.observability import Metrics
from app.operations.readiness import require_ready
from rugnik.wire import Health

router = APIRouter(tags=["health"])


@router.get("/healthz")
async def healthz() -> Health:
    """Tell that the process answers; touches nothing else."""
    return Health(status="ok")


@router.get("/readyz", responses=declared())
async def readyz(service: CurrentService) -> Health:
    """Tell whether the database is reached and migrated, agrees with the witness, and folders can be written to."""
    await require_ready(service)
    return Health(status="ok")


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
