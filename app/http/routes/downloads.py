"""/v1/releases/{id}/synopsis and /rows: answers to take away, as JSON, CSV, Parquet or Arrow."""

from __future__ import annotations

from collections.abc import Callable
from hashlib import sha256
from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from app.access.principal import Principal
from app.http.asking import FOR_EVER, answer, documented, published_release
from app.http.callers import Asker, CurrentService
from app.http.negotiation import has_already, negotiate
from app.http.parameters import query
from app.http.problems import declared
from app.http.routes.releases import ReleaseId
from app.http.streaming import Pieces, Stream
from app.log import receipts
from app.questions import rows as synthetic
from app.questions import synopsis as histogram
from app.questions.files import Format
from app.questions.prepared import Prepared
from app.questions.question import Question, repeatable
from core.errors import InvalidQuery
from core.log.proof import MEDIA_TYPE, SUFFIX
from rugnik import wire
from rugnik.wire import limits
from rugnik.wire.where import SLICE
from rugnik.wire.where import Where as Parts

router = APIRouter(prefix="/v1/releases/{release_id}", tags=["answers"])

FormatName = Annotated[str | None, Query(alias="format", max_length=20, description="The form; overrides Accept.")]
Level = Annotated[float, query(limits.Level)]
Cells = Annotated[
    int | None,
    Query(
        ge=1,
        le=2**24,
        description="Of an adaptive release, as JSON: neighbouring leaves are taken together until at most so many are "
        "left, or its coarse cells; the other layers are left out.",
    ),
]
Seed = Annotated[int, query(limits.Seed)]
Where = Annotated[Parts | None, Query(description=SLICE)]


@router.get("/synopsis", responses=documented(wire.Synopsis, files=histogram.FORMS[1:]), response_class=Response)
async def synopsis(
    request: Request,
    caller: Asker,
    release_id: ReleaseId,
    form: FormatName = None,
    level: Level = 0.95,
    where: Where = None,
    cells: Cells = None,
) -> Response:
    """Take the whole noisy histogram away, or a part of it."""
    chosen = negotiate(request, form, histogram.FORMS)
    question = repeatable(histogram.part, level, chosen, cells, where)
    if chosen is Format.JSON:
        return await answer(request, caller, release_id, question)
    return await _file(
        request, caller, release_id, question, chosen, lambda prepared: histogram.in_pieces(question, prepared, chosen)
    )


@router.get("/rows", responses=documented(wire.Rows, files=synthetic.FORMS[1:]), response_class=Response)
async def rows(
    request: Request,
    service: CurrentService,
    caller: Asker,
    release_id: ReleaseId,
    count: Annotated[int, Query(ge=1, description="How many rows.")] = 1000,
    seed: Seed = 0,
    form: FormatName = None,
    where: Where = None,
) -> Response:
    """Draw synthetic rows from the synopsis: uniform within a cell, from non-negative counts."""
    most = service.settings.max_synthetic_rows
    if count > most:
        raise InvalidQuery(f"At most {most:,} synthetic rows are drawn at once (RUGNIK_MAX_SYNTHETIC_ROWS).")
    chosen = negotiate(request, form, synthetic.FORMS)
    question = synthetic.rows(count, seed, chosen).about(where)
    return await _file(
        request, caller, release_id, question, chosen, lambda prepared: synthetic.in_pieces(question, prepared, chosen)
    )


@router.get(
    "/receipt",
    response_class=Response,
    responses=declared(404, 409)
    | {200: {"content": {"text/plain": {"schema": {"type": "string"}}}, "description": "A C2SP tlog-proof."}},
)
def receipt(request: Request, service: CurrentService, caller: Asker, release_id: ReleaseId) -> Response:
    """Take the receipt away: the proof that this release was charged and published in the signed log."""
    made = receipts.receipt(service, caller, release_id)
    body = str(made.receipt).encode()
    headers = {"ETag": f'"{sha256(body).hexdigest()}"', **FOR_EVER}
    if has_already(request, headers["ETag"]):
        return Response(status_code=304, headers=headers)
    headers["Content-Disposition"] = f'attachment; filename="{release_id}{SUFFIX}"'
    return Response(body, media_type=MEDIA_TYPE, headers=headers)


async def _file(
    request: Request,
    caller: Principal,
    release_id: str,
    question: Question,
    form: Format,
    pieces: Callable[[Prepared], Pieces],
) -> Response:
    """A large answer in pieces, with the ETag of its question; 304 where the client has it."""
    answers, published = await published_release(request, caller, release_id)
    headers = {"ETag": f'"{question.key(published)}"', **FOR_EVER}
    if has_already(request, headers["ETag"]):
        return Response(status_code=304, headers=headers)
    headers["Content-Disposition"] = f'attachment; filename="{published.release}-{question.name}.{form.value}"'
    return Stream(caller, lambda: pieces(answers.prepared(published)), media_type=form.media_type, headers=headers)
