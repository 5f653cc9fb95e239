"""Which requests are logged and counted, and the middleware that does so.

The times of a curator's requests bracket an upload, and its duration shows how many rows it had. So `is_noted` is the
one rule for log lines and counters.
"""

from __future__ import annotations

import time
from http import HTTPStatus

import structlog
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.access.permissions import Permission
from app.access.principal import Principal
from app.operations.observability import Metrics, where

log = structlog.get_logger(__name__)


def is_upload(scope: Scope) -> bool:
    """Whether a request may carry rows. Its duration, and even the time at which it ends, would show how many.

    Rows are sent with PUT, and nothing else is. The method alone decides, so that a misspelt address is covered too.
    """
    return bool(scope["method"] == "PUT")


def is_noted(scope: Scope) -> bool:
    """Whether a request is logged and counted: its caller is established and may not upload, and it is no PUT.

    The rule holds for every route, and it denies by default. A request that fails before its caller is established
    (401, a wrong address or method, a body that is no JSON or too large) may be a curator's, so it leaves no line. The
    same goes for addresses that ask nobody for a key: the pages to sign in and out and the files that pages load are
    fetched before and after an upload, too. 401s are counted, without route and caller, so that guessing can be seen.
    """
    caller: Principal | None = scope.get("state", {}).get("principal")
    return caller is not None and not caller.can(Permission.CURATE) and not is_upload(scope)


class ObserveRequests:
    """ASGI middleware: a log line and a count for each noted request, by the route's template and not its address."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self._app = app
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, then log and count its outcome."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started = time.perf_counter()
        status = 500

        async def noting(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, noting)
        except Exception as error:
            log.error("request_failed", **where(error))  # noqa: TRY400 - the message may quote a row
            raise
        finally:
            self._note(scope, status, time.perf_counter() - started)

    def _note(self, scope: Scope, status: int, seconds: float) -> None:
        if status == HTTPStatus.UNAUTHORIZED:
            self._metrics.count_refused_key()
        if not is_noted(scope):
            return
        method, route = scope["method"], getattr(scope.get("route"), "path_format", "none")
        key = scope["state"]["principal"].id
        self._metrics.count(method, route, status)
        self._metrics.time(method, route, seconds)
        log.info("request", method=method, route=route, status=status, key=key, milliseconds=round(1000 * seconds, 1))
