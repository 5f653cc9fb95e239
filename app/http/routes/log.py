"""/log: what anybody may see of the ledger's log, to check that it only grows."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path, Response

from app.http.asking import FOR_EVER
from app.http.callers import CurrentService, TileReader
from app.http.problems import declared
from app.log import checkpoints, tiles

router = APIRouter(prefix="/log", tags=["log"])

_TEXT = "text/plain; charset=utf-8"
_AS_TEXT: dict[int | str, dict[str, Any]] = {200: {"content": {"text/plain": {"schema": {"type": "string"}}}}}
_AS_BYTES: dict[int | str, dict[str, Any]] = {
    200: {"content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}}
}


@router.get("/checkpoint", response_class=Response, responses=declared() | _AS_TEXT)
def checkpoint(service: CurrentService) -> Response:
    """Show the newest checkpoint: the name of the log, its size and its root, signed (C2SP tlog-checkpoint)."""
    return Response(str(checkpoints.newest(service)), media_type=_TEXT)


@router.get("/policy", response_class=Response, responses=declared() | _AS_TEXT)
def policy(service: CurrentService) -> Response:
    """Suggest a policy: the log's key and its witnesses. Compare it with what the operator has published elsewhere."""
    return Response(checkpoints.policy_text(service), media_type=_TEXT)


@router.get("/tile/{level}/{place:path}", response_class=Response, responses=declared(404) | _AS_BYTES)
def tile(
    service: CurrentService,
    caller: TileReader,
    level: Annotated[str, Path(max_length=7)],
    place: Annotated[str, Path(max_length=60)],
) -> Response:
    """Take a tile of the log away: 256 hashes, or the hashes of 256 entries (C2SP tlog-tiles)."""
    if caller is None:
        tiles.require_salted(service)
    return Response(tiles.tile(service, level, place), media_type="application/octet-stream", headers=FOR_EVER)
