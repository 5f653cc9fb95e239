"""/healthz, /readyz and /metrics: for the machines that watch over the service."""

from __future__ import annotations

import hmac

from fastapi import APIRouter, Request, Response
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

from app.access.auth import Credentials, CurrentService, Role, authenticate
from app.errors import NotAllowed, NotAuthenticated
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
def metrics(request: Request, service: CurrentService, credentials: Credentials) -> Response:
    """Counters of this worker, for an admin key or the metrics key."""
    _require_metrics_key(request, service, credentials)
    collected: Metrics = request.app.state.metrics
    return Response(generate_latest(collected.registry), media_type=CONTENT_TYPE_LATEST)


def _require_metrics_key(request: Request, service: CurrentService, credentials: Credentials) -> None:
    if credentials is None:
        raise NotAuthenticated
    own = service.settings.metrics_key
    if own is not None and hmac.compare_digest(own.get_secret_value().encode(), credentials.credentials.encode()):
        return
    caller = authenticate(service, credentials.credentials)
    request.state.principal = caller
    if caller.role is not Role.ADMIN:
        raise NotAllowed("This takes an admin key or the metrics key.")
    caller.require_unlimited()  # counters tell of every dataset
