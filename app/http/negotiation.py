"""Which form a reply takes, and whether the client has it already."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from fastapi import Request

from app.errors import NotAcceptable
from app.questions.formats import Form, named

_Form = TypeVar("_Form", bound=Form)


def negotiate(request: Request, wanted: str | None, offered: Sequence[_Form]) -> _Form:
    """The form named by ?format=, else the offered one that Accept likes best, else the first."""
    if wanted is not None:
        return named(wanted, offered)
    accept = request.headers.get("accept") or "*/*"
    if accept == "*/*":
        return offered[0]
    ranked = [(_liking(accept, form.media_type), form) for form in offered]
    liking, form = max(ranked, key=lambda pair: pair[0])
    if liking <= 0.0:
        raise NotAcceptable([form.media_type for form in offered])
    return form


def _liking(accept: str, media_type: str) -> float:
    """The q of the most precise range in Accept that covers a media type."""
    best, precision = 0.0, -1
    ranges = ("*/*", media_type.partition("/")[0] + "/*", media_type)
    for part in accept.split(","):
        name, *parameters = (piece.strip().lower() for piece in part.split(";"))
        if name in ranges and ranges.index(name) > precision:
            precision = ranges.index(name)
            best = _q(parameters)
    return best


def _q(parameters: Sequence[str]) -> float:
    for parameter in parameters:
        if parameter.startswith("q="):
            try:
                return min(1.0, max(0.0, float(parameter[2:])))
            except ValueError:
                return 0.0
    return 1.0


def has_already(request: Request, etag: str) -> bool:
    """Whether If-None-Match names this ETag."""
    sent = request.headers.get("if-none-match")
    if sent is None:
        return False
    return sent.strip() == "*" or etag in (part.strip().removeprefix("W/") for part in sent.split(","))
