"""Errors as pages: outside of the API an error is shown as a page, from the same table as the problems."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable
from http import HTTPStatus
from typing import Any
from urllib.parse import quote

from fastapi import FastAPI, Request
from fastapi.responses import RedirectResponse, Response

from app.dashboard.pages import page
from app.http.callers import visitor

_MACHINES = ("/v1/", "/log/", "/healthz", "/readyz", "/metrics", "/openapi.json")


def install(app: FastAPI) -> None:
    """Let every handler of a problem answer a browser's page with a page."""
    for kind, handler in list(app.exception_handlers.items()):
        app.exception_handlers[kind] = _as_page_for_browsers(handler)


def _as_page_for_browsers(handler: Callable[..., Any]) -> Callable[..., Any]:
    async def handle(request: Request, error: Exception) -> Response:
        reply = handler(request, error)
        problem: Response = await reply if inspect.isawaitable(reply) else reply
        if request.url.path.startswith(_MACHINES) or request.url.path == "/v1":
            return problem
        return await _page(request, problem)

    return handle


async def _page(request: Request, problem: Response) -> Response:
    if problem.status_code == HTTPStatus.UNAUTHORIZED:
        # Signing in leads back to a page that a link can show. After a change that failed, it leads to the overview.
        wanted = request.url.path + (f"?{request.url.query}" if request.url.query else "")
        back = f"?next={quote(wanted)}" if request.method == "GET" and wanted != "/" else ""
        return RedirectResponse(f"/sign-in{back}", status_code=303, headers={"Cache-Control": "no-store"})
    fields = json.loads(bytes(problem.body))
    # A signed-in reader keeps the menu. After a failure of the service, the database is not asked again.
    caller = await visitor(request) if problem.status_code < HTTPStatus.INTERNAL_SERVER_ERROR else None
    response = page(
        request, "error.html", caller, status=problem.status_code, title=fields["title"], detail=_detail(fields)
    )
    for name in ("Retry-After", "Allow"):
        if name in problem.headers:
            response.headers[name] = problem.headers[name]
    return response


def _detail(fields: dict[str, Any]) -> str:
    if fields["status"] == HTTPStatus.UNPROCESSABLE_ENTITY:
        return "Something in this address cannot be understood. Go back and try again."
    return str(fields["detail"])
