"""Logs and metrics: identifiers and outcomes, durations of reads only, never a data value, never a size."""

from __future__ import annotations

import json
import logging
import os
import sys
import time
import traceback
from datetime import UTC, datetime
from typing import Any

import structlog
from prometheus_client import CollectorRegistry, Counter, Histogram, disable_created_metrics
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.auth import Role

log = structlog.get_logger(__name__)


def is_upload(scope: Scope) -> bool:
    """Whether a request may carry rows: how long it takes, and even when it ends, tells how many.

    Rows are PUT and nothing else is; by the verb alone, since a misspelt address must not tell more than the right one.
    """
    return bool(scope["method"] == "PUT")


class _Discreet(logging.Formatter):
    """Log lines of libraries. Only the server's own words are passed on, and no exception's: these may quote a row."""

    def format(self, record: logging.LogRecord) -> str:
        said = {"message": record.getMessage()} if record.name.startswith("uvicorn") else {}
        error = record.exc_info[1] if record.exc_info else None
        at = datetime.fromtimestamp(record.created, UTC).isoformat().replace("+00:00", "Z")
        level = record.levelname.lower()
        return json.dumps({"logger": record.name, "level": level, **said, **_where(error), "timestamp": at})


def configure_logging(level: str) -> None:
    """JSON lines on standard error, ours and those of libraries."""
    threshold = logging.getLevelNamesMapping()[level.upper()]
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
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
    """This process's counters. No process collector: memory and CPU of an upload tell its size."""

    def __init__(self) -> None:
        disable_created_metrics()  # type: ignore[no-untyped-call]  # these would tell when a route was first called, the upload's among them
        self.registry = CollectorRegistry()
        labels = ["worker", "method", "route"]
        self._worker = str(os.getpid())
        self._requests = Counter(
            "rugnik_requests", "Requests by route and status.", [*labels, "status"], registry=self.registry
        )
        self._seconds = Histogram(
            "rugnik_request_seconds", "Duration of requests other than uploads.", labels, registry=self.registry
        )

    def count(self, method: str, route: str, status: int) -> None:
        """One more request."""
        self._requests.labels(self._worker, method, route, str(status)).inc()

    def time(self, method: str, route: str, seconds: float) -> None:
        """The duration of a request that carried no rows."""
        self._seconds.labels(self._worker, method, route).observe(seconds)


class ObserveRequests:
    """ASGI middleware: one log line and one count per request, by the route's template and not its address."""

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
        if is_upload(scope):  # not even counted: who reads the counter often enough sees when an upload ends
            return
        method, route = scope["method"], getattr(scope.get("route"), "path", "none")
        self._metrics.count(method, route, status)
        self._metrics.time(method, route, seconds)
        who, role = (scope.get("state", {}).get(name) for name in ("principal", "role"))
        # What a curator asks before and after an upload brackets its duration; the ledger has what they do.
        if role == Role.CURATOR and status < 500:
            return
        log.info("request", method=method, route=route, status=status, key=who, milliseconds=round(1000 * seconds, 1))


def _where(error: BaseException | None) -> dict[str, Any]:
    """An exception by its type and place, without its message."""
    if error is None:
        return {}
    frames = traceback.extract_tb(error.__traceback__)
    return {"error": type(error).__name__, "at": [f"{frame.name}:{frame.lineno}" for frame in frames[-8:]]}
