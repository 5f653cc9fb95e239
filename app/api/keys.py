"""/v1/keys: issue, list, revoke."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path

from app.auth import Admin, CurrentService, issue_key, list_keys, revoke_key
from app.errors import NotAllowed
from app.problems import declared
from app.schemas.base import NO_CONTROL
from app.schemas.keys import KeyBody, KeyList, KeyReply, NewKeyReply

router = APIRouter(prefix="/v1/keys", tags=["keys"])


@router.post("", status_code=201, responses=declared())
def issue(service: CurrentService, caller: Admin, body: KeyBody) -> NewKeyReply:
    """Issue a key. Its secret is in this reply and nowhere else."""
    names = None if body.datasets is None else frozenset(body.datasets)
    if caller.datasets is not None and (names is None or not names <= caller.datasets):
        raise NotAllowed("A key that is limited to some datasets issues keys for no others.")
    stored, secret = issue_key(service, name=body.name, role=body.role, datasets=names)
    return NewKeyReply(**KeyReply.of(stored).model_dump(), key=secret)


@router.get("", responses=declared())
def list_all(service: CurrentService, caller: Admin) -> KeyList:
    """List every key ever issued, without secrets."""
    caller.require_unlimited()
    return KeyList(keys=[KeyReply.of(stored) for stored in list_keys(service)])


@router.delete("/{key_id}", status_code=204, responses=declared(404))
def revoke(
    service: CurrentService, caller: Admin, key_id: Annotated[str, Path(max_length=32, pattern=NO_CONTROL)]
) -> None:
    """End a key. It stays listed, because the ledger names it; other workers may remember it for 5 seconds."""
    caller.require_unlimited()
    revoke_key(service, key_id)
