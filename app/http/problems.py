"""Every error as a reply: the problems of `app.problems`, and those of the framework and the database."""

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
from app.http.nearest import methods_at, nearest
from app.problems import MEDIA_TYPE, TABLE, TYPE, invalid_request, problem, problem_of
from rugnik.wire.base import Body

log = structlog.get_logger(__name__)


class Problem(BaseModel):
    """RFC 9457: what went wrong, for a program (`type`) and for a person (`detail`)."""

    type: str = Field(examples=[TYPE + "insufficient-budget"])
    title: str
    status: int
    detail: str


_TRY_LATER = (
    errors.Busy,
    errors.PublishDelayed,
    errors.TooManyRequests,
    errors.AnswerLost,
    errors.NotCosigned,
    errors.NotSealed,
    errors.ReceiptPending,
)

# What `response_to` takes.
REFUSALS: tuple[type[Exception], ...] = (*TABLE, OperationalError, PoolTimeout, MemoryError)


_NEWEST = " GET /v1/datasets/{name}/latest/count leads to the newest release of a dataset."

# What the framework refuses by itself, in a sentence.
_SENTENCES = {
    400: "The body is not JSON that can be read.",
    404: "There is nothing at this address.",
    405: "This address does not take this method. It takes {allowed}.",
}


def reply(status: int, name: str, title: str, detail: str, **fields: Any) -> JSONResponse:
    """A problem as a response; `fields` are the extension members."""
    return JSONResponse(problem(status, name, title, detail, **fields), status_code=status, media_type=MEDIA_TYPE)


def response_to(error: Exception) -> JSONResponse:
    """The problem that one of REFUSALS stands for."""
    if isinstance(error, OperationalError | PoolTimeout):
        return _unavailable(error)
    if isinstance(error, MemoryError):
        return _short_of_memory(error)
    body = problem_of(error)
    if isinstance(error, errors.NoRelease):
        body["detail"] += _NEWEST
    response = JSONResponse(body, status_code=body["status"], media_type=MEDIA_TYPE)
    if isinstance(error, errors.NotAuthenticated):
        response.headers["WWW-Authenticate"] = "Bearer"
    if isinstance(error, _TRY_LATER):
        response.headers["Retry-After"] = str(error.retry_after)
    return response


def _known(_request: Request, error: Exception) -> JSONResponse:
    return response_to(error)


def _invalid(request: Request, error: Exception) -> JSONResponse:
    """422 of the framework: where and what kind, never what was sent."""
    assert isinstance(error, RequestValidationError)  # noqa: S101 - registered for nothing else
    body = invalid_request(error.errors(), _declared_body(request))
    return JSONResponse(body, status_code=body["status"], media_type=MEDIA_TYPE)


def _declared_body(request: Request) -> type[Body] | None:
    """The type of the route's body, if that is one of `rugnik.wire`."""
    field = getattr(request.scope.get("route"), "body_field", None)
    declared = None if field is None else field.field_info.annotation
    return declared if isinstance(declared, type) and issubclass(declared, Body) else None


def _http(request: Request, error: Exception) -> JSONResponse:
    """What the framework refuses by itself: nothing at this address, or not with this method."""
    assert isinstance(error, HTTPException)  # noqa: S101 - registered for nothing else
    title = HTTPStatus(error.status_code).phrase
    headers = dict(error.headers or {})
    if error.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
        headers["Allow"] = _allowed(request, headers.get("Allow", ""))
    detail = _SENTENCES.get(error.status_code, f"{title}.").format(allowed=headers.get("Allow"))
    if error.status_code == HTTPStatus.NOT_FOUND and request.url.path.startswith("/v1"):
        meant = nearest(request.method, request.url.path, request.app.state.documented_routes)
        detail += f" Is it {meant}?" if meant else " All addresses are in /openapi.json."
    response = reply(error.status_code, title.lower().replace(" ", "-"), title, detail)
    response.headers.update(headers)
    return response


def _allowed(request: Request, said: str) -> str:
    """Every method of an address; the framework names those of one route. What a route itself says is kept."""
    methods = methods_at(request.url.path, request.app.state.documented_routes)
    return ", ".join(methods) if methods and request.method not in methods else said


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


def _short_of_memory(error: Exception) -> JSONResponse:
    """No memory was left for this request. The message of the error is not passed on: it may have a size in it."""
    log.error("out_of_memory", error=type(error).__name__)
    detail = (
        "The service has not enough memory for this now. Nothing that was on record is lost: see the state of a "
        "release before you upload again. An upload in smaller batches or row groups needs less."
    )
    response = reply(503, "out-of-memory", "Not enough memory", detail)
    response.headers["Retry-After"] = "30"
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
