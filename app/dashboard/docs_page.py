"""The page /docs: every route of this service, rendered here. It loads nothing from elsewhere."""

from __future__ import annotations

import re
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response
from markupsafe import Markup

from app.dashboard.pages import page
from app.http.callers import DocsReader
from app.http.reference import Reference, read_reference
from app.http.schemas import slug

router = APIRouter(include_in_schema=False, tags=["dashboard"])

_MARKS = re.compile(r"`([^`]*)`|\[([^\]]*)\]\((#[^)]*)\)")


@router.get("/docs")
def docs(request: Request, caller: DocsReader) -> Response:
    """The HTTP reference of this version, with a search and an address for each route."""
    return page(
        request,
        "docs.html",
        caller,
        reference=_reference(request.app),
        base=str(request.base_url).rstrip("/"),
        inline=inline,
        slug=slug,
        version=request.app.version,
    )


def _reference(app: Any) -> Reference:
    """Read once for each application."""
    if not hasattr(app.state, "reference"):
        app.state.reference = read_reference(app.openapi())
    reference: Reference = app.state.reference
    return reference


def inline(text: str) -> Markup:
    """Markdown of one line as HTML: code and links to headings of the page. Everything else is plain text."""
    parts: list[str] = []
    end = 0
    for match in _MARKS.finditer(text):
        code, title, target = match.groups()
        parts.append(text[end : match.start()])
        parts.append(
            Markup("<code>{}</code>").format(code)
            if code is not None
            else Markup('<a href="{}">{}</a>').format(target, title)
        )
        end = match.end()
    return Markup("").join([*parts, text[end:]])  # which escapes what is no Markup
