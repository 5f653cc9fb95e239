"""/v1/ledger: read it, walk it, take it away."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator
from typing import Annotated

import orjson
from fastapi import APIRouter, Query
from fastapi.responses import StreamingResponse

from app import audit, datasets, ledger
from app.auth import Auditor, CurrentService, LedgerReader, Principal
from app.errors import NotAcceptable
from app.problems import declared
from app.schemas.base import NO_CONTROL
from app.schemas.ledger import EntryReply, HeadReply, LedgerPage, VerificationReply
from app.service import Service
from app.tabular import Format
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


@router.post(
    "/verifications",
    response_class=StreamingResponse,
    responses=declared()
    | {200: {"content": {NDJSON: {"schema": {"type": "string"}}}, "description": "One step a line, the outcome last."}},
)
def verify_on_record(service: CurrentService, caller: Auditor) -> StreamingResponse:
    """Walk the whole chain step by step, and record who did and what came of it; the last line is as of /verify."""
    caller.require_unlimited()
    return StreamingResponse(_steps(service, caller), media_type=NDJSON)


@router.get(
    "/export",
    response_class=StreamingResponse,
    responses=declared(406)
    | {
        200: {
            "content": {media: {"schema": {"type": "string"}} for media in (NDJSON, Format.CSV.media_type)},
            "description": "One entry a line.",
        }
    },
)
def export(
    service: CurrentService,
    caller: Auditor,
    form: Annotated[str, Query(alias="format", max_length=20, description="ndjson, to verify it; csv, to read it.")] = (
        "ndjson"
    ),
) -> StreamingResponse:
    """Take the whole ledger away: as NDJSON, to be verified elsewhere, or as CSV."""
    caller.require_unlimited()
    if form not in _EXPORTS:
        raise NotAcceptable(list(_EXPORTS))
    media_type, lines = _EXPORTS[form]
    headers = {"Content-Disposition": f'attachment; filename="ledger.{form}"'}
    return StreamingResponse(lines(service), media_type=media_type, headers=headers)


def _steps(service: Service, caller: Principal) -> Iterator[bytes]:
    with service.database.read_only() as tx:
        total = ledger.head(tx).seq
    for step in audit.verify_on_record(service, caller):
        yield orjson.dumps(VerificationReply.of(step).model_dump() | {"total": total}) + b"\n"


def _lines(service: Service) -> Iterator[bytes]:
    with service.database.read_only() as tx:
        for entry in ledger.entries(tx):
            yield canonical_json(entry.to_json()) + b"\n"


def _csv(service: Service) -> Iterator[str]:
    names = list(EntryReply.model_fields)
    yield _csv_line(names)
    with service.database.read_only() as tx:
        for entry in ledger.entries(tx):
            fields = entry.to_json() | {"detail": canonical_json(entry.detail).decode()}
            yield _csv_line([_tame(str(fields[name] or "")) for name in names])


def _csv_line(fields: list[str]) -> str:
    line = io.StringIO()
    csv.writer(line, lineterminator="\r\n").writerow(fields)
    return line.getvalue()


def _tame(text: str) -> str:
    """Spreadsheets run a cell that begins like a formula; names of keys and reasons of grants are free text."""
    return f"'{text}" if text[:1] in {"=", "+", "-", "@", "\t"} else text


_EXPORTS: dict[str, tuple[str, Callable[[Service], Iterator[bytes] | Iterator[str]]]] = {
    "ndjson": (NDJSON, _lines),
    "csv": (Format.CSV.media_type, _csv),
}
