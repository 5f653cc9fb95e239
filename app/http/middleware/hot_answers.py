"""Serves cached GET answers before routing, validation and threads.

An answer to a GET never changes, so its bytes are cached by request line. Who may ask can change: the key is looked up
each time in the replay of the ledger. If the replay is some seconds old, or the caller may not see the dataset, the
request goes through routing like any other.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fastapi import Request, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from app.access.keys import believed
from app.access.permissions import Permission
from app.access.principal import Principal
from app.answers.answers import LINES_SHARE, Answers
from app.questions.lru_cache import LruCache
from app.service import Service

_LONGEST_LINE = 2048  # characters; longer request lines are not remembered
_OVERHEAD = 1024  # bytes of a remembered line beside its own


@dataclass(frozen=True, slots=True)
class _Kept:
    """Where the answer to a request line is, and whom it may be given to."""

    dataset: str
    route: Any
    key: str
    headers: Mapping[str, str]


class HotAnswers:
    """The answer's key by request line; one per application. The bodies themselves are kept by Answers, once."""

    def __init__(self, service: Service, answers: Answers) -> None:
        self.service = service
        self.answers = answers
        self._kept: LruCache[_Kept] = LruCache(
            service.settings.answer_memory_bytes // LINES_SHARE, weigh=lambda line, _: len(line) + _OVERHEAD
        )

    def keep(self, request: Request, dataset: str, key: str, headers: Mapping[str, str]) -> None:
        """Remember a 200 answer to a GET about a dataset."""
        line = _line(request.scope)
        if len(line) <= _LONGEST_LINE:
            self._kept.put(line, _Kept(dataset, request.scope["route"], key, headers))

    def find(self, scope: Scope) -> Response | None:
        """The answer to this request line, if it is in memory and this caller may have it."""
        kept = self._kept.peek(_line(scope))
        if kept is None:
            return None
        caller = self._caller(scope)
        if caller is None or not caller.can(Permission.ASK) or not caller.may_see(kept.dataset):
            return None
        body = self.answers.body_here(kept.key)
        if body is None:
            return None
        scope["route"] = kept.route
        scope.setdefault("state", {})["principal"] = caller
        return Response(body, media_type="application/json", headers=dict(kept.headers))

    def _caller(self, scope: Scope) -> Principal | None:
        scheme, _, token = _header(scope, b"authorization").partition(" ")
        return believed(self.service, token) if scheme.lower() == "bearer" else None


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
            text: str = value.decode("latin-1")
            return text
    return ""
