"""Every error as an RFC 9457 problem: one table from error class to status, one shape for all replies."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

import structlog
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field
from sqlalchemy.exc import OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

from app import errors
from app.ingest import errors as ingest
from core import errors as core
from core.budget import HOW_TO_WRITE
from core.intervals.levels import OUT_OF_BOUNDS
from rugnik.wire.limits import NAME, NO_CONTROL

log = structlog.get_logger(__name__)

MEDIA_TYPE = "application/problem+json"
_TYPE = "urn:rugnik:problem:"
_EPSILONS = ("epsilon", "budget", "estimate", "above", "two_persons_above")  # fields that are decimal strings
IN_WORDS = {  # what a pattern asks for
    NAME: "A name has letters, digits, dot, dash and underscore: up to 64, the first a letter or digit.",
    NO_CONTROL: "A text here has no line ends and no other control characters.",
}
# pydantic's errors about dataclasses and choices, under the names that clients of this service know.
_ERROR_TYPES = {
    "unexpected_keyword_argument": "extra_forbidden",
    "dataclass_type": "model_attributes_type",
    "literal_error": "enum",
}
_MESSAGES = {
    "extra_forbidden": "a field that is not known here",
    "model_attributes_type": "Input should be a valid dictionary or object to extract fields from",
}


class Problem(BaseModel):
    """RFC 9457: what went wrong, for a program (`type`) and for a person (`detail`)."""

    type: str = Field(examples=[_TYPE + "insufficient-budget"])
    title: str
    status: int
    detail: str


# (status, name, title), looked up along the class's ancestors.
_TABLE: dict[type[Exception], tuple[int, str, str]] = {
    errors.NotAuthenticated: (401, "not-authenticated", "A valid key is needed"),
    errors.NotAllowed: (403, "not-allowed", "This key may not do that"),
    errors.OwnRequest: (403, "own-request", "Another key has to approve this"),
    errors.ForgedRequest: (403, "forged-request", "The request did not come from a page of this service"),
    errors.NotFound: (404, "not-found", "Not found"),
    errors.NotAcceptable: (406, "not-acceptable", "The answer is not offered in this form"),
    errors.TooSlow: (408, "too-slow", "The body came too slowly"),
    errors.NameTaken: (409, "name-taken", "The name is taken"),
    errors.DatasetClosed: (409, "dataset-closed", "The dataset is closed"),
    errors.ReleaseEnded: (409, "release-ended", "The release is no longer open"),
    errors.RequestDecided: (409, "request-decided", "The request was decided before"),
    errors.QuotaReached: (409, "quota-reached", "No room for one more"),
    core.InsufficientBudget: (409, "insufficient-budget", "Not enough epsilon is left"),
    ingest.UploadTooLarge: (413, "too-large", "The upload is too large"),
    errors.TooLarge: (413, "too-large", "The body is too large"),
    errors.UnsupportedMedia: (415, "unsupported-media-type", "Uploads of this kind are not read"),
    errors.RefusedRequest: (400, "bad-request", "The request cannot be taken"),
    errors.IdempotencyConflict: (422, "idempotency-conflict", "The Idempotency-Key belongs to another order"),
    errors.BudgetTooLarge: (422, "budget-too-large", "More epsilon than one dataset may be given"),
    core.InvalidEpsilon: (422, "invalid-epsilon", "Not an epsilon"),
    core.InvalidQuery: (422, "invalid-query", "This question cannot be answered"),
    core.InvalidDomain: (422, "invalid-domain", "The attributes cannot be gridded"),
    core.TooManyCells: (422, "too-many-cells", "The grid would have too many cells"),
    core.InvalidOrder: (422, "invalid-order", "No grid can serve this order"),
    core.InvalidCounts: (422, "invalid-counts", "These are not the counts that are awaited"),
    ingest.ColumnFault: (422, "unfit-columns", "The columns do not fit the attributes"),
    errors.HeadTooLarge: (431, "head-too-large", "The head of the request is too large"),
    ingest.SpoolFailure: (503, "spool-failure", "The upload could not be held"),
    ingest.IngestError: (422, "unreadable-upload", "The file cannot be read"),
    errors.PublishDelayed: (503, "publish-delayed", "The synopsis is not stored yet"),
    errors.CorruptSynopsis: (503, "corrupt-synopsis", "The stored synopsis does not match the ledger"),
    errors.TooMuchWork: (422, "too-much-work", "This answer would take too long"),
    errors.AnswerStopped: (422, "answer-stopped", "This answer took too long"),
    errors.AnswerLost: (503, "answer-lost", "The answer was lost"),
    errors.TooManyRequests: (429, "too-many-requests", "Too many requests of this key at once"),
    errors.NotCosigned: (503, "not-cosigned", "The outside witnesses have not signed the charge yet"),
    errors.ReadOnly: (503, "read-only", "The service is read-only"),
    errors.ReceiptPending: (409, "receipt-pending", "No checkpoint holds the publication yet"),
    errors.NotReady: (503, "not-ready", "The service is not ready"),
    errors.Busy: (503, "busy", "Too much at once"),
}

_TRY_LATER = (
    errors.Busy,
    errors.PublishDelayed,
    errors.TooManyRequests,
    errors.AnswerLost,
    errors.NotCosigned,
    errors.ReceiptPending,
)

REFUSALS: tuple[type[Exception], ...] = (*_TABLE, OperationalError, PoolTimeout)  # what `response_to` takes

# The variable that raises a cap; the other caps are fixed.
_SETTINGS = {
    ingest.Cap.BYTES: "RUGNIK_MAX_UPLOAD_BYTES",
    ingest.Cap.INFLATED_BYTES: "RUGNIK_MAX_INFLATED_BYTES",
    ingest.Cap.ROWS: "RUGNIK_MAX_UPLOAD_ROWS",
    ingest.Cap.WIDE_ROWS: "RUGNIK_MAX_WIDE_ROWS",
    ingest.Cap.COLUMNS: "RUGNIK_MAX_UPLOAD_COLUMNS",
    ingest.Cap.SPOOL_BYTES: "RUGNIK_MAX_SPOOL_BYTES",
}


# What the framework refuses by itself, in a sentence.
_SENTENCES = {
    400: "The body is not JSON that can be read.",
    404: "There is nothing at this address.",
    405: "This address does not take this method.",
}


def _of(error: Exception) -> tuple[int, str, str]:
    return next(_TABLE[ancestor] for ancestor in type(error).__mro__ if ancestor in _TABLE)


def reply(status: int, name: str, title: str, detail: str, **fields: Any) -> JSONResponse:
    """A problem as a response; `fields` are the extension members."""
    body = {"type": _TYPE + name, "title": title, "status": status, "detail": detail, **fields}
    return JSONResponse(body, status_code=status, media_type=MEDIA_TYPE)


def _extensions(error: Any) -> dict[str, Any]:
    """The fields of an error that a program may want, as extension members."""
    fields: dict[str, Any] = {}
    match error:
        case core.InsufficientBudget():
            fields = {"requested": str(error.requested), "remaining": str(error.remaining)}
        case core.TooManyCells():
            fields = {"wanted": error.wanted, "allowed": error.allowed, "setting": "RUGNIK_MAX_CELLS"}
        case errors.ReleaseEnded():
            fields = {"state": error.state, "synopsis": {"digest": error.digest} if error.digest else None}
        case errors.RequestDecided():
            fields = {"state": error.state}
        case errors.BudgetTooLarge():
            fields = {"limit": str(error.limit), "setting": "RUGNIK_MAX_BUDGET"}
        case errors.QuotaReached():
            fields = {"limit": error.limit, "setting": error.setting}
        case errors.TooMuchWork():
            fields = {"seconds": error.seconds, "allowed": error.limit, "setting": "RUGNIK_MAX_ANSWER_SECONDS"}
        case errors.AnswerStopped():
            fields = {"allowed": error.limit, "setting": "RUGNIK_ANSWER_TIMEOUT_SECONDS"}
        case ingest.IngestError():
            fields = _upload_extensions(error)
    return fields


def _upload_extensions(error: Any) -> dict[str, Any]:
    match error:
        case ingest.UploadTooLarge():
            return {"allowed": error.allowed, "setting": _SETTINGS.get(error.cap)}
        case ingest.ColumnFault():
            return {"columns": list(error.names)}
    return {}


def response_to(error: Exception) -> JSONResponse:
    """The problem that one of REFUSALS stands for."""
    if isinstance(error, OperationalError | PoolTimeout):
        return _unavailable(error)
    status, name, title = _of(error)
    response = reply(status, name, title, str(error), **_extensions(error))
    if isinstance(error, errors.NotAuthenticated):
        response.headers["WWW-Authenticate"] = "Bearer"
    if isinstance(error, _TRY_LATER):
        response.headers["Retry-After"] = str(error.retry_after)
    return response


def _known(_request: Request, error: Exception) -> JSONResponse:
    return response_to(error)


def _invalid(_request: Request, error: Exception) -> JSONResponse:
    """422 of the framework: where and what kind, never what was sent."""
    assert isinstance(error, RequestValidationError)  # noqa: S101 - registered for nothing else
    places = [_place(invalid) for invalid in error.errors()]
    detail = "; ".join(
        place["msg"] if place["type"] == "json_invalid" else f"{'.'.join(map(str, place['loc']))}: {place['msg']}"
        for place in places
    )
    return reply(422, "invalid-request", "The request is not valid", detail, errors=places)


def _place(invalid: Any) -> dict[str, Any]:
    """One entry of `errors`: where in the request, which kind of mistake, and what to do."""
    kind, loc = _ERROR_TYPES.get(invalid["type"], invalid["type"]), list(invalid["loc"])
    # The last part of an unknown field's place is its name, and that is the client's text.
    return {"loc": loc[:-1] if kind == "extra_forbidden" else loc, "type": kind, "msg": _message(invalid, kind)}


def _message(invalid: Any, kind: str) -> str:
    """The framework's words, or plainer ones for what newcomers meet first."""
    field = invalid["loc"][-1]
    match kind:
        case "extra_forbidden" | "model_attributes_type":
            return _MESSAGES[kind]
        case "json_invalid":
            return f"The body is not JSON: see character {int(field) + 1}."  # it counts from 0, and people do not
        case "string_type" if field in _EPSILONS:
            return f'Send {field} as a string, such as "0.5".'
        case "string_too_long" if field in _EPSILONS:
            return HOW_TO_WRITE
        case _ if field == "level":
            return OUT_OF_BOUNDS
        case _:
            return IN_WORDS.get(invalid.get("ctx", {}).get("pattern"), str(invalid["msg"]))


