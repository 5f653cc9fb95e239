"""/v1/keys: issue, list, revoke."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Query

from app.access.keys import issue_key, list_keys, revoke_key
from app.access.permissions import Role
from app.errors import NotAllowed, NotFound
from app.http.callers import CurrentService, KeyManager
from app.http.conversions.keys import key_reply, new_key_reply
from app.http.paging import Limit, page
from app.http.problems import declared
from rugnik.wire import KeyBody, KeyList, NewKey
from rugnik.wire.limits import NO_CONTROL

router = APIRouter(prefix="/v1/keys", tags=["keys"])


@router.post("", status_code=201, responses=declared(409))
def issue(service: CurrentService, caller: KeyManager, body: KeyBody) -> NewKey:
    """Issue a key. Its secret is in this reply and nowhere else."""
    names = None if body.datasets is None else frozenset(body.datasets)
    if caller.datasets is not None and (names is None or not names <= caller.datasets):
        raise NotAllowed("A key that is limited to some datasets issues keys for no others.")
    stored, secret = issue_key(service, name=body.name, role=Role(body.role), datasets=names, actor=caller.actor)
    return new_key_reply(stored, secret)


@router.get("", responses=declared(404))
def list_all(
    service: CurrentService,
    caller: KeyManager,
    after: Annotated[str, Query(max_length=32, pattern=NO_CONTROL, description="Keys after the one of this id.")] = "",
    limit: Limit = 100,
) -> KeyList:
    """List every key ever issued, oldest first, without secrets."""
    caller.require_unlimited()
    stored = list_keys(service)
    ids = [key.principal.id for key in stored]
    if after and after not in ids:
        raise NotFound("There is no key of this id.")
    first = ids.index(after) + 1 if after else 0
    shown, following = page(stored[first:], ids[first:], limit)
    return KeyList(keys=tuple(key_reply(key) for key in shown), next=following)


@router.delete("/{key_id}", status_code=204, responses=declared(404))
def revoke(
    service: CurrentService, caller: KeyManager, key_id: Annotated[str, Path(max_length=32, pattern=NO_CONTROL)]
) -> None:
    """End a key. It stays listed, as in the ledger; other workers may take it for up to 5 seconds more."""
    caller.require_unlimited()
    revoke_key(service, key_id, actor=caller.actor)
