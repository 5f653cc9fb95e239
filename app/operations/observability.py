"""Logs and metrics: identifiers and outcomes, never a data value, never a size, and nothing that a curator does.

Times of a curator's requests bracket an upload, and its duration tells how many rows it had. So `is_noted` is the one
rule for log lines and counters, and a line that a curator's request can cause in another way (a fault, a database that
is not available, a witness that cannot be written) carries the day and not the moment.
"""

from __future__ import annotations

import json
import logging
import os
import sys
import time
import traceback
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Any

import structlog
from prometheus_client import CollectorRegistry, Counter, Histogram, disable_created_metrics
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from structlog.typing import EventDict

from app.access.auth import Principal, Role

log = structlog.get_logger(__name__)


def is_upload(scope: Scope) -> bool:
    """Whether a request may carry rows: how long it takes, and even when it ends, tells how many.

    Rows are PUT and nothing else is; by the verb alone, since a misspelt address must not tell more than the right one.
    """
    return bool(scope["method"] == "PUT")


def is_noted(scope: Scope) -> bool:
    """Whether a request has a log line and is counted: its caller is established and no curator, and it is no PUT.

    The rule holds for every route, and it denies by default. A request that fails before its caller is established
    (401, a wrong address or method, a body that is no JSON or too large) may be a curator's, so it leaves no line. The
    same goes for addresses that ask nobody for a key: the pages to sign in and out and the files that pages load are
    fetched before and after an upload, too. 401s are counted, without route and caller, so that guessing can be seen.
    """
    caller: Principal | None = scope.get("state", {}).get("principal")
    return caller is not None and caller.role is not Role.CURATOR and not is_upload(scope)


# Lines that no curator's request can cause, or that tell nothing of one; all others have the day alone.
_WITH_MOMENT = frozenset({"request", "sign_in_failed", "cannot_start"})


def _add_time(_logger: Any, _method: str, event: EventDict) -> EventDict:
    """structlog processor: the moment, or the day."""
    now = datetime.now(UTC)
    event["timestamp"] = _moment(now) if event["event"] in _WITH_MOMENT else _day(now)
    return event


def _moment(at: datetime) -> str:
    return at.isoformat().replace("+00:00", "Z")


def _day(at: datetime) -> str:
    return at.strftime("%Y-%m-%d")


class _Discreet(logging.Formatter):
    """Log lines of libraries. Only the server's own words are passed on, and no exception's: these may quote a row."""

    def format(self, record: logging.LogRecord) -> str:
        said = {"message": record.getMessage()} if record.name.startswith("uvicorn") else {}
        error = record.exc_info[1] if record.exc_info else None
        created = datetime.fromtimestamp(record.created, UTC)
        at = _moment(created) if error is None else _day(created)
        level = record.levelname.lower()
        return json.dumps({"logger": record.name, "level": level, **said, **_where(error), "timestamp": at})


def configure_logging(level: str) -> None:
    """JSON lines on standard error, ours and those of libraries."""
    threshold = logging.getLevelNamesMapping()[level.upper()]
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            _add_time,
            structlog.processors.JSONRenderer(),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(threshold),
        logger_factory=structlog.WriteLoggerFactory(file=sys.__stderr__),
    )
    handler = logging.StreamHandler(sys.__stderr__)
    handler.setFormatter(_Discreet())
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)
    logging.getLogger("uvicorn").setLevel(threshold)


class Metrics:
    """This process's counters of noted requests. No process collector: memory and CPU of an upload tell its size."""

    def __init__(self) -> None:
        disable_created_metrics()  # type: ignore[no-untyped-call]  # these would tell when a route was first called, the upload's among them
        self.registry = CollectorRegistry()
        labels = ["worker", "method", "route"]
        self._worker = str(os.getpid())
        self._requests = Counter(
            "rugnik_requests", "Requests by route and status.", [*labels, "status"], registry=self.registry
        )
        self._seconds = Histogram("rugnik_request_seconds", "Duration of requests.", labels, registry=self.registry)
        self._refused = Counter(
            "rugnik_keys_refused", "Requests without a valid key (401).", ["worker"], registry=self.registry
        )

    def count(self, method: str, route: str, status: int) -> None:
        """One more request."""
        self._requests.labels(self._worker, method, route, str(status)).inc()

    def time(self, method: str, route: str, seconds: float) -> None:
        """The duration of a request that carried no rows."""
        self._seconds.labels(self._worker, method, route).observe(seconds)

    def count_refused_key(self) -> None:
        """One more 401, of whatever route."""
        self._refused.labels(self._worker).inc()


class ObserveRequests:
    """ASGI middleware: a log line and a count for each noted request, by the route's template and not its address."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self._app = app
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on, and note the outcome."""
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
            log.error("request_failed", **_where(error))  # noqa: TRY400 - the message may quote a row
            raise
        finally:
            self._note(scope, status, time.perf_counter() - started)

    def _note(self, scope: Scope, status: int, seconds: float) -> None:
        if status == HTTPStatus.UNAUTHORIZED:
            self._metrics.count_refused_key()
        if not is_noted(scope):
            return
        method, route = scope["method"], getattr(scope.get("route"), "path", "none")
        key = scope["state"]["principal"].id
        self._metrics.count(method, route, status)
        self._metrics.time(method, route, seconds)
        log.info("request", method=method, route=route, status=status, key=key, milliseconds=round(1000 * seconds, 1))


def _where(error: BaseException | None) -> dict[str, Any]:
    """An exception by its type and place, without its message."""
    if error is None:
        return {}
    frames = traceback.extract_tb(error.__traceback__)
    return {"error": type(error).__name__, "at": [f"{frame.name}:{frame.lineno}" for frame in frames[-8:]]}