def _http(_request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)  # noqa: S101 - registered for nothing else
    title = HTTPStatus(error.status_code).phrase
    detail = _SENTENCES.get(error.status_code, f"{title}.")
    response = reply(error.status_code, title.lower().replace(" ", "-"), title, detail)
    response.headers.update(error.headers or {})
    return response


def _gone(_request: Request, _error: Exception) -> JSONResponse:
    """The client closed its connection during its upload or before its answer; nobody reads this."""
    return reply(400, "bad-request", "The request cannot be taken", "The connection closed before the reply.")


def _unavailable(error: Exception) -> JSONResponse:
    """The database is gone, locked or too busy. Whether a commit got through may be open, hence the advice."""
    log.warning("database_unavailable", error=type(error).__name__)
    detail = "Try again. Repeat an order with its Idempotency-Key, and it is charged once."
    response = reply(503, "database-unavailable", "The database is not available", detail)
    response.headers["Retry-After"] = "5"
    return response


def _unforeseen(_request: Request, _error: Exception) -> JSONResponse:
    return reply(500, "internal-error", "Something went wrong here", "The service failed; its log has the details.")


def install(app: FastAPI) -> None:
    """Give every way to fail the one shape."""
    for kind in REFUSALS:
        app.add_exception_handler(kind, _known)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _http)
    app.add_exception_handler(ClientDisconnect, _gone)
    app.add_exception_handler(Exception, _unforeseen)


def declared(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The `responses` of a route for the OpenAPI document: its own statuses and those that any route can give."""
    always = (400, 401, 403, 408, 413, 421, 422, 431, 500, 503)
    problem = {MEDIA_TYPE: {"schema": Problem.model_json_schema()}}
    return {
        status: {"description": HTTPStatus(status).phrase, "content": problem}
        for status in sorted({*statuses, *always})
    }
