"""Answers that were given before, given again without the way through routing, validation and threads.

An answer to a GET never changes, so its bytes can be kept under the request line that asked for them. What can change
is who may ask: the caller behind the key is looked up each time among those seen in the last seconds, and a caller who
is not among them, or may not see the dataset, goes the long way like everybody else.
"""

from __future__ import annotations

from typing import Any

from fastapi import Request, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from app.auth import ASKERS, Principal, token_digest
from app.bounded import Bounded
from app.service import Service

_LARGEST = 2**20  # bytes; larger answers are dominated by their transfer


class HotAnswers:
    """The memory of answers by request line; one per application."""

    def __init__(self, service: Service) -> None:
        self.service = service
        self._kept: Bounded[tuple[str, Any, Response]] = Bounded(
            service.settings.answer_memory_bytes, weigh=lambda kept: len(kept[2].body) + 1024
        )

    def keep(self, request: Request, dataset: str, response: Response) -> None:
        """Remember a 200 answer to a GET about a dataset."""
        if len(response.body) <= _LARGEST:
            self._kept.get(_line(request.scope), lambda: (dataset, request.scope["route"], response))

    def find(self, scope: Scope) -> Response | None:
        """The answer to this request line, if this caller may have it."""
        kept = self._kept.peek(_line(scope))
        if kept is None:
            return None
        dataset, route, response = kept
        caller = self._caller(scope)
        if caller is None or caller.role not in ASKERS or not caller.may_see(dataset):
            return None
        scope["route"] = route
        scope.setdefault("state", {})["principal"] = caller.id
        return response

    def _caller(self, scope: Scope) -> Principal | None:
        scheme, _, token = _header(scope, b"authorization").partition(" ")
        return self.service.principals.get(token_digest(token)) if scheme.lower() == "bearer" else None


class AnswerFromMemory:
    """ASGI middleware in front of the routes."""

    def __init__(self, app: ASGIApp, hot: HotAnswers) -> None:
        self._app = app
        self._hot = hot

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer from memory, or pass on."""
        asked = scope["type"] == "http" and scope["method"] == "GET" and not _header(scope, b"if-none-match")
        response = self._hot.find(scope) if asked else None
        await (self._app if response is None else response)(scope, receive, send)


def _line(scope: Scope) -> str:
    """What an answer depends on besides the caller: path, query and Accept."""
    return f"{scope['path']}?{scope['query_string'].decode('latin-1')} {_header(scope, b'accept')}"


def _header(scope: Scope, wanted: bytes) -> str:
    for name, value in scope["headers"]:
        if name == wanted:
            found: str = value.decode("latin-1")
            return found
    return ""
