"""/v1/ledger: read it, walk it, take it away."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator
from dataclasses import fields
from functools import partial
from itertools import islice
from typing import Annotated

from fastapi import APIRouter, Query, Request
from fastapi.responses import StreamingResponse

from app.access.principal import Principal
from app.errors import NotAcceptable
from app.http.callers import Auditor, CurrentService, LedgerReader
from app.http.conversions.ledger import entry_reply, head_reply, step_reply, verification_reply
from app.http.middleware.observe_requests import is_noted
from app.http.problems import declared
from app.http.streaming import Pieces, Stream, while_connected
from app.ledger import entries, verification
from app.ledger.audits import verify_on_record as walk_on_record
from app.log import receipts
from app.operations.lanes import Lanes
from app.questions.encoding import encode
from app.questions.formats import Format
from app.questions.spreadsheets import as_text
from app.releases import datasets
from app.service import Service
from core.canonical import canonical_json
from core.ledger.entry import LedgerEntry
from core.ledger.kinds import Kind
from core.log.checkpoint import encoded
from rugnik import wire
from rugnik.wire.limits import NO_CONTROL

router = APIRouter(prefix="/v1/ledger", tags=["ledger"])

NDJSON = "application/x-ndjson"
_LINES_AT_ONCE = 500


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
) -> wire.LedgerPage:
    """Read entries, newest last, of the datasets that this key may see."""
    names = caller.datasets
    if dataset is not None:
        datasets.get_schema(service, caller, dataset)  # NotFound where this caller may not see it
        names = frozenset({dataset})
    listed = entries.entries_after(
        service, after, datasets=names, about_keys=caller.sees_whole_ledger, kind=kind, limit=limit + 1
    )
    shown, more = listed[:limit], len(listed) > limit
    return wire.LedgerPage(entries=tuple(entry_reply(entry) for entry in shown), next=shown[-1].seq if more else None)


@router.get("/head", responses=declared())
def head(service: CurrentService, caller: Auditor) -> wire.Head:
    """The last entry's number and hash: keep it, and nobody can change an entry before it unseen."""
    caller.require_unlimited()
    return head_reply(entries.current_head(service))


@router.get("/consistency", responses=declared())
def consistency(
    service: CurrentService,
    caller: Auditor,
    old: Annotated[int, Query(ge=0, le=2**62, description="How many entries you have seen.")] = 0,
) -> wire.Consistency:
    """Prove that the log still begins with the entries that you have seen: its newest checkpoint, and the hashes."""
    caller.require_unlimited()
    note, proof = receipts.consistency(service, old)
    return wire.Consistency(checkpoint=str(note), proof=tuple(map(encoded, proof)))


@router.get("/verify", responses=declared(429))
async def verify(request: Request, service: CurrentService, caller: Auditor) -> wire.Verification:
    """Walk the whole chain: hashes, numbers, balances; every synopsis against its digest and its order; the witness."""
    caller.require_unlimited()
    lanes: Lanes = request.app.state.lanes
    walk = ("verify", service.replay.head)  # who asks while it goes on, and of the same ledger, shares it
    work = partial(verification.verify_all, service)
    walked = lanes.run(lanes.long, caller.id, walk, work, noted=is_noted(request.scope))
    return verification_reply(await while_connected(request.receive, walked))


@router.post(
    "/verifications",
    response_class=StreamingResponse,
    responses=declared(429)
    | {200: {"content": {NDJSON: {"schema": {"type": "string"}}}, "description": "One step a line, the outcome last."}},
)
def verify_on_record(service: CurrentService, caller: Auditor) -> StreamingResponse:
    """Walk the whole chain step by step, and record who did and what came of it; the last line is as of /verify."""
    caller.require_unlimited()
    return Stream(caller, lambda: _steps(service, caller), media_type=NDJSON)


@router.get(
    "/export",
    response_class=StreamingResponse,
    responses=declared(406, 429)
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
    return Stream(caller, lambda: lines(service), media_type=media_type, headers=headers)


def _steps(service: Service, caller: Principal) -> Pieces:
    total = entries.current_head(service).seq
    for step in walk_on_record(service, caller):
        yield encode(step_reply(step, total)) + b"\n"


def _lines(service: Service) -> Pieces:
    exported = _exported(service)
    while block := list(islice(exported, _LINES_AT_ONCE)):
        yield b"".join(canonical_json(entry.to_json()) + b"\n" for entry in block)


def _csv(service: Service) -> Pieces:
    names = [field.name for field in fields(wire.LedgerEntry)]
    yield _csv_line(names).encode()
    exported = _exported(service)
    while block := list(islice(exported, _LINES_AT_ONCE)):
        lines = []
        for entry in block:
            values = entry.to_json() | {"detail": canonical_json(entry.detail).decode()}
            lines.append(_csv_line([as_text(str(values[name] or "")) for name in names]))
        yield "".join(lines).encode()


def _exported(service: Service) -> Iterator[LedgerEntry]:
    """The entries up to the head that the ledger has now: one consistent ledger, however long taking it away takes."""
    return entries.entries_until(service, entries.current_head(service))


def _csv_line(fields: list[str]) -> str:
    line = io.StringIO()
    csv.writer(line, lineterminator="\r\n").writerow(fields)
    return line.getvalue()


_EXPORTS: dict[str, tuple[str, Callable[[Service], Pieces]]] = {
    "ndjson": (NDJSON, _lines),
    "csv": (Format.CSV.media_type, _csv),
}
