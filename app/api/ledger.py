"""/v1/ledger: read it, walk it, take it away."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from fastapi import APIRouter, Query
from fastapi.responses import StreamingResponse

from app import datasets, ledger
from app.auth import Auditor, CurrentService, LedgerReader
from app.problems import declared
from app.schemas.base import NO_CONTROL
from app.schemas.ledger import EntryReply, HeadReply, LedgerPage, VerificationReply
from app.service import Service
from core.canonical import canonical_json
from core.chain import Kind

router = APIRouter(prefix="/v1/ledger", tags=["ledger"])

NDJSON = "application/x-ndjson"


@router.get("", responses=declared(404))
def read(
    service: CurrentService,
    caller: LedgerReader,
    dataset: Annotated[
        str | None, Query(max_length=64, pattern=NO_CONTROL, description="Entries of this dataset only.")
    ] = None,
    kind: Annotated[Kind | None, Query(description="Entries of this kind only.")] = None,
    after: Annotated[int, Query(ge=0, le=2**62, description="Entries after this number.")] = 0,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
) -> LedgerPage:
    """Read entries, newest last, of the datasets that this key may see."""
    names = caller.datasets
    if dataset is not None:
        names = frozenset({datasets.get(service, caller, dataset).name})
    with service.database.read_only() as tx:
        found = ledger.page(tx, datasets=names, kind=kind, after=after, limit=limit + 1)
    more = len(found) > limit
    shown = found[:limit]
    return LedgerPage(entries=[EntryReply.of(entry) for entry in shown], next=shown[-1].seq if more else None)


@router.get("/head", responses=declared())
def head(service: CurrentService, caller: Auditor) -> HeadReply:
    """The last entry's number and hash: keep it, and nobody can change an entry before it unseen."""
    caller.require_unlimited()
    with service.database.read_only() as tx:
        return HeadReply.of(ledger.head(tx))


@router.get("/verify", responses=declared())
def verify(service: CurrentService, caller: Auditor) -> VerificationReply:
    """Walk the whole chain: hashes, numbers, balances, and the witness."""
    caller.require_unlimited()
    return VerificationReply.of(ledger.verify_all(service))


@router.get(
    "/export",
    response_class=StreamingResponse,
    responses=declared()
    | {200: {"content": {NDJSON: {"schema": {"type": "string"}}}, "description": "One entry a line."}},
)
def export(service: CurrentService, caller: Auditor) -> StreamingResponse:
    """Take the whole ledger away as NDJSON, to be verified elsewhere."""
    caller.require_unlimited()
    return StreamingResponse(_lines(service), media_type=NDJSON)


def _lines(service: Service) -> Iterator[bytes]:
    with service.database.read_only() as tx:
        for entry in ledger.entries(tx):
            yield canonical_json(entry.to_json()) + b"\n"
