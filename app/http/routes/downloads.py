"""/v1/releases/{id}/synopsis and /rows: answers to take away, as JSON, CSV, Parquet or Arrow.

Each route has the parameters of its function in `app.questions`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from hashlib import sha256
from inspect import Parameter, Signature
from typing import Any

from fastapi import APIRouter, Request, Response

from app.access.principal import Principal
from app.bundles.bundle import MEDIA_TYPE as BUNDLE
from app.http.asking import FOR_EVER, answer, documented, published_release
from app.http.callers import Asker, CurrentService
from app.http.negotiation import has_already, negotiate
from app.http.parameters import ReleaseId, parameters_of
from app.http.problems import declared
from app.http.streaming import Stream
from app.log import bundling, receipts
from app.questions.downloads import DOWNLOADS, Download, asked_for
from app.questions.formats import Format
from app.questions.question import Question, repeatable
from app.service import Service
from core.errors import InvalidQuery
from core.log.proof import MEDIA_TYPE, SUFFIX

router = APIRouter(prefix="/v1/releases/{release_id}", tags=["answers"])

_ASK_AGAIN = {**FOR_EVER, "Cache-Control": "private, no-cache"}


def _endpoint(download: Download) -> Callable[..., Awaitable[Response]]:
    """A function as FastAPI wants it: named, documented and with the parameters of the download."""

    async def endpoint(
        request: Request, service: CurrentService, caller: Asker, release_id: ReleaseId, **asked: Any
    ) -> Response:
        _refuse_too_many(service, asked)
        form = negotiate(request, asked["format"], download.forms)
        question = repeatable(asked_for, download, form, asked)
        if download.whole and form is Format.JSON:
            return await answer(request, caller, release_id, question)
        return await _file(request, caller, release_id, question, download, form)

    always = [
        Parameter(name, Parameter.KEYWORD_ONLY, annotation=kind)
        for name, kind in (
            ("request", Request),
            ("service", CurrentService),
            ("caller", Asker),
            ("release_id", ReleaseId),
        )
    ]
    endpoint.__signature__ = Signature([*always, *parameters_of(download.ask)])  # type: ignore[attr-defined] # FastAPI reads it
    endpoint.__name__, endpoint.__doc__ = download.answer.path, download.ask.__doc__
    return endpoint


def _refuse_too_many(service: Service, asked: dict[str, Any]) -> None:
    """As many synthetic rows as a service draws at once."""
    most = service.settings.max_synthetic_rows
    if asked.get("count", 0) > most:
        raise InvalidQuery(f"At most {most:,} synthetic rows are drawn at once (RUGNIK_MAX_SYNTHETIC_ROWS).")


@router.get(
    "/bundle",
    response_class=Response,
    responses=declared(404, 409)
    | {200: {"content": {BUNDLE: {"schema": {"type": "string", "format": "binary"}}}, "description": "A ZIP archive."}},
)
def bundle(service: CurrentService, caller: Asker, release_id: ReleaseId) -> Response:
    """Take everything about a release away in one file, which answers every question without the service."""
    # Not kept by caches: the policy that it suggests may change.
    return _whole(bundling.bundle(service, caller, release_id).to_bytes(), BUNDLE, f"{release_id}.rugnik", {})


@router.get(
    "/receipt",
    response_class=Response,
    responses=declared(404, 409)
    | {200: {"content": {"text/plain": {"schema": {"type": "string"}}}, "description": "A C2SP tlog-proof."}},
)
def receipt(request: Request, service: CurrentService, caller: Asker, release_id: ReleaseId) -> Response:
    """Take the receipt away: the proof that this release was charged and published in the signed log."""
    receipted = receipts.receipt(service, caller, release_id)
    body = str(receipted.receipt).encode()
    # One without a quorum is exchanged once, where a quorum is configured later: caches have to ask.
    headers = {"ETag": f'"{sha256(body).hexdigest()}"', **(FOR_EVER if receipted.final else _ASK_AGAIN)}
    if has_already(request, headers["ETag"]):
        return Response(status_code=304, headers=headers)
    return _whole(body, MEDIA_TYPE, f"{release_id}{SUFFIX}", headers)


def _whole(body: bytes, media_type: str, name: str, headers: Mapping[str, str]) -> Response:
    """A file that is made in one piece."""
    named = {"Content-Disposition": f'attachment; filename="{name}"', **headers}
    return Response(body, media_type=media_type, headers=named)


async def _file(
    request: Request, caller: Principal, release_id: str, question: Question, download: Download, form: Format
) -> Response:
    """A large answer in pieces, with the ETag of its question; 304 where the client has it."""
    answers, published = await published_release(request, caller, release_id)
    headers = {"ETag": f'"{question.key(published)}"', **FOR_EVER}
    if has_already(request, headers["ETag"]):
        return Response(status_code=304, headers=headers)
    headers["Content-Disposition"] = f'attachment; filename="{published.release}-{question.name}.{form.value}"'
    return Stream(
        caller,
        lambda: download.in_pieces(question, answers.prepared(published), form),
        media_type=form.media_type,
        headers=headers,
    )


for _download in DOWNLOADS:
    router.add_api_route(
        f"/{_download.answer.path}",
        _endpoint(_download),
        methods=["GET"],
        responses=documented(_download.answer, files=_download.forms[1:]),
        response_class=Response,
    )
