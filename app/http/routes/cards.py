"""/v1/releases/{id}/card: what a release is and what it protects, as it is on record, and in other people's formats."""

from __future__ import annotations

from hashlib import sha256
from typing import Annotated

from anyio import to_thread
from fastapi import APIRouter, Query, Request, Response

from app.access.principal import Principal
from app.answers.answers import Answers
from app.cards.card import Card
from app.cards.files import csv_file
from app.cards.formats import CardFormat, written
from app.http.asking import FOR_EVER, at_speed_of, documented, published_release
from app.http.callers import Asker, CurrentService
from app.http.negotiation import has_already, negotiate
from app.http.parameters import ReleaseId
from app.questions import synopsis as histogram
from app.questions.formats import Format
from app.questions.question import Published
from app.releases import cards
from core.canonical import canonical_json
from core.checkpoint import Checkpoint
from rugnik import wire

router = APIRouter(prefix="/v1/releases/{release_id}", tags=["answers"])

FormName = Annotated[
    str | None,
    Query(
        alias="format",
        max_length=20,
        description="json (the card on record), registry (YAML of the DP deployments registry), croissant, dcat, or "
        "nist (a Markdown table); overrides Accept.",
    ),
]


@router.get("/card", responses=documented(wire.Card, files=tuple(CardFormat)[1:]), response_class=Response)
async def card(
    request: Request, service: CurrentService, caller: Asker, release_id: ReleaseId, form: FormName = None
) -> Response:
    """Take the card of a release: who published what, whom it protects and how, and what is not protected.

    A release from before there were cards gets one that is made now and says `"on_record": false`.
    """
    chosen = negotiate(request, form, tuple(CardFormat))
    answers, published = await published_release(request, caller, release_id)
    stored = await to_thread.run_sync(cards.get_card, service, caller, release_id)
    body = await _written(request, caller, answers, published, stored, chosen)
    is_on_record = chosen is CardFormat.JSON and stored.predicate["on_record"]
    headers = {"ETag": f'"{sha256(body).hexdigest()}"', **(FOR_EVER if is_on_record else {"Vary": FOR_EVER["Vary"]})}
    if has_already(request, headers["ETag"]):
        return Response(status_code=304, headers=headers)
    if chosen is not CardFormat.JSON:
        headers["Content-Disposition"] = f'attachment; filename="{release_id}-{chosen.suffix}"'
    return Response(body, media_type=chosen.content_type, headers=headers)


async def _written(
    request: Request, caller: Principal, answers: Answers, published: Published, card: Card, form: CardFormat
) -> bytes:
    """The bytes of a card. A form that lists files has to read the synopsis, so it waits in a lane and is cached."""
    if not form.lists_files:
        return written(card, form)
    question = histogram.synopsis(0.95, Format.CSV)
    key = sha256(canonical_json([question.key(published), card.digest, form.value])).hexdigest()

    def work(checkpoint: Checkpoint) -> bytes:
        return answers.kept(key, lambda: written(card, form, (csv_file(answers.prepared(published), checkpoint),)))

    return answers.body_here(key) or await at_speed_of(request, caller, published, question, key, work)
